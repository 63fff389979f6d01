"""Weighted sum: minimise sum_i a_i h_i with L-BFGS. It finds convex parts of a front only."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from .base import Array, Counted, Found, Function


def weighted_sum(f: Function, weights: Array, start: Array, max_iter: int = 2000) -> Found:
    """Minimise the weighted sum of the objectives."""
    counted = Counted(f)

    def scalar(w: Array) -> tuple[float, Array]:
        h, J = counted(w)
        return float(weights @ h), weights @ J

    options = {"maxiter": max_iter, "ftol": 1e-15, "gtol": 1e-10}
    return counted.found(minimize(scalar, np.array(start), jac=True, method="L-BFGS-B", options=options).x)
