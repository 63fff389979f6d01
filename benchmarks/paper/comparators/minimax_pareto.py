"""Minimax Pareto fairness (Martinez et al. 2020), APStar: the efficient point whose worst objective is smallest.

Weights mu are moved towards the objectives that are at or above the best maximum so far; every point is the minimiser
of a weighted sum, so it is efficient where the weights are positive.
"""

from __future__ import annotations

import numpy as np

from .base import Array, Found, Function
from .weighted_sum import weighted_sum


def minimax_pareto(f: Function, m: int, start: Array, rounds: int = 200, alpha: float = 0.5, least: int = 20) -> Found:
    """Return the best point of ``rounds`` weighted fits, each from the last one's end."""
    mu, level, k = np.full(m, 1.0 / m), np.inf, 1
    w, best, total = np.array(start, dtype=np.float64), None, 0
    worst: list[Array] = []
    for _ in range(rounds):
        found = weighted_sum(f, mu, w)
        w, total = found.w, total + found.evaluations
        worst.append(found.h)
        if best is None or found.h.max() < level:
            best, level, k = found, float(found.h.max()), min(k, least)
        above = (found.h >= level).astype(np.float64)
        mu = (alpha * mu + (1.0 - alpha) / (k * above.sum()) * above) * k / ((k - 1.0) * alpha + 1.0)
        k += 1
    assert best is not None
    return Found(best.w, best.h, total, np.array(worst))
