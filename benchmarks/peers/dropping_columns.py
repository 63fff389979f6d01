"""By hand: leave out the columns that tell most about the group, one after the other, and fit again."""

from __future__ import annotations

import numpy as np

from .base import Candidates, Fitting, Peer, base_learner, linear_candidates

MOST = 10


def fit(fitting: Fitting) -> Candidates:
    train = fitting.train
    tells = telling(fitting)
    blocks = [name.split("=")[0] for name in fitting.columns]
    order = sorted(set(blocks), key=lambda name: -max(t for t, b in zip(tells, blocks, strict=True) if b == name))
    W = []
    for dropped in range(min(MOST, len(order))):
        kept = np.array([block not in order[:dropped] for block in blocks])
        model = base_learner().fit(train.X[:, kept], train.y)
        w = np.zeros(train.X.shape[1] + 1)
        w[:-1][kept], w[-1] = model.coef_[0], model.intercept_[0]
        W.append(w)
    return linear_candidates(np.stack(W))


def telling(fitting: Fitting) -> np.ndarray:
    """Return how far the groups' means of each column lie apart, in its standard deviations."""
    rows = fitting.train
    means = np.stack([rows.X[rows.groups == g].mean(axis=0) for g in range(fitting.n_groups)])
    return np.ptp(means, axis=0) / np.maximum(rows.X.std(axis=0), 1e-12)


PEER = Peer("by hand: dropping columns", fit, note="up to nine original columns, most telling first")
