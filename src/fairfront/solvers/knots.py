"""Knots: single solved points, one from another, down to the smallest caps that can be met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..objectives import Array
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.point import DENSE_LIMIT
from .base import Status, Target, tops
from .quadratic import factor, least_distance
from .sqp import PRECISE, Iterate, KnotSolver

NOTHING = 1e-5
"""Difference of two gaps that is nothing, in units of the plain loss."""
SMALLER = (1.0, 0.5, 0.1, 0.0)
"""Factors on the weights from which hard caps are tried: local solutions may end on the way where others go on."""
ON_LINE = 0.995
"""Share to which all pi_i h_i of a point on its preference line agree."""
WALK = 8
"""Steps from plain training to caps where a jump may have ended in a worse local optimum."""
SQUEEZES, DEARER, GAIN = 4, 10.0, 2e-3
"""Times that the least caps are looked for, how much dearer a violation gets each time, and the share of the way that
another time has to gain."""
ABOVE = 1e-3
"""How far above the least caps the last point is solved, as a share of the way: at the floor nothing can be solved."""
CHEAPER = 1e-7
"""Share of the merit that an elastic step has to gain for another one: the floor itself is solved for afterwards."""
BISECTIONS = 14
"""Halvings of the bracket of an elastic cap: to a ten-thousandth of its width."""
CONVEX = 1e-9
"""How far below 0 the weight of a cell in a certified Lagrangian may be, as a share of the terms that it is the sum of:
multipliers are not known better. The ridge has no part in it, because a penalty makes no cell convex."""
NEAR = 1e-7
"""How far above its smallest value a Lagrangian may be, as a share of the plain loss."""
STILL = 1e-3
"""How far a Newton step may move the score of a row. Where labels can be separated no optimum exists, and every step
moves scores by about 1; at an optimum they stay."""
FLAT, UNMOVED = 1e-11, 1e-13
"""Curvature (of columns at unit scale) that is not known for rounding, and the score of a row that is nothing."""


@dataclass(frozen=True)
class Knot:
    """A solved point of the path and the caps it was solved for."""

    at: Iterate
    caps: Array
    status: Status
    certified: bool
    pi: Array | None = None


OnKnot = Callable[[Knot], None]


def first_knot(solver: KnotSolver, plain: Array) -> Knot:
    """Return plain training as the first point; its caps are the gaps it has."""
    at = solver.evaluate(plain, np.zeros(len(solver.rows.b)))
    caps = np.maximum(solver.sizes(at.L), 0.0)[: len(solver.algebra.b)]
    top = Target.from_caps(2.0 * caps[None] + solver.size)  # nothing binds, so that multipliers are 0
    solved = solver.solve(at, top)
    return Knot(solved, caps, _status(solver, solved, top), _is_optimum(solver, solved))


def solve_knot(solver: KnotSolver, start: Knot, target: Target) -> Knot:
    at = solver.solve(start.at, target)
    if not solver.is_solved(at) and start.at.factor is not None:
        again = solver.solve(replace(start.at, factor=None, single=at.single), target)
        at = again if again.kkt < at.kkt else at
    caps = target.caps_at(solver.algebra, np.array([at.level]))[0]
    pi = target.pi[0] if target.by_preference[0] else None
    return Knot(at, caps, _status(solver, at, target), _is_optimum(solver, at), pi)


def solve_caps(solver: KnotSolver, start: Knot, caps: Array) -> Knot:
    return solve_knot(solver, start, Target.from_caps(caps[None]))


def _status(solver: KnotSolver, at: Iterate, target: Target) -> Status:
    scale = max(float(np.abs(solver.gaps(at.L)).max()), 1e-6 * solver.size)
    if at.violation > max(1e-6 * scale, 10 * solver.tol * float(solver.row_unit.max())):
        return Status.OUT_OF_REACH
    if not solver.is_solved(at):
        return Status.STALLED if at.n_iter < solver.max_iter else Status.LIMIT
    if not target.by_preference[0]:
        return Status.EFFICIENT
    if not np.any(at.multipliers[: len(solver.algebra.b)]):
        return Status.NEAREST
    levels = target.pi[0] * solver.algebra.objectives(at.L[None])[0]
    return Status.LINE if levels.min() >= ON_LINE * levels.max() else Status.CHEBYSHEV


def follow(solver: KnotSolver, start: Knot, caps: Array, on_knot: OnKnot | None = None) -> list[Knot]:
    """Solve for every row of ``caps`` (N, q) in turn; end where they can be met no more."""
    knots = [start]
    for row in caps:
        knot = solve_caps(solver, knots[-1], row)
        if not knot.status.solved:
            knot = approach(solver, replace(knots[-1], at=replace(knots[-1].at, single=knot.at.single)), row)
        if knot.status is Status.FLOOR:
            return [*knots[1:], knot]
        knots[-1] = replace(knots[-1], at=replace(knots[-1].at, factor=None))  # which only the next knot needs
        knots.append(knot)
        if on_knot is not None:
            on_knot(knot)
    return knots[1:]


def approach(solver: KnotSolver, inside: Knot, row: Array) -> Knot:
    """Go from caps that are met towards caps that are hard to meet, as far as can be; short of them it is the floor.

    Local solutions may end on the way where others go on, so uncertified ends are tried again from smaller weights, and
    from none. Where a model without weights has smaller gaps than what was solved, that is not the floor.
    """
    room, none = np.maximum(inside.caps - row, 0.0), 0.0 * inside.at.multipliers
    best, least = inside, 1.0
    for scale in SMALLER:
        at = inside.at if scale == 1.0 else solver.evaluate(scale * inside.at.W, none, inside.at.single)
        if scale == 0.0 and not _excess(solver, at.L, row, room) < least:
            break
        knot, share = _squeezed(solver, replace(inside, at=at), row, room)
        if share < least:
            best, least = knot, share
        if least == 0.0:
            return best
        if best.certified and best.status.solved and best is not inside:
            break
    wide = float((room / solver.row_unit[: len(room)]).max())
    W = best.at.W
    constants = [
        np.where(solver.problem.penalised > 0.0, 0.0, W),
        0.0 * W,
    ]  # with the intercept there is, and with none
    flat = min(_excess(solver, solver.evaluate(each, none).L, row, room) for each in constants)
    if flat == 0.0 and least * wide <= NOTHING:  # the caps are met but for nothing, and smaller ones can be
        return best
    return replace(best, status=Status.STALLED if (least - flat) * wide > NOTHING else Status.FLOOR)


def _squeezed(solver: KnotSolver, start: Knot, row: Array, room: Array) -> tuple[Knot, float]:
    """Return the point with the smallest caps row + share * room that can be met, and that share."""
    paid = float(np.abs(start.at.multipliers[: len(row)]) @ room)
    price = DEARER * max(paid, 0.1 * abs(solver.loss(start.at)), 1e-12 * solver.size)
    at, found, least = start.at, start, 1.0
    for _ in range(SQUEEZES):
        asked = np.concatenate([row, room, [price]])
        at = solver.journaled("squeeze", asked, partial(_elastic, solver, at, row, room, price))
        share = min(_excess(solver, at.L, row, room), 1.0)
        share = 0.0 if share < 1e-9 else share + ABOVE * min(share, 1.0 - share)
        knot = solve_caps(solver, replace(start, at=at), row + share * room)
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


def _elastic(solver: KnotSolver, at: Iterate, row: Array, room: Array, price: float) -> Iterate:
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
        C, r = rows.B @ factor(Q[None])[0], solver.gaps(at.L) - rows.B @ Q @ rows.p

        def affordable(s: float, C: Array = C, r: Array = r) -> bool:
            x = least_distance(C, r, low + s * wide, rows.two_sided)
            return x is not None and float(np.abs(x) @ wide) <= price

        caps = low + _least(affordable, max(_excess(solver, at.L, row, room), 1e-9)) * wide
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
    while not affordable(high) and high < 1e6:
        low, high = high, 2.0 * high
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if affordable(middle) else (middle, high)
    return high


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
        better = other.status.solved and solver.loss(other.at) < solver.loss(found.at)
        found = other if better and other.status is not Status.FLOOR else found
    return replace(found, status=Status.OUT_OF_REACH) if found.status is Status.FLOOR else found


def _is_optimum(solver: KnotSolver, at: Iterate) -> bool:
    """Tell whether the point is a global optimum: precise, and the minimum of a convex Lagrangian."""
    if not at.kkt <= PRECISE:
        return False
    rows, x = solver.rows, at.multipliers
    omega = rows.p + x @ rows.B
    lowest = -CONVEX * (rows.p + np.abs(x) @ np.abs(rows.B))
    return _is_convex(solver.problem, omega, lowest) and _is_minimum(solver.problem, omega, at.W, at.G, solver.size)


def _is_convex(problem: LinearProblem, omega: Array, lowest: Array) -> bool:
    """Tell whether omega.L is convex in every score.

    That is omega >= 0 (``lowest``, for rounding) on every convex cell and 0 on the others. Where the curvature does not
    depend on the label (likelihoods, squares), a cell's losses on several labels count together.
    """
    alike = problem.loss.likelihood or isinstance(problem.loss, Squared)
    total, floor = np.zeros((2, problem.layout.cells.count))
    for bound, where in problem.measures:
        inside, least = (np.where(where >= 0, each[where], 0.0) for each in (omega, lowest))
        if not bound.convex and inside.any():
            return False
        if bound.convex and not bound.linear:
            if not alike and (inside < least).any():
                return False
            total, floor = total + inside, floor + least
    return bool((total >= floor).all())


def _is_minimum(problem: LinearProblem, omega: Array, W: Array, G: Array, size: float) -> bool:
    """Tell whether a convex omega.L has its minimum at W.

    A ridge bounds what is left to gain, |g|^2 / (2 ridge). Where that says nothing, the Newton step has to gain nothing
    and to leave all scores as they are, and directions whose curvature is lost in rounding must not move any.
    """
    gradient = (omega @ G).reshape(W.shape)
    solid = omega[-1] * problem.penalised
    held = problem.penalised > 0.0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        left = float(np.nan_to_num(gradient[:, held] ** 2 / solid[held], nan=0.0).sum())
    if left <= NEAR * size:
        return True
    if problem.K * problem.d > DENSE_LIMIT:
        return False
    H = problem.hessian(W, omega)
    unit = 1.0 / np.sqrt(np.where(np.diag(H) > 0.0, np.diag(H), 1.0))
    values, vectors = np.linalg.eigh(H * unit[:, None] * unit)
    known = values > FLAT
    along = (gradient.reshape(-1) * unit) @ vectors[:, known]
    step = vectors[:, known] @ (along / values[known])
    if not along @ (along / values[known]) <= NEAR * size:
        return False
    moves = np.vstack([step, vectors[:, ~known].T]) * unit
    reach = problem.reach(moves.reshape(-1, *W.shape))
    return bool(reach[0] <= STILL and (reach[1:] <= UNMOVED).all())
