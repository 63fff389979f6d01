"""fairlearn's GridSearch: one weighted fit per Lagrange multiplier of a grid."""

from __future__ import annotations

import warnings

from .base import Candidates, Fitting, Peer, base_learner, linear_candidates, weights_of


def fit(fitting: Fitting) -> Candidates:
    from fairlearn.reductions import GridSearch, TruePositiveRateParity

    search = GridSearch(base_learner(), TruePositiveRateParity(), grid_size=fitting.n_points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(fitting.train.X, fitting.train.y, sensitive_features=fitting.train.groups)
    models = [model for model in search.predictors_ if hasattr(model, "coef_")]
    return linear_candidates(weights_of(models), solved=len(search.predictors_))


PEER = Peer("fairlearn GridSearch", fit, packages=("fairlearn.reductions",))
