"""Points of the linear support vector machine: solved, certified, or bounded from below.

`hinge_lines` solves for given limits. Here its solutions become points, judged by residuals that
are computed anew (`hinge_optimality`). A point is certified where its Lagrangian is convex and
nothing is left to gain. The others have a bound where one is known: the optimum of the program in
which all parts may claim a larger loss than they have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..objectives import Algebra, Array
from .base import Mask, Solved, Status
from .hinge_lines import (
    FROM_ANOTHER_POINT,
    Limits,
    LinedSolution,
    Lines,
    Start,
    solve_anew,
    solve_lined,
    turned,
)
from .hinge_lines import TOLERANCES as LINES
from .hinge_optimality import has_convex_lagrangian, residuals, violation
from .hinge_problem import HingeProblem
from .sqp import ExactTolerances

SEPARABLE = 0.1  # loss below which plain training is solved once more, in units of that
SMALLEST = 1e-6  # loss below which a plain loss is no unit, because labels are nearly separated
HALVINGS = 4  # times that the way from one cap to the next is halved where the whole is too far
NEAR = 1e-7  # how far above the optimum a certified point may be, as a share of the plain loss
MET = 1e-6  # how far a gap may be above its cap where that is met, as a share of the plain loss
HELD = 1e-9  # multiplier of a sign, and weight with one, that are rounding
BETTER = 1e-9  # share of the plain loss by which another start has to be better: less is rounding
PRECISE = ExactTolerances().certificate  # largest KKT residual of a certified point


@dataclass(frozen=True, kw_only=True)
class HingePoint(Solved):
    """A point of the path, in the coordinates of the problem that is solved.

    L (m,), multipliers    as in `Solved`; of the gaps first, of guards and signs after them
    caps (q,)              on the gaps
    slopes (T,), lined     of its hinges, and the parts whose hinges are lines
    bound                  no model within the caps has a smaller loss; -inf where nothing is known
    n_iter                 steps of the interior point method
    """

    L: Array
    multipliers: Array
    caps: Array
    slopes: Array
    lined: Mask
    bound: float = -np.inf
    n_iter: int = 0

    @property
    def start(self) -> Start:
        return Start(self.W[0], self.multipliers, self.lined)


def plain_training(problem: HingeProblem, free: Limits, near: Start | None = None) -> LinedSolution:
    """Solve for the optimum within limits that leave gaps free, maybe from a start near it."""
    if near is not None:
        lines = Lines.around(problem, near, LINES.near)
        return solve_lined(problem, free, near, lines, FROM_ANOTHER_POINT)
    nowhere = Start.nowhere(problem)
    solution = solve_anew(problem, free, nowhere)
    if problem.loss(solution.w) >= SEPARABLE:
        return solution
    # tolerances were shares of the loss without weights, which is far larger
    lines = Lines.everywhere_exact(problem, nowhere.lined)
    return solve_lined(problem, free, solution.start, lines, FROM_ANOTHER_POINT)


@dataclass(frozen=True, eq=False)
class HingeSolver:
    """Solves points of one problem, whose algebra has guards and signs after the gaps.

    gaps       the algebra of the gaps alone
    trained    unconstrained training, whose loss is the unit
    tol        largest residual of a solved point, in that unit
    """

    problem: HingeProblem
    gaps: Algebra
    trained: LinedSolution
    tol: float

    @classmethod
    def of(cls, problem: HingeProblem, gaps: Algebra, tol: float, plain: HingePoint | None = None) -> HingeSolver:
        """Train without caps on a problem without guards, maybe from a point near that."""
        caps = np.where(np.arange(len(problem.algebra.b)) < len(gaps.b), np.inf, 0.0)
        free = Limits.of_caps(problem.algebra, caps, 1.0)
        near = None if plain is None else replace(Start.nowhere(problem), w=plain.W[0])
        return cls(problem, gaps, plain_training(problem, free, near), tol)

    def with_guards(self, algebra: Algebra) -> HingeSolver:
        """Return the solver for an algebra with guards between the gaps and the signs."""
        known, q = self.trained.multipliers, len(self.gaps.b)
        multipliers = np.insert(known, q, np.zeros(len(algebra.b) - len(known)))
        return replace(
            self,
            problem=self.problem.with_algebra(algebra),
            trained=replace(self.trained, multipliers=multipliers),
        )

    @cached_property
    def size(self) -> float:
        """Return the unit of losses."""
        return max(self.problem.loss(self.trained.w), SMALLEST)

    @cached_property
    def plain(self) -> HingePoint:
        """Return unconstrained training as a point, whose caps are the gaps that it has."""
        point = self.point(self.trained, np.full(len(self.gaps.b), np.inf))
        return replace(point, caps=np.maximum(self.sizes(point.L), 0.0))

    def loss(self, point: HingePoint) -> float:
        return float(self.problem.algebra.p @ point.L)

    def sizes(self, L: Array) -> Array:
        """Return what caps bound, (q,): |z|, or z of gaps of which one side counts."""
        z = self.gaps.gaps(L[None])[0]
        return np.asarray(np.where(self.gaps.two_sided, np.abs(z), z))

    def solve(self, caps: Array, start: Start, rounding: float = FROM_ANOTHER_POINT) -> HingePoint:
        """Return the point for caps (q,), solved from one start."""
        limits, lines = self._limits(caps), Lines.around(self.problem, start, LINES.near)
        solution = solve_lined(self.problem, limits, start, lines, rounding)
        return self.point(turned(self.problem, limits, solution, BETTER * self.size), caps)

    def solve_anew(self, caps: Array, start: Start) -> HingePoint:
        """Return the point for caps (q,), solved from a start that may be far from it."""
        limits = self._limits(caps)
        solution = solve_anew(self.problem, limits, start)
        return self.point(turned(self.problem, limits, solution, BETTER * self.size), caps)

    def solve_from(self, caps: Array, nearby: HingePoint, halvings: int = HALVINGS) -> HingePoint:
        """Return the point for caps (q,) from one for other caps, half-way first if that is far."""
        point = self.solve(caps, nearby.start)
        if point.status.solved or halvings == 0:
            return point
        middle = self.solve_from(0.5 * (caps + nearby.caps), nearby, halvings - 1)
        return self.solve_from(caps, middle, halvings - 1) if middle.status.solved else point

    def bounded(self, point: HingePoint) -> HingePoint:
        """Return the point with a bound below the loss of all models within its caps.

        It is the optimum of the relaxation in which parts may claim. A compared part that the loss
        does not count may claim without a price, so that nothing is learnt then.
        """
        problem = self.problem
        is_free = problem.is_compared & problem.has_terms & (problem.p <= 0.0)
        if point.certified:
            return replace(point, bound=self.loss(point) - NEAR * self.size)
        if is_free.any():
            return point
        start = replace(point.start, lined=np.zeros_like(point.lined))
        lines = Lines.around(problem, start, LINES.near)
        found = solve_lined(problem, self._limits(point.caps), start, lines, FROM_ANOTHER_POINT, relaxed=True)
        return replace(point, bound=found.value - found.gap) if found.solved else point

    def better(self, point: HingePoint, others: list[HingePoint]) -> HingePoint:
        """Return the solved point with the smallest loss; what is rounding is not smaller."""
        best = point
        for other in others:
            gains = self.loss(other) < self.loss(best) - BETTER * self.size
            if other.status.solved and (gains or not best.status.solved):
                status = point.status if point.status.solved else other.status
                best = replace(other, status=status, caps=point.caps, bound=point.bound)
        return best

    def meets(self, w: Array, caps: Array) -> bool:
        """Tell whether a model (d,) is within caps (q,), guards and signs."""
        return violation(self.problem, w, self._caps_of_rows(caps)) <= LINES.zero_cap * self.size

    def at(self, w: Array) -> HingePoint:
        """Return any model (d,) as a point that is not solved, with the gaps it has as caps."""
        start = self.start_at(w, np.zeros(len(self.problem.algebra.b)))
        slopes = (self.problem.shortfall(w) > 0.0).astype(np.float64)
        solution = LinedSolution(w, start.multipliers, slopes, start.lined, np.inf, np.inf, False, 0, 0)
        caps = np.maximum(self.sizes(self.problem.cells(w)), 0.0)
        return self.point(solution, caps)

    def start_at(self, w: Array, multipliers: Array) -> Start:
        """Return a start at weights (d,), with lines for parts whose omega is not positive."""
        return Start(w, multipliers, self.problem.omega(multipliers) <= 0.0)

    def constant(self, point: HingePoint) -> Start:
        """Return the start without weights but the intercept of a point."""
        w = np.where(self.problem.penalised > 0.0, 0.0, point.W[0])
        return self.start_at(w, np.zeros_like(point.multipliers))

    def past(self, at: HingePoint, z: Array, share: float) -> HingePoint:
        """Return the point whose gaps are minus a share of z (q,), the gaps of plain training."""
        algebra, q = self.problem.algebra, len(z)
        b = algebra.b.copy()
        b[:q] -= share * z
        beyond = replace(self, problem=self.problem.with_algebra(replace(algebra, b=b)))
        return beyond.solve_from(np.zeros(q), replace(at, caps=np.zeros(q)))

    def point(self, solution: LinedSolution, caps: Array) -> HingePoint:
        """Return a solution as a point, judged by residuals that are computed anew."""
        problem = self.problem
        solution = replace(solution, w=self._within_signs(solution.w, solution.multipliers))
        left = residuals(problem, solution, self._caps_of_rows(caps))
        kkt, is_met = left.largest / self.size, left.violation <= MET * self.size
        is_solved = solution.solved and kkt <= max(self.tol, PRECISE)
        reached = Status.EFFICIENT if is_solved else Status.STALLED
        is_optimum = has_convex_lagrangian(problem, solution.multipliers)
        return HingePoint(
            solution.w[None],
            reached if is_met else Status.OUT_OF_REACH,
            np.full(self.gaps.m, np.nan),
            L=problem.cells(solution.w),
            multipliers=solution.multipliers,
            kkt=kkt,
            certified=is_optimum and kkt <= PRECISE and left.gain <= NEAR * self.size,
            caps=caps,
            slopes=solution.slopes,
            lined=solution.lined,
            n_iter=solution.n_iter,
        )

    def _within_signs(self, w: Array, x: Array) -> Array:
        """Return weights of which those that their sign holds are 0, not nearly so."""
        signed = self.problem.signed
        is_held = (x[len(x) - len(signed) :] > HELD) | (np.abs(w[signed]) <= HELD)
        w = w.copy()
        w[signed[is_held]] = 0.0
        return w

    def _caps_of_rows(self, caps: Array) -> Array:
        """Return caps of all rows; guards and signs have nothing to spare."""
        return np.concatenate([caps, np.zeros(len(self.problem.algebra.b) - len(caps))])

    def _limits(self, caps: Array) -> Limits:
        return Limits.of_caps(self.problem.algebra, self._caps_of_rows(caps), self.size)
