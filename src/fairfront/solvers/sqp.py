"""One point of the frontier by sequential quadratic programming with exact Hessians.

    min loss(w)   subject to   |z(w)| <= caps       (or one side only)

Each step solves the quadratic program of `quadratic` in the metric of the Lagrangian's Hessian
H = hessian(p + B^T lambda): quadratic convergence. A Hessian is kept as long as it converges fast enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from ..objectives import Algebra, Array
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.point import DENSE_LIMIT, Factor, convexified, gram
from .base import Solved, Status, Target
from .capped_step import capped_step
from .constraints import true_multipliers

ROUNDING = 4 * float(np.finfo(float).eps)
PRECISE = 1e-7  # largest KKT residual of a certified point, whatever the tolerance that was asked for
ON_LEVEL = 1e-9  # how far pi_1 loss may be from the level that the caps were taken at, as a share of it
FAST, SLOW = 0.05, 0.9
"""Shares of the residual: a step that leaves less than the first keeps its Hessian, and one that leaves less than the
second is taken even where the merit rises, because a merit in rounding's reach says little."""
HALVINGS = 12  # times that a step is halved: what does not help at a four-thousandth of its length does not help at all
FALL = 1e-15  # share of the merit by which a shortened step has to lower it: less is rounding
LEAST_PRICE = 1e-8  # what a violation counts for in the merit where no multiplier says more
WINDOW = 6  # steps within which the residual has to halve


@dataclass(frozen=True)
class Curved:
    """The factor of a Hessian, the weights and multipliers it was taken at, and whether in single precision."""

    factor: Any
    W: Array
    multipliers: Array
    single: bool


@dataclass(frozen=True, kw_only=True)
class Knot(Solved):
    """A point of the path on framed columns, what it was solved for, and the factor of the last Hessian.

    multipliers  of the gaps first, of the guards after them
    G (k, K d)   gradients of the cells
    caps (q,)    on the gaps, NaN before it is solved
    kkt          largest of stationarity (columns at unit scale), violation, complementarity and wrong signs
    violation    how far the worst gap is above its cap
    level        pi_1 loss of a preference, NaN with fixed caps
    single       whether Hessians are taken in single precision: not after one of them was not positive definite
    """

    L: Array
    multipliers: Array
    G: Array
    caps: Array
    factor: Curved | None = None
    kkt: float = np.inf
    violation: float = np.inf
    level: float = np.nan
    n_iter: int = 0
    single: bool = True


@dataclass(frozen=True, eq=False)
class KnotSolver:
    """Solves points of one problem; ``rows`` are the constraints: gaps first, guards after them.

    ``size`` is the unit of losses, so that labels in dollars and in cents end alike; ``unit`` and ``row_unit`` are
    those of the gradient's entries and of the gaps.
    """

    problem: LinearProblem
    rows: Algebra
    tol: float
    max_iter: int
    size: float = 1.0

    @property
    def algebra(self) -> Algebra:
        """Return the problem's own algebra, whose gaps are the first rows."""
        return self.problem.algebra

    @property
    def _pull(self) -> float:
        """Return the unit of slopes: that of a squared loss is a residual, against its square."""
        return float(np.sqrt(2.0 * self.size)) if isinstance(self.problem.loss, Squared) else self.size

    @cached_property
    def unit(self) -> Array:
        """Return the gradient's units: each column's root mean square, so that stationarity does not depend on them."""
        return self._pull * np.tile(self.problem.column_scale(), self.problem.K)

    @cached_property
    def row_unit(self) -> Array:
        """Return the unit of each gap: a loss, a prediction, or a share."""
        unit = np.full(len(self.rows.b), self.size)
        for bound, where in self.problem.measures:
            inside = np.any(self.rows.B[:, where[where >= 0]], axis=1)
            unit[inside] = self._pull if bound.linear else self.size if bound.convex else 1.0
        signed = len(self.problem.terms)
        unit[len(unit) - signed :] = self._pull / self.problem.column_scale()[self.problem.terms.places]
        return unit

    def evaluate(self, W: Array, multipliers: Array, single: bool = True, factor: Curved | None = None) -> Knot:
        point, none = self.problem.cells(W[None]), np.full(self.algebra.m, np.nan)
        known = {"L": point.L[0], "G": point.D[0], "multipliers": multipliers, "factor": factor, "single": single}
        return Knot(W, Status.RUNNING, none, caps=none[1:], **known)

    def loss(self, at: Knot) -> float:
        """With its ridge."""
        return float(self.rows.p @ at.L)

    def gaps(self, L: Array) -> Array:
        return np.asarray(self.rows.gaps(L[None])[0])

    def sizes(self, L: Array) -> Array:
        """What the caps bound: |z|, or z where one side counts."""
        z = self.gaps(L)
        return np.where(self.rows.two_sided, np.abs(z), z)

    def residual(self, at: Knot, caps: Array) -> Knot:
        gradient = (self.rows.p + at.multipliers @ self.rows.B) @ at.G
        kkt, violation = self.residuals(gradient[None], at.L[None], self.gaps(at.L)[None], at.multipliers[None], caps)
        return replace(at, kkt=float(kkt[0]), violation=float(violation[0]))

    def residuals(self, gradient: Array, L: Array, z: Array, x: Array, caps: Array) -> tuple[Array, Array]:
        """Return KKT residuals and violations (R,): of the Lagrangian's gradients, cells, constraints, multipliers."""
        two_sided = self.rows.two_sided
        over = np.where(two_sided, np.abs(z), z) - caps
        violation = over.max(axis=1, initial=0.0)
        side = np.where(two_sided, np.sign(x), 1.0) * z
        slack = np.max(np.abs(x) * np.maximum(caps - side, 0.0), axis=1, initial=0.0)
        wrong = np.max(-x[:, ~two_sided], axis=1, initial=0.0)
        bits = ROUNDING * (np.abs(L) @ np.abs(self.rows.B).T)  # a gap is known as well as the cells it is taken from
        beyond = np.max(np.where(np.isfinite(bits), over - bits, np.inf) / self.row_unit, axis=1, initial=0.0)
        steep = np.max(np.abs(gradient) / self.unit, axis=1)
        return np.max([steep, beyond, slack / self.size, wrong], axis=0), violation

    def solve(self, at: Knot, target: Target) -> Knot:
        """Iterate from ``at`` until the KKT residual is below ``tol``, no step helps, or caps seem out of reach."""
        level, pi, preferred = at.level, target.pi[0, 0], bool(target.by_preference[0])
        if preferred and np.isnan(level):
            level = float(pi * self.rows.loss(at.L[None])[0])
        caps, q = self._caps(target, level), len(self.algebra.b)
        at = self.residual(replace(at, n_iter=0), caps)
        usable = at.factor is not None
        trail: list[float] = []
        for iteration in range(1, self.max_iter + 1):
            on_level = not preferred or abs(pi * self.loss(at) - level) <= ON_LEVEL * abs(level)
            if (at.kkt <= self.tol and on_level) or self._stagnant(trail):
                break
            if not usable:
                at = self.curved(at)
            new = self._step(at, caps)
            if new is at and not usable:
                break
            if preferred:
                price = np.abs(new.multipliers[None, :q])
                known = (np.array([level]), self.rows.loss(new.L[None]), caps[None, :q], price)
                level = float(target.next_level(self.algebra, *known)[0])
                caps = self._caps(target, level)
                new = self.residual(new, caps)
            usable = new is not at and new.kkt <= FAST * at.kkt
            at = replace(new, n_iter=iteration)
            trail.append(at.kkt)
        return replace(at, level=level)

    def _caps(self, target: Target, level: float) -> Array:
        """Return the caps of all rows; guards have none to spare."""
        caps = target.caps_at(self.algebra, np.array([level]))[0]
        return np.concatenate([caps, np.zeros(len(self.rows.b) - len(caps))])

    def _stagnant(self, trail: list[float]) -> bool:
        """Tell whether the residual has hardly moved: stuck above the tolerance, or at its rounding floor."""
        if len(trail) <= WINDOW:
            return False
        floored = trail[-1] <= 10 * self.tol and trail[-1] >= trail[-2]
        return floored or min(trail[-WINDOW:]) > 0.5 * min(trail[:-WINDOW])

    def curved(self, at: Knot) -> Knot:
        """Return the iterate with its own Hessian's factor, made positive definite where it is not."""
        rows, single = self.rows, at.single
        omega = rows.p + at.multipliers @ rows.B
        if self.problem.K * self.problem.d > DENSE_LIMIT:
            factor: Any = self.problem.conjugate(at.W, np.maximum(omega, 0.0))
        else:
            try:
                factor = Factor(self.problem.hessian(at.W, omega, float32=single))
            except LinAlgError:
                single, active = False, np.abs(at.multipliers) > 0
                H = self.problem.hessian(at.W, omega, float32=False)
                factor = convexified(H, rows.B[active] @ at.G, active)
        return replace(at, factor=Curved(factor, at.W, at.multipliers, single), single=single)

    def _step(self, at: Knot, caps: Array) -> Knot:
        """Take the quadratic program's step, shortened until it helps; returns ``at`` itself when nothing does."""
        move, multipliers = self.direction(at, *self.metric(at), caps)
        mu = 2.0 * np.maximum(np.abs(multipliers), np.abs(at.multipliers)) + LEAST_PRICE

        def merit(L: Array) -> float:
            return float(self.rows.p @ L + (mu * np.maximum(self.sizes(L) - caps, 0.0)).sum())

        return self.shortened(at, caps, move, multipliers, merit)

    def metric(self, at: Knot) -> tuple[Array, Array]:
        """D = H^-1 G and Q = G H^-1 G^T of the cells."""
        assert at.factor is not None
        D = np.asarray(at.factor.factor.solve(at.G))
        return D, gram(at.G[None], D[None])[0]

    def direction(self, at: Knot, D: Array, Q: Array, caps: Array) -> tuple[Array, Array]:
        """Return the quadratic program's move (w - move is the next point) and its multipliers."""
        z, rows = self.gaps(at.L), self.rows
        step = capped_step(rows, Q[None], z[None], caps[None], np.ones(1))
        move = (step.beta[0] @ D).reshape(at.W.shape)
        factor = None if at.factor is None else at.factor.factor
        x = true_multipliers(rows, factor, step.x[0], move, z, z - rows.B @ (Q @ step.beta[0]), caps)
        return self.problem.terms.within(at.W, move, x)

    def shortened(
        self, at: Knot, caps: Array, move: Array, multipliers: Array, merit: Callable[[Array], float]
    ) -> Knot:
        """Return the iterate after the move, halved until the merit falls; ``at`` itself when it never does."""

        def worth(L: Array) -> float:
            found = merit(L)
            return found if np.isfinite(found) else np.inf

        before = worth(at.L)
        with np.errstate(over="ignore", invalid="ignore"):  # a step may land where losses overflow, and is refused then
            new = self.residual(self.evaluate(at.W - move, multipliers, at.single, at.factor), caps)
            if new.kkt <= SLOW * at.kkt or worth(new.L) < before:
                return new
            for length in 0.5 ** np.arange(1, HALVINGS + 1):
                W = at.W - length * move
                if worth(self.problem.values(W[None])[0]) < before - FALL * abs(before):
                    shorter = (1.0 - length) * at.multipliers + length * multipliers
                    return self.residual(self.evaluate(W, shorter, at.single, at.factor), caps)
        return at

    def is_solved(self, at: Knot) -> bool:
        """Tell whether the residual is within the tolerance; one below that of certificates is never asked for."""
        return at.kkt <= max(self.tol, PRECISE)
