"""The frontier of a problem as a function of the cap: traced once, and solved anywhere for two passes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..objectives import Array
from ..problems import LinearProblem
from .base import TARGETS, Status, tops
from .path import OnPoint, PathSolver
from .points import CapLine, PathPoint, Restarts, judged, settle, with_bounds
from .refinement import refine
from .sqp import ExactTolerances, FixedCaps, PointSolver
from .training import train

WALK = 8  # steps from unconstrained training to caps where a jump may have ended in a worse optimum
AUTOMATIC_RESTARTS = 2  # of points whose bound is far, unless told otherwise
FAR = 1e-2  # distance of a bound, as a share of the range of losses, from which points are restarted


def no_listener(point: PathPoint) -> None:
    """Listen to nothing."""


@dataclass(frozen=True)
class PathSettings:
    """What a path is traced with: restarts of uncertified points, their seed, and how far past zero."""

    restarts: int | Literal["auto"] = "auto"
    random_state: int = 0
    overshoot: float = 0.0


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
        solver: PointSolver,
        plain: PathPoint,
        n_points: int | None,
        settings: PathSettings,
        listener: OnPoint,
    ) -> CapPath:
        """Trace even points, or as many as the curve bends."""
        n_gaps = solver.n_gaps
        top = solver.with_guard_caps(tops(solver.algebra, plain.solution.caps[:n_gaps]))
        line = CapLine(np.zeros_like(top), top)
        plain = replace(plain, solution=replace(plain.solution, caps=top))
        path_solver = PathSolver(solver, line, listener)
        count = max(n_points or TARGETS, 2)
        anchors, points = path_solver.trace(plain, count)
        points = settle(solver, points, Restarts(0, settings.random_state))
        if n_points is None:
            anchors, points = refine(path_solver, anchors, points)
        points = _restarted(settings, solver, with_bounds(solver, points))
        if settings.overshoot > 0.0:
            points += past_zero(solver, settings.overshoot, points[-1], plain, count - 1)
        return cls(path_solver, points, anchors)

    def at(self, share: float) -> PathPoint:
        """Solve one more point; interpolation leaves about two passes over the data to do."""
        path_solver = self.path_solver
        solved = path_solver.together([*self.anchors, *self.points], self.anchors, [share])
        point = solved[0] if solved else path_solver.anchor(self.anchors, share)
        return with_bounds(path_solver.solver, [*self.points, point])[-1]


def _restarted(settings: PathSettings, solver: PointSolver, points: list[PathPoint]) -> list[PathPoint]:
    """Start uncertified points anew from random weights: all, or those whose bound is far."""
    if settings.restarts != "auto":
        settled = settle(solver, points, Restarts(settings.restarts, settings.random_state))
        return with_bounds(solver, settled)
    losses = [solver.loss(point.solution) for point in points]
    width = FAR * (max(losses) - min(losses))
    if all(loss - point.bound <= width for loss, point in zip(losses, points, strict=True)):
        return points
    settled = settle(solver, points, Restarts(AUTOMATIC_RESTARTS, settings.random_state))
    return with_bounds(solver, settled)


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
    top = solver.with_guard_caps(tops(solver.algebra, first[: solver.n_gaps]))
    line = CapLine(end, np.maximum(top - end, 0.0))
    start = replace(plain, solution=replace(plain.solution, caps=line.caps(1.0)))
    path_solver = PathSolver(solver, line, no_listener)
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
    problem: LinearProblem,
    tolerances: ExactTolerances,
    no_group_worse: float | None,
    start: Array,
    caps: Array,
) -> tuple[Array, Array]:
    """Return weights (K, d) of training from a start, and of points (N, K, d) down rows of caps.

    Where caps cannot be met, the point is the one with the smallest gaps, and so are those with
    smaller caps.
    """
    solver, plain = train(problem, tolerances, no_group_worse, start)
    trained, W, point = plain.solution.W, [], plain
    at_floor = False
    for row in caps:
        end = solver.with_guard_caps(row)
        if not at_floor or (end >= point.solution.caps).all():
            begin = np.maximum(point.solution.caps, end)
            line = CapLine(end, begin - end)
            known = replace(point, share=1.0, solution=replace(point.solution, caps=begin))
            point = PathSolver(solver, line, no_listener).follow(known, [0.0])[-1]
            at_floor = point.share > 0.0
        W.append(point.solution.W)
    return trained, np.array(W).reshape(len(caps), *trained.shape)


def past_zero(solver: PointSolver, overshoot: float, last: PathPoint, plain: PathPoint, count: int) -> list[PathPoint]:
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
