"""Continuous Pareto exploration (Ma et al. 2020): tangents of the Pareto set by MINRES on products with Hessians.

At a stationary point with weights a the tangents v of the Pareto set satisfy H_a v = J^T b for some b. A step solves this
for b = (1, -1) by MINRES, which needs products H_a v only (here central differences of gradients, two evaluations each),
moves along v, and goes back to the Pareto set by a few steps of common descent. No Hessian is ever formed.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, minres

from fairfront.solvers.simplex import min_norm

from .base import STILL, Array, Counted, Found, Function, descended

SHIFT = 1e-5


def exploration(
    f: Function, start: Array, unit: Array, step: float, most: int = 60, inner: int = 20, correct: int = 20
) -> list[Found]:
    """Walk from the minimiser ``start`` of the first of two objectives towards the second's.

    A step is ``step`` long in objectives divided by ``unit`` (2,), twice that at most, its tangent from at most ``inner`` MINRES iterations,
    followed by at most ``correct`` steps of common descent.
    """
    counted, w, found = Counted(f), np.array(start, dtype=np.float64), []
    before, spent = None, 0
    while len(found) < most:
        h, J = counted(w)
        v = _tangent(counted, w, min_norm(J[None])[0], J, inner)
        slopes = J @ v
        if (before is not None and v @ before < 0.0) or (before is None and slopes[1] > 0.0):
            v, slopes = -v, -slopes
        speed = float(np.linalg.norm(slopes / unit))
        if speed <= STILL * np.linalg.norm(v) or slopes[1] >= 0.0:
            break
        length = step / speed
        while np.linalg.norm((counted(w + length * v)[0] - h) / unit) > 2.0 * step:
            length /= 2.0
        w = descended(counted, w + length * v, correct, 1.0, lambda J: min_norm(J[None])[0], lambda h: h)
        if counted(w)[0][1] >= h[1]:
            break
        before = v
        point = counted.found(w)
        found.append(Found(point.w, point.h, point.evaluations - spent, point.path))
        spent = point.evaluations
    return found


def _tangent(counted: Counted, w: Array, a: Array, J: Array, inner: int) -> Array:
    """Return v with H_a v = J^T (1, -1), of length 1."""

    def product(v: Array) -> Array:
        size = float(np.linalg.norm(v)) or 1.0
        shift = SHIFT * v.reshape(-1) / size
        return np.asarray(a @ (counted(w + shift)[1] - counted(w - shift)[1]) * size / (2.0 * SHIFT))

    d = len(w)
    operator = LinearOperator((d, d), matvec=product, dtype=np.float64)
    v, _ = minres(operator, J.T @ [1.0, -1.0], rtol=1e-6, maxiter=inner)
    return np.asarray(v / max(float(np.linalg.norm(v)), 1e-300))
