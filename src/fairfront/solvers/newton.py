"""Newton: the exact frontier as a path of solved points, from unconstrained training to the smallest gap."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.optimize import brentq

from ..exceptions import FairfrontWarning
from ..objectives import Array
from ..problems import FirstOrder, LinearProblem, SecondOrder, WeightedFit
from ..validation import check_count, check_positive, check_seed, refuse
from .base import (
    TARGETS,
    Accepted,
    Aim,
    History,
    OnPoint,
    Outcome,
    Request,
    Solved,
    Solver,
    Status,
    Target,
    check_needs,
    tops,
)
from .path import PathSolver
from .points import CapLine, PathPoint, Restarts, judged, settle, with_bounds
from .refinement import refine
from .sqp import ExactTolerances, FixedCaps, Iterate, PointSolver
from .training import train

WALK = 8  # steps from unconstrained training to caps where a jump may have ended in a worse optimum
NO_GAP = 1e-12  # worst gap of unconstrained training, as a share of the loss without weights, that is none
ON_LEVEL = 1e-6  # share to which the level of a preference is bracketed before its point is solved
ON_LINE = 0.995  # share to which all pi_i h_i of a point on its preference line agree
AUTOMATIC_RESTARTS = 2  # of points whose bound is far, unless told otherwise
FAR = 1e-2  # distance of a bound, as a share of the range of losses, from which points are restarted


@dataclass(frozen=True)
class Newton(Solver):
    """Sequential quadratic programming along the cap on the gaps; most points by interpolation.

    Parameters
    ----------
    tol : float
        Largest KKT residual of a solved point (stationarity with columns at unit scale, violation,
        complementarity), relative to the unconstrained loss. Certificates ask for 1e-7 at least.
    max_iter : int, most steps per point
    restarts : int or "auto"
        Random starts of every point that is not certified, of which the best end is kept; by default
        2 where the lower bound on its loss leaves room for a much better point.
    overshoot : float
        How far to go on past a zero gap, as a share of the gap of unconstrained training: a zero loss
        gap is not a zero rate gap.
    no_group_worse : float, optional
        Forbid any compared group a loss (or rate) worse than under unconstrained training by more
        than this.
    random_state : int, seed of restarts
    """

    tol: float = 1e-9
    max_iter: int = 60
    restarts: int | Literal["auto"] = "auto"
    overshoot: float = 0.0
    no_group_worse: float | None = None
    random_state: int = 0
    name: ClassVar[str] = "newton"
    needs: ClassVar[tuple[type, ...]] = (FirstOrder, SecondOrder, WeightedFit)
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"preferences", "caps"})

    def __post_init__(self) -> None:
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")
        if isinstance(self.restarts, str):
            if self.restarts != "auto":
                raise refuse("restarts", self.restarts, "a whole number of at least 0, or 'auto'")
        else:
            check_count(self.restarts, "restarts", least=0)
        check_positive(self.overshoot, "overshoot", zero=True)
        if self.no_group_worse is not None:
            check_positive(self.no_group_worse, "no_group_worse", zero=True)
        check_seed(self.random_state)

    @property
    def tolerances(self) -> ExactTolerances:
        return ExactTolerances(kkt=self.tol, max_iter=self.max_iter)

    def trace(self, problem: LinearProblem, request: Request, on_point: OnPoint) -> list[Solved]:
        """Return even points, points where the path bends, or one per preference; training is among them."""
        check_needs(self, problem)
        asked, preferences = request.targets(problem.algebra.names, least=2)
        count = asked or request.n_points
        listener = _counter(on_point, count or TARGETS)
        work = self.working(problem)
        solver, plain = train(work, self.tolerances, self.no_group_worse)
        _warn_if_separable(solver, plain)
        if preferences is not None:
            points = preferred(solver, plain, preferences, listener)
            return [*_as_solved(work, solver, points, preferences), *_as_solved(work, solver, [plain])]
        path = CapPath.traced(self, solver, plain, count, listener)
        if count is not None:
            _warn_of_fewer(path.points, count, solver)
        return _as_solved(work, solver, path.points)

    def beyond(self, problem: LinearProblem, solved: list[Solved], share: float) -> list[Solved]:
        """Return points past zero that continue a path of this solver to zero.

        Parameters
        ----------
        problem, solved : what was traced, and its points
        share : how far to go on, as a share of the gap of unconstrained training
        """
        work = self.working(problem)
        ends = solved[0], solved[-1]
        if work.loss != problem.loss or not ends[1].status.solved or ends[1].multipliers is None:
            return []
        W = work.from_user(np.stack([point.W for point in ends]))
        solver, plain = train(work, self.tolerances, self.no_group_worse, start=W[0])
        caps = np.zeros_like(plain.solution.caps)
        (last,) = solver.evaluate(W[1:], np.asarray(ends[1].multipliers)[None], caps[None])
        points = past_zero(solver, share, PathPoint(0.0, last), plain, TARGETS)
        return _as_solved(work, solver, points)

    def solve(self, problem: Any, aim: Aim) -> Outcome:
        """Solve single points: one for each preference or each row of caps."""
        check_needs(self, problem)
        target = aim.target
        assert target is not None
        start = None if aim.start is None else aim.start.reshape(-1, problem.K, problem.d)[0]
        solver, plain = train(problem, self.tolerances, self.no_group_worse, start)
        if target.by_preference.all():
            points = preferred(solver, plain, target.pi)
        else:
            points = [one_cap(solver, plain, caps) for caps in target.caps]
        W = np.stack([point.solution.W for point in points])
        L = np.stack([point.solution.L for point in points])
        objectives = problem.algebra.objectives(L)
        first = problem.algebra.objectives(plain.solution.L[None])
        history = tuple(History.of_objectives(np.vstack([first, row[None]])) for row in objectives)
        n_iter = np.array([point.solution.n_iter for point in points], dtype=np.intp)
        status = tuple(point.status for point in points)
        return Outcome(W, L, objectives, status, n_iter, history, int(n_iter.sum()) + 1)


OnPathPoint = Callable[[PathPoint], None]


def _counter(on_point: OnPoint, total: int) -> OnPathPoint:
    """Return a listener that reports how many points are solved."""
    counted = itertools.count(1)

    def listen(point: PathPoint) -> None:
        done = next(counted)
        on_point(min(done, total), f"{done} points solved", total)

    return listen


def _unheard(point: PathPoint) -> None:
    """Listen to nothing."""


@dataclass(frozen=True, eq=False)
class CapPath:
    """The frontier as a function of the cap: solved points, and anchors to interpolate from.

    points    from unconstrained training to the smallest gap, and past zero if asked for
    anchors   points that keep a Hessian
    """

    path_solver: PathSolver
    points: list[PathPoint]
    anchors: list[PathPoint]

    @classmethod
    def traced(
        cls,
        newton: Newton,
        solver: PointSolver,
        plain: PathPoint,
        n_points: int | None,
        listener: OnPathPoint,
    ) -> CapPath:
        """Trace even points, or as many as the curve bends."""
        n_gaps = solver.n_gaps
        top = solver.with_guard_caps(tops(solver.algebra, plain.solution.caps[:n_gaps], "worst_gap"))
        line = CapLine(np.zeros_like(top), top)
        plain = replace(plain, solution=replace(plain.solution, caps=top))
        path_solver = PathSolver(solver, line, listener)
        count = max(n_points or TARGETS, 2)
        anchors, points = path_solver.trace(plain, count)
        points = settle(solver, points, Restarts(0, newton.random_state))
        if n_points is None:
            anchors, points = refine(path_solver, anchors, points)
        points = _restarted(newton, solver, with_bounds(solver, points))
        if newton.overshoot > 0.0:
            points += past_zero(solver, newton.overshoot, points[-1], plain, count - 1)
        return cls(path_solver, points, anchors)

    def at(self, share: float) -> PathPoint:
        """Solve one more point; interpolation leaves about two passes over the data to do."""
        path_solver = self.path_solver
        solved = path_solver.together([*self.anchors, *self.points], self.anchors, [share])
        point = solved[0] if solved else path_solver.anchor(self.anchors, share)
        return with_bounds(path_solver.solver, [*self.points, point])[-1]


def _restarted(newton: Newton, solver: PointSolver, points: list[PathPoint]) -> list[PathPoint]:
    """Start uncertified points anew from random weights: all, or those whose bound is far."""
    if newton.restarts != "auto":
        return settle(solver, points, Restarts(newton.restarts, newton.random_state))
    losses = [solver.loss(point.solution) for point in points]
    width = FAR * (max(losses) - min(losses))
    if all(loss - point.bound <= width for loss, point in zip(losses, points, strict=True)):
        return points
    settled = settle(solver, points, Restarts(AUTOMATIC_RESTARTS, newton.random_state))
    return with_bounds(solver, settled)


def _warn_if_separable(solver: PointSolver, plain: PathPoint) -> None:
    """Say so where unconstrained training has no certain optimum."""
    at = plain.solution
    precise = at.kkt <= solver.tolerances.certificate
    if solver.problem.loss.smooth and precise and not plain.certified:
        warnings.warn(
            f"unconstrained training has no certain optimum at ridge {float(solver.algebra.p[-1]):.3g}: "
            "labels can be separated, so that weights grow without end, or columns are nearly collinear; "
            "weights are those of an early stop, and such points are not certified: give a larger ridge.",
            FairfrontWarning,
            stacklevel=2,
        )


def _warn_of_fewer(points: list[PathPoint], count: int, solver: PointSolver) -> None:
    """Say so where fewer different points were solved than asked for, and why."""
    distinct = {point.solution.W.tobytes() for point in points if point.status.solved}
    if len(distinct) >= count:
        return
    plain, last = points[0].solution, points[-1]
    L = solver.problem.values(np.stack([0.0 * plain.W, plain.W, last.solution.W]))
    gaps = solver.algebra.worst(L).max(axis=1)
    if gaps[1] <= NO_GAP * float(solver.algebra.p @ L[0]):  # nothing is to be lowered
        return
    warnings.warn(
        f"{count} points were asked for, and {len(distinct)} different ones were solved: the path ends at "
        f"a worst gap of {gaps[2]:.3g} with the status {last.status.value!r}; points beyond it could not "
        "be placed.",
        FairfrontWarning,
        stacklevel=2,
    )


def _as_solved(
    work: LinearProblem,
    solver: PointSolver,
    points: list[PathPoint],
    preferences: Array | None = None,
) -> list[Solved]:
    """Return points in the users' units."""
    if not points:
        return []
    W = work.to_user(np.stack([point.solution.W for point in points]))
    if preferences is None:
        preferences = np.full((len(points), work.algebra.m), np.nan)
    return [
        Solved(
            weights,
            point.status,
            pi,
            L=point.solution.L,
            multipliers=point.solution.multipliers,
            kkt=point.solution.kkt,
            certified=point.certified,
        )
        for weights, point, pi in zip(W, points, preferences, strict=True)
    ]


def one_cap(solver: PointSolver, plain: PathPoint, caps: Array) -> PathPoint:
    """Solve for one cap on every gap (n_gaps,), or end at the smallest gaps that can be reached.

    A certified point is the answer. Otherwise a jump may have ended in a worse local optimum than the
    path from unconstrained training leads to, so the path is followed as well and the smaller loss
    kept.
    """
    first = plain.solution.caps
    end = solver.with_guard_caps(caps)
    if (first <= end).all():
        return plain
    top = solver.with_guard_caps(tops(solver.algebra, first[: solver.n_gaps], "worst_gap"))
    line = CapLine(end, np.maximum(top - end, 0.0))
    start = replace(plain, solution=replace(plain.solution, caps=line.caps(1.0)))
    path_solver = PathSolver(solver, line, _unheard)
    found = path_solver.follow(start, [0.0])[-1]
    if not found.certified and found.status is not Status.FLOOR:
        shares = np.linspace(1.0, 0.0, WALK + 1)[1:]
        other = path_solver.follow(start, shares.tolist())[-1]
        is_end = other.share == 0.0 and other.status.solved
        if is_end and solver.loss(other.solution) < solver.loss(found.solution):
            found = other
    out_of_reach = found.share > 0.0 or not found.status.solved
    return replace(found, status=Status.OUT_OF_REACH) if out_of_reach else found


def solve_down(
    newton: Newton, problem: LinearProblem, start: Array, caps: Array
) -> tuple[Array, Array]:
    """Return weights (K, d) of training from a start, and of points (N, K, d) down rows of caps.

    Where caps cannot be met, the point is the one with the smallest gaps, and so are those with
    smaller caps.
    """
    solver, plain = train(problem, newton.tolerances, newton.no_group_worse, start)
    trained, W, point = plain.solution.W, [], plain
    at_floor = False
    for row in caps:
        end = solver.with_guard_caps(row)
        if not at_floor or (end >= point.solution.caps).all():
            begin = np.maximum(point.solution.caps, end)
            line = CapLine(end, begin - end)
            known = replace(point, share=1.0, solution=replace(point.solution, caps=begin))
            point = PathSolver(solver, line, _unheard).follow(known, [0.0])[-1]
            at_floor = point.share > 0.0
        W.append(point.solution.W)
    return trained, np.array(W).reshape(len(caps), *trained.shape)


def preferred(
    solver: PointSolver, plain: PathPoint, preferences: Array, listener: OnPathPoint = _unheard
) -> list[PathPoint]:
    """Solve one point per preference (R, m), from the least to the most demanding, each from the last."""
    order = np.argsort((preferences[:, 1:] / preferences[:, :1]).max(axis=1), kind="stable")
    solved: dict[int, PathPoint] = {}
    last = plain.solution
    for i in order.tolist():
        point = _solve_preference(solver, replace(last, level=np.nan), preferences[i])
        if not point.status.solved:
            point = _along_the_caps(solver, plain, preferences[i])
        if point.status.solved:
            last = replace(point.solution, factor=None)
        solved[i] = point
        listener(point)
    return [solved[i] for i in range(len(preferences))]


def _solve_preference(solver: PointSolver, start: Iterate, pi: Array) -> PathPoint:
    """Solve for one preference, and say whether its line was met."""
    goal = solver.preference(pi)
    at = solver.solve(start, goal)
    if not solver.is_solved(at) and start.factor is not None:
        again = solver.solve(replace(start, factor=None), goal)
        at = again if again.kkt < at.kkt else at
    point = judged(solver, PathPoint(np.nan, at))
    if not point.status.solved:
        return point
    if not np.any(at.multipliers[: solver.n_gaps]):
        return replace(point, status=Status.NEAREST)
    levels = pi * solver.algebra.objectives(at.L[None])[0]
    on_line = levels.min() >= ON_LINE * levels.max()
    return replace(point, status=Status.LINE if on_line else Status.CHEBYSHEV)


def _along_the_caps(solver: PointSolver, plain: PathPoint, pi: Array) -> PathPoint:
    """Follow the caps of a preference down to those at the unconstrained loss, and come back.

    These are tighter than it asks. Where they end at a floor above the preference line, the floor is
    the nearest point; otherwise the level with pi_1 loss(level) = level lies between that of the last
    point and that of unconstrained training.
    """
    target, algebra = Target.from_preferences(pi[None]), solver.algebra

    def caps_at(level: float) -> Array:
        return solver.with_guard_caps(target.caps_at(algebra, np.array([level]))[0])

    def levels(at: Iterate) -> Array:
        return np.asarray(pi * algebra.objectives(at.L[None])[0])

    first = levels(plain.solution)
    start, end = caps_at(float(first.max())), caps_at(float(first[0]))
    line = CapLine(end, np.maximum(start - end, 0.0))
    begin = replace(plain, solution=replace(plain.solution, caps=start, factor=None))
    near = PathSolver(solver, line, _unheard).follow(begin, [0.0])[-1]
    reached = levels(near.solution)
    if reached[0] <= reached[1:].max():
        return replace(near, share=np.nan, status=Status.OUT_OF_REACH)
    last = [near.solution]

    def missed(level: float) -> float:
        last.append(solver.solve(replace(last[-1], factor=None), FixedCaps(caps_at(level))))
        return float(levels(last[-1])[0]) - level

    level = brentq(missed, float(reached[1:].max()), float(first.max()), rtol=ON_LEVEL)
    return _solve_preference(solver, replace(last[-1], level=level, factor=None), pi)


def past_zero(
    solver: PointSolver, overshoot: float, last: PathPoint, plain: PathPoint, count: int
) -> list[PathPoint]:
    """Go on past zero: every gap at minus a growing share of what it was under unconstrained training."""
    n_gaps = solver.n_gaps
    z = solver.algebra.gaps(plain.solution.L[None])[0]
    n_steps = max(3, int(np.ceil(count * overshoot)) + 1)
    points, at = list[PathPoint](), replace(last.solution, factor=None)
    for share in np.linspace(0.0, overshoot, n_steps)[1:]:
        b = solver.constraints.b.copy()
        b[:n_gaps] -= share * z
        beyond = replace(solver, constraints=replace(solver.constraints, b=b))
        at = beyond.solve(at, FixedCaps(np.zeros(len(b))))
        point = judged(beyond, PathPoint(-float(share), at))
        if not point.status.solved:
            break
        points.append(replace(point, status=Status.PAST))
    return points
