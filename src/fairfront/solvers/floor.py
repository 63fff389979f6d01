"""The smallest reachable caps, where the end of a path is out of reach.

Caps ``end + s * span`` are made elastic: s becomes one more weight, with a price,

    min over (w, s)   loss(w) + price * s    subject to   |z(w)| <= end + s * span,   s >= 0     (1)

which is a capped problem again (`ElasticProblem`), with s as one more cell and the constraints

    p' = (p, price)      z' = (z - s span, -z - s span, -s) <= (end, end, 0),  one side only     (2)

Its solution is a point of the frontier at the caps of its s, with multipliers x of which |x|.span is
the price. So the price is raised tenfold until s hardly falls any more: there the path ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..objectives import Algebra, Array, Loss
from ..problems import LinearProblem
from ..problems.factorisation import ConjugateGradients
from .base import Status
from .points import CapLine, PathPoint, constant_models, judged
from .sqp import FixedCaps, Iterate, PointSolver, Units

PRICE_STEP = 10.0
MAX_PRICES = 8
FIRST_PRICE = 0.1  # smallest first price, as a share of the unconstrained loss
SHARE_CURVATURE = 0.01  # that a step gives to s, which has none itself, as a share of the price
AT_END = 1e-9  # share of the way that is none
ROOM = (0.0, 1e-5, 1e-3)  # shares of the way back that are tried in turn where a floor cannot be solved
# Factors on the weights that hard caps are approached from: a local optimum may end where another goes on.
SHRINKAGES = (0.5, 0.1, 0.0)
SMALLER = 1e-5  # how much smaller a constant model's gaps may be at a floor, in units of the loss


class _NoSignedWeights:
    """An elastic problem leaves the signs of weights to its constraints."""

    def __len__(self) -> int:
        return 0

    def within(self, W: Array, move: Array, x: Array) -> tuple[Array, Array]:
        return move, x


NO_SIGNED_WEIGHTS = _NoSignedWeights()


@dataclass(frozen=True, eq=False)
class ElasticProblem:
    """Problem (1); its weights (1, K d + 1) are those of the inner problem, and s."""

    inner: LinearProblem
    price: float
    K: int = 1
    terms: _NoSignedWeights = NO_SIGNED_WEIGHTS

    @property
    def d(self) -> int:
        return self.inner.K * self.inner.d + 1

    @property
    def loss(self) -> Loss:
        return self.inner.loss

    def values(self, W: Array) -> Array:
        return np.hstack([self.inner.values(self._models(W)), W[:, :, -1]])

    def evaluate(self, W: Array) -> tuple[Array, Array]:
        L, G = self.inner.evaluate(self._models(W))
        R, k, size = G.shape
        with_share = np.zeros((R, k + 1, size + 1))
        with_share[:, :k, :size] = G
        with_share[:, k, size] = 1.0
        return np.hstack([L, W[:, :, -1]]), with_share

    def hessian(self, W: Array, omega: Array, float32: bool = False) -> Array:
        inner = self.inner.hessian(self._models(W[None])[0], omega[:-1], float32)
        H = np.zeros((len(inner) + 1, len(inner) + 1))
        H[:-1, :-1] = inner
        H[-1, -1] = SHARE_CURVATURE * self.price
        return H

    def conjugate(self, W: Array, omega: Array) -> ConjugateGradients:
        inner = self.inner.conjugate(self._models(W[None])[0], omega[:-1])
        curvature = SHARE_CURVATURE * self.price

        def product(V: Array) -> Array:
            return np.hstack([inner.product(V[:, :-1]), curvature * V[:, -1:]])

        return ConjugateGradients(product, np.append(inner.diagonal, curvature))

    def _models(self, W: Array) -> Array:
        return W[:, :, :-1].reshape(len(W), self.inner.K, self.inner.d)


def approach_end(solver: PointSolver, inside: PathPoint, line: CapLine) -> PathPoint:
    """Return the point with the smallest share of a line that can be reached from one on it.

    Its status is FLOOR, unless a model that ignores its features has smaller gaps still.
    """
    known = min(line.share_of(solver.sizes(inside.solution.L)), 1.0)
    best = _squeezed(solver, inside.solution, line, replace(inside, share=known))
    for start in _shrunken(solver, inside.solution):
        if best.share == 0.0 or (best.certified and best.share < known):
            break
        best = _squeezed(solver, start, line, best)
    share = best.share
    if share == 0.0:
        return best
    widest = float((line.span / solver.units.constraints).max())
    constant_share = min(_share_of_constant(solver, inside.solution, line), share)
    if constant_share == 0.0 and share * widest <= SMALLER:  # met but for nothing
        return best
    is_floor = (share - constant_share) * widest <= SMALLER
    return replace(best, status=Status.FLOOR if is_floor else Status.STALLED)


def _share_of_constant(solver: PointSolver, like: Iterate, line: CapLine) -> float:
    """Return the smallest share that a model which ignores its features reaches within all other caps."""
    fixed = line.span <= 0.0
    shares = [np.inf]
    for at in constant_models(solver, like):
        sizes = solver.sizes(at.L)
        if (sizes <= line.end + solver.tolerances.kkt)[fixed].all():
            shares.append(line.share_of(sizes))
    return min(shares)


def _shrunken(solver: PointSolver, at: Iterate) -> Iterator[Iterate]:
    """Yield models with smaller weights, and with none."""
    for factor in SHRINKAGES:
        no_multipliers = np.zeros_like(at.multipliers)
        yield solver.evaluate((factor * at.W)[None], no_multipliers[None], at.caps[None])[0]


def _squeezed(solver: PointSolver, start: Iterate, line: CapLine, best: PathPoint) -> PathPoint:
    """Return the point with the smallest share that dearer and dearer gaps lead to, or ``best``."""
    paid = float(np.abs(start.multipliers) @ line.span)
    price = PRICE_STEP * max(paid, FIRST_PRICE * solver.units.loss)
    at = start
    for _ in range(MAX_PRICES):
        at, elastic_share = _at_price(solver, at, line, price)
        nearest = _nearest_solved(solver, at, line, elastic_share, best.share)
        if nearest is None:
            break
        gained = best.share - nearest.share
        at, best = nearest.solution, nearest
        if best.share == 0.0 or gained < solver.tolerances.floor:
            break
        price *= PRICE_STEP
    return judged(solver, best)


def _nearest_solved(solver: PointSolver, at: Iterate, line: CapLine, lowest: float, share: float) -> PathPoint | None:
    """Return the point nearest to the lowest share that can be solved, None if none below ``share`` can.

    At a floor itself multipliers have no bound, so that a little room may be needed.
    """
    if lowest >= share:
        return None
    for room in ROOM:
        new_share = lowest + room * (share - lowest)
        new_share = 0.0 if new_share < AT_END else new_share
        solution = solver.solve(replace(at, factor=None), FixedCaps(line.caps(new_share)))
        if solver.is_solved(solution):
            return PathPoint(new_share, solution)
    return None


def _at_price(solver: PointSolver, start: Iterate, line: CapLine, price: float) -> tuple[Iterate, float]:
    """Solve (1) at one price; return the point in the weights of the inner problem, and s."""
    two_sided = solver.constraints.two_sided
    outer, caps = _elastic_solver(solver, line, price)
    share = line.share_of(solver.sizes(start.L))
    W = np.append(start.W, share).reshape(1, 1, -1)
    upper = np.maximum(start.multipliers, 0.0)
    lower = np.maximum(-start.multipliers[two_sided], 0.0)
    (begin,) = outer.evaluate(W, np.concatenate([upper, lower, [0.0]])[None], caps[None])
    end = outer.solve(begin, FixedCaps(caps))
    q, share = len(upper), max(float(end.W[0, -1]), 0.0)
    x = end.multipliers[:q].copy()
    x[two_sided] -= end.multipliers[q:-1]
    weights = end.W[:, :-1].reshape(1, *start.W.shape)
    (point,) = solver.evaluate(weights, x[None], line.caps(share)[None])
    return point, share


def _elastic_solver(solver: PointSolver, line: CapLine, price: float) -> tuple[PointSolver, Array]:
    """Return the solver of (1) with the constraints (2), and their caps."""
    rows, units = solver.constraints, solver.units
    two_sided = rows.two_sided
    sides = np.vstack([rows.B, -rows.B[two_sided]])
    room = np.append(line.span, line.span[two_sided])
    n_cells = sides.shape[1]
    B = np.block([[sides, -room[:, None]], [np.zeros((1, n_cells)), -np.ones((1, 1))]])
    constraints: Algebra = replace(
        rows,
        p=np.append(rows.p, price),
        B=B,
        b=np.concatenate([rows.b, -rows.b[two_sided], [0.0]]),
        two_sided=np.zeros(len(B), dtype=bool),
    )
    caps = np.concatenate([line.end, line.end[two_sided], [0.0]])
    of_sides = np.append(units.constraints, units.constraints[two_sided])
    elastic_units = Units(units.loss, np.append(units.gradient, units.loss), np.append(of_sides, 1.0))
    problem: Any = ElasticProblem(solver.problem, price)
    return PointSolver(problem, constraints, elastic_units, solver.tolerances), caps
