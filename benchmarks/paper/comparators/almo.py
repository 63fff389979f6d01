"""ALMO (Cortes et al. 2020): min over w of max over lambda on the simplex of sum_i lambda_i h_i(w), convex objectives.

Descent in w and exponentiated ascent in lambda, answered by the mean iterate; no point of the front but this one.
"""

from __future__ import annotations

import numpy as np

from .base import Array, Counted, Found, Function


def almo(f: Function, m: int, start: Array, eta: float = 0.5, eta_lambda: float = 0.5, steps: int = 2000) -> Found:
    """Take ``steps`` simultaneous steps of size eta / sqrt(t + 1) and return the mean of the second half."""
    counted, w = Counted(f), np.array(start, dtype=np.float64)
    logs, mean, half = np.zeros(m), np.zeros_like(w), steps // 2
    for t in range(steps):
        h, J = counted(w)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        damp = 1.0 / np.sqrt(t + 1.0)
        w = w - eta * damp * (weights @ J)
        logs = logs + eta_lambda * damp * h
        if t >= half:
            mean += (w - mean) / (t - half + 1)
    return counted.found(mean)
