"""The epsilon-constraint method by SciPy's SLSQP: least loss at a ladder of caps on the loss gap, warm started."""

from __future__ import annotations

import numpy as np

from ..optimum import Logistic
from .base import Candidates, Fitting, Peer, exact_plain_weights, linear_candidates, two_groups

MOST_POINTS = 6


def fit(fitting: Fitting) -> Candidates:
    problem = Logistic(fitting.train)
    v = problem.whitened(exact_plain_weights(fitting.train))
    _, first, second = problem(v)[0]
    found = [problem.C @ v]
    for cap in np.linspace(abs(first - second), 0.0, min(fitting.n_points, MOST_POINTS))[1:]:
        v = problem.at_gap(cap, v, max_iter=200, ftol=1e-10).x
        found.append(problem.C @ v)
    return linear_candidates(np.stack(found))


PEERS = {"slsqp": Peer("SLSQP, epsilon-constraint", fit, limits=two_groups, note=f"{MOST_POINTS} caps", most_splits=3)}
