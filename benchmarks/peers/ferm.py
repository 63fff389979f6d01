"""FERM, linear (Donini et al. 2018): features projected so that both groups have the same mean positive score.

For a linear model the constraint w . (u_a - u_b) = 0, with u the mean features of each group's favourable rows, is met
by projecting that direction out of the features; the model is then fitted plainly. One direction for two groups,
several for more. The authors choose C by validation; so is it here.
"""

from __future__ import annotations

import numpy as np
from sklearn.svm import LinearSVC

from .base import Candidates, Fitting, Peer, linear_candidates

STRENGTHS = (0.001, 0.01, 0.1)


def fit(fitting: Fitting) -> Candidates:
    train = fitting.train
    means = [train.X[(train.groups == g) & (train.y == 1)].mean(axis=0) for g in range(fitting.n_groups)]
    basis = np.linalg.qr(np.stack([m - means[-1] for m in means[:-1]]).T)[0]
    free = train.X - (train.X @ basis) @ basis.T
    W = []
    for C in STRENGTHS:
        model = LinearSVC(C=C, loss="hinge", dual=True, max_iter=1000, random_state=fitting.seed)
        model.fit(free, train.y)
        w = model.coef_[0] - basis @ (basis.T @ model.coef_[0])
        W.append(np.append(w, model.intercept_[0]))
    return linear_candidates(np.stack(W))


PEER = Peer("FERM (linear)", fit, note="hinge loss, C chosen on validation")
