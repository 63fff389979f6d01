"""Points of the exact tracer with their gradients and caps, for tests that look behind a frontier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.problems import LinearProblem
from fairfront.solvers.cap_path import CapPath, PathSettings
from fairfront.solvers.points import PathPoint, judged
from fairfront.solvers.sqp import FixedCaps, PointSolver
from fairfront.solvers.training import train


@dataclass(frozen=True, eq=False)
class TracedPoint:
    """A point with what it was solved for; caps and multipliers of gaps first, of guards after them."""

    W: np.ndarray
    L: np.ndarray
    G: np.ndarray
    caps: np.ndarray
    multipliers: np.ndarray
    kkt: float
    status: ff.Status
    certified: bool
    point: PathPoint

    @classmethod
    def of(cls, point: PathPoint) -> TracedPoint:
        at = point.solution
        return cls(at.W, at.L, at.G, at.caps, at.multipliers, at.kkt, point.status, point.certified, point)


def point_solver(newton: ff.Newton, problem: LinearProblem, start: Any = None) -> PointSolver:
    """Return the solver of points after training."""
    return train(problem, newton.tolerances, newton.no_group_worse, start)[0]


def trained(newton: ff.Newton, problem: LinearProblem) -> TracedPoint:
    """Return unconstrained training."""
    return TracedPoint.of(train(problem, newton.tolerances, newton.no_group_worse)[1])


def newton_path(problem: LinearProblem, newton: ff.Newton, n_points: int | None = None) -> list[TracedPoint]:
    """Trace a path of caps; caps are those on gaps alone."""
    solver, plain = train(problem, newton.tolerances, newton.no_group_worse)
    settings = PathSettings(newton.restarts, newton.random_state, newton.overshoot)
    path = CapPath.traced(solver, plain, n_points, settings, lambda point: None)
    return [TracedPoint.of(point) for point in path.points]


def solve_caps(solver: PointSolver, start: TracedPoint, caps: Any) -> TracedPoint:
    """Solve for caps on the gaps, from a point."""
    goal = FixedCaps(solver.with_guard_caps(np.asarray(caps, dtype=np.float64)))
    return TracedPoint.of(judged(solver, PathPoint(np.nan, solver.solve(start.point.solution, goal))))
