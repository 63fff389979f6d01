"""Paths: which caps to solve for, where to put more of them, and one point per preference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from ..objectives import Array
from .base import Mask, Status, Target
from .knots import Knot, OnKnot, follow, solve_caps, solve_knot
from .sqp import KnotSolver

MOST = 64
"""Most points of a path that is refined where it bends."""
ROUNDS = 16
"""Most times that the steps of a path are halved."""
BEND = 1e-3
"""How far interpolation may leave the front, as a share of the range of losses."""
STEEP = 3.0
"""A curve that is steeper at its end than on the whole by this factor needs another point, as before a floor."""
BRANCH = 1e-7
"""Share of the loss by which a point has to be better to belong to another branch of local optima."""
BETTER = 1e-10
"""How much smaller the loss of a restart has to be; less is rounding."""
ACTIVE = 1e-9
"""Size of a multiplier that is not rounding."""


def spread_to_floor(solver: KnotSolver, start: Knot, shares: Array, top: Array, on_knot: OnKnot | None) -> list[Knot]:
    """Follow even caps to zero; if they end at a floor above it, space them evenly down to the floor instead."""
    knots = follow(solver, start, shares[:, None] * top, on_knot)
    if not knots or knots[-1].status is not Status.FLOOR:
        return knots
    floor, start = _alike([knots[-1], start])
    caps = floor.caps + shares[:-1, None] * (top - floor.caps)
    return [*follow(solver, start, caps, on_knot), floor]


def settled(solver: KnotSolver, knots: list[Knot], tried: Sequence[Knot] = ()) -> list[Knot]:
    """Solve uncertified points again where better ones are known, from the last to the first.

    That is the next point when it lies below the tangent of this one (it came from another branch of local optima),
    and the model with zero weights when its loss is smaller. Plain training is tried in any case, but for points that
    were ``tried`` from it before.
    """
    if all(knot.certified for knot in knots):
        return knots
    knots = _alike(knots)
    p, q, found, first = solver.rows.p, len(knots[0].caps), list(knots), knots[0].at
    plain, zero = solver.curved(first), solver.evaluate(0.0 * first.W, 0.0 * first.multipliers, first.single)
    for i in reversed(range(1, len(knots))):
        knot = found[i]
        loss, near = solver.loss(knot.at), BRANCH * abs(solver.loss(knot.at))
        starts = [zero] if (solver.sizes(zero.L)[:q] <= knot.caps + 1e-12).all() and p @ zero.L < loss - near else []
        if i + 1 < len(knots):
            after = found[i + 1]
            tangent = loss + float(np.abs(knot.at.multipliers[:q]) @ (knot.caps - after.caps))
            starts += [after.at] if p @ after.at.L < tangent - near else []
        starts = [replace(at, factor=None) for at in starts]
        if not any(knot is other for other in tried):
            starts.append(plain)
        for at in [] if knot.certified else starts:
            other = solve_caps(solver, replace(knot, at=at), knot.caps)
            if other.status.solved and p @ other.at.L < p @ found[i].at.L - near:
                found[i] = replace(other, status=knot.status)
    return found


def _alike(knots: list[Knot]) -> list[Knot]:
    """Return points whose Hessians are taken in the precision that was enough for all of them."""
    single = all(knot.at.single for knot in knots)
    return knots if single else [replace(knot, at=replace(knot.at, single=False)) for knot in knots]


def preferred(solver: KnotSolver, start: Knot, preferences: Array, on_knot: OnKnot | None) -> list[Knot]:
    """Solve one point per preference, from the least to the most demanding, each from the last."""
    order = np.argsort((preferences[:, 1:] / preferences[:, :1]).max(axis=1), kind="stable")
    found: dict[int, Knot] = {}
    last = start
    for i in order:
        begun = replace(last, at=replace(last.at, level=np.nan))
        knot = solve_knot(solver, begun, Target.from_preferences(preferences[i : i + 1]))
        found[int(i)] = knot = knot if knot.status.solved else _the_long_way(solver, start, preferences[i])
        last = knot if knot.status.solved else last
        if on_knot is not None:
            on_knot(knot)
    return [found[i] for i in range(len(preferences))]


def _the_long_way(solver: KnotSolver, start: Knot, pi: Array) -> Knot:
    """Follow the caps of a preference down to those at the plain loss, which are tighter than it asks, and come back.

    Where they end at a floor above the preference line, the floor is the nearest point; otherwise the level with
    pi_1 loss(level) = level lies between that of the last point and that of plain training.
    """
    algebra, target = solver.algebra, Target.from_preferences(pi[None])

    def caps_at(level: float) -> Array:
        return np.asarray(target.caps_at(algebra, np.array([level]))[0])

    def levels(knot: Knot) -> Array:
        return np.asarray(pi * algebra.objectives(knot.at.L[None])[0])

    plain = levels(start)
    begun = replace(start, at=replace(start.at, factor=None), caps=caps_at(float(plain.max())))
    near = follow(solver, begun, caps_at(float(plain[0]))[None])[-1]
    now = levels(near)
    if now[0] <= now[1:].max():
        return replace(near, status=Status.OUT_OF_REACH, pi=pi)
    last = [near]

    def missed(level: float) -> float:
        last.append(solve_caps(solver, last[-1], caps_at(level)))
        return float(levels(last[-1])[0]) - level

    level = brentq(missed, float(now[1:].max()), float(plain.max()), rtol=1e-6)
    return solve_knot(solver, replace(last[-1], at=replace(last[-1].at, level=level)), target)


def refine(solver: KnotSolver, knots: list[Knot], top: Array, on_knot: OnKnot | None) -> list[Knot]:
    """Add points where interpolated weights would leave the front, and where another gap becomes active."""
    for _ in range(ROUNDS):
        knots = _alike(knots)
        halves = _bends(solver, knots, top)
        halves = np.where(np.isnan(halves) & _switches(knots), 0.5, halves)
        added: dict[int, Knot] = {}
        for i in np.flatnonzero(~np.isnan(halves))[: max(MOST - len(knots), 0)]:
            caps = (1.0 - halves[i]) * knots[i].caps + halves[i] * knots[i + 1].caps
            knot = solve_caps(solver, knots[i], caps)
            if not knot.status.solved:
                knot = solve_caps(solver, knots[i + 1], caps)
            if knot.status.solved:
                added[int(i)] = knot
            if on_knot is not None:
                on_knot(knot)
        if not added:
            break
        knots = [k for i, knot in enumerate(knots) for k in ([knot, added[i]] if i in added else [knot])]
    return knots


def _bends(solver: KnotSolver, knots: list[Knot], top: Array) -> Array:
    """Return how far between neighbours to solve another point, NaN where none is needed.

    One is needed where the half-way weights lie above the curve through both ends and their slopes, or where the curve
    is far steeper at its end than on the whole, as before a floor; it is put where the half-way weights are.
    """
    algebra, q = solver.algebra, len(top)
    scale = np.where(top > 0, top, 1.0)
    share = np.array([(knot.caps / scale).max() for knot in knots])
    loss = np.array([float(algebra.p @ knot.at.L) for knot in knots])
    slope = np.array([-float((np.abs(knot.at.multipliers[:q]) * top).sum()) for knot in knots])
    L = solver.problem.values(np.stack([0.5 * (a.at.W + b.at.W) for a, b in pairwise(knots)]))
    where = (algebra.violation(algebra.gaps(L)) / scale).max(axis=1)
    width = np.minimum(share[1:] - share[:-1], -1e-12)
    t = np.clip((where - share[:-1]) / width, 0.0, 1.0)
    s, begins, ends = 1.0 - t, slope[:-1] * width, slope[1:] * width
    curve = loss[:-1] * (1 + 2 * t) * s**2 + begins * t * s**2 + loss[1:] * t**2 * (3 - 2 * t) - ends * t**2 * s
    most = BEND * max(float(loss.max() - loss.min()), 1e-12 * solver.size)
    steep = (np.diff(loss) > most) & (ends > STEEP * np.diff(loss))
    return np.where((L @ algebra.p - curve > most) | steep, np.clip(t, 0.1, 0.9), np.nan)


def _switches(knots: list[Knot]) -> Mask:
    """Tell between which neighbours the set of active gaps changes, while they are still far apart."""
    near = np.abs(knots[0].caps - knots[-1].caps).max() / MOST
    active = np.abs([knot.at.multipliers for knot in knots]) > ACTIVE
    far = np.abs(np.diff([knot.caps for knot in knots], axis=0)).max(axis=1) > near
    return np.asarray((active[1:] != active[:-1]).any(axis=1) & far & (np.arange(len(far)) > 0))


def restarted(solver: KnotSolver, knot: Knot, restarts: int) -> Knot:
    """Solve the point again from perturbed weights and keep the smallest loss that meets the caps."""
    rng, at, best = np.random.default_rng(restarts), knot.at, knot
    spread = 0.5 * float(np.abs(at.W).max()) + 0.1
    for _ in range(restarts):
        moved = solver.evaluate(at.W + rng.normal(scale=spread, size=at.W.shape), at.multipliers, at.single)
        found = solve_caps(solver, replace(knot, at=moved), knot.caps)
        if found.status.solved and solver.loss(found.at) < solver.loss(best.at) - BETTER:
            best = found
    return best


def past_zero(solver: KnotSolver, overshoot: float, last: Knot, start: Knot, count: int) -> list[Knot]:
    """Go on past zero: every gap at minus a growing share of what it was under plain training."""
    z = solver.algebra.gaps(start.at.L[None])[0]
    rows, q = solver.rows, len(z)
    knots, at = [], replace(last.at, factor=None, single=True)
    for share in np.linspace(0.0, overshoot, max(3, int(np.ceil(count * overshoot)) + 1))[1:]:
        shifted = rows.b.copy()
        shifted[:q] -= share * z
        beyond = replace(solver, rows=replace(rows, b=shifted))
        knot = solve_caps(beyond, replace(last, at=at), np.zeros(q))
        if not knot.status.solved:
            break
        at = knot.at
        knots.append(replace(knot, status=Status.PAST))
    return knots
