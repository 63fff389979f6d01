"""Post-processing without the group at prediction time, after the idea of Chen et al. 2024 (bias scores).

A plain model's decision is flipped where what the flip does to the gap is large against what it costs in accuracy.
Both are estimated from the features alone: p(y = 1 | x) and p(group, y = 1 | x). The rule is p(x) - 1/2 + k b(x) > 0
with the bias score b(x) = P(g, y = 1 | x) / P(g, y = 1) - P(h, y = 1 | x) / P(h, y = 1); k is placed on validation rows.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from .base import Candidates, Fitting, Peer, plain_model


def fit(fitting: Fitting) -> Candidates:
    train, held = fitting.train, fitting.validation
    model = plain_model(train)
    kinds = np.where(train.y == 1, train.groups + 1, 0)  # 0: another label; g + 1: favourable label in group g
    which = LogisticRegression(max_iter=2000).fit(train.X, kinds)
    share = np.bincount(kinds, minlength=fitting.n_groups + 1)[1:] / len(kinds)
    low, high = extremes(model.predict(held.X), held.y, held.groups, fitting.n_groups)

    def parts(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        joint = which.predict_proba(X)[:, 1:] / share
        return model.predict_proba(X)[:, 1] - 0.5, joint[:, low] - joint[:, high]

    margin, bias = parts(held.X)
    most = np.quantile(np.abs(margin) / np.maximum(np.abs(bias), 1e-9), 0.5)
    strength = np.linspace(0.0, most, fitting.n_points)

    def scores(X: np.ndarray) -> np.ndarray:
        margin, bias = parts(X)
        return margin[None] + strength[:, None] * bias[None]

    return Candidates(lambda X, groups: (scores(X) > 0).astype(np.float64), scores=scores, solved=2)


def extremes(decided: np.ndarray, y: np.ndarray, groups: np.ndarray, n_groups: int) -> tuple[int, int]:
    """Return the groups with the smallest and the largest true positive rate of the plain model."""
    tpr = [decided[(groups == g) & (y == 1)].mean() for g in range(n_groups)]
    return int(np.argmin(tpr)), int(np.argmax(tpr))


PEERS = {"bias_score": Peer("bias scores (Chen et al. 2024)", fit, note="between the two extreme groups")}
