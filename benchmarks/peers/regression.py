"""Regression on Communities and Crime: mean squared error against the difference of it between groups."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import Ridge

import fairfront as ff

from .base import Candidates, Fitting, Peer, frontier_weights, weights_of

POINTS = 20


def predictions(W: np.ndarray) -> Candidates:
    """Return linear models (N, d + 1) that predict amounts."""
    return Candidates(lambda X, groups: W[:, :-1] @ X.T + W[:, -1:], weights=W, solved=len(W))


def plain(fitting: Fitting) -> Candidates:
    return predictions(weights_of([Ridge(alpha=1.0).fit(fitting.train.X, fitting.train.y)]))


def newton(fitting: Fitting) -> Candidates:
    rows = fitting.train
    asked = {"loss": "squared", "notion": "disparate_mistreatment", "n_points": POINTS, "progress": False}
    return predictions(
        frontier_weights(ff.trace(rows.X, rows.y, sensitive_features=rows.groups, held_out=False, **asked))
    )


def grid_search(fitting: Fitting) -> Candidates:
    from fairlearn.reductions import BoundedGroupLoss, GridSearch, SquareLoss

    search = GridSearch(Ridge(alpha=1.0), BoundedGroupLoss(SquareLoss(0.0, 1.0)), grid_size=POINTS)
    search.fit(fitting.train.X, fitting.train.y, sensitive_features=fitting.train.groups)
    return predictions(weights_of(list(search.predictors_)))


def strengths(fitting: Fitting) -> Candidates:
    models = [Ridge(alpha=alpha).fit(fitting.train.X, fitting.train.y) for alpha in np.logspace(-2, 5, POINTS)]
    return predictions(weights_of(models))


PEERS = {
    "plain": Peer("plain Ridge", plain),
    "fairfront_newton": Peer("fairfront Newton", newton),
    "fairlearn_grid_search": Peer(
        "fairlearn GridSearch, bounded group loss",
        grid_search,
        packages=("fairlearn.reductions",),
        note="bounds the largest group's error, which is not the same as bringing errors together",
    ),
    "strengths": Peer("by hand: 20 regularisations", strengths),
}
