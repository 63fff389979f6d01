"""Refinement: more points where a path bends, where another constraint begins to bind, and before a floor.

Between two neighbours the curve of loss over share is the cubic Hermite interpolant of both ends and
their slopes, which the multipliers give: d loss / d share = -|x| . span. A point is added where the
model half-way between their weights lies above that curve by more than a share of the range of losses.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .base import Status
from .path import PathSolver
from .points import PathPoint, Restarts, settle

MOST_POINTS = 64
ROUNDS = 16
BEND = 1e-3  # how far above the curve a half-way model may be, as a share of the range of losses
# A curve that is steeper at its end than on the whole by this factor needs a point, as before a floor.
STEEP = 3.0
ACTIVE = 1e-9  # size of a multiplier that is not rounding
LEAST_WIDTH = 1e-12  # differences of shares, and of losses as a share of the unit, that are nothing


def refine(
    path_solver: PathSolver, anchors: list[PathPoint], points: list[PathPoint]
) -> tuple[list[PathPoint], list[PathPoint]]:
    """Return anchors and points with those added that the path needs."""
    solver = path_solver.solver
    for _ in range(ROUNDS):
        shares = added_shares(path_solver, points)[: max(MOST_POINTS - len(points), 0)]
        if not shares:
            break
        anchors, added = path_solver.fill(anchors, shares)
        solved = [point for point in added if point.status.solved]
        if not solved:
            break
        points = sorted([*points, *solved], key=lambda point: -point.share)
    points = settle(solver, points, Restarts(0, 0))
    return anchors, points


def added_shares(path_solver: PathSolver, points: list[PathPoint]) -> list[float]:
    """Return the shares at which points are missing."""
    wanted = _bends(path_solver, points)
    wanted = np.where(np.isnan(wanted) & _switches(points), 0.5, wanted)
    return [
        (1.0 - way) * before.share + way * after.share
        for way, (before, after) in zip(wanted, pairwise(points), strict=True)
        if not np.isnan(way)
    ]


def _bends(path_solver: PathSolver, points: list[PathPoint]) -> Array:
    """Return how far between neighbours another point is missing, NaN where none is."""
    solver, line = path_solver.solver, path_solver.line
    share = np.array([point.share for point in points])
    loss = np.array([solver.loss(point.solution) for point in points])
    slope = np.array([-np.abs(point.solution.multipliers) @ line.span for point in points])
    if points[-1].status is Status.FLOOR:  # its multipliers are not unique: take a parabola's slope
        secant = (loss[-1] - loss[-2]) / (share[-1] - share[-2])
        slope[-1] = 2.0 * secant - slope[-2]
    halfway = np.stack([0.5 * (one.solution.W + two.solution.W) for one, two in pairwise(points)])
    L = solver.problem.values(halfway)
    halfway_share = np.array([line.share_of(solver.sizes(cells)) for cells in L])
    width = np.minimum(np.diff(share), -LEAST_WIDTH)
    t = np.clip((halfway_share - share[:-1]) / width, 0.0, 1.0)
    curve = cubic_hermite(t, loss[:-1], loss[1:], slope[:-1] * width, slope[1:] * width)
    tolerance = BEND * max(float(np.ptp(loss)), LEAST_WIDTH * solver.units.loss)
    above = L @ solver.constraints.p - curve > tolerance
    rises = np.diff(loss)
    steep = (rises > tolerance) & (slope[1:] * width > STEEP * rises) & _far_apart(share)
    return np.where(above | steep, np.clip(t, 0.1, 0.9), np.nan)


def cubic_hermite(t: Array, start: Array, end: Array, start_slope: Array, end_slope: Array) -> Array:
    """Return the cubic with given values and slopes at t = 0 and t = 1."""
    s = 1.0 - t
    of_values = start * (1.0 + 2.0 * t) * s**2 + end * t**2 * (3.0 - 2.0 * t)
    of_slopes = start_slope * t * s**2 - end_slope * t**2 * s
    return np.asarray(of_values + of_slopes)


def _switches(points: list[PathPoint]) -> NDArray[np.bool_]:
    """Tell between which neighbours the binding constraints change, while they are still far apart."""
    share = np.array([point.share for point in points])
    active = np.abs([point.solution.multipliers for point in points]) > ACTIVE
    changed = (active[1:] != active[:-1]).any(axis=1)
    after_training = np.arange(len(changed)) > 0
    return np.asarray(changed & _far_apart(share) & after_training)


def _far_apart(share: Array) -> NDArray[np.bool_]:
    """Tell which neighbours are farther apart than as many points as allowed would be."""
    return np.asarray(-np.diff(share) > (share[0] - share[-1]) / MOST_POINTS)
