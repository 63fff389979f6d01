"""Cruz and Hardt's protocol with a stronger plain model: exact group thresholds on gradient boosting."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from fairfront.frontier.group_thresholds import threshold_curve

from .base import Candidates, Fitting, Peer


def fit(fitting: Fitting) -> Candidates:
    held = fitting.validation
    model = HistGradientBoostingClassifier(random_state=fitting.seed).fit(fitting.train.X, fitting.train.y)
    scores = model.decision_function(held.X)
    curve = threshold_curve(scores, held.y == 1, held.groups, fitting.n_groups, n_points=fitting.n_points)

    def approve(X: np.ndarray, groups: np.ndarray) -> np.ndarray:
        return (model.decision_function(X)[None] > curve.cutoffs[:, groups]).astype(np.float64)

    return Candidates(approve, solved=1)


PEER = Peer("group thresholds on boosted trees", fit, needs_group_at_prediction=True, note="not a linear model")
