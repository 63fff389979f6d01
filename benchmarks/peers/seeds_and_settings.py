"""By hand: fit with several regularisations, class weights and seeds, and keep what looks best on validation rows."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression, SGDClassifier

from .base import Candidates, Fitting, Peer, linear_candidates, weights_of

STRENGTHS = (1e-4, 1e-3, 1e-2, 0.1, 1.0)
SEEDS = 7


def fit(fitting: Fitting) -> Candidates:
    X, y = fitting.train.X, fitting.train.y
    models = [LogisticRegression(C=C, max_iter=2000, class_weight=w) for C in STRENGTHS for w in (None, "balanced")]
    models += [SGDClassifier(loss="log_loss", random_state=fitting.seed * SEEDS + s) for s in range(SEEDS)]
    return linear_candidates(weights_of([model.fit(X, y) for model in models]))


PEER = Peer("by hand: seeds and settings", fit, note="10 settings of LogisticRegression, 7 seeds of SGDClassifier")
