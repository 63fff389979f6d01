"""Solve a problem with one solver, and say where its runs ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..problems import FirstOrder, LinearProblem, blas_threads
from ..problems.units import check_finite, decomposable
from ..storage.checkpoints import Fingerprint
from ..validation import as_numbers, check_callable, check_seed, refuse
from . import Newton, Outcome, Solver, run
from .aiming import sided, single_target, working_problem
from .choosing import as_solver, resolve_solver
from .fingerprints import problem_fingerprint
from .journal import open_journal
from .loop import OnIterate, check_needs
from .singles import newton_outcome, polished


@blas_threads(1)
@decomposable()
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
    """Run a solver on a problem and return where its runs ended.

    ``preferences`` (R, m), or ``max_gap``, a cap on every gap, say where the runs of ``Newton`` and ``PBPDO`` end;
    without either they go to the smallest gap. ``checkpoint`` and ``resume`` are those of `trace`; ``on_iterate`` is
    told of the steps that are taken, not of those recalled.
    """
    chosen = as_solver(solver)
    check_seed(random_state)
    if on_iterate is not None:
        check_callable(on_iterate, "on_iterate", "a function of the step, the runs and where they are")
    if not isinstance(problem, FirstOrder):
        raise refuse("problem", problem, "what linear_problem returns, or a problem with cells and move")
    given = None if start is None else _start(start, problem)
    first, exact = given, None
    work: Any = problem
    stated: Any = problem
    if isinstance(problem, LinearProblem):
        resolve_solver(chosen, problem)
        stated = sided(problem, chosen)
        work = working_problem(stated, chosen)
        exact = stated.framed()
        first = None if given is None else work.from_user(given)
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
            told = _in_user_units(work, on_iterate) if isinstance(problem, LinearProblem) else on_iterate
            outcome = run(work, chosen, first, target, told, journal.seed(random_state), journal)
            if target is not None and getattr(chosen, "polish", False):
                outcome = polished(work, outcome, target, journal)
    check_finite(outcome.W, outcome.L, outcome.objectives)
    return replace(outcome, W=work.to_user(outcome.W)) if isinstance(problem, LinearProblem) else outcome


def _start(start: Any, problem: Any) -> Array:
    """Return the weights that runs begin at, of one run (K, d) or of each (R, K, d)."""
    W = as_numbers(start, "start")
    if W.ndim not in (2, 3) or W.shape[-2:] != (problem.K, problem.d) or not np.isfinite(W).all():
        raise InputError(
            f"start has shape {W.shape} or is not finite, expected finite numbers ({problem.K}, {problem.d}), or one "
            "such matrix per run."
        )
    return W


def _in_user_units(work: LinearProblem, on_iterate: OnIterate | None) -> OnIterate | None:
    """Return the callback, told weights in the users' units."""
    if on_iterate is None:
        return None
    return lambda iteration, ids, point: on_iterate(iteration, ids, replace(point, W=work.to_user(point.W)))
