"""Refinement: more points where a path bends, where another constraint begins to bind, and before a floor.

Between two neighbours the curve of loss over share is the cubic Hermite interpolant of both ends and
their slopes, which the multipliers give: d loss / d share = -|x| . span. A point is added where the
model half-way between their weights lies above that curve by more than a share of the range of losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False)
class Curve:
    """Loss over the share of the caps, at N points from training to the end of a path.

    share, loss, slope (N,)   slope is d loss / d share
    active (N, q)             which constraints bind
    ends_at_floor             whether the last point is a floor, whose multipliers are not unique
    unit                      of losses
    """

    share: Array
    loss: Array
    slope: Array
    active: NDArray[np.bool_]
    ends_at_floor: bool
    unit: float

    def shares_missing(self, halfway_share: Array, halfway_loss: Array) -> list[float]:
        """Return the shares at which points are missing, from models half-way between neighbours."""
        way = self._bends(halfway_share, halfway_loss)
        way = np.where(np.isnan(way) & self._switches(), 0.5, way)
        shares = (1.0 - way) * self.share[:-1] + way * self.share[1:]
        return [float(share) for share in shares[~np.isnan(shares)]]

    def _bends(self, halfway_share: Array, halfway_loss: Array) -> Array:
        """Return how far between neighbours another point is missing, NaN where none is."""
        slope = self.slope.copy()
        if self.ends_at_floor:  # curves are steep there: take the largest slope that keeps the cubic monotone
            slope[-1] = 3.0 * (self.loss[-1] - self.loss[-2]) / (self.share[-1] - self.share[-2])
        width = np.minimum(np.diff(self.share), -LEAST_WIDTH)
        t = np.clip((halfway_share - self.share[:-1]) / width, 0.0, 1.0)
        start_slope, end_slope = slope[:-1] * width, slope[1:] * width
        curve = cubic_hermite(t, self.loss[:-1], self.loss[1:], start_slope, end_slope)
        tolerance = BEND * max(float(np.ptp(self.loss)), LEAST_WIDTH * self.unit)
        rises = np.diff(self.loss)
        above = halfway_loss - curve > tolerance
        steep = (rises > tolerance) & (end_slope > STEEP * rises) & self._far_apart
        return np.where(above | steep, np.clip(t, 0.1, 0.9), np.nan)

    def _switches(self) -> NDArray[np.bool_]:
        """Tell between which neighbours the binding constraints change, while they are still far apart."""
        changed = (self.active[1:] != self.active[:-1]).any(axis=1)
        after_training = np.arange(len(changed)) > 0
        return np.asarray(changed & self._far_apart & after_training)

    @property
    def _far_apart(self) -> NDArray[np.bool_]:
        """Tell which neighbours are farther apart than as many points as allowed would be."""
        return np.asarray(-np.diff(self.share) > (self.share[0] - self.share[-1]) / MOST_POINTS)


def cubic_hermite(t: Array, start: Array, end: Array, start_slope: Array, end_slope: Array) -> Array:
    """Return the cubic with given values and slopes at t = 0 and t = 1."""
    s = 1.0 - t
    of_values = start * (1.0 + 2.0 * t) * s**2 + end * t**2 * (3.0 - 2.0 * t)
    of_slopes = start_slope * t * s**2 - end_slope * t**2 * s
    return np.asarray(of_values + of_slopes)


def refine(
    path_solver: PathSolver, anchors: list[PathPoint], points: list[PathPoint]
) -> tuple[list[PathPoint], list[PathPoint]]:
    """Return anchors and points with those added that the path needs."""
    solver = path_solver.solver
    for _ in range(ROUNDS):
        shares = _shares_missing(path_solver, points)[: max(MOST_POINTS - len(points), 0)]
        if not shares:
            break
        anchors, added = path_solver.fill(anchors, shares)
        solved = [point for point in added if point.status.solved]
        if not solved:
            break
        points = sorted([*points, *solved], key=lambda point: -point.share)
    return anchors, settle(solver, points, Restarts(0, 0))


def _shares_missing(path_solver: PathSolver, points: Sequence[PathPoint]) -> list[float]:
    """Return the shares at which a path needs points."""
    solver, line = path_solver.solver, path_solver.line
    solutions = [point.solution for point in points]
    multipliers = np.abs([at.multipliers for at in solutions])
    curve = Curve(
        share=np.array([point.share for point in points]),
        loss=np.array([solver.loss(at) for at in solutions]),
        slope=-(multipliers @ line.span),
        active=multipliers > ACTIVE,
        ends_at_floor=points[-1].status is Status.FLOOR,
        unit=solver.units.loss,
    )
    halfway = np.stack([0.5 * (one.W + two.W) for one, two in pairwise(solutions)])
    L = solver.problem.values(halfway)
    halfway_share = np.array([line.share_of(solver.sizes(cells)) for cells in L])
    return curve.shares_missing(halfway_share, L @ solver.constraints.p)
