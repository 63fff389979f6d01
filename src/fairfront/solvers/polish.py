"""Ends of first-order runs, solved to the precision of Newton's method and for the loss itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..objectives import Array, Loss
from ..objectives.losses import Hinge, SmoothedHinge
from ..problems import LinearProblem
from .base import Outcome, Status, Target
from .hinge_path import polished_hinge
from .points import PathPoint, judged
from .sqp import ExactTolerances, FixedCaps, Goal, Iterate, PointSolver
from .training import train


def polished(
    problem: LinearProblem,
    exact: LinearProblem,
    ends: Outcome,
    target: Target | None,
    automatic: bool = False,
    every: bool = False,
) -> Outcome:
    """Solve the ends of first-order runs again, for the loss of ``exact``.

    Runs without a preference keep the gaps they have. Ends that were not reached are left alone,
    unless ``every`` one is asked for; an end that cannot be solved stays as it is, and says so if its
    run went by another loss. ``automatic`` says that nobody asked for their caps.
    """
    if isinstance(exact.loss, Hinge):
        return polished_hinge(exact, ends, target, automatic, every)
    algebra, is_rounded = exact.algebra, exact.loss != problem.loss
    solver = train(exact, ExactTolerances(), start=ends.W[0])[0]
    W, L, status = ends.W.copy(), exact.values(ends.W), list(ends.status)
    caps = solver.with_guard_caps(algebra.violation(algebra.gaps(L)))
    losses = _narrowing(problem.loss, exact.loss)
    for r, start in enumerate(solver.evaluate(ends.W, np.zeros_like(caps), caps)):
        if not (every or status[r].solved):
            continue
        pi = None if target is None else _preference(target, r)
        goal = FixedCaps(caps[r]) if pi is None else solver.preference(pi)
        solution = _solved_for(solver, losses, start, goal)
        point = judged(solver, PathPoint(np.nan, solution, status[r]))
        if point.status.solved:
            W[r], L[r], status[r] = point.solution.W, point.solution.L, point.status
        elif is_rounded and status[r].solved:
            status[r] = Status.STALLED
    return replace(ends, W=W, L=L, objectives=algebra.objectives(L), status=tuple(status))


def _preference(target: Target, run: int) -> Array | None:
    """Return the preference of a run, None where it has fixed caps."""
    return target.pi[run] if target.by_preference[run] else None


def _solved_for(solver: PointSolver, losses: list[Loss], start: Iterate, goal: Goal) -> Iterate:
    """Solve for one loss after the other, the solver's own last."""
    at = start
    for loss in losses:
        twin = replace(solver, problem=solver.problem.with_loss(loss))
        (at,) = twin.evaluate(at.W[None], at.multipliers[None], at.caps[None])
        at = twin.solve(at, goal)
    return at


def _narrowing(wide: Loss, narrow: Loss) -> list[Loss]:
    """Return losses from a rounded hinge to one that is less so, each half as wide as the last."""
    if not (isinstance(wide, SmoothedHinge) and isinstance(narrow, SmoothedHinge)):
        return [narrow]
    count = max(0, int(np.ceil(np.log2(wide.width / narrow.width))))
    return [*(narrow.smoothed(wide.width / 2.0**i) for i in range(1, count)), narrow]
