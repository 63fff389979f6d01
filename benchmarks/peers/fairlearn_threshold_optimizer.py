"""fairlearn's ThresholdOptimizer over a ladder of tolerances, on the plain model."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .base import Candidates, Fitting, Peer, plain_model

LADDER = (None, 0.01, 0.02, 0.05, 0.1)


def fit(fitting: Fitting) -> Candidates:
    from fairlearn.postprocessing import ThresholdOptimizer

    held = fitting.validation
    model = plain_model(fitting.train)
    made = []
    for slack in LADDER:
        optimiser = ThresholdOptimizer(
            estimator=model,
            constraints="true_positive_rate_parity",
            prefit=True,
            predict_method="predict_proba",
            **({} if slack is None else {"tol": slack}),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append(optimiser.fit(held.X, held.y, sensitive_features=held.groups))
    return Candidates(lambda X, groups: np.stack([expected(one, X, groups) for one in made]), solved=1)


def expected(optimiser: Any, X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the probability of a favourable decision, which fairlearn keeps in a private method."""
    return np.asarray(optimiser._pmf_predict(X, sensitive_features=groups))[:, 1]


PEER = Peer(
    "fairlearn ThresholdOptimizer",
    fit,
    needs_group_at_prediction=True,
    packages=("fairlearn.postprocessing",),
    note="random decisions, judged by expectation",
)
