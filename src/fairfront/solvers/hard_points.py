"""Points that a step along the path does not reach: at the floor, past zero, of another branch, of rounded losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..objectives import Array
from ..problems import LinearProblem
from .base import Journal, Status, Target
from .knots import knot_solver, solve_caps, solve_knot
from .quadratic import factor, least_distance
from .sqp import Knot, KnotSolver

if TYPE_CHECKING:
    from .loop import Outcome
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
NARROWER = (0.06, 0.02)  # widths over which the kink of a hinge is rounded in the end; the first is `base.SMOOTHING`


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
        asked = np.concatenate([row, room, [price]])
        at = solver.journaled("squeeze", asked, partial(_elastic, solver, at, row, room, price))
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
        C, r = rows.B @ factor(Q[None])[0], solver.gaps(at.L) - rows.B @ Q @ rows.p

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


def narrowed(newton: Newton, problem: LinearProblem, knots: list[Knot], journal: Journal) -> list[Knot]:
    """Solve points of a rounded hinge again with ever narrower rounding, each from its own end.

    ``problem`` has the loss itself. What is solved is still rounded a little, so nothing is certified.
    """
    for width in NARROWER:
        twin = problem.with_loss(problem.loss.smoothed(width))
        solver = knot_solver(newton, twin, knots[0].W, journal)
        knots = [_again(solver, knot) for knot in knots]
    return [replace(knot, certified=False) for knot in knots]


def _again(solver: KnotSolver, knot: Knot) -> Knot:
    """Solve a point for its own caps or preference; keep the old end where that fails or caps lie past zero."""
    if knot.status is Status.PAST:
        return knot
    at = solver.evaluate(knot.W, knot.multipliers)
    if not np.isnan(knot.pi[0]):
        found = solve_knot(solver, at, Target.from_preferences(knot.pi[None]))
    elif np.any(knot.multipliers):
        found = solve_caps(solver, at, knot.caps)
    else:
        W = solver.journal.weights(lambda: solver.problem.fit(solver.rows.p, knot.W))
        fitted = solver.evaluate(W, knot.multipliers)
        fitted = solver.residual(fitted, np.maximum(solver.sizes(fitted.L), 0.0))
        return replace(fitted, caps=knot.caps, status=knot.status)
    return replace(found, status=knot.status) if found.status.solved else knot


def polished(newton: Newton, problem: LinearProblem, outcome: Outcome, target: Target, journal: Journal) -> Outcome:
    """Solve the end of every first-order run to Newton's precision; a run that does not get there stays as it is."""
    solver = knot_solver(newton, problem, outcome.W[0], journal)
    W, L, status, none = outcome.W.copy(), outcome.L.copy(), list(outcome.status), np.zeros(len(solver.rows.b))
    for r in range(len(W)):
        knot = solve_knot(solver, solver.evaluate(W[r], none), target.take(np.arange(len(W)) == r))
        if knot.status.solved:
            W[r], L[r], status[r] = knot.W, knot.L, knot.status
    return replace(outcome, W=W, L=L, objectives=problem.algebra.objectives(L), status=tuple(status))
