"""Points that a step along the path does not reach: at the floor, past zero, of another branch, of rounded losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..objectives import Array
from ..objectives.losses import Hinge, SmoothedHinge
from ..problems import LinearProblem
from ..problems.pieces import Piece
from .base import SMOOTHING, Outcome, Path, Status, Target, tops
from .knots import NEAR, first_knot, knot_solver, solve_caps, solve_knot
from .least_distance import least_distance
from .simplex import factor
from .sqp import Knot, KnotSolver

if TYPE_CHECKING:
    from .newton import Newton

NOTHING = 1e-5  # difference of two gaps that is nothing, in units of the plain loss
SMALLER = (1.0, 0.5, 0.1, 0.0)
"""Factors on the weights from which hard caps are tried: local solutions may end on the way where others go on."""
SQUEEZES, DEARER, GAIN = 4, 10.0, 2e-3
"""Times that the least caps are looked for, how much dearer a violation gets each time, and the share of the way that
another time has to gain."""
ABOVE = 1e-3
"""How far above the least caps the last point is solved, as a share of the way: at the floor nothing can be solved."""
CHEAPER = 1e-7
"""Share of the merit that an elastic step has to gain for another one: the floor itself is solved for afterwards."""
AT_CAPS, FREE = 1e-9, 1e-12
"""Share of the way to the caps that is none, and the price of a violation, as a share of the loss, that is too low."""
BISECTIONS, FARTHEST = 14, 1e6
"""Halvings of the bracket of an elastic cap, to a ten-thousandth of its width, and where the bracket ends at most."""
BETTER = 1e-10  # how much smaller the loss of a restart has to be; less is rounding
ROUNDS, NARROWEST = 24, 0.02
"""Most times that the kinks of a hinge are rounded anew, and the width at which that ends where rows are elsewhere."""
EXACT = 1e-6  # how much of the plain loss rounding may cost a point that is one of the loss itself
CENTRES = (0.75, 0.5, 0.25, 0.0)  # shares of the slopes that centres keep, in turn, on the way to a rounded hinge


def approach(solver: KnotSolver, inside: Knot, row: Array) -> Knot:
    """Go from caps that are met towards caps that are hard to meet, as far as can be; short of them it is the floor.

    Local solutions may end on the way where others go on, so uncertified ends are tried again from smaller weights, and
    from none. Where a model without weights has smaller gaps than what was solved, that is not the floor.
    """
    room, none = np.maximum(inside.caps - row, 0.0), 0.0 * inside.multipliers
    best, least = inside, 1.0
    for scale in SMALLER:
        at = inside if scale == 1.0 else solver.evaluate(scale * inside.W, none, inside.single)
        if scale == 0.0 and not _excess(solver, at.L, row, room) < least:
            break
        knot, share = _squeezed(solver, at, row, room)
        if share < least:
            best, least = knot, share
        if least == 0.0:
            return best
        if best.certified and best.status.solved and best is not inside:
            break
    wide = float((room / solver.row_unit[: len(room)]).max())
    intercepts = np.where(solver.problem.penalised > 0.0, 0.0, best.W)
    constants = (intercepts, 0.0 * best.W)  # models without weights, one of them without an intercept as well
    flat = min(_excess(solver, solver.evaluate(each, none).L, row, room) for each in constants)
    if flat == 0.0 and least * wide <= NOTHING:  # the caps are met but for nothing, and smaller ones can be
        return best
    return replace(best, status=Status.STALLED if (least - flat) * wide > NOTHING else Status.FLOOR)


def _squeezed(solver: KnotSolver, start: Knot, row: Array, room: Array) -> tuple[Knot, float]:
    """Return the point with the smallest caps row + share * room that can be met, and that share."""
    paid = float(np.abs(start.multipliers[: len(row)]) @ room)
    price = DEARER * max(paid, 0.1 * abs(solver.loss(start)), FREE * solver.size)
    at, found, least = start, start, 1.0
    for _ in range(SQUEEZES):
        at = _elastic(solver, at, row, room, price)
        share = min(_excess(solver, at.L, row, room), 1.0)
        share = 0.0 if share < AT_CAPS else share + ABOVE * min(share, 1.0 - share)
        knot = solve_caps(solver, at, row + share * room)
        if not knot.status.solved:
            break
        gain, found, least = least - share, knot, share
        if share == 0.0 or gain < GAIN * (1.0 - share):
            break
        price *= DEARER
    return found, least


def _excess(solver: KnotSolver, L: Array, row: Array, room: Array) -> float:
    """Return the smallest s >= 0 with which the gaps of cells are within row + s * room."""
    over = solver.sizes(L)[: len(row)] - row
    return float(np.max(np.divide(over, room, out=np.zeros_like(over), where=room > 0), initial=0.0))


def _elastic(solver: KnotSolver, at: Knot, row: Array, room: Array, price: float) -> Knot:
    """Minimise loss + price * s subject to caps row + s * room, s >= 0: exact Newton steps with an elastic cap."""
    rows, guards = solver.rows, np.zeros(len(solver.rows.b) - len(row))
    low, wide = np.concatenate([row, guards]), np.concatenate([room, guards])
    fixed = wide == 0.0

    def merit(L: Array) -> float:
        beyond = np.maximum(solver.sizes(L) - low, 0.0)[fixed] / solver.row_unit[fixed]
        return float(rows.p @ L + price * (_excess(solver, L, row, room) + beyond.sum()))

    for _ in range(solver.max_iter):
        at = replace(solver.curved(at), kkt=0.0)
        D, Q = solver.metric(at)
        B = rows.B
        C, r = B @ factor(Q[None])[0], solver.gaps(at.L) - B @ (Q @ rows.p)

        def affordable(s: float, C: Array = C, r: Array = r) -> bool:
            x = least_distance(C, r, low + s * wide, rows.two_sided)
            return x is not None and float(np.abs(x) @ wide) <= price

        caps = low + _least(affordable, max(_excess(solver, at.L, row, room), AT_CAPS)) * wide
        before = merit(at.L)
        new = solver.shortened(at, caps, *solver.direction(at, D, Q, caps), merit)
        if new is at or merit(new.L) >= before - CHEAPER * abs(before):
            return new
        at = new
    return at


def _least(affordable: Callable[[float], bool], high: float) -> float:
    if affordable(0.0):
        return 0.0
    low = 0.0
    while not affordable(high) and high < FARTHEST:
        low, high = high, 2.0 * high
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if affordable(middle) else (middle, high)
    return high


def restarted(solver: KnotSolver, knot: Knot, restarts: int) -> Knot:
    """Solve the point again from perturbed weights and keep the smallest loss that meets the caps."""
    rng, best = np.random.default_rng(restarts), knot
    spread = 0.5 * float(np.abs(knot.W).max()) + 0.1
    for _ in range(restarts):
        W = knot.W + rng.normal(scale=spread, size=knot.W.shape)
        found = solve_caps(solver, solver.evaluate(W, knot.multipliers, knot.single), knot.caps)
        if found.status.solved and solver.loss(found) < solver.loss(best) - BETTER:
            best = found
    return best


def past_zero(solver: KnotSolver, overshoot: float, last: Knot, start: Knot, count: int) -> list[Knot]:
    """Go on past zero: every gap at minus a growing share of what it was under plain training."""
    z = solver.algebra.gaps(start.L[None])[0]
    rows, q = solver.rows, len(z)
    knots, at = [], replace(last, factor=None, single=True)
    for share in np.linspace(0.0, overshoot, max(3, int(np.ceil(count * overshoot)) + 1))[1:]:
        shifted = rows.b.copy()
        shifted[:q] -= share * z
        beyond = replace(solver, rows=replace(rows, b=shifted))
        at = solve_caps(beyond, at, np.zeros(q))
        if not at.status.solved:
            break
        knots.append(replace(at, status=Status.PAST))
    return knots


def unrounded(
    newton: Newton, problem: LinearProblem, plain: Knot, knots: list[Knot], path: Path | None = None
) -> list[Knot]:
    """Solve points of a rounded hinge for the loss itself, that of ``problem``; ``plain`` is unconstrained training."""
    work = newton.working(problem)
    first = at_kinks(knot_solver(replace(newton, no_group_worse=None), work, plain.W), problem, plain)
    solver = replace(knot_solver(newton, problem, first.W), problem=work)  # guards of the loss itself
    return [first if knot is plain else at_kinks(solver, problem, knot, path) for knot in knots]


def at_kinks(solver: KnotSolver, problem: LinearProblem, knot: Knot, path: Path | None = None) -> Knot:
    """Solve a point of the solver's problem, whose kinks are rounded, for the loss of ``problem``.

    It is the method of multipliers: kinks are rounded again, half as widely, around the slopes that rows were found to
    have. A row that stays at its kink keeps its slope, so that its rounding costs nothing any more, at any width.
    A loss that is a narrowly rounded hinge itself is reached from there, by taking the centres back to 0. Where rows
    are not in memory they have no centres: kinks are rounded more and more narrowly, and stay so.

    ``path`` is how caps shrink that nobody asked for: those on losses instead of differences, which rounding lowers,
    become what the point has.
    """
    if path is not None:
        sizes = tops(
            solver.algebra, solver.algebra.violation(problem.algebra.gaps(problem.values(knot.W[None])))[0], path
        )
        knot = replace(knot, caps=np.where(solver.algebra.two_sided, knot.caps, sizes))
    if knot.status is Status.PAST:  # its own gaps are zero
        shift = np.append(solver.algebra.gaps(knot.L[None])[0], np.zeros(len(solver.rows.b) - len(solver.algebra.b)))
        solver = replace(solver, rows=replace(solver.rows, b=solver.rows.b + shift))
    here = isinstance(problem.rows, Piece) and isinstance(problem.loss, (Hinge, SmoothedHinge))
    at, twin, width, left, total = knot, solver.problem, SMOOTHING / 2.0, np.inf, knot.n_iter
    for _ in range(ROUNDS):
        narrow = twin.centred(at.W, width) if here else problem.with_loss(problem.loss.smoothed(width))
        found = _again(replace(solver, problem=narrow), knot, at)
        total += found.n_iter
        if solver.is_solved(found):
            at, twin, left, width = found, narrow, _rounding(solver, problem, found), 0.5 * width
        else:
            width = min(2.0 * width, SMOOTHING)
        if left <= NEAR * solver.size or not (here or (twin is narrow and width > NARROWEST)):
            break
    if here and isinstance(problem.loss, SmoothedHinge):
        for share in CENTRES:
            twin = twin.centred(at.W, problem.loss.width, share) if share else problem
            at = _again(replace(solver, problem=twin), knot, at)
        left = 0.0 if solver.is_solved(at) else np.inf
    status = at.status
    if status.solved and left > EXACT * solver.size:
        status = Status.STALLED if np.isinf(left) else Status.ROUNDED
    certified = at.certified and left <= NEAR * solver.size
    return replace(at, L=problem.values(at.W[None])[0], status=status, certified=certified, n_iter=total, factor=None)


def _again(solver: KnotSolver, knot: Knot, last: Knot) -> Knot:
    """Solve a point from where it was last, for its own caps or preference, or to its floor."""
    at, q = replace(solver.evaluate(last.W, last.multipliers), level=last.level), len(solver.algebra.b)
    if not np.isnan(knot.pi[0]):
        return solve_knot(solver, at, Target.from_preferences(knot.pi[None]))
    if knot.status is Status.FLOOR:
        if last is not knot and (found := solve_caps(solver, at, last.caps)).status.solved:
            return replace(found, status=Status.FLOOR)  # less rounding raises losses and floors
        sizes = tops(solver.algebra, np.maximum(solver.sizes(at.L)[:q], 0.0), "worst_gap")
        return approach(solver, replace(at, caps=np.max([knot.caps, last.caps, sizes], axis=0)), np.zeros(q))
    found = solve_caps(solver, at, knot.caps) if np.any(knot.multipliers[:q]) else first_knot(solver, last.W)
    return replace(found, status=knot.status, caps=knot.caps) if found.status.solved else found


def _rounding(solver: KnotSolver, problem: LinearProblem, at: Knot) -> float:
    """Return how far a point's Lagrangian is below that of the loss itself, with the point's own gaps as caps.

    A rounded hinge is nowhere above the hinge. So where the Lagrangian is convex and the point is the minimum of the
    rounded one, no model with gaps as small has a loss that is smaller by more than this.
    """
    rows, x, L = solver.rows, at.multipliers, problem.values(at.W[None])[0]
    z, gap = solver.gaps(L), np.arange(len(x)) < len(solver.algebra.b)
    unmet = np.where(rows.two_sided, np.abs(z) - np.sign(x) * z, np.where(gap, 0.0, z))
    return float(np.abs(rows.p + x @ rows.B) @ np.abs(L - at.L) + np.abs(x) @ np.abs(unmet))


def polished(
    problem: LinearProblem,
    exact: LinearProblem,
    ends: Outcome,
    target: Target | None,
    path: Path | None = None,
    every: bool = False,
) -> Outcome:
    """Solve the ends of first-order runs to Newton's precision, and for the loss itself where its kinks were rounded.

    Runs without a target keep their gaps; ``path`` as in `at_kinks`. Ends that were not reached are left alone, unless
    ``every`` one is asked for; an end that cannot be solved stays as it is, and says so if its loss is rounded.
    """
    from .newton import Newton

    algebra, kinks = problem.algebra, exact.loss != problem.loss
    solver = knot_solver(Newton(), problem, ends.W[0])
    W, L, status, none = ends.W.copy(), ends.L.copy(), list(ends.status), np.zeros(len(solver.rows.b))
    target = target or Target.from_caps(algebra.violation(algebra.gaps(ends.L)))
    for r in [r for r in range(len(W)) if every or status[r].solved]:
        knot = solve_knot(solver, solver.evaluate(W[r], none), target.take(np.arange(len(W)) == r))
        if knot.status.solved and kinks:
            knot = at_kinks(solver, exact, knot, path)
        if knot.status.solved:
            W[r], L[r], status[r] = knot.W, knot.L, knot.status
        elif kinks and status[r].solved:
            status[r] = Status.STALLED
    L = exact.values(W) if kinks else L
    return replace(ends, W=W, L=L, objectives=algebra.objectives(L), status=tuple(status))
