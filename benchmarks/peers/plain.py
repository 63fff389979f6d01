"""The plain model: logistic regression with scikit-learn's defaults, nothing done about gaps."""

from __future__ import annotations

from .base import Candidates, Fitting, Peer, linear_candidates, plain_model, weights_of


def fit(fitting: Fitting) -> Candidates:
    return linear_candidates(weights_of([plain_model(fitting.train)]))


PEER = Peer("plain LogisticRegression", fit, note="the reference")
