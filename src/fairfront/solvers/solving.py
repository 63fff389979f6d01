"""Solve a problem with one solver, and say where its runs ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..problems import LinearProblem, Setup, blas_threads
from ..problems.units import check_finite
from ..storage.checkpoints import Fingerprint
from . import SOLVERS, Newton, Outcome, Solver, run
from .aiming import sided, single_target, working_problem
from .choosing import resolve_solver
from .fingerprints import problem_fingerprint
from .loop import OnIterate, check_needs
from .resuming import open_journal
from .singles import newton_outcome, polished


@blas_threads(1)
def solve(
    problem: Any,
    solver: str | Solver = "newton",
    start: Any = None,
    *,
    preferences: Any = None,
    max_gap: float | None = None,
    on_iterate: Any = None,
    random_state: int | None = None,
    checkpoint: Any = None,
    resume: bool = False,
) -> Outcome:
    """Run a solver on a problem (or `linear_problem`'s setup) and return where its runs ended.

    ``preferences`` (R, m), or ``max_gap``, a cap on every gap, say where the runs of ``Newton`` and ``PBPDO`` end;
    without either they go to the smallest gap. ``checkpoint`` and ``resume`` are those of `trace`; ``on_iterate`` is
    told of the steps that are taken, not of those recalled.
    """
    chosen = SOLVERS[solver]() if isinstance(solver, str) else solver
    first = given = None if start is None else np.asarray(start, dtype=np.float64)
    if isinstance(problem, Setup):
        resolve_solver(chosen, problem)
        problem = sided(problem, chosen)
        work, stated = working_problem(problem, chosen), problem.problem
        exact = stated.framed()
        first = None if given is None else work.from_user(given)
    else:
        work, stated, exact = problem, problem, None
    target = single_target(work.algebra, chosen, preferences, max_gap)

    def owner() -> Fingerprint:
        asked = {"solver": chosen, "preferences": preferences, "max_gap": max_gap, "random_state": random_state}
        return problem_fingerprint(stated, given, loss=getattr(work, "loss", None), **asked)

    with open_journal(checkpoint, resume, owner) as journal:
        if isinstance(chosen, Newton):
            check_needs(work, chosen.needs, chosen)
            assert target is not None
            outcome = newton_outcome(work, chosen, target, first, exact, journal)
        else:
            told = _in_user_units(work, on_iterate) if isinstance(problem, Setup) else on_iterate
            outcome = run(work, chosen, first, target, told, journal.seed(random_state), journal)
            if target is not None and getattr(chosen, "polish", False):
                outcome = polished(work, outcome, target, journal)
    check_finite(outcome.W, outcome.L)
    return replace(outcome, W=work.to_user(outcome.W)) if isinstance(problem, Setup) else outcome


def _in_user_units(work: LinearProblem, on_iterate: OnIterate | None) -> OnIterate | None:
    """Return the callback, told weights in the users' units."""
    if on_iterate is None:
        return None
    return lambda iteration, ids, point: on_iterate(iteration, ids, replace(point, W=work.to_user(point.W)))
