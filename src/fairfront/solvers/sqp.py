"""One point of the frontier by sequential quadratic programming with exact Hessians.

    min loss(w)   subject to   |z(w)| <= caps       (or one side only)

Each step solves the quadratic program of `steps` in the metric of the Lagrangian's Hessian
H = hessian(p + B^T lambda): quadratic convergence. A Hessian is kept as long as it converges fast enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from ..objectives import Algebra, Array
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.curvature import Factor, Shifted
from ..problems.linear import DENSE_LIMIT
from .preferences import Target
from .simplex import factor
from .steps import capped_step, least_distance


@dataclass(frozen=True)
class Iterate:
    """A point with its cells, gradients, multipliers and the factor of the last Hessian.

    kkt         largest of stationarity (columns at unit scale), violation, complementarity and wrong signs
    violation   how far the worst gap is above its cap
    level       pi_1 loss of a preference, NaN with fixed caps
    """

    W: Array
    L: Array
    G: Array
    multipliers: Array
    factor: Any = None
    kkt: float = np.inf
    violation: float = np.inf
    level: float = np.nan
    n_iter: int = 0


class KnotSolver:
    """Solves points of one problem; ``rows`` are the constraints: gaps first, guards after them.

    ``size`` is the unit of losses, so that labels in dollars and in cents end alike; ``unit`` and ``row_unit`` are
    those of the gradient's entries and of the gaps.
    """

    def __init__(self, problem: LinearProblem, rows: Algebra, tol: float, max_iter: int, size: float = 1.0) -> None:
        self.problem, self.rows = problem.without_metric(), rows
        self.tol, self.max_iter = tol, max_iter
        self.size = size
        self.half = True
        pull = np.sqrt(2.0 * size) if isinstance(problem.loss, Squared) else size  # a residual, against its square
        self.unit, self.row_unit = pull * self._column_scale(), self._row_scale(pull)

    def _column_scale(self) -> Array:
        """Return each column's root mean square, so that stationarity does not depend on units."""
        total = np.zeros(self.problem.d)
        design = self.problem.design
        for start, stop, _ in self.problem.layout.cells.chunks(design.rows_per_chunk(1)):
            total += design.squares(start, stop, np.ones(stop - start))
        return np.tile(np.sqrt(np.where(total > 0, total / max(design.n, 1), 1.0)), self.problem.K)

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
        over = self.sizes(at) - caps
        violation = float(max(over.max(initial=0.0), 0.0))
        side = np.where(self.rows.two_sided, np.sign(at.multipliers), 1.0) * self.gaps(at)
        slack = float(np.max(np.abs(at.multipliers) * np.maximum(caps - side, 0.0), initial=0.0))
        wrong = float(np.max(-at.multipliers[~self.rows.two_sided], initial=0.0))
        beyond = float(np.max(over / self.row_unit, initial=0.0))
        kkt = max(float(np.max(np.abs(gradient) / self.unit)), beyond, slack / self.size, wrong)
        return replace(at, kkt=kkt, violation=violation)

    def solve(self, start: Iterate, target: Target) -> Iterate:
        """Iterate from ``start`` until the KKT residual is below ``tol``, no step helps, or caps seem out of reach."""
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

    def curvature(self, at: Iterate) -> Any:
        """Return a solver with the Lagrangian's Hessian, made positive definite where it is not."""
        omega = self.rows.p + at.multipliers @ self.rows.B
        if self.problem.K * self.problem.d > DENSE_LIMIT:
            return self.problem.conjugate(at.W, np.maximum(omega, 0.0))
        try:
            return Factor(self.problem.hessian(at.W, omega, half=self.half))
        except LinAlgError:
            self.half = False
            return self._convexified(at, omega)

    def _convexified(self, at: Iterate, omega: Array) -> Any:
        """Add rho A^T A on the active gaps, which leaves the step on them as it is; else raise eigenvalues."""
        H = self.problem.hessian(at.W, omega)
        active = np.abs(at.multipliers) > 0
        A = self.rows.B[active] @ at.G
        scale = float(np.abs(np.diag(H)).max())
        push = scale / max(float((A**2).sum(axis=1).max(initial=0.0)), 1e-300)
        for rho in (0.0, push, 1e2 * push, 1e4 * push):
            try:
                return Augmented(H, A, rho, active) if len(A) and rho else Factor(H)
            except LinAlgError:
                continue
        return Shifted(H)

    def _step(self, at: Iterate, caps: Array) -> Iterate:
        """Take the quadratic program's step, shortened until it helps; returns ``at`` itself when nothing does."""
        D, Q = self.metric(at)
        move, multipliers = self.direction(at, D, Q, caps)
        mu = 2.0 * np.maximum(np.abs(multipliers), np.abs(at.multipliers)) + 1e-8
        return self.shortened(at, caps, move, multipliers, lambda L: self._merit(L, caps, mu))

    def metric(self, at: Iterate) -> tuple[Array, Array]:
        """Return the cells' directions D = H^-1 G and inner products Q = G H^-1 G^T."""
        D = at.factor.solve(at.G)
        Q = at.G @ D.T
        return D, 0.5 * (Q + Q.T)

    def direction(self, at: Iterate, D: Array, Q: Array, caps: Array) -> tuple[Array, Array]:
        """Return the quadratic program's move (w - move is the next point) and its multipliers."""
        z = self.gaps(at)
        step = capped_step(self.rows, Q[None], z[None], caps[None], np.ones(1))
        x, move = step.x[0], (step.beta[0] @ D).reshape(at.W.shape)
        if not isinstance(at.factor, Augmented):
            return move, x
        ahead = z - self.rows.B @ Q @ step.beta[0]
        inside = np.where(self.rows.two_sided, np.abs(ahead), ahead) < caps - 1e-9 * np.abs(z).max()
        return move, np.where((x == 0) & inside, 0.0, at.factor.corrected(x, move))

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
        C, z = self.rows.B @ factor(Q[None])[0], self.gaps(at)
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

    def certified(self, at: Iterate) -> bool:
        """Tell whether the Lagrangian is convex in every score: then the point is a global optimum.

        That is omega >= 0 on every convex cell and 0 on the others. Where the curvature does not depend on the label
        (likelihoods, squares), a cell's losses on several labels count together.
        """
        omega = self.rows.p + at.multipliers @ self.rows.B
        floor = -1e-9 * float(self.rows.p.max())
        alike = self.problem.loss.likelihood or isinstance(self.problem.loss, Squared)
        total = np.zeros(self.problem.layout.cells.count)
        for bound, where in self.problem.measures:
            inside: Array = np.where(where >= 0, omega[where], 0.0)
            if not bound.convex and np.abs(inside).max(initial=0.0) > 0.0:
                return False
            if bound.convex and not bound.linear:
                if not alike and inside.min(initial=0.0) < floor:
                    return False
                total += inside
        return bool(total.min(initial=0.0) >= floor) and at.kkt <= max(self.tol, 1e-7)


class Augmented(Factor):
    """Factor of H + rho A^T A with the gradients A of the gaps that were active, kept to correct the multipliers."""

    def __init__(self, H: Array, A: Array, rho: float, active: NDArray[np.bool_]) -> None:
        self.A, self.rho, self.active = A, rho, active
        super().__init__(H + rho * A.T @ A)

    def corrected(self, x: Array, move: Array) -> Array:
        """Return the multipliers of the program without rho A^T A; gaps that the step leaves alone have none."""
        full = x.copy()
        full[self.active] -= self.rho * (self.A @ move.reshape(-1))
        return full


def _stagnant(trail: list[float], tol: float, window: int = 6) -> bool:
    """Tell whether the residual has hardly moved: stuck above the tolerance, or at its rounding floor."""
    if len(trail) <= window:
        return False
    floored = trail[-1] <= 10 * tol and trail[-1] >= trail[-2]
    return floored or min(trail[-window:]) > 0.5 * min(trail[:-window])
