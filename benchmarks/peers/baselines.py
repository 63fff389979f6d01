"""What people do by hand: nothing, leave columns out, or try settings and seeds."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier

from .base import Candidates, Fitting, Peer, base_learner, linear_candidates, plain_model, weights_of

MOST_DROPPED = 10
STRENGTHS = (1e-4, 1e-3, 1e-2, 0.1, 1.0)
SEEDS = 7


def plain(fitting: Fitting) -> Candidates:
    return linear_candidates(weights_of([plain_model(fitting.train)]))


def dropping_columns(fitting: Fitting) -> Candidates:
    """Leave out the columns that tell most about the group, one after the other, and fit again."""
    train = fitting.train
    tells = telling(fitting)
    blocks = [name.split("=")[0] for name in fitting.columns]
    order = sorted(set(blocks), key=lambda name: -max(t for t, b in zip(tells, blocks, strict=True) if b == name))
    W = []
    for dropped in range(min(MOST_DROPPED, len(order))):
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


def seeds_and_settings(fitting: Fitting) -> Candidates:
    """Fit with several regularisations, class weights and seeds, and keep what looks best on validation rows."""
    X, y = fitting.train.X, fitting.train.y
    models = [LogisticRegression(C=C, max_iter=2000, class_weight=w) for C in STRENGTHS for w in (None, "balanced")]
    models += [SGDClassifier(loss="log_loss", random_state=fitting.seed * SEEDS + s) for s in range(SEEDS)]
    return linear_candidates(weights_of([model.fit(X, y) for model in models]))


PEERS = {
    "plain": Peer("plain LogisticRegression", plain, note="the reference"),
    "dropping_columns": Peer(
        "by hand: dropping columns", dropping_columns, note="up to nine original columns, most telling first"
    ),
    "seeds_and_settings": Peer(
        "by hand: seeds and settings",
        seeds_and_settings,
        note="10 settings of LogisticRegression, 7 seeds of SGDClassifier",
    ),
}
