"""Entry functions for single points: solve a problem with one solver, and minimise functions, with SciPy's words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..problems import FirstOrder, FunctionProblem, LinearProblem, blas_threads
from ..problems.base import check_finite, decomposable
from ..storage.checkpoints import Fingerprint
from ..validation import as_numbers, check_callable, check_positive, check_preferences, check_seed, refuse
from . import SOLVERS
from .base import Aim, OnIterate, Outcome, Solver, Status, Target
from .fingerprints import problem_fingerprint
from .journal import open_journal
from .weighting import Weighting


def as_solver(solver: str | Solver, algebra: Algebra | None = None) -> Solver:
    """Return the solver by name or as given, for gaps of one sign (of ``algebra``) only one that accepts them."""
    if not isinstance(solver, (str, Solver)):
        raise refuse("solver", solver, "a name or an instance such as ff.Newton()")
    chosen: Solver = SOLVERS[solver]() if isinstance(solver, str) else solver
    if isinstance(chosen, Weighting):
        raise InputError("a Weighting searches the weights of an estimator, found none; give estimator=.")
    if algebra is not None and not algebra.gap.even and "uneven gaps" not in chosen.accepts:
        raise InputError(
            f"gap {algebra.gap.name!r} rewards gaps of one sign and exists in paper mode only, found solver "
            f"{chosen.name!r}; use gap='exponential', or solver='paper_pdo' or 'paper_pb_pdo'."
        )
    return chosen


def single_target(algebra: Algebra, solver: Solver, preference: Any, max_gap: float | None) -> Target | None:
    """Return the target of one run: a preference, a cap on every gap, or the smallest gap."""
    if "preferences" not in solver.accepts:
        if preference is not None or max_gap is not None:
            raise InputError(f"solver {solver.name!r} takes no preference and no cap; use solver='pb_pdo'.")
        return None
    if preference is not None and max_gap is not None:
        raise InputError("a preference and a cap on the gap were given, expected at most one of them.")
    if preference is not None:
        return Target.from_preferences(check_preferences(preference, algebra.names))
    if "caps" not in solver.accepts:
        raise InputError(f"solver {solver.name!r} needs a preference, found None.")
    cap = 0.0 if max_gap is None else check_positive(max_gap, "the largest gap", zero=True)
    return Target.from_caps(np.full((1, len(algebra.b)), cap))


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

    Parameters
    ----------
    problem : LinearProblem or any problem with cells and move
        What `linear_problem` returns; weights are then in the users' units.
    solver : str or Solver
    start : array of shape (K, d) or (R, K, d), optional
        Weights that runs begin at.
    preferences : array of shape (R, m), optional
    max_gap : float, optional
        A cap on every gap. Both say where the runs of ``Newton`` and ``PBPDO`` end; without either they go to the
        smallest gap.
    on_iterate : callable, optional
        Is told the step, the runs that took it and where they are: of steps that are taken, not of those recalled.
    random_state : int, optional
    checkpoint, resume
        As in `trace`.

    Returns
    -------
    Outcome
    """
    chosen = as_solver(solver)
    check_seed(random_state)
    if on_iterate is not None:
        check_callable(on_iterate, "on_iterate", "a function of the step, the runs and where they are")
    if not isinstance(problem, FirstOrder):
        raise refuse("problem", problem, "what linear_problem returns, or a problem with cells and move")
    given = None if start is None else _start(start, problem)
    stated: Any = problem
    work, aim = stated, Aim(start=given, on_iterate=on_iterate, random_state=random_state)
    if isinstance(problem, LinearProblem):
        as_solver(chosen, problem.algebra)
        stated = chosen.stated(problem)
        work = chosen.working(stated)
        first = None if given is None else work.from_user(given)
        aim = replace(aim, start=first, exact=stated.framed(), on_iterate=_in_user_units(work, on_iterate))
    aim = replace(aim, target=single_target(work.algebra, chosen, preferences, max_gap))

    def owner() -> Fingerprint:
        asked = {"solver": chosen, "preferences": preferences, "max_gap": max_gap, "random_state": random_state}
        return problem_fingerprint(stated, given, loss=getattr(work, "loss", None), **asked)

    with open_journal(checkpoint, resume, owner) as journal:
        outcome = chosen.solve(work, aim, journal)
    check_finite(outcome.W, outcome.L, outcome.objectives)
    return replace(outcome, W=work.to_user(outcome.W)) if isinstance(problem, LinearProblem) else outcome


def _start(start: Any, problem: Any) -> Array:
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


@dataclass(frozen=True)
class MinimizeResult:
    """What `minimize` found, with SciPy's words.

    x (d,) the point, fun (m,) its objectives, status and message why it stopped, success whether it is solved,
    nit accepted steps, nfev evaluations, history (T, m) the objectives of every accepted step.
    """

    x: Array
    fun: Array
    status: Status
    message: str
    success: bool
    nit: int
    nfev: int
    history: Array


def minimize(
    functions: Any,
    x0: Any,
    preference: Any = None,
    solver: str | Solver | None = None,
    jac: Any = None,
    random_state: int | None = None,
    checkpoint: Any = None,
    resume: bool = False,
) -> MinimizeResult:
    """Minimise a vector of differentiable functions, to an efficient point or to a preferred one.

    Parameters
    ----------
    functions : callable or sequence of callables
        One callable returning m values, or m callables returning one each.
    x0 : array of shape (d,)
    preference : array of shape (m,), optional
        Positive numbers pi; the aim is pi_1 h_1 = ... = pi_m h_m on the frontier (needs positive objectives).
    solver : optional
        ``"pb_pdo"`` with a preference and ``"pdo"`` without one, by default.
    jac : None, True or callable
        As in SciPy: True when functions return (value, gradient), a callable for the Jacobian, None for finite
        differences.
    checkpoint : path, optional
        File that takes note of the state after every 25 steps; with ``resume=True`` the run goes on from it.
    """
    x = np.atleast_1d(as_numbers(x0, "x0"))
    if x.ndim > 1 or not x.size or not np.isfinite(x).all():
        raise InputError(f"x0 has shape {x.shape} or is not finite, expected (d,): at least one finite number.")
    problem = FunctionProblem(functions, x, jac)
    name = solver if solver is not None else ("pdo" if preference is None else "pb_pdo")
    chosen = as_solver(name)
    check_seed(random_state)
    chosen.check_needs(problem)
    if preference is None and "preferences" in chosen.accepts:
        raise InputError(f"solver {chosen.name!r} needs a preference, found None; give one, or use solver='pdo'.")
    if preference is not None and as_numbers(preference, "preference").ndim != 1:
        raise InputError(
            f"preference has shape {np.shape(preference)}, expected ({problem.algebra.m},): one number per objective."
        )
    target = single_target(problem.algebra, chosen, preference, None)
    start = x.reshape(1, 1, -1)

    def owner() -> Fingerprint:
        return problem_fingerprint(problem, start, solver=chosen, preference=preference, random_state=random_state)

    with open_journal(checkpoint, resume, owner) as journal:
        outcome = chosen.solve(problem, Aim(target, start, random_state=random_state), journal)
    status = outcome.status[0]
    return MinimizeResult(
        x=outcome.W[0].reshape(-1),
        fun=outcome.objectives[0],
        status=status,
        message=str(status),
        success=status.solved,
        nit=len(outcome.history[0]) - 1,
        nfev=outcome.passes,
        history=outcome.history[0],
    )
