"""Scalarisations solved with L-BFGS or gradient steps: weighted sums, weight perturbation, smooth Chebyshev.

Weighted sum: minimise sum_i a_i h_i with L-BFGS. It finds convex parts of a front only.

Weight perturbation, first order: from one weighted-sum minimiser to the next by a few gradient steps.

Hillermeier's idea (2001) moves along the front by changing the weights a little and correcting with second-order
information; here the correction is plain gradient descent with backtracking, so that only gradients are needed.

Smooth Chebyshev scalarisation (STCH, Lin et al. 2024): mu log sum_i exp(pi_i (h_i - z_i) / mu), with L-BFGS.

As mu falls this tends to the weighted Chebyshev point, the smallest largest pi_i (h_i - z_i), on any front.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from .base import Array, Counted, Found, Function, descended


def weighted_sum(f: Function, weights: Array, start: Array, max_iter: int = 2000) -> Found:
    """Minimise the weighted sum of the objectives."""
    counted = Counted(f)

    def scalar(w: Array) -> tuple[float, Array]:
        h, J = counted(w)
        return float(weights @ h), weights @ J

    options = {"maxiter": max_iter, "ftol": 1e-15, "gtol": 1e-10}
    return counted.found(minimize(scalar, np.array(start), jac=True, method="L-BFGS-B", options=options).x)


def weight_perturbation(f: Function, weights: Array, start: Array, steps: int = 50, eta: float = 1.0) -> list[Found]:
    """Follow the rows of ``weights`` (N, m), each from the last one's end, with at most ``steps`` steps each."""
    w, found = np.array(start, dtype=np.float64), []
    for row in weights:
        counted = Counted(f)
        w = descended(counted, w, steps, eta, lambda J, row=row: row, lambda h, row=row: row @ h)  # type: ignore[misc]
        found.append(counted.found(w))
    return found


def smooth_chebyshev(
    f: Function, pi: Array, start: Array, ideal: Array | None = None, widths: tuple[float, ...] = (1e-1, 1e-2, 1e-3)
) -> Found:
    """Minimise the smoothed maximum, each width from the last one's end; widths are relative to the start's maximum."""
    counted, w = Counted(f), np.array(start, dtype=np.float64)
    zero = np.zeros(len(pi)) if ideal is None else ideal
    unit = float((pi * (counted(w)[0] - zero)).max())
    for width in widths:
        mu = width * unit

        def scalar(v: Array, mu: float = mu) -> tuple[float, Array]:
            h, J = counted(v)
            y = pi * (h - zero) / mu
            return float(mu * logsumexp(y)), (softmax(y) * pi) @ J

        options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10}
        w = minimize(scalar, w, jac=True, method="L-BFGS-B", options=options).x
    return counted.found(w)
