"""Post-processing without the group at prediction time, after the idea of Chen et al. 2024 (bias scores).

A plain model's decision is flipped where what the flip does to the gap is large against what it costs in accuracy.
Both are estimated from the features alone: p(y = 1 | x) and p(group, y = 1 | x). The rule is p(x) - 1/2 + k b(x) > 0
with the bias score b(x) = P(g, y = 1 | x) / P(g, y = 1) - P(h, y = 1 | x) / P(h, y = 1). The authors try every k at
which a validation row changes sides; here up to ``MOST`` times as many as other methods offer, evenly among those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from .base import Candidates, Fitting, Peer

MOST = 4


def plain_learner(fitting: Fitting) -> Any:
    return LogisticRegression(max_iter=2000)


def fit(fitting: Fitting, learner: Callable[[Fitting], Any] = plain_learner) -> Candidates:
    train, held = fitting.train, fitting.validation
    model = learner(fitting).fit(train.X, train.y)
    kinds = np.where(train.y == 1, train.groups + 1, 0)  # 0: another label; g + 1: favourable label in group g
    which = learner(fitting).fit(train.X, kinds)
    share = np.bincount(kinds, minlength=fitting.n_groups + 1)[1:] / len(kinds)
    low, high = extremes(model.predict(held.X), held.y, held.groups, fitting.n_groups)

    def parts(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        joint = which.predict_proba(X)[:, 1:] / share
        return model.predict_proba(X)[:, 1] - 0.5, joint[:, low] - joint[:, high]

    margin, bias = parts(held.X)
    flips = np.unique(-margin[bias != 0.0] / bias[bias != 0.0])
    flips = np.append(0.0, flips[flips > 0.0] * (1.0 + 1e-9))  # a row at its flip point has changed sides
    strength = flips[np.unique(np.linspace(0, len(flips) - 1, MOST * fitting.n_points).astype(int))]

    def scores(X: np.ndarray) -> np.ndarray:
        margin, bias = parts(X)
        return margin[None] + strength[:, None] * bias[None]

    return Candidates(lambda X, groups: (scores(X) > 0).astype(np.float64), scores=scores, solved=2)


def extremes(decided: np.ndarray, y: np.ndarray, groups: np.ndarray, n_groups: int) -> tuple[int, int]:
    """Return the groups with the smallest and the largest true positive rate of the plain model."""
    tpr = [decided[(groups == g) & (y == 1)].mean() for g in range(n_groups)]
    return int(np.argmin(tpr)), int(np.argmax(tpr))


NOTE = "between the two extreme groups"
PEERS = {"bias_score": Peer("bias scores (Chen et al. 2024)", fit, note=NOTE)}
