"""fairlearn's ExponentiatedGradient over a ladder of tolerances: each is a random choice among fitted models."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .base import Candidates, Fitting, Peer, base_learner

LADDER = (0.005, 0.02, 0.05, 0.1)


def fit(fitting: Fitting) -> Candidates:
    from fairlearn.reductions import ExponentiatedGradient, TruePositiveRateParity

    mixtures = []
    for slack in LADDER:
        made = ExponentiatedGradient(base_learner(), TruePositiveRateParity(difference_bound=slack))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.fit(fitting.train.X, fitting.train.y, sensitive_features=fitting.train.groups)
        mixtures.append(made)
    solved = sum(len(made.predictors_) for made in mixtures)
    return Candidates(lambda X, groups: np.stack([expected(made, X) for made in mixtures]), solved=solved)


def expected(mixture: Any, X: np.ndarray) -> np.ndarray:
    """Return the probability of a favourable decision: the weighted vote of the mixture's models."""
    total = np.zeros(len(X))
    for place, weight in mixture.weights_.items():
        if weight > 0:
            total += weight * np.asarray(mixture.predictors_[place].predict(X), dtype=np.float64)
    return np.clip(total, 0.0, 1.0)


PEER = Peer(
    "fairlearn ExponentiatedGradient",
    fit,
    packages=("fairlearn.reductions",),
    note="random decisions, judged by expectation",
)
