"""fairlearn's three methods: GridSearch, ExponentiatedGradient and ThresholdOptimizer, the latter over tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Candidates, Fitting, Peer, base_learner, linear_candidates, plain_model, weights_of

TOLERANCES = (0.005, 0.02, 0.05, 0.1)
SLACKS = (0.01, 0.02, 0.05, 0.1)
DRAWS = "random decisions, judged by expectation"


def grid_search(fitting: Fitting) -> Candidates:
    from fairlearn.reductions import GridSearch, TruePositiveRateParity

    search = GridSearch(base_learner(), TruePositiveRateParity(), grid_size=fitting.n_points)
    search.fit(fitting.train.X, fitting.train.y, sensitive_features=fitting.train.groups)
    models = [model for model in search.predictors_ if hasattr(model, "coef_")]
    return linear_candidates(weights_of(models), solved=len(search.predictors_))


def exponentiated_gradient(fitting: Fitting) -> Candidates:
    from fairlearn.reductions import ExponentiatedGradient, TruePositiveRateParity

    mixtures = []
    for slack in TOLERANCES:
        made = ExponentiatedGradient(base_learner(), TruePositiveRateParity(difference_bound=slack))
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


def threshold_optimizer(fitting: Fitting) -> Candidates:
    from fairlearn.postprocessing import ThresholdOptimizer

    held = fitting.validation
    model = plain_model(fitting.train)
    made = []
    for slack in (None, *SLACKS):
        optimiser = ThresholdOptimizer(
            estimator=model,
            constraints="true_positive_rate_parity",
            prefit=True,
            predict_method="predict_proba",
            **({} if slack is None else {"tol": slack}),
        )
        made.append(optimiser.fit(held.X, held.y, sensitive_features=held.groups))
    return Candidates(lambda X, groups: np.stack([expected_by_group(one, X, groups) for one in made]), solved=1)


def expected_by_group(optimiser: Any, X: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the probability of a favourable decision, which fairlearn keeps in a private method."""
    return np.asarray(optimiser._pmf_predict(X, sensitive_features=groups))[:, 1]


PEERS = {
    "fairlearn_grid_search": Peer("fairlearn GridSearch", grid_search, packages=("fairlearn.reductions",)),
    "fairlearn_exponentiated_gradient": Peer(
        "fairlearn ExponentiatedGradient", exponentiated_gradient, packages=("fairlearn.reductions",), note=DRAWS
    ),
    "fairlearn_threshold_optimizer": Peer(
        "fairlearn ThresholdOptimizer",
        threshold_optimizer,
        needs_group_at_prediction=True,
        packages=("fairlearn.postprocessing",),
        note=DRAWS,
    ),
}
