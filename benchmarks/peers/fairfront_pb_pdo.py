"""fairfront's PB-PDO: ten preferences at once, first order."""

from __future__ import annotations

import numpy as np

import fairfront as ff
from fairfront.tracing import trace_setup

from .base import Candidates, Fitting, Peer, linear_candidates
from .fairfront_weights import frontier_weights

RUNS = 10


def fit(fitting: Fitting) -> Candidates:
    rows = fitting.train
    setup = ff.linear_problem(rows.X, rows.y, sensitive_features=rows.groups)
    front = trace_setup(setup, "pb_pdo", preferences=RUNS, n_points=fitting.n_points, progress=False)
    return linear_candidates(frontier_weights(front), raised=lambda: _raised(setup))


def _raised(setup: object) -> float:
    """Return the share of steps of a run to the smallest gap that raised an objective: sliding trades one for another."""
    history = ff.solve(setup, "pb_pdo").history[0]
    return float((np.diff(history, axis=0) > 1e-12).any(axis=1).mean())


PEER = Peer("fairfront PB-PDO", fit, note="slides along the front, so steps trade objectives by design")
