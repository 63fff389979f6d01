"""Single points: solve a problem where its runs end, and minimise a vector of functions, with SciPy's words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .exceptions import InputError
from .objectives import Array
from .problems import FirstOrder, FunctionProblem, LinearProblem, one_blas_thread
from .problems.point import check_finite, decomposable
from .records import Record
from .solvers import Outcome, Solver, Status, as_solver
from .solvers.base import check_needs
from .solvers.loop import Aim
from .solvers.pdo import confirmed
from .validation import check_callable, check_seed, refuse
from .validation.inputs import as_numbers


@one_blas_thread()
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
) -> Outcome:
    """Run a solver on a problem and return where its runs ended.

    Parameters
    ----------
    problem : LinearProblem or any problem with cells and move
        What `linear_problem` returns; weights are then in the users' units.
    solver : str or Solver
    start : array of shape (K, d) or (R, K, d) of weights that runs begin at, optional
    preferences : array of shape (R, m), optional
    max_gap : float, optional
        A cap on every gap. Both say where the runs of ``Newton`` and ``PBPDO`` end; without either they go to the
        smallest gap.
    on_iterate : callable, optional
        Is told the step, the runs that took it and where they are, of steps that are taken.
    random_state : int, optional
    """
    chosen = as_solver(solver)
    check_seed(random_state)
    if on_iterate is not None:
        check_callable(on_iterate, "on_iterate", "a function of the step, the runs and where they are")
    if not isinstance(problem, FirstOrder):
        raise refuse("problem", problem, "what linear_problem returns, or a problem with cells and move")
    given = None if start is None else _start(start, problem)
    work: Any = problem
    first, exact = given, None
    if isinstance(problem, LinearProblem):
        as_solver(chosen, problem.algebra)
        stated = chosen.stated(problem)
        work, exact = chosen.working(stated), stated.framed()
        first = None if given is None else work.from_user(given)
    aim = Aim(chosen.target(work.algebra, preferences, max_gap), first, exact, on_iterate, random_state)
    if exact is not None and on_iterate is not None:  # is told weights in the users' units
        aim = replace(aim, on_iterate=lambda t, ids, at: on_iterate(t, ids, replace(at, W=work.to_user(at.W))))
    outcome = chosen.solve(work, aim)
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


@dataclass(frozen=True, repr=False)
class MinimizeResult(Record):
    """What `minimize` found, with SciPy's words.

    Attributes
    ----------
    x, fun : arrays of shape (d,) and (m,), the point and its objectives
    status, message, success : why it stopped, the same in words, and whether the point is solved
    nit, nfev : int, accepted steps and evaluations
    history : array of shape (T, m), the objectives of every accepted step
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
) -> MinimizeResult:
    """Minimise a vector of differentiable functions, to an efficient point or to a preferred one.

    Parameters
    ----------
    functions : one callable returning m values, or a sequence of m callables returning one each
    x0 : array of shape (d,)
    preference : array of shape (m,), optional
        Positive numbers pi; the aim is pi_1 h_1 = ... = pi_m h_m on the frontier (needs positive objectives).
    solver : by default ``"pb_pdo"`` with a preference and ``"pdo"`` without one
    jac : None, True or callable
        As in SciPy: True when functions return (value, gradient), a callable for the Jacobian, None for finite
        differences.
    random_state : int, optional
    """
    x = np.atleast_1d(as_numbers(x0, "x0"))
    if x.ndim > 1 or not x.size or not np.isfinite(x).all():
        raise InputError(f"x0 has shape {x.shape} or is not finite, expected (d,): at least one finite number.")
    problem = FunctionProblem(functions, x, jac)
    chosen = as_solver(solver if solver is not None else "pdo" if preference is None else "pb_pdo")
    check_seed(random_state)
    check_needs(chosen, problem)
    if preference is None and "preferences" in chosen.accepts:
        raise InputError(f"solver {chosen.name!r} needs a preference, found None; give one, or use solver='pdo'.")
    if preference is not None and as_numbers(preference, "preference").ndim != 1:
        raise InputError(
            f"preference has shape {np.shape(preference)}, expected ({problem.algebra.m},): one number per objective."
        )
    aim = Aim(chosen.target(problem.algebra, preference), x.reshape(1, 1, -1), random_state=random_state)
    outcome = chosen.solve(problem, aim)
    end, fun, history = outcome.W[0].reshape(-1), outcome.objectives[0], outcome.history[0]
    if preference is not None and (fun < 0.0).any():
        raise InputError(
            f"objective {int(fun.argmin())} falls to {fun.min():.3g}, expected objectives of at least 0 with a "
            "preference, which compares their ratios; add a constant to it, or leave the preference out."
        )
    status, looked = confirmed(problem, outcome.status[0], end, history, preference)
    nit, nfev = len(history) - 1, outcome.passes + looked
    return MinimizeResult(end, fun, status, str(status), status.solved, nit=nit, nfev=nfev, history=history)
