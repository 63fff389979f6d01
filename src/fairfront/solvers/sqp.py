"""One point of the frontier by sequential quadratic programming with exact Hessians.

    min loss(w)    subject to    |z(w)| <= caps          (one side only where so declared)       (1)

At a solution with multipliers x the Lagrangian loss + x.z is stationary, caps are met, and x_j is 0
where gap j is inside its cap. The largest violation of these, in `Units`, is the KKT residual (2).
Each step solves the quadratic program of `capped_step` in the metric of the Lagrangian's Hessian

    H(omega),   omega = p + B^T x                                                                (3)

so that convergence is quadratic. A Hessian costs as much as several passes over the data: it is kept
as long as steps with it reduce the residual fast enough.

A preference pi fixes no caps but asks for pi_1 loss = t and caps phi^-1(t / pi_j) at one level t. The
level takes a Newton step of its own after every step of the weights (4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..objectives import Algebra, Array
from ..objectives.losses import SmoothedHinge, Squared
from ..problems import LinearProblem
from ..problems.factorisation import DENSE_LIMIT, Factor, Solvable, factorise
from .base import Target
from .capped_step import capped_step

EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class ExactTolerances:
    """What counts as zero for the exact tracer, and when its iterations end.

    Losses are in units of the unconstrained loss and columns have unit scale, so that a point is
    solved or certified in the same sense whatever the units of features, targets and weights.

    Attributes
    ----------
    kkt : KKT residual at which an iteration stops
    certificate : largest KKT residual, and largest possible gain, of a certified point
    level : how far pi_1 loss may be from the level of its caps, as a share of it
    convexity : negative weight of a cell that is rounding, as a share of the terms it sums
    separable : score that a Newton step may move by where an optimum exists, in units of scores;
        where labels can be separated there is none, and every step moves scores by about 1
    cap : how far a gap may be above its cap where that counts as met, as a share of the largest gap
    floor : share of the way to a cap of zero that a tenfold price of the gap has to gain; with less,
        the path ends
    branch : share of the loss by which a point has to be better to belong to another branch
    max_iter : most steps per point
    """

    kkt: float = 1e-9
    certificate: float = 1e-7
    level: float = 1e-9
    convexity: float = 1e-9
    separable: float = 1e-3
    cap: float = 1e-6
    floor: float = 1e-3
    branch: float = 1e-7
    max_iter: int = 60


@dataclass(frozen=True, eq=False)
class Units:
    """The unit of a loss, of a gradient's entries (K d,), and of every constraint (q,)."""

    loss: float
    gradient: Array
    constraints: Array

    @classmethod
    def of(cls, problem: LinearProblem, constraints: Algebra, loss: float) -> Units:
        """Return the units where the unconstrained loss is ``loss``.

        The gradient of a squared loss has the unit of a residual, not of its square.
        """
        slope = float(np.sqrt(2.0 * loss)) if isinstance(problem.loss, Squared) else loss
        scale = problem.column_scale()
        unit = np.full(len(constraints.b), loss)
        for measure, cells in problem.measures:
            uses_measure = np.any(constraints.B[:, cells[cells >= 0]], axis=1)
            unit[uses_measure] = slope if measure.linear else loss if measure.convex else 1.0
        n_signs = len(problem.terms)
        unit[len(unit) - n_signs :] = slope / scale[problem.terms.places]
        return cls(loss, slope * np.tile(scale, problem.K), unit)


@dataclass(frozen=True, eq=False)
class Iterate:
    """A model on the way to a point, or the point.

    W (K, d), L (k,), G (k, K d)   weights, cells, and gradients of the cells
    multipliers (q,), caps (q,)    signed multipliers of the constraints, and the caps they are for
    kkt                            KKT residual, in units
    level                          pi_1 loss that a preference aims at; NaN for fixed caps
    factor                         of a Hessian taken here or nearby
    """

    W: Array
    L: Array
    G: Array
    multipliers: Array
    caps: Array
    kkt: float
    level: float = np.nan
    factor: Solvable | None = None
    n_iter: int = 0


class Goal(Protocol):
    """What caps a point is solved for: fixed ones, or those that a preference leads to."""

    def aimed(self, at: Iterate) -> Iterate:
        """Return the iterate with the caps to solve for next."""

    def is_reached(self, at: Iterate) -> bool:
        """Tell whether these are the caps to end with."""


@dataclass(frozen=True, eq=False)
class FixedCaps:
    """Caps (q,) on all constraints."""

    caps: Array

    def aimed(self, at: Iterate) -> Iterate:
        return replace(at, caps=self.caps, level=np.nan)

    def is_reached(self, at: Iterate) -> bool:
        return True


@dataclass(frozen=True, eq=False)
class PreferenceCaps:
    """Caps phi^-1(t / pi_j) at the level t = pi_1 loss, for one preference (1, m); 0 on guards."""

    target: Target
    algebra: Algebra
    n_guards: int
    rtol: float

    def aimed(self, at: Iterate) -> Iterate:
        """Take a Newton step (4) on pi_1 loss(t) = t, where caps cost the multipliers."""
        loss = self.algebra.loss(at.L[None])
        level = np.array([at.level])
        if np.isnan(at.level):
            level = self.target.pi[:, 0] * loss
        else:
            n_gaps = len(self.algebra.b)
            price = np.abs(at.multipliers[None, :n_gaps])
            level = self.target.next_level(self.algebra, level, loss, at.caps[None, :n_gaps], price)
        caps = self.target.caps_at(self.algebra, level)[0]
        return replace(at, caps=np.append(caps, np.zeros(self.n_guards)), level=float(level[0]))

    def is_reached(self, at: Iterate) -> bool:
        reached = self.target.pi[0, 0] * float(self.algebra.loss(at.L[None])[0])
        return bool(abs(reached - at.level) <= self.rtol * abs(at.level))


HALVINGS = 12  # a step that does not help at a four-thousandth of its length does not help at all
MERIT_NOISE = 1e-15  # share of the merit by which a shortened step has to lower it: less is rounding
LEAST_PRICE = 1e-8  # what a violation costs in the merit where no multiplier says more
# A step that leaves less of the residual is taken even if the merit rises a little, as a full step of
# quadratic convergence may (Maratos), and as rounding does; by how much, in units of the loss.
TAKEN, RISE = 0.9, 0.1
HESSIAN_COST = 3  # passes over the data that cost as much as a Hessian
# Steps within which the residual has to halve. Where the slope of a loss turns within a narrow band,
# rows jump over it and the residual says little for long.
WINDOW, WINDOW_AT_KINKS = 6, 30


@dataclass(frozen=True, eq=False)
class PointSolver:
    """Solves (1) for one problem.

    constraints   caps on gaps first, guards of groups after them, bounds on signed weights last
    """

    problem: LinearProblem
    constraints: Algebra
    units: Units
    tolerances: ExactTolerances

    @property
    def algebra(self) -> Algebra:
        """Return the algebra of the gaps alone, which are the first constraints."""
        return self.problem.algebra

    @property
    def n_gaps(self) -> int:
        return len(self.problem.algebra.b)

    @property
    def forms_hessians(self) -> bool:
        """Tell whether models are small enough for Hessians as matrices."""
        return self.problem.K * self.problem.d <= DENSE_LIMIT

    def preference(self, pi: Array) -> PreferenceCaps:
        """Return the goal of one preference (m,)."""
        target = Target.from_preferences(pi[None])
        n_guards = len(self.constraints.b) - self.n_gaps
        return PreferenceCaps(target, self.algebra, n_guards, self.tolerances.level)

    def with_guard_caps(self, caps: Array) -> Array:
        """Return caps on all constraints, from those on gaps (..., n_gaps); guards have none to spare."""
        room = np.zeros((*caps.shape[:-1], len(self.constraints.b) - self.n_gaps))
        return np.concatenate([caps, room], axis=-1)

    def loss(self, at: Iterate) -> float:
        """Return the loss with its ridge."""
        return float(self.constraints.p @ at.L)

    def sizes(self, L: Array) -> Array:
        """Return what caps bound, (q,): |z|, or z where one side counts."""
        z = self.constraints.gaps(L[None])[0]
        return np.asarray(np.where(self.constraints.two_sided, np.abs(z), z))

    def evaluate(self, W: Array, multipliers: Array, caps: Array) -> list[Iterate]:
        """Return iterates for R models W (R, K, d) with multipliers and caps (R, q): one pass."""
        L, G = self.problem.evaluate(W)
        return [
            Iterate(*fields, kkt=self.residual(*fields[1:])) for fields in zip(W, L, G, multipliers, caps, strict=True)
        ]

    def residual(self, L: Array, G: Array, x: Array, caps: Array) -> float:
        """Return the KKT residual (2) of cells L, their gradients G, multipliers x and caps."""
        rows, units = self.constraints, self.units
        z = rows.gaps(L[None])[0]
        excess = np.where(rows.two_sided, np.abs(z), z) - caps
        # A gap is known as well as the cells that it is the difference of.
        rounding = 4.0 * EPSILON * (np.abs(rows.B) @ np.abs(L))
        on_side = np.where(rows.two_sided, np.sign(x), 1.0) * z
        priced = x != 0.0  # the other caps may be infinite
        slack = np.abs(x[priced]) * np.maximum(caps - on_side, 0.0)[priced]
        stationarity = np.abs((rows.p + x @ rows.B) @ G / units.gradient).max()
        infeasibility = ((excess - rounding) / units.constraints).max(initial=0.0)
        complementarity = slack.max(initial=0.0) / units.loss
        wrong_sign = (-x[~rows.two_sided]).max(initial=0.0)
        kkt = max(stationarity, infeasibility, complementarity, wrong_sign)
        return float(kkt) if np.isfinite(kkt) else np.inf

    def violation(self, at: Iterate) -> float:
        """Return how far the worst gap is above its cap."""
        return float((self.sizes(at.L) - at.caps).max(initial=0.0))

    def is_solved(self, at: Iterate) -> bool:
        """Tell whether an iterate is a point; rounding may keep it above the residual to stop at."""
        return at.kkt <= max(self.tolerances.kkt, self.tolerances.certificate)

    def solve(self, start: Iterate, goal: Goal) -> Iterate:
        """Iterate until the KKT residual is below the tolerance, or nothing helps any more."""
        at = self._retargeted(replace(start, n_iter=0), goal)
        keep_factor = at.factor is not None
        residuals: list[float] = []
        for n_iter in range(1, self.tolerances.max_iter + 1):
            ended = at.kkt <= self.tolerances.kkt and goal.is_reached(at)
            if ended or self._stagnates(residuals):
                break
            if not keep_factor:
                at = self.with_factor(at)
            stepped = self._step(at)
            if stepped is None and not keep_factor:
                break
            before, at = at.kkt, replace(stepped or at, n_iter=n_iter)
            if not isinstance(goal, FixedCaps):
                at = self._retargeted(at, goal)
            keep_factor = stepped is not None and self._ends_soon(before, at.kkt)
            residuals.append(at.kkt)
        return at

    def _retargeted(self, at: Iterate, goal: Goal) -> Iterate:
        aimed = goal.aimed(at)
        return replace(aimed, kkt=self.residual(at.L, at.G, at.multipliers, aimed.caps))

    def _ends_soon(self, before: float, after: float) -> bool:
        """Tell whether steps at this rate end before they have cost as much as a Hessian."""
        return after < before and after * (after / before) ** HESSIAN_COST <= self.tolerances.kkt

    def _stagnates(self, residuals: Sequence[float]) -> bool:
        """Tell whether the residual has hardly moved: stuck, or at its rounding floor."""
        window = WINDOW_AT_KINKS if isinstance(self.problem.loss, SmoothedHinge) else WINDOW
        if len(residuals) <= WINDOW:
            return False
        if residuals[-2] <= residuals[-1] <= 10.0 * self.tolerances.kkt:
            return True
        return len(residuals) > window and min(residuals[-window:]) > 0.5 * min(residuals[:-window])

    def with_factor(self, at: Iterate) -> Iterate:
        """Return the iterate with the factor of its own Hessian (3).

        Single precision is enough for a step, but not to tell whether a Hessian is positive.
        """
        omega = self.constraints.p + at.multipliers @ self.constraints.B
        if not self.forms_hessians:
            return replace(at, factor=self.problem.conjugate(at.W, np.maximum(omega, 0.0)))
        if at.factor is None or at.factor.definite:
            with np.errstate(over="ignore"):
                H = self.problem.hessian(at.W, omega, float32=True)
            new = self.with_hessian(at, H) if np.isfinite(H).all() else at
            if new.factor is not None and new.factor is not at.factor and new.factor.definite:
                return new
        return self.with_hessian(at, self.problem.hessian(at.W, omega))

    def with_hessian(self, at: Iterate, H: Array) -> Iterate:
        """Return the iterate with the factor of a Hessian that was found elsewhere."""
        return replace(at, factor=factorise(H, self.constraints.B @ at.G, at.multipliers != 0.0))

    def hessian_of(self, at: Iterate) -> Array:
        """Return the Hessian that an iterate's factor was made of."""
        assert isinstance(at.factor, Factor)
        return at.factor.hessian

    def full_step(self, at: Iterate) -> tuple[Array, Array]:
        """Return weights and multipliers after the quadratic program's whole step; no pass needed."""
        assert at.factor is not None
        rows, z = self.constraints, self.constraints.gaps(at.L[None])[0]
        D = at.factor.solve(at.G)
        Q = at.G @ D.T
        Q = 0.5 * (Q + Q.T)
        step = capped_step(rows, Q[None], z[None], at.caps[None], np.ones(1))
        move = step.beta[0] @ D
        multipliers = at.factor.corrected(step.x[0], move)
        move, multipliers = self.problem.terms.within(at.W, move.reshape(at.W.shape), multipliers)
        return at.W - move, multipliers

    def full_steps(self, iterates: Sequence[Iterate]) -> list[Iterate]:
        """Take one whole step from each of several iterates: one pass for all of them."""
        with np.errstate(over="ignore", invalid="ignore"):  # losses may overflow: refused by residuals
            steps = [self.full_step(at) for at in iterates]
            W = np.stack([weights for weights, _ in steps])
            multipliers = np.stack([x for _, x in steps])
            after = self.evaluate(W, multipliers, np.stack([at.caps for at in iterates]))
        return [replace(new, factor=at.factor) for new, at in zip(after, iterates, strict=True)]

    def _step(self, at: Iterate) -> Iterate | None:
        """Take a step, halved until the merit falls; None where no length helps."""
        with np.errstate(over="ignore", invalid="ignore"):  # losses may overflow: refused then
            W, multipliers = self.full_step(at)
            price = 2.0 * np.maximum(np.abs(multipliers), np.abs(at.multipliers)) + LEAST_PRICE
            before = self._merit(at.L, at.caps, price)
            new = self._moved(at, W, multipliers)
            merit = self._merit(new.L, at.caps, price)
            nearby = merit <= before + RISE * self.units.loss
            if merit < before or (nearby and new.kkt <= TAKEN * at.kkt):
                return new
            for length in 0.5 ** np.arange(1, HALVINGS + 1):
                shorter = at.W + length * (W - at.W)
                merit = self._merit(self.problem.values(shorter[None])[0], at.caps, price)
                if merit < before - MERIT_NOISE * abs(before):
                    x = at.multipliers + length * (multipliers - at.multipliers)
                    return self._moved(at, shorter, x)
        return None

    def _merit(self, L: Array, caps: Array, price: Array) -> float:
        """Return the l1 merit: the loss and what violations cost."""
        excess = np.maximum(self.sizes(L) - caps, 0.0)
        total = float(self.constraints.p @ L + price @ excess)
        return total if np.isfinite(total) else np.inf

    def _moved(self, at: Iterate, W: Array, multipliers: Array) -> Iterate:
        (new,) = self.evaluate(W[None], multipliers[None], at.caps[None])
        return replace(new, factor=at.factor, level=at.level)
