"""FERM, linear (Donini et al. 2018), as the paper's comparators have it; the authors choose C by validation, so do we."""

from __future__ import annotations

import numpy as np
from sklearn.svm import LinearSVC

from ..paper.comparators.ferm import ferm
from .base import Candidates, Fitting, Peer, linear_candidates, two_groups

STRENGTHS = (0.001, 0.01, 0.1)


def fit(fitting: Fitting) -> Candidates:
    train, W = fitting.train, []
    for C in STRENGTHS:
        learner = LinearSVC(C=C, loss="hinge", dual=True, max_iter=1000, random_state=fitting.seed)
        W.append(ferm(train.X, train.good, train.groups, lambda learner=learner: learner))
    return linear_candidates(np.stack(W))


PEERS = {"ferm": Peer("FERM (linear)", fit, limits=two_groups, note="hinge loss, C chosen on validation")}
