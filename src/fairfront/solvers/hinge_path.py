"""The path of the linear support vector machine: for caps and preferences, to zero and past it.

It is `newton` for the hinge, with the same settings and the same order of points. A point is solved
from the one before it. Points without a certificate are local optima: they are solved again from
the next point, from the model without weights, from random ones, and from models that are handed
in, and the best is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..objectives import Array
from ..problems import LinearProblem
from .base import TARGETS, Outcome, Status, Target, tops
from .hinge import HingePoint, HingeSolver
from .hinge_floor import floor_point
from .hinge_lines import FROM_THE_SAME_POINT
from .hinge_problem import hinge_problem
from .refinement import ACTIVE, MOST_POINTS, ROUNDS, Curve
from .sqp import ExactTolerances
from .training import with_constraints

OnHingePoint = Callable[[HingePoint], None]
STARTS_OFF, SPREAD_OFF = (
    0.5,
    0.1,
)  # spread of random starts, as a share of the largest weight, and what is added to it
ON_LINE, ON_LEVEL = 0.995, 1e-9
"""Share to which all pi_i h_i of a point on its line agree, and to which its level is solved."""
MOST_LEVELS = 40  # most points that are solved on the way to one preference
WALK = 8  # steps from plain training to caps where a jump may have ended in a worse local optimum


@dataclass(frozen=True)
class HingeSettings:
    """How exactly points are solved, and how much worse than in training a group may get."""

    tol: float = ExactTolerances().kkt
    no_group_worse: float | None = None

    def solver(self, problem: LinearProblem, plain: HingePoint | None = None) -> HingeSolver:
        """Return the solver of a framed linear problem; plain training starts at ``plain``, if given."""
        terms = hinge_problem(problem).with_algebra(problem.algebra.bounded(len(problem.terms)))
        solver = HingeSolver.of(terms, problem.algebra, self.tol, plain)
        if self.no_group_worse is None:
            return solver
        cells = problem.values(solver.trained.w[None, None])[0]
        return solver.with_guards(with_constraints(problem, cells, self.no_group_worse))


def hinge_path(solver: HingeSolver, n_points: int | None, on_point: OnHingePoint) -> list[HingePoint]:
    """Return plain training and points down to the floor: evenly, or as many as the path bends."""
    plain = solver.plain
    top = tops(solver.gaps, plain.caps)
    plain = replace(plain, caps=top)
    shares = np.linspace(1.0, 0.0, max(n_points or TARGETS, 2))[1:]
    floor = floor_point(solver, plain, np.zeros_like(top))
    bottom = np.zeros_like(top) if floor is None else floor.caps
    between = shares if floor is None else shares[:-1]
    points = follow(solver, plain, bottom + between[:, None] * (top - bottom), on_point)
    points = [plain, *points] if floor is None else [plain, *points, floor]
    return points if n_points is not None else refined(solver, points, top, on_point)


def follow(solver: HingeSolver, start: HingePoint, caps: Array, on_point: OnHingePoint) -> list[HingePoint]:
    """Solve for every row of caps (N, q) in turn, each from the last point that was solved."""
    points: list[HingePoint] = []
    last = start
    for row in caps:
        point = solver.solve_from(row, last)
        last = point if point.status.solved else last
        points.append(point)
        on_point(point)
    return points


def refined(solver: HingeSolver, points: list[HingePoint], top: Array, on_point: OnHingePoint) -> list[HingePoint]:
    """Add points where interpolated weights would leave the front or another gap is active."""
    for _ in range(ROUNDS):
        shares = _shares_missing(solver, points, top)[: max(MOST_POINTS - len(points), 0)]
        added = []
        for share in shares:
            before = [point for point in points if _share(point.caps, top) > share][-1]
            point = solver.solve_from(share * top, before)
            if point.status.solved:
                added.append(point)
            on_point(point)
        if not added:
            break
        points = sorted([*points, *added], key=lambda point: -_share(point.caps, top))
    return points


def _share(sizes: Array, top: Array) -> float:
    """Return the smallest share of the caps of training that gaps of these sizes are within."""
    wide = top > 0.0
    return float((sizes[wide] / top[wide]).max(initial=0.0))


def _shares_missing(solver: HingeSolver, points: list[HingePoint], top: Array) -> list[float]:
    """Return the shares at which a path needs points."""
    algebra = solver.gaps
    multipliers = np.abs([point.multipliers[: len(top)] for point in points])
    curve = Curve(
        share=np.array([_share(point.caps, top) for point in points]),
        loss=np.array([float(algebra.p @ point.L) for point in points]),
        slope=-(multipliers @ top),
        active=multipliers > ACTIVE,
        ends_at_floor=points[-1].status is Status.FLOOR,
        unit=solver.size,
    )
    halfway = [0.5 * (one.W + two.W)[0] for one, two in pairwise(points)]
    L = np.stack([solver.problem.cells(w) for w in halfway])
    sizes = algebra.violation(algebra.gaps(L))
    halfway_share = np.array([_share(row, top) for row in sizes])
    return curve.shares_missing(halfway_share, L @ algebra.p)


def solved_again(settings: HingeSettings, problem: LinearProblem, points: Sequence[HingePoint], plain: int) -> Array:
    """Return weights (N, 1, d) of points that are solved on other rows, each with its caps.

    Where caps cannot be met any more, the point is the last one that could, or the floor.
    """
    solver = settings.solver(problem, points[plain])
    W = np.stack([point.W for point in points])
    W[plain] = solver.plain.W
    last, previous = solver.plain, points[plain]
    for i in np.delete(np.arange(len(points)), plain).tolist():
        # the path goes on as it did on all rows
        start = replace(points[i].start, w=(last.W + points[i].W - previous.W)[0])
        point = solver.solve(points[i].caps, start, FROM_THE_SAME_POINT)
        if not point.status.solved:
            floor = floor_point(solver, last, points[i].caps)
            point = solver.solve_from(points[i].caps, last) if floor is None else floor
        if point.status.solved:
            last, previous = point, points[i]
        W[i] = last.W
    return W


@dataclass(frozen=True)
class Restarts:
    """Further starts of uncertified points: how many random ones, their seed, other models.

    ``elsewhere`` returns a model (d,) per row of caps (N, q), by another method.
    """

    count: int
    seed: int
    elsewhere: Callable[[Array], Array]


def improved(solver: HingeSolver, points: list[HingePoint], restarts: Restarts) -> list[HingePoint]:
    """Return the points, each the best of several starts where it is not certified.

    Other branches of local optima begin somewhere and go on from point to point. So every point is
    solved from the one after it, a few of them from far away as well, and all from their neighbours
    again if that found a better branch.
    """
    found = _swept(solver, points)
    uncertified = [i for i in range(1, len(found)) if not found[i].certified]
    if not uncertified:
        return [solver.bounded(point) for point in found]
    rng = np.random.default_rng(restarts.seed)
    probes = sorted({uncertified[len(uncertified) // 2], uncertified[-1]})
    elsewhere = restarts.elsewhere(np.stack([found[i].caps for i in probes]))
    models = dict(zip(probes, elsewhere, strict=True))
    before = [solver.loss(point) for point in found]
    for i in uncertified:
        starts = [_perturbed(found[i].W[0], rng) for _ in range(restarts.count)]
        starts += [models[i]] if i in models else []
        none = np.zeros_like(found[i].multipliers)
        others = [solver.solve(found[i].caps, solver.start_at(w, none)) for w in starts]
        if i in models:
            others.append(solver.solve_anew(found[i].caps, solver.constant(found[i])))
        found[i] = solver.better(found[i], others)
    if any(solver.loss(point) < loss for point, loss in zip(found, before, strict=True)):
        found = _swept(solver, found[::-1])[::-1]
        found = _swept(solver, found)
    return [solver.bounded(point) for point in found]


def _swept(solver: HingeSolver, points: list[HingePoint]) -> list[HingePoint]:
    """Solve uncertified points from those after them, the last first, and keep the better ones."""
    found = list(points)
    for i in reversed(range(len(points) - 1)):
        if not found[i].certified and found[i].status is not Status.FLOOR:
            found[i] = solver.better(found[i], [solver.solve(found[i].caps, found[i + 1].start)])
    return found


def _perturbed(w: Array, rng: np.random.Generator) -> Array:
    spread = STARTS_OFF * float(np.abs(w).max()) + SPREAD_OFF
    return np.asarray(w + rng.normal(scale=spread, size=w.shape))


def past_zero(solver: HingeSolver, last: HingePoint, overshoot: float, count: int) -> list[HingePoint]:
    """Go on past zero: every gap at minus a growing share of what it was under plain training."""
    if overshoot == 0.0 or not last.status.solved:
        return []
    z = solver.gaps.gaps(solver.plain.L[None])[0]
    points, at = [], last
    for share in np.linspace(0.0, overshoot, max(3, int(np.ceil(count * overshoot)) + 1))[1:]:
        at = solver.past(at, z, float(share))
        if not at.status.solved:
            break
        points.append(replace(at, status=Status.PAST, certified=False))
    return points


def one_cap(solver: HingeSolver, caps: Array) -> HingePoint:
    """Solve for one row of caps, or end at the smallest gaps that can be reached.

    Without a certificate the jump may have ended in a worse local optimum than the path leads to,
    so the path is followed as well and the smaller loss kept.
    """
    plain = solver.plain
    if (plain.caps <= caps).all():
        return plain
    begun = replace(plain, caps=np.maximum(tops(solver.gaps, plain.caps), caps))
    floor = floor_point(solver, begun, caps)
    if floor is not None:
        return replace(floor, status=Status.OUT_OF_REACH)
    point = solver.solve_from(caps, begun)
    if point.certified:
        return point
    shares = np.linspace(0.0, 1.0, WALK + 1)[1:, None]
    walked = follow(solver, begun, (1.0 - shares) * begun.caps + shares * caps, lambda _: None)
    return solver.better(point, walked[-1:])


def preferred(solver: HingeSolver, preferences: Array, on_point: OnHingePoint) -> list[HingePoint]:
    """Solve one point per preference (R, m), the least demanding first, each from the last."""
    order = np.argsort((preferences[:, 1:] / preferences[:, :1]).max(axis=1), kind="stable")
    points: dict[int, HingePoint] = {}
    last = solver.plain
    for i in order.tolist():
        points[i] = _preferred(solver, last, preferences[i])
        last = points[i] if points[i].status.solved else last
        on_point(points[i])
    return [points[i] for i in range(len(preferences))]


def _preferred(solver: HingeSolver, start: HingePoint, pi: Array) -> HingePoint:
    """Find the level t with pi_1 loss = t at caps phi^-1(t / pi_j), by bracketed Newton steps.

    The loss falls as caps grow with the level, so that pi_1 loss - t has one root: at pi_1 times
    the plain loss it is not negative, and where plain training is within the caps it is not
    positive.
    """
    target = Target.from_preferences(pi[None])
    plain = pi * solver.gaps.objectives(solver.plain.L[None])[0]
    low, high = float(plain[0]), float(plain.max())
    if low >= high:
        return replace(solver.plain, status=Status.NEAREST, pi=pi)
    level, point = float(np.clip(pi[0] * solver.loss(start), low, high)), start
    for _ in range(MOST_LEVELS):
        tried = solver.solve_from(target.caps_at(solver.gaps, np.array([level]))[0], point)
        if tried.status.solved:
            point = tried
            missing = float(pi[0]) * solver.loss(point) - level
            following = _next_level(target, solver, point, level)
        else:  # caps are out of reach: the level has to be higher
            missing, following = np.inf, np.nan
        if abs(missing) <= ON_LEVEL * level:
            return _on_level(solver, point, pi)
        low, high = (level, high) if missing > 0.0 else (low, level)
        if high - low <= ON_LEVEL * high:
            break
        level = following if low < following < high else 0.5 * (low + high)
    return replace(point, status=Status.OUT_OF_REACH, pi=pi)


def _next_level(target: Target, solver: HingeSolver, point: HingePoint, level: float) -> float:
    """Return where the level goes by the prices of the gaps at a point that was solved for it."""
    price = np.abs(point.multipliers[None, : len(point.caps)])
    known = (np.array([level]), np.array([solver.loss(point)]), point.caps[None], price)
    return float(target.next_level(solver.gaps, *known)[0])


def _on_level(solver: HingeSolver, point: HingePoint, pi: Array) -> HingePoint:
    levels = pi * solver.gaps.objectives(point.L[None])[0]
    on_line = levels.min() >= ON_LINE * levels.max()
    return replace(point, status=Status.LINE if on_line else Status.CHEBYSHEV, pi=pi)


def polished_hinge(
    problem: LinearProblem,
    ends: Outcome,
    target: Target | None,
    automatic: bool,
    every: bool,
) -> Outcome:
    """Solve ends of first-order runs for the hinge: for their target, or the gaps that they have.

    Parameters
    ----------
    problem : framed, with the hinge as its loss
    ends : weights in the same coordinates
    automatic : whether nobody asked for the caps of the target: where one side of a gap counts,
        they become what an end has, because they were those of another loss
    every : whether to solve runs that did not reach their end as well
    """
    solver = HingeSettings().solver(problem)
    W, status = ends.W.copy(), list(ends.status)
    for r in [r for r in range(len(W)) if every or status[r].solved]:
        point = _polished(solver, solver.at(W[r, 0]), target, r, automatic)
        if point.status.solved:
            W[r], status[r] = point.W, point.status
        elif status[r].solved:
            status[r] = Status.STALLED
    L = problem.values(W)
    objectives = problem.algebra.objectives(L)
    return replace(ends, W=W, L=L, objectives=objectives, status=tuple(status))


def _polished(solver: HingeSolver, end: HingePoint, target: Target | None, r: int, automatic: bool) -> HingePoint:
    """Return the point of run r, which ended at a point that is not solved."""
    if target is None:
        return solver.solve(end.caps, end.start)
    if target.by_preference[r]:
        return _preferred(solver, end, target.pi[r])
    is_fixed = solver.gaps.two_sided | (not automatic)
    return solver.solve_from(np.where(is_fixed, target.caps[r], end.caps), end)
