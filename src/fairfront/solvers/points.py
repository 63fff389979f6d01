"""Points of a path: what they are, and better ones where a point is not known to be a global optimum.

Where omega has negative entries the capped problem is not convex, and several local optima may exist
at the same caps. Such a point is solved again from where experience finds better ones: from the next
point, if that lies below the tangent of the loss at this one (it came from another branch); from
unconstrained training; from models that ignore their features; and from random weights, where the
tangents of certified points (`certificate`, (3)) leave room for a much better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..objectives import Array
from .base import Status
from .certificate import is_certified, lower_bound
from .sqp import FixedCaps, Iterate, PointSolver


@dataclass(frozen=True, eq=False)
class CapLine:
    """Caps (q,) along a path: ``end + share * span``, with the share of the way that is left."""

    end: Array
    span: Array

    def caps(self, share: float) -> Array:
        return np.asarray(self.end + share * self.span)

    def share_of(self, sizes: Array) -> float:
        """Return the smallest share of at least 0 with which gaps of these sizes are within the caps."""
        wide = self.span > 0.0
        return float(((sizes - self.end)[wide] / self.span[wide]).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class PathPoint:
    """A point of the path: the solution at caps ``line.caps(share)``; NaN off the path."""

    share: float
    solution: Iterate
    status: Status = Status.EFFICIENT
    certified: bool = False
    bound: float = -np.inf
    """What no model within the caps has a smaller loss than."""

    @property
    def active(self) -> bytes:
        """Return which constraints bind, and on which side, as a key."""
        return np.sign(self.solution.multipliers).astype(np.int8).tobytes()


def judged(solver: PointSolver, point: PathPoint) -> PathPoint:
    """Return the point with its status and its certificate."""
    at = point.solution
    if _exceeds_caps(solver, at):
        return replace(point, status=Status.OUT_OF_REACH, certified=False)
    if not solver.is_solved(at):
        ended = at.n_iter >= solver.tolerances.max_iter
        return replace(point, status=Status.LIMIT if ended else Status.STALLED, certified=False)
    solved = point.status if point.status.solved else Status.EFFICIENT
    return replace(point, status=solved, certified=is_certified(solver, at))


def _exceeds_caps(solver: PointSolver, at: Iterate) -> bool:
    """Tell whether a cap is missed by more than rounding and the tolerance explain."""
    tolerances, units = solver.tolerances, solver.units
    n_signs = len(solver.problem.terms)
    sizes = np.abs(solver.constraints.gaps(at.L[None])[0])
    largest = max(float(sizes[: len(sizes) - n_signs].max(initial=0.0)), tolerances.cap * units.loss)
    allowed = max(tolerances.cap * largest, 10.0 * tolerances.kkt * float(units.constraints.max()))
    return solver.violation(at) > allowed


def with_bounds(solver: PointSolver, points: Sequence[PathPoint]) -> list[PathPoint]:
    """Return points with the best lower bound that the tangents of certified ones give them."""
    certified = [point.solution for point in points if point.certified]
    found = []
    for point in points:
        bounds = [lower_bound(solver, other, point.solution.caps) for other in certified]
        bound = solver.loss(point.solution) if point.certified else max(bounds, default=-np.inf)
        found.append(replace(point, bound=bound))
    return found


@dataclass(frozen=True, eq=False)
class Restarts:
    """Random starts for uncertified points: how many each gets, and their seed."""

    count: int
    random_state: int

    def around(self, solver: PointSolver, point: PathPoint) -> list[Iterate]:
        """Return models with the point's multipliers, perturbed by the size of scores in every column."""
        rng, W = np.random.default_rng(self.random_state), point.solution.W
        scale = solver.problem.column_scale()
        spread = 0.5 * float(np.abs(W * scale).max()) + 0.1 * solver.problem.score_size
        starts = W + spread * rng.normal(size=(self.count, *W.shape)) / scale
        multipliers = np.repeat(point.solution.multipliers[None], self.count, axis=0)
        caps = np.repeat(point.solution.caps[None], self.count, axis=0)
        return solver.evaluate(starts, multipliers, caps) if self.count else []


def settle(solver: PointSolver, points: Sequence[PathPoint], restarts: Restarts) -> list[PathPoint]:
    """Solve uncertified points again where a better one may be found, from the last to the first.

    The first point stays as it is: unconstrained training has no caps.
    """
    settled = list(points)
    if all(point.certified for point in points[1:]):
        return settled
    plain, constants = settled[0].solution, constant_models(solver, settled[0].solution)
    for i in reversed(range(1, len(points))):
        if settled[i].certified:
            continue
        starts = [*_neighbours(solver, settled, i), plain, *_within(solver, constants, settled[i])]
        settled[i] = best_of(solver, settled[i], starts)
        if not settled[i].certified and restarts.count:
            settled[i] = best_of(solver, settled[i], restarts.around(solver, settled[i]))
    return settled


def best_of(solver: PointSolver, point: PathPoint, starts: Sequence[Iterate]) -> PathPoint:
    """Return the point, or a better one at the same caps that one of the starts leads to."""
    for start in starts:
        goal = FixedCaps(point.solution.caps)
        solution = solver.solve(replace(start, factor=None), goal)
        other = judged(solver, replace(point, solution=solution))
        point = other if _is_better(solver, other, point) else point
        if point.certified:
            break
    return point


def constant_models(solver: PointSolver, like: Iterate) -> list[Iterate]:
    """Return models that ignore their features, with an intercept and without one: many gaps are 0."""
    intercepts = np.where(solver.problem.penalised > 0.0, 0.0, like.W)
    W = np.stack([intercepts, np.zeros_like(like.W)])
    multipliers = np.zeros((2, len(like.multipliers)))
    return solver.evaluate(W, multipliers, np.repeat(like.caps[None], 2, axis=0))


def _neighbours(solver: PointSolver, points: Sequence[PathPoint], i: int) -> list[Iterate]:
    """Return the points next to the i-th that may lead to a better one."""
    point, starts = points[i], []
    if not point.status.solved:
        starts.append(points[i - 1].solution)
    if i + 1 < len(points) and points[i + 1].status.solved:
        after = points[i + 1].solution
        tangent = lower_bound(solver, point.solution, after.caps)
        below = solver.loss(after) < tangent - solver.tolerances.branch * abs(tangent)
        starts += [after] if below or not point.status.solved else []
    return starts


def _within(solver: PointSolver, models: Sequence[Iterate], point: PathPoint) -> list[Iterate]:
    """Return those of some models that are within the caps of a point and have no larger loss."""
    caps, tolerance = point.solution.caps, solver.tolerances.kkt
    within = [at for at in models if (solver.sizes(at.L) <= caps + tolerance).all()]
    most = solver.loss(point.solution) * (1.0 + solver.tolerances.branch)
    return [at for at in within if not point.status.solved or solver.loss(at) <= most]


def _is_better(solver: PointSolver, new: PathPoint, old: PathPoint) -> bool:
    """Tell whether a point has a smaller loss, or the same with a certificate, or is solved at last."""
    if not (new.status.solved and old.status.solved):
        return new.status.solved and not old.status.solved
    near = solver.tolerances.branch * abs(solver.loss(old.solution))
    difference = solver.loss(new.solution) - solver.loss(old.solution)
    return difference < -near or (difference <= near and new.certified and not old.certified)
