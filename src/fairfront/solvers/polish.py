"""Ends of first-order runs, solved to the precision of Newton's method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..objectives import Array
from ..problems import LinearProblem
from .base import Outcome, Path, Target
from .points import PathPoint, judged
from .sqp import ExactTolerances, FixedCaps
from .training import train


def polished(
    problem: LinearProblem,
    exact: LinearProblem,
    ends: Outcome,
    target: Target | None,
    path: Path | None = None,
    every: bool = False,
) -> Outcome:
    """Solve the ends of first-order runs again, for their preferences or for the gaps they have.

    Ends that were not reached are left alone, unless ``every`` one is asked for; an end that cannot be
    solved stays as it is.
    """
    algebra = problem.algebra
    solver = train(problem, ExactTolerances(), start=ends.W[0])[0]
    W, L, status = ends.W.copy(), ends.L.copy(), list(ends.status)
    caps = solver.with_guard_caps(algebra.violation(algebra.gaps(ends.L)))
    no_multipliers = np.zeros_like(caps)
    starts = solver.evaluate(ends.W, no_multipliers, caps)
    for r, start in enumerate(starts):
        if not (every or status[r].solved):
            continue
        pi = None if target is None else _preference(target, r)
        goal = FixedCaps(caps[r]) if pi is None else solver.preference(pi)
        point = judged(solver, PathPoint(np.nan, solver.solve(start, goal), status[r]))
        if point.status.solved:
            W[r], L[r], status[r] = point.solution.W, point.solution.L, point.status
    return replace(ends, W=W, L=L, objectives=algebra.objectives(L), status=tuple(status))


def _preference(target: Target, run: int) -> Array | None:
    """Return the preference of a run, None where it has fixed caps."""
    return target.pi[run] if target.by_preference[run] else None
