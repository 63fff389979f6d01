"""Points of preferences: pi_1 h_1 = ... = pi_m h_m, or the nearest point of the frontier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from ..objectives import Array
from .base import Status, Target
from .cap_path import no_listener
from .path import OnPoint, PathSolver
from .points import CapLine, PathPoint, judged
from .sqp import FixedCaps, Iterate, PointSolver

ON_LEVEL = 1e-6  # share to which the level of a preference is bracketed before its point is solved
ON_LINE = 0.995  # share to which all pi_i h_i of a point on its preference line agree


def preferred(
    solver: PointSolver, plain: PathPoint, preferences: Array, listener: OnPoint = no_listener
) -> list[PathPoint]:
    """Solve one point per preference (R, m), from the least to the most demanding, each from the last."""
    order = np.argsort((preferences[:, 1:] / preferences[:, :1]).max(axis=1), kind="stable")
    solved: dict[int, PathPoint] = {}
    last = plain.solution
    for i in order.tolist():
        point = _solve_preference(solver, replace(last, level=np.nan), preferences[i])
        if not point.status.solved:
            point = _along_the_caps(solver, plain, preferences[i])
        if point.status.solved:
            last = replace(point.solution, factor=None)
        solved[i] = point
        listener(point)
    return [solved[i] for i in range(len(preferences))]


def _solve_preference(solver: PointSolver, start: Iterate, pi: Array) -> PathPoint:
    """Solve for one preference, and say whether its line was met."""
    goal = solver.preference(pi)
    at = solver.solve(start, goal)
    if not solver.is_solved(at) and start.factor is not None:
        again = solver.solve(replace(start, factor=None), goal)
        at = again if again.kkt < at.kkt else at
    point = judged(solver, PathPoint(np.nan, at))
    if not point.status.solved:
        return point
    if not np.any(at.multipliers[: solver.n_gaps]):
        return replace(point, status=Status.NEAREST)
    levels = pi * solver.algebra.objectives(at.L[None])[0]
    on_line = levels.min() >= ON_LINE * levels.max()
    return replace(point, status=Status.LINE if on_line else Status.CHEBYSHEV)


def _along_the_caps(solver: PointSolver, plain: PathPoint, pi: Array) -> PathPoint:
    """Follow the caps of a preference down to those at the unconstrained loss, and come back.

    These are tighter than it asks. Where they end at a floor above the preference line, the floor is
    the nearest point; otherwise the level with pi_1 loss(level) = level lies between that of the last
    point and that of unconstrained training.
    """
    target, algebra = Target.from_preferences(pi[None]), solver.algebra

    def caps_at(level: float) -> Array:
        return solver.with_guard_caps(target.caps_at(algebra, np.array([level]))[0])

    def levels(at: Iterate) -> Array:
        return np.asarray(pi * algebra.objectives(at.L[None])[0])

    first = levels(plain.solution)
    start, end = caps_at(float(first.max())), caps_at(float(first[0]))
    line = CapLine(end, np.maximum(start - end, 0.0))
    begin = replace(plain, solution=replace(plain.solution, caps=start, factor=None))
    near = PathSolver(solver, line, no_listener).follow(begin, [0.0])[-1]
    reached = levels(near.solution)
    if reached[0] <= reached[1:].max():
        return replace(near, share=np.nan, status=Status.OUT_OF_REACH)
    last = [near.solution]

    def missed(level: float) -> float:
        last.append(solver.solve(replace(last[-1], factor=None), FixedCaps(caps_at(level))))
        return float(levels(last[-1])[0]) - level

    level = brentq(missed, float(reached[1:].max()), float(first.max()), rtol=ON_LEVEL)
    return _solve_preference(solver, replace(last[-1], level=level, factor=None), pi)
