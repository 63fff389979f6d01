"""Knots: single solved points, one from another, down to the smallest caps that can be met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..objectives import Array
from .base import Status, Target, tops
from .lagrangian import Iterate
from .sqp import KnotSolver

NOTHING = 1e-5
"""Difference of two gaps that is nothing, in units of the plain loss."""
SMALLER = (1.0, 0.5, 0.1, 0.0)
"""Factors on the weights from which hard caps are tried: local solutions may end on the way where others go on."""
ON_LINE = 0.995
"""Share to which all pi_i h_i of a point on its preference line agree."""
WALK = 8
"""Steps from plain training to caps where a jump may have ended in a worse local optimum."""


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
    caps = np.maximum(solver.sizes(at), 0.0)[: len(solver.rows_of_gaps.b)]
    top = Target.from_caps(2.0 * caps[None] + solver.size)  # nothing binds, so that multipliers are 0
    solved = solver.solve(at, top)
    return Knot(solved, caps, _status(solver, solved, top), solver.certified(solved))


def solve_knot(solver: KnotSolver, start: Knot, target: Target) -> Knot:
    """Solve one point from a neighbour."""
    at = solver.solve(start.at, target)
    if not solver.is_solved(at) and start.at.factor is not None:
        again = solver.solve(replace(start.at, factor=None), target)
        at = again if again.kkt < at.kkt else at
    status = _status(solver, at, target)
    caps = target.caps_at(solver.rows_of_gaps, np.array([at.level]))[0]
    pi = target.pi[0] if target.by_preference[0] else None
    return Knot(at, caps, status, solver.certified(at), pi)


def _status(solver: KnotSolver, at: Iterate, target: Target) -> Status:
    scale = max(float(np.abs(solver.gaps(at)).max()), 1e-6 * solver.size)
    if at.violation > max(1e-6 * scale, 10 * solver.tol * float(solver.row_unit.max())):
        return Status.OUT_OF_REACH
    if not solver.is_solved(at):
        return Status.STALLED if at.n_iter < solver.max_iter else Status.LIMIT
    if not target.by_preference[0]:
        return Status.EFFICIENT
    if not np.any(at.multipliers[: len(solver.rows_of_gaps.b)]):
        return Status.NEAREST
    levels = target.pi[0] * solver.rows_of_gaps.objectives(at.L[None])[0]
    return Status.LINE if levels.min() >= ON_LINE * levels.max() else Status.CHEBYSHEV


def follow(solver: KnotSolver, start: Knot, caps: Array, on_knot: OnKnot | None = None) -> list[Knot]:
    """Solve for every row of ``caps`` (N, q) in turn; end where they can be met no more."""
    knots = [start]
    for row in caps:
        knot = solve_knot(solver, knots[-1], Target.from_caps(row[None]))
        if not knot.status.solved:
            knot = approach(solver, knots[-1], row)
        if knot.status is Status.FLOOR:
            return [*knots[1:], knot]
        knots[-1] = _light(knots[-1])
        knots.append(knot)
        if on_knot is not None:
            on_knot(knot)
    return knots[1:]


def _light(knot: Knot) -> Knot:
    """Return the knot without the factor of its Hessian, which only the next knot needs."""
    return replace(knot, at=replace(knot.at, factor=None))


def approach(solver: KnotSolver, inside: Knot, row: Array) -> Knot:
    """Go from caps that are met towards caps that are hard to meet, as far as can be; short of them it is the floor.

    Local solutions may end on the way where others go on, so uncertified ends are tried again from smaller weights, and
    from none. Where a model without weights has smaller gaps than what was solved, that is not the floor.
    """
    room = np.maximum(inside.caps - row, 0.0)
    best, least = inside, 1.0
    for scale in SMALLER:
        at = inside.at if scale == 1.0 else solver.evaluate(scale * inside.at.W, 0.0 * inside.at.multipliers)
        if scale == 0.0 and not solver.excess(at, row, room) < least:
            break
        knot, share = _squeezed(solver, replace(inside, at=at), row, room)
        if share < least:
            best, least = knot, share
        if least == 0.0:
            return best
        if best.certified and best.status.solved and best is not inside:
            break
    wide = float((room / solver.row_unit[: len(room)]).max())
    flat = min(solver.excess(at, row, room) for at in _constants(solver, best.at))
    if flat == 0.0 and least * wide <= NOTHING:  # the caps are met but for nothing, and smaller ones can be
        return best
    return replace(best, status=Status.STALLED if (least - flat) * wide > NOTHING else Status.FLOOR)


def _constants(solver: KnotSolver, at: Iterate) -> list[Iterate]:
    """Return models without weights: with the intercept that there is, and with none."""
    flat = [np.where(solver.problem.penalised > 0.0, 0.0, at.W), 0.0 * at.W]
    return [solver.evaluate(W, 0.0 * at.multipliers) for W in flat]


def _squeezed(solver: KnotSolver, start: Knot, row: Array, room: Array) -> tuple[Knot, float]:
    """Return the point with the smallest caps row + share * room that can be met, and that share."""
    q = len(row)
    loss = abs(float(solver.rows.p @ start.at.L))
    price = 10.0 * max(float(np.abs(start.at.multipliers[:q]) @ room), 0.1 * loss, 1e-12 * solver.size)
    at, found, least = start.at, start, 1.0
    for _ in range(4):
        at = squeeze(solver, at, row, room, price)
        share = min(solver.excess(at, row, room), 1.0)
        share = 0.0 if share < 1e-9 else share + 1e-3 * min(share, 1.0 - share)  # at the floor nothing can be solved
        knot = solve_knot(solver, replace(start, at=at), Target.from_caps((row + share * room)[None]))
        if not knot.status.solved:
            break
        gain, found, least = least - share, knot, share
        if share == 0.0 or gain < 2e-3 * (1.0 - share):
            break
        price *= 10.0
    return found, least


def squeeze(solver: KnotSolver, at: Iterate, row: Array, room: Array, price: float) -> Iterate:
    """Minimise loss + price * s subject to caps row + s * room, s >= 0: exact Newton steps with an elastic cap."""
    asked = np.concatenate([row, room, [price]])
    return solver.journaled("squeeze", asked, lambda: _elastic(solver, at, row, room, price))


def _elastic(solver: KnotSolver, at: Iterate, row: Array, room: Array, price: float) -> Iterate:
    guards = np.zeros(len(solver.rows.b) - len(row))
    low, wide = np.concatenate([row, guards]), np.concatenate([room, guards])

    def merit(L: Array) -> float:
        there = replace(at, L=L)
        beyond = np.maximum(solver.sizes(there) - low, 0.0)[wide == 0.0] / solver.row_unit[wide == 0.0]
        total = float(solver.rows.p @ L + price * (solver.excess(there, row, room) + beyond.sum()))
        return total if np.isfinite(total) else np.inf

    for _ in range(solver.max_iter):
        at = replace(at, factor=solver.curvature(at), kkt=0.0)
        D, Q = solver.metric(at)
        caps = low + solver.least_room(at, Q, low, wide, price) * wide
        move, multipliers = solver.direction(at, D, Q, caps)
        before = merit(at.L)
        new = solver.shortened(at, caps, move, multipliers, merit)
        if new is at or merit(new.L) >= before - 1e-7 * abs(before):
            return new
        at = new
    return at


def one_cap(solver: KnotSolver, first: Knot, caps: Array) -> Knot:
    """Solve for one row of caps, or end at the smallest gaps that can be reached.

    A certified point is the answer. Otherwise a jump may have ended in a worse local optimum than the path from plain
    training leads to, so the path is followed as well and the smaller loss kept.
    """
    if (first.caps <= caps).all():
        return first
    begun = replace(first, caps=np.maximum(tops(solver.rows_of_gaps, first.caps, "worst_gap"), caps))
    found = follow(solver, begun, caps[None])[-1]
    if not found.certified and found.status is not Status.FLOOR:
        found = _smaller(solver, found, _walked(solver, begun, caps))
    return replace(found, status=Status.OUT_OF_REACH) if found.status is Status.FLOOR else found


def _walked(solver: KnotSolver, begun: Knot, caps: Array) -> Knot:
    """Follow the path from plain training to these caps in short steps."""
    shares = np.linspace(0.0, 1.0, WALK + 1)[1:, None]
    return follow(solver, begun, (1.0 - shares) * begun.caps + shares * caps)[-1]


def _smaller(solver: KnotSolver, one: Knot, other: Knot) -> Knot:
    """Return the solved point with the smaller loss."""
    better = float(solver.rows.p @ other.at.L) < float(solver.rows.p @ one.at.L)
    return other if other.status.solved and other.status is not Status.FLOOR and better else one
