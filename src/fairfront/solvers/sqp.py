"""One point of the frontier by sequential quadratic programming with exact Hessians.

    min loss(w)   subject to   |z(w)| <= caps       (or one side only)

Each step solves the quadratic program of `quadratic` in the metric of the Lagrangian's Hessian
H = hessian(p + B^T lambda): quadratic convergence. A Hessian is kept as long as it converges fast enough.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from ..objectives import Algebra, Array
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.base import DENSE_LIMIT
from ..problems.hessian import Factor
from .base import Target
from .journal import Journal
from .lagrangian import Curved, Iterate, convexified, is_convex, is_minimum, restored, stored, true_multipliers
from .quadratic import capped_step, least_distance
from .quadratic import factor as factored

ROUNDING = 4 * float(np.finfo(float).eps)
PRECISE = 1e-7
"""Largest KKT residual of a certified point, whatever the tolerance that was asked for."""
CONVEX = 1e-9
"""How far below 0 the weight of a cell in a certified Lagrangian may be, as a share of the terms that it is the sum of:
multipliers are not known better. The ridge has no part in it, because a penalty makes no cell convex."""


class KnotSolver:
    """Solves points of one problem; ``rows`` are the constraints: gaps first, guards after them.

    ``size`` is the unit of losses, so that labels in dollars and in cents end alike; ``unit`` and ``row_unit`` are
    those of the gradient's entries and of the gaps.
    """

    def __init__(
        self,
        problem: LinearProblem,
        rows: Algebra,
        tol: float,
        max_iter: int,
        size: float = 1.0,
        journal: Journal | None = None,
    ) -> None:
        self.problem, self.rows = problem.without_metric(), rows
        self.tol, self.max_iter = tol, max_iter
        self.size = size
        self.half, self.journal = True, journal or Journal()
        pull = np.sqrt(2.0 * size) if isinstance(problem.loss, Squared) else size  # a residual, against its square
        self.unit, self.row_unit = pull * self._column_scale(), self._row_scale(pull)

    def with_rows(self, rows: Algebra) -> KnotSolver:
        """Return the solver with other constraints in the same units."""
        other = copy(self)
        other.rows = rows
        return other

    def _column_scale(self) -> Array:
        """Return each column's root mean square, so that stationarity does not depend on units."""
        return np.tile(self.problem.column_scale(), self.problem.K)

    def _row_scale(self, pull: float) -> Array:
        """Return the unit of each gap: a loss, a prediction, or a share."""
        unit = np.full(len(self.rows.b), self.size)
        for bound, where in self.problem.measures:
            inside = np.any(self.rows.B[:, where[where >= 0]], axis=1)
            unit[inside] = pull if bound.linear else self.size if bound.convex else 1.0
        return unit

    def evaluate(self, W: Array, multipliers: Array) -> Iterate:
        """Return the iterate at W, without a factor."""
        point = self.problem.cells(W[None])
        return Iterate(W, point.L[0], point.D[0], multipliers)

    def gaps(self, at: Iterate) -> Array:
        """Return the constraint values (r,)."""
        return np.asarray(self.rows.gaps(at.L[None])[0])

    def sizes(self, at: Iterate) -> Array:
        """Return what the caps bound: |z|, or z where one side counts."""
        z = self.gaps(at)
        return np.where(self.rows.two_sided, np.abs(z), z)

    def residual(self, at: Iterate, caps: Array) -> Iterate:
        """Return the iterate with its KKT residual for these caps."""
        gradient = (self.rows.p + at.multipliers @ self.rows.B) @ at.G
        kkt, violation = self.residuals(gradient[None], at.L[None], self.gaps(at)[None], at.multipliers[None], caps)
        return replace(at, kkt=float(kkt[0]), violation=float(violation[0]))

    def residuals(self, gradient: Array, L: Array, z: Array, x: Array, caps: Array) -> tuple[Array, Array]:
        """Return KKT residuals and violations (R,): of the Lagrangian's gradients, cells, constraints, multipliers."""
        two_sided = self.rows.two_sided
        over = np.where(two_sided, np.abs(z), z) - caps
        violation = over.max(axis=1, initial=0.0)
        side = np.where(two_sided, np.sign(x), 1.0) * z
        slack = np.max(np.abs(x) * np.maximum(caps - side, 0.0), axis=1, initial=0.0)
        wrong = np.max(-x[:, ~two_sided], axis=1, initial=0.0)
        bits = ROUNDING * np.abs(L) @ np.abs(self.rows.B).T  # a gap is known as well as the cells it is taken from
        beyond = np.max(np.where(np.isfinite(bits), over - bits, np.inf) / self.row_unit, axis=1, initial=0.0)
        steep = np.max(np.abs(gradient) / self.unit, axis=1)
        return np.max([steep, beyond, slack / self.size, wrong], axis=0), violation

    def solve(self, start: Iterate, target: Target) -> Iterate:
        """Iterate from ``start`` until the KKT residual is below ``tol``, no step helps, or caps seem out of reach."""
        asked = np.concatenate([target.pi[0], target.caps[0]])
        return self.journaled("point", asked, lambda: self._solved(self._ready(start), target))

    def journaled(self, kind: str, asked: Array, found: Callable[[], Iterate]) -> Iterate:
        """Return the iterate that the journal knows, or the one found now, which is noted."""
        known = self.journal.recall(kind, asked)
        if known is not None:
            self.half = bool(known.numbers["half"])
            return restored(self.evaluate(known.arrays["W"], known.arrays["multipliers"]), known)
        at = found()
        arrays, numbers = stored(at)
        self.journal.note(kind, asked, arrays, half=self.half, **numbers)
        return at

    def _solved(self, start: Iterate, target: Target) -> Iterate:
        level = start.level
        if target.by_preference[0] and np.isnan(level):
            level = float(target.pi[0, 0] * self.rows.loss(start.L[None])[0])
        caps = self._caps(target, level)
        at = self.residual(replace(start, n_iter=0), caps)
        usable = at.factor is not None
        trail: list[float] = []
        for iteration in range(1, self.max_iter + 1):
            if self._done(at, target, level) or _stagnant(trail, self.tol):
                break
            if not usable:
                at = replace(at, factor=self.curvature(at))
            new = self._step(at, caps)
            if new is at and not usable:
                break
            if target.by_preference[0]:
                level = self._next_level(target, level, new, caps)
                caps = self._caps(target, level)
                new = self.residual(new, caps)
            usable = new is not at and new.kkt <= 0.05 * at.kkt
            at = replace(new, n_iter=iteration)
            trail.append(at.kkt)
        return replace(at, level=level)

    def _caps(self, target: Target, level: float) -> Array:
        """Return the caps of all rows; guards have none to spare."""
        caps = target.caps_at(self.rows_of_gaps, np.array([level]))[0]
        return np.concatenate([caps, np.zeros(len(self.rows.b) - len(caps))])

    @property
    def rows_of_gaps(self) -> Algebra:
        """Return the problem's own algebra, whose gaps are the first rows."""
        return self.problem.algebra

    def _next_level(self, target: Target, level: float, at: Iterate, caps: Array) -> float:
        q = len(self.rows_of_gaps.b)
        loss = self.rows.loss(at.L[None])
        price = np.abs(at.multipliers[None, :q])
        return float(target.next_level(self.rows_of_gaps, np.array([level]), loss, caps[None, :q], price)[0])

    def _done(self, at: Iterate, target: Target, level: float) -> bool:
        if at.kkt > self.tol:
            return False
        if not target.by_preference[0]:
            return True
        loss = float(self.rows.loss(at.L[None])[0])
        return abs(float(target.pi[0, 0]) * loss - level) <= 1e-9 * abs(level)

    def curvature(self, at: Iterate) -> Curved:
        """Return a solver with the Lagrangian's Hessian, made positive definite where it is not."""
        factor = self._factor(at, self.rows.p + at.multipliers @ self.rows.B)
        return Curved(factor, at.W, at.multipliers, self.half)

    def _factor(self, at: Iterate, omega: Array) -> Any:
        if self.problem.K * self.problem.d > DENSE_LIMIT:
            return self.problem.conjugate(at.W, np.maximum(omega, 0.0))
        try:
            return Factor(self.problem.hessian(at.W, omega, float32=self.half))
        except LinAlgError:
            self.half = False
            active = np.abs(at.multipliers) > 0
            return convexified(self.problem.hessian(at.W, omega), self.rows.B[active] @ at.G, active)

    def _ready(self, at: Iterate) -> Iterate:
        """Return the iterate with its Hessian taken again where only the place is known."""
        if at.factor is None or at.factor.factor is not None:
            return at
        half, self.half = self.half, at.factor.half
        taken = self.curvature(self.evaluate(at.factor.W, at.factor.multipliers))
        self.half = half
        return replace(at, factor=taken)

    def _step(self, at: Iterate, caps: Array) -> Iterate:
        """Take the quadratic program's step, shortened until it helps; returns ``at`` itself when nothing does."""
        D, Q = self.metric(at)
        move, multipliers = self.direction(at, D, Q, caps)
        mu = 2.0 * np.maximum(np.abs(multipliers), np.abs(at.multipliers)) + 1e-8
        return self.shortened(at, caps, move, multipliers, lambda L: self._merit(L, caps, mu))

    def metric(self, at: Iterate) -> tuple[Array, Array]:
        """Return the cells' directions D = H^-1 G and inner products Q = G H^-1 G^T."""
        assert at.factor is not None
        D = at.factor.solve(at.G)
        Q = at.G @ D.T
        return D, 0.5 * (Q + Q.T)

    def direction(self, at: Iterate, D: Array, Q: Array, caps: Array) -> tuple[Array, Array]:
        """Return the quadratic program's move (w - move is the next point) and its multipliers."""
        z = self.gaps(at)
        step = capped_step(self.rows, Q[None], z[None], caps[None], np.ones(1))
        move = (step.beta[0] @ D).reshape(at.W.shape)
        factor = None if at.factor is None else at.factor.factor
        return move, true_multipliers(self.rows, factor, step.x[0], move, z, z - self.rows.B @ Q @ step.beta[0], caps)

    def shortened(
        self, at: Iterate, caps: Array, move: Array, multipliers: Array, merit: Callable[[Array], float]
    ) -> Iterate:
        """Return the iterate after the move, halved until the merit falls; ``at`` itself when it never does."""
        before = merit(at.L)
        with np.errstate(over="ignore", invalid="ignore"):  # a step may land where losses overflow, and is refused then
            new = self.residual(replace(self.evaluate(at.W - move, multipliers), factor=at.factor), caps)
            if new.kkt <= 0.9 * at.kkt or merit(new.L) < before:
                return new
            for length in 0.5 ** np.arange(1, 13):
                W = at.W - length * move
                if merit(self.problem.values(W[None])[0]) < before - 1e-15 * abs(before):
                    shorter = (1.0 - length) * at.multipliers + length * multipliers
                    return self.residual(replace(self.evaluate(W, shorter), factor=at.factor), caps)
        return at

    def _merit(self, L: Array, caps: Array, mu: Array) -> float:
        z = self.rows.gaps(L[None])[0]
        size = np.where(self.rows.two_sided, np.abs(z), z)
        merit = float(self.rows.p @ L + (mu * np.maximum(size - caps, 0.0)).sum())
        return merit if np.isfinite(merit) else np.inf

    def excess(self, at: Iterate, row: Array, room: Array) -> float:
        """Return the smallest s >= 0 with which the gaps are within row + s * room."""
        over = self.sizes(at)[: len(row)] - row
        return float(np.max(np.divide(over, room, out=np.zeros_like(over), where=room > 0), initial=0.0))

    def least_room(self, at: Iterate, Q: Array, row: Array, room: Array, price: float) -> float:
        """Return the s at which the quadratic program with caps row + s * room would pay ``price`` for less of it."""
        C, z = self.rows.B @ factored(Q[None])[0], self.gaps(at)
        r = z - self.rows.B @ Q @ self.rows.p

        def affordable(s: float) -> bool:
            x = least_distance(C, r, row + s * room, self.rows.two_sided)
            return x is not None and float(np.abs(x) @ room) <= price

        if affordable(0.0):
            return 0.0
        low, high = 0.0, max(self.excess(at, row, room), 1e-9)
        while not affordable(high) and high < 1e6:
            low, high = high, 2.0 * high
        for _ in range(14):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if affordable(middle) else (middle, high)
        return high

    def is_solved(self, at: Iterate) -> bool:
        """Tell whether the residual is within the tolerance; one below that of certificates is never asked for."""
        return at.kkt <= max(self.tol, PRECISE)

    def precise(self, at: Iterate) -> bool:
        """Tell whether the residual is small enough for a certificate."""
        return at.kkt <= PRECISE

    def certified(self, at: Iterate) -> bool:
        """Tell whether the point is a global optimum: it minimises a Lagrangian that is convex."""
        if not self.precise(at):
            return False
        omega = self.rows.p + at.multipliers @ self.rows.B
        lowest = -CONVEX * (self.rows.p + np.abs(at.multipliers) @ np.abs(self.rows.B))
        return is_convex(self.problem, omega, lowest) and is_minimum(self.problem, omega, at.W, at.G, self.size)


def _stagnant(trail: list[float], tol: float, window: int = 6) -> bool:
    """Tell whether the residual has hardly moved: stuck above the tolerance, or at its rounding floor."""
    if len(trail) <= window:
        return False
    floored = trail[-1] <= 10 * tol and trail[-1] >= trail[-2]
    return floored or min(trail[-window:]) > 0.5 * min(trail[:-window])
