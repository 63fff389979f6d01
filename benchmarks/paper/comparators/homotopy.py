"""Hillermeier's homotopy (2001): the points that satisfy the KKT conditions as a manifold, walked with second derivatives.

With F(w, a) = [sum_i a_i grad h_i(w) ; sum_i a_i - 1] the stationary points of two objectives are a curve of zeros. A step
goes along the kernel of F' = [[H_a, J^T], [0, 1^T]], H_a = sum_i a_i Hess h_i, and Gauss-Newton steps of smallest norm
lead back to F = 0. Curves may bend inwards: H_a need not be definite, only F' of full rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .base import Array, Counted, Found, Function

Hessian = Callable[[Array, Array], Array]
"""(w, a) -> Hessian of a.h at w, (d, d)"""
SOLVED, TRIES, TURN = 1e-9, 8, 0.25
"""Size of a residual, Gauss-Newton steps and halvings, and the most that a step may change a weight: at the minimum of one
objective the tangent hardly moves the objectives."""


@dataclass
class _Curve:
    """F and F', and how many Hessians were computed."""

    f: Counted
    hessian: Hessian
    hessians: int = 0

    def residual(self, x: Array) -> Array:
        a = x[-2:]
        return np.append(a @ self.f(x[:-2])[1], a.sum() - 1.0)

    def slopes(self, x: Array) -> Array:
        w, a = x[:-2], x[-2:]
        self.hessians += 1
        top = np.column_stack([self.hessian(w, a), self.f(w)[1].T])
        return np.vstack([top, np.append(np.zeros(len(w)), [1.0, 1.0])])

    def corrected(self, x: Array, limit: float) -> Array | None:
        """Return the zero near x, or None where Gauss-Newton does not get there."""
        for _ in range(TRIES):
            off = self.residual(x)
            if np.linalg.norm(off) <= limit:
                return x
            x = x - np.linalg.lstsq(self.slopes(x), off, rcond=None)[0]
        return x if np.linalg.norm(self.residual(x)) <= limit else None


def homotopy(
    f: Function, hessian: Hessian, start: Array, unit: Array, step: float, most: int = 60
) -> tuple[list[Found], int]:
    """Walk from the minimiser ``start`` of the first of two objectives until a weight leaves [0, 1].

    A step is ``step`` long in objectives divided by ``unit`` (2,). Returns the points on the way and the number of
    Hessians; what a point costs is counted with it.
    """
    counted = Counted(f)
    curve, x, found = _Curve(counted, hessian), np.append(start, [1.0, 0.0]), []
    before = np.append(np.zeros(len(start)), [-1.0, 1.0])
    limit = SOLVED * max(float(np.linalg.norm(counted(start)[1])), 1e-300)
    while len(found) < most:
        tangent = np.linalg.qr(curve.slopes(x).T, mode="complete")[0][:, -1]
        tangent *= np.sign(tangent @ before) or 1.0
        moved = np.linalg.norm(counted(x[:-2])[1] @ tangent[:-2] / unit)
        turn = float(np.abs(tangent[-2:]).max())
        length, after = min(step / max(float(moved), 1e-300), TURN / max(turn, 1e-300)), None
        for _ in range(TRIES):
            after = curve.corrected(x + length * tangent, limit)
            if after is not None and np.linalg.norm((f(after[:-2])[0] - f(x[:-2])[0]) / unit) <= 2.0 * step:
                break
            length, after = length / 2.0, None
        if after is None or after[-2] <= 0.0 or after[-1] <= 0.0:
            break
        x, before = after, tangent
        found.append(counted.found(x[:-2]))
    return [Found(p.w, p.h, n, p.path) for p, n in zip(found, _own(found), strict=True)], curve.hessians


def _own(found: list[Found]) -> list[int]:
    """Return what each point cost by itself, from running totals."""
    return np.diff([0, *(point.evaluations for point in found)]).tolist()
