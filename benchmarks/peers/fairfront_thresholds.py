"""fairfront's exact group thresholds on the plain end of the frontier, placed on validation rows."""

from __future__ import annotations

import numpy as np

from fairfront.frontier.group_thresholds import threshold_curve

from .base import Candidates, Fitting, Peer, plain_model


def fit(fitting: Fitting) -> Candidates:
    held = fitting.validation
    model = plain_model(fitting.train)
    curve = threshold_curve(
        model.decision_function(held.X), held.y == 1, held.groups, fitting.n_groups, n_points=fitting.n_points
    )

    def approve(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
        return (model.decision_function(X)[None] > curve.cutoffs[:, groups]).astype(np.float64)

    return Candidates(approve, solved=1)


PEER = Peer("fairfront group thresholds", fit, needs_group_at_prediction=True)
