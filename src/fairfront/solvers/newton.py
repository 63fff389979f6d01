"""Newton: the exact frontier as a path of solved points, from unconstrained training to the smallest gap."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np
from scipy.optimize import brentq

from ..exceptions import FairfrontWarning
from ..objectives import Array
from ..problems import FirstOrder, LinearProblem, SecondOrder, WeightedFit
from ..validation import check_choice, check_count, check_flag, check_positive
from .base import (
    TARGETS,
    Accepted,
    Aim,
    History,
    OnPoint,
    Outcome,
    Path,
    Request,
    Solved,
    Solver,
    Status,
    Target,
    check_needs,
    tops,
)
from .hard_points import approach, past_zero, restarted, unrounded
from .knots import (
    OnKnot,
    alike,
    first_knot,
    foreseen,
    is_optimum,
    knot_solver,
    plain_training,
    refine,
    settled,
    solve_caps,
    solve_knot,
    unheard,
)
from .sqp import PRECISE, Knot, KnotSolver

WALK = 8  # steps from unconstrained training to caps where a jump may have ended in a worse local optimum
NO_GAP = 1e-12  # worst gap of unconstrained training, as a share of the loss without weights, that is none
ON_LEVEL = 1e-6  # share to which the level of a preference is bracketed before its point is solved


@dataclass(frozen=True)
class Newton(Solver):
    """Sequential quadratic programming along the cap on the gaps, warm started from point to point.

    Parameters
    ----------
    tol : float
        Largest KKT residual of a solved point (stationarity with columns at unit scale, violation,
        complementarity), relative to the plain loss.
    max_iter : int, most steps per point
    restarts : int, for surrogates that are not convex: further starts of every point, of which the best is kept
    overshoot : float
        How far to go on past a zero gap, as a share of the gap of unconstrained training: a zero loss gap is not a
        zero rate gap.
    no_group_worse : float, optional
        Forbid any compared group a loss (or rate) worse than under unconstrained training by more than this.
    one_sided : bool, counts only gaps of a group above the reference, not below it, and no pairs of other groups
    path : {"worst_gap", "proportional"}
        How caps shrink: one cap on the worst gap of each notion, or all gaps in proportion.
    """

    tol: float = 1e-9
    max_iter: int = 60
    restarts: int = 0
    overshoot: float = 0.0
    no_group_worse: float | None = None
    one_sided: bool = False
    path: Path = "worst_gap"
    name: ClassVar[str] = "newton"
    needs: ClassVar[tuple[type, ...]] = (FirstOrder, SecondOrder, WeightedFit)
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"preferences", "caps"})

    def __post_init__(self) -> None:
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")
        check_count(self.restarts, "restarts", least=0)
        check_positive(self.overshoot, "overshoot", zero=True)
        if self.no_group_worse is not None:
            check_positive(self.no_group_worse, "no_group_worse", zero=True)
        check_flag(self.one_sided, "one_sided")
        check_choice(self.path, "path", get_args(Path))

    def stated(self, problem: LinearProblem) -> LinearProblem:
        """Return the problem, with one-sided gaps, group minus reference, where asked for."""
        if not self.one_sided:
            return problem
        algebra = problem.algebra
        assert algebra.signs is not None
        assert algebra.notion_of is not None
        inner = np.asarray((algebra.signs > 0).any(axis=1))  # what some contrast starts from; references never are
        kept = np.asarray(~((algebra.signs < 0) & inner[:, None]).any(axis=0))
        names = ("loss", *(name for name, keep in zip(algebra.names[1:], kept, strict=True) if keep))
        rows = replace(algebra, names=names, B=algebra.B[kept], b=algebra.b[kept], two_sided=np.zeros(sum(kept), bool))
        return problem.with_algebra(replace(rows, notion_of=algebra.notion_of[kept], signs=algebra.signs[:, kept]))

    def trace(self, problem: LinearProblem, request: Request, on_point: OnPoint) -> list[Solved]:
        """Return even points, points where the path bends, or one per preference; plain training is among them."""
        check_needs(self, problem)
        asked, pi = request.targets(problem.algebra.names, least=2)
        count = asked or request.n_points
        total = count or TARGETS
        solved = itertools.count(1)

        def on_knot(knot: Knot) -> None:
            done = next(solved)
            on_point(min(done, total), f"{done} points solved", total)

        work = self.working(problem)
        knots = newton_path(work, self, count, pi, on_knot)
        if work.loss != problem.loss:
            knots = unrounded(self, problem.framed(), knots[0 if pi is None else -1], knots, self.path)
        if count is not None and pi is None:
            _warn_of_fewer(knots, count, problem.framed())
        return solved_points(work, knots)

    def beyond(self, problem: LinearProblem, solved: list[Solved], share: float) -> list[Solved]:
        """Return points past zero that continue a path of this solver to zero.

        Parameters
        ----------
        problem, solved : what was traced, and its points
        share : how far to go on, as a share of the plain gap
        """
        work = self.working(problem)
        if work.loss != problem.loss or not isinstance(solved[0], Knot) or not isinstance(solved[-1], Knot):
            return []
        W = work.from_user(np.stack([solved[0].W, solved[-1].W]))
        solver = knot_solver(self, work, W[0])
        start, last = (replace(knot, W=w) for knot, w in zip((solved[0], solved[-1]), W, strict=True))
        return solved_points(work, past_zero(solver, share, last, start, TARGETS)) if last.status.solved else []

    def solve(self, problem: Any, aim: Aim) -> Outcome:
        check_needs(self, problem)
        target = aim.target
        assert target is not None
        begin = None if aim.start is None else aim.start.reshape(-1, problem.K, problem.d)[0]
        plain = plain_training(self, problem, begin)[0]
        solver = knot_solver(self, problem, plain)
        first = first_knot(solver, plain)
        if target.by_preference.all():
            knots = preferred(solver, first, target.pi)
        else:
            knots = [one_cap(solver, first, caps) for caps in target.caps]
        if aim.exact is not None and aim.exact.loss != problem.loss:
            knots = unrounded(self, aim.exact, first, knots)
        W, L = np.stack([k.W for k in knots]), np.stack([k.L for k in knots])
        objectives = problem.algebra.objectives(L)
        begun = problem.algebra.objectives(first.L[None])
        history = tuple(History.of_objectives(np.vstack([begun, h[None]])) for h in objectives)
        n_iter = np.array([k.n_iter for k in knots], dtype=np.intp)
        status = tuple(k.status for k in knots)
        return Outcome(W, L, objectives, status, n_iter, history, int(n_iter.sum()) + 1)


def newton_path(
    problem: LinearProblem,
    newton: Newton,
    n_points: int | None = None,
    preferences: Array | None = None,
    on_knot: OnKnot = unheard,
) -> list[Knot]:
    """Solve plain training and the points after it: one per preference, ``n_points`` evenly, or as many as it bends."""
    plain = plain_training(newton, problem)[0]
    solver = knot_solver(newton, problem, plain)
    start = first_knot(solver, plain)
    if problem.loss.smooth and start.kkt <= PRECISE and not is_optimum(solver, start):
        warnings.warn(
            f"unconstrained training has no certain optimum at ridge {float(problem.algebra.p[-1]):.3g}: labels can be "
            "separated, so that weights grow without end, or columns are nearly collinear; weights are those of an "
            "early stop, and such points are not certified: give a larger ridge.",
            FairfrontWarning,
            stacklevel=2,
        )
    if preferences is not None:
        return [*preferred(solver, start, preferences, on_knot), start]
    top = tops(problem.algebra, start.caps, newton.path)
    start = replace(start, caps=top)
    shares = np.linspace(1.0, 0.0, max(n_points or TARGETS, 2))[1:]
    knots = settled(solver, [start, *spread_to_floor(solver, start, shares, top, on_knot)])
    if n_points is None:
        knots = settled(solver, refine(solver, knots, top, on_knot), tried=knots)
    if newton.restarts:
        knots = settled(solver, [knots[0], *(restarted(solver, knot, newton.restarts) for knot in knots[1:])])
    if newton.overshoot > 0:
        knots += past_zero(solver, newton.overshoot, knots[-1], start, len(shares))
    return knots


def _warn_of_fewer(knots: list[Knot], count: int, problem: LinearProblem) -> None:
    """Say so where fewer different points were solved than asked for, and why."""
    found, last = len({knot.W.tobytes() for knot in knots if knot.status.solved}), knots[-1]
    if found >= count:
        return
    L = problem.values(np.stack([0.0 * last.W, knots[0].W, last.W]))
    _, plain, worst = problem.algebra.worst(L).max(axis=1).tolist()
    if plain <= NO_GAP * float(problem.algebra.p @ L[0]):  # nothing is to be lowered
        return
    warnings.warn(
        f"{count} points were asked for, and {found} different ones were solved: the path ends at a worst gap of "
        f"{worst:.3g} with the status {last.status.value!r}; points beyond it could not be placed.",
        FairfrontWarning,
        stacklevel=2,
    )


def solved_points(work: LinearProblem, knots: list[Knot]) -> list[Solved]:
    """Return points in the users' units."""
    W = work.to_user(np.stack([knot.W for knot in knots])) if knots else ()
    return [replace(knot, W=w) for w, knot in zip(W, knots, strict=True)]


def follow(solver: KnotSolver, start: Knot, caps: Array, on_knot: OnKnot = unheard) -> list[Knot]:
    """Solve for every row of ``caps`` (N, q) in turn; end where they can be met no more."""
    knots = [start]
    for row in caps:
        knot = solve_caps(solver, foreseen(solver, knots, row), row)
        knot = knot if knot.status.solved else approach(solver, replace(knots[-1], single=knot.single), row)
        if knot.status is Status.FLOOR:
            return [*knots[1:], knot]
        knots[-1] = replace(knots[-1], factor=None)  # which only the next knot needs
        knots.append(knot)
        on_knot(knot)
    return knots[1:]


def spread_to_floor(solver: KnotSolver, start: Knot, shares: Array, top: Array, on_knot: OnKnot) -> list[Knot]:
    """Follow even caps to zero; if they end at a floor above it, space them evenly down to the floor instead."""
    knots = follow(solver, start, shares[:, None] * top, on_knot)
    if not knots or knots[-1].status is not Status.FLOOR:
        return knots
    floor, start = alike([knots[-1], start])
    caps = floor.caps + shares[:-1, None] * (top - floor.caps)
    return [*follow(solver, start, caps, on_knot), floor]


def one_cap(solver: KnotSolver, first: Knot, caps: Array) -> Knot:
    """Solve for one row of caps, or end at the smallest gaps that can be reached.

    A certified point is the answer. Otherwise a jump may have ended in a worse local optimum than the path from plain
    training leads to, so the path is followed as well and the smaller loss kept.
    """
    if (first.caps <= caps).all():
        return first
    begun = replace(first, caps=np.maximum(tops(solver.algebra, first.caps, "worst_gap"), caps))
    found = follow(solver, begun, caps[None])[-1]
    if not found.certified and found.status is not Status.FLOOR:
        shares = np.linspace(0.0, 1.0, WALK + 1)[1:, None]
        other = follow(solver, begun, (1.0 - shares) * begun.caps + shares * caps)[-1]
        better = other.status.solved and solver.loss(other) < solver.loss(found)
        found = other if better and other.status is not Status.FLOOR else found
    return replace(found, status=Status.OUT_OF_REACH) if found.status is Status.FLOOR else found


def preferred(solver: KnotSolver, start: Knot, preferences: Array, on_knot: OnKnot = unheard) -> list[Knot]:
    """Solve one point per preference, from the least to the most demanding, each from the last."""
    order = np.argsort((preferences[:, 1:] / preferences[:, :1]).max(axis=1), kind="stable")
    found: dict[int, Knot] = {}
    last = start
    for i in order:
        knot = solve_knot(solver, replace(last, level=np.nan), Target.from_preferences(preferences[i : i + 1]))
        found[int(i)] = knot = knot if knot.status.solved else _the_long_way(solver, start, preferences[i])
        last = knot if knot.status.solved else last
        on_knot(knot)
    return [found[i] for i in range(len(preferences))]


def _the_long_way(solver: KnotSolver, start: Knot, pi: Array) -> Knot:
    """Follow the caps of a preference down to those at the plain loss, which are tighter than it asks, and come back.

    Where they end at a floor above the preference line, the floor is the nearest point; otherwise the level with
    pi_1 loss(level) = level lies between that of the last point and that of unconstrained training.
    """
    algebra, target = solver.algebra, Target.from_preferences(pi[None])

    def caps_at(level: float) -> Array:
        return np.asarray(target.caps_at(algebra, np.array([level]))[0])

    def levels(knot: Knot) -> Array:
        return np.asarray(pi * algebra.objectives(knot.L[None])[0])

    plain = levels(start)
    begun = replace(start, factor=None, caps=caps_at(float(plain.max())))
    near = follow(solver, begun, caps_at(float(plain[0]))[None])[-1]
    now = levels(near)
    if now[0] <= now[1:].max():
        return replace(near, status=Status.OUT_OF_REACH, pi=pi)
    last = [near]

    def missed(level: float) -> float:
        last.append(solve_caps(solver, last[-1], caps_at(level)))
        return float(levels(last[-1])[0]) - level

    level = brentq(missed, float(now[1:].max()), float(plain.max()), rtol=ON_LEVEL)
    return solve_knot(solver, replace(last[-1], level=level), target)
