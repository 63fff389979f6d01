"""Smooth Chebyshev scalarisation (STCH, Lin et al. 2024): mu log sum_i exp(pi_i (h_i - z_i) / mu), with L-BFGS.

As mu falls this tends to the weighted Chebyshev point, the smallest largest pi_i (h_i - z_i), on any front.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from .base import Array, Counted, Found, Function


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
