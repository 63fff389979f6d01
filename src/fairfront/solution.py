"""Single points: solve a problem where its runs end, and minimise a vector of functions.

`solve` takes any problem that has cells; `minimize` makes one of plain functions, with SciPy's
words and habits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .exceptions import InputError
from .objectives import Array
from .problems import FirstOrder, FunctionProblem, LinearProblem, Point, one_blas_thread
from .problems.functions import Box
from .problems.point import check_finite, decomposable
from .records import Record
from .solvers import Outcome, Solver, Status, as_solver
from .solvers.base import Aim, History, Ids, OnIterate, check_needs
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
        Where the runs of ``PBPDO``, ``PaperPBPDO`` and ``Newton`` end.
    max_gap : float, optional
        A cap on every gap, for ``Newton``; without it and without preferences it goes to the
        smallest gap.
    on_iterate : callable, optional
        Is told the step, the runs that took it and where they are, of steps that are taken.
    random_state : int, optional

    Returns
    -------
    Outcome
        Weights, objectives and status of every run, and its history: objectives, the weights alpha
        of the objectives and the length of the direction d_t at every step.
    """
    chosen = as_solver(solver)
    check_seed(random_state)
    if on_iterate is not None:
        check_callable(on_iterate, "on_iterate", "a function of the step, the runs and where they are")
    if not isinstance(problem, FirstOrder):
        raise refuse("problem", problem, "what linear_problem returns, or a problem with cells and move")
    first = None if start is None else _start(start, problem)
    if isinstance(problem, LinearProblem):
        outcome = _solve_linear(problem, chosen, first, preferences, max_gap, on_iterate, random_state)
    else:
        target = chosen.target(problem.algebra, preferences, max_gap)
        aim = Aim(target, first, on_iterate=on_iterate, random_state=random_state)
        outcome = chosen.solve(problem, aim)
    check_finite(outcome.W, outcome.L, outcome.objectives)
    return outcome


def _solve_linear(
    problem: LinearProblem,
    solver: Solver,
    start: Array | None,
    preferences: Any,
    max_gap: float | None,
    on_iterate: OnIterate | None,
    random_state: int | None,
) -> Outcome:
    """Solve on the columns that the solver works with, and return weights in the users' units."""
    as_solver(solver, problem.algebra)
    stated = solver.stated(problem)
    work, exact = solver.working(stated), stated.framed()

    def tell(iteration: int, runs: Ids, point: Point) -> None:
        assert on_iterate is not None
        on_iterate(iteration, runs, replace(point, W=work.to_user(point.W)))

    aim = Aim(
        solver.target(work.algebra, preferences, max_gap),
        None if start is None else work.from_user(start),
        exact,
        None if on_iterate is None else tell,
        random_state,
    )
    outcome = solver.solve(work, aim)
    return replace(outcome, W=work.to_user(outcome.W))


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
    alpha : array of shape (m,)
        Weights of the objectives at x: sum_i alpha_i grad h_i vanishes at an efficient point.
    direction_norm : float, the length of that sum
    history : History
        Objectives (nit + 1, m), alpha (nit + 1, m) and direction_norm (nit + 1,) of the start and
        every accepted step.
    """

    x: Array
    fun: Array
    status: Status
    message: str
    success: bool
    nit: int
    nfev: int
    alpha: Array
    direction_norm: float
    history: History


def minimize(
    functions: Any,
    x0: Any,
    preference: Any = None,
    solver: str | Solver | None = None,
    jac: Any = None,
    bounds: Any = None,
    random_state: int | None = None,
) -> MinimizeResult:
    """Minimise a vector of differentiable functions, to an efficient point or to a preferred one.

    Functions are called at x0 and at steps of the run, nowhere else (finite differences apart).
    Where a step leads outside their domain, because they raise an error of arithmetic or return
    NaN or infinity, it is refused and shortened.

    Parameters
    ----------
    functions : one callable returning m values, or a sequence of m callables returning one each
    x0 : array of shape (d,), where all of them are defined
    preference : array of shape (m,), optional
        Positive numbers pi; the aim is pi_1 h_1 = ... = pi_m h_m on the frontier, for functions of
        at least 0.
    solver : by default ``"pb_pdo"`` with a preference and ``"pdo"`` without one
    jac : None, True or callable
        As in SciPy: True when functions return (value, gradient), a callable for the Jacobian, None for finite
        differences.
    bounds : sequence of (low, high) or scipy.optimize.Bounds, optional
        Every step stays between them; None is no bound. A start on a bound is moved inside by a
        thousandth.
    random_state : int, optional

    Examples
    --------
    >>> import fairfront as ff
    >>> result = ff.minimize([lambda x: (x @ x) + 1, lambda x: (x - 2) @ (x - 2) + 1], [3.0], preference=[1, 1])
    >>> round(float(result.x[0]), 3)
    1.0
    """
    x = np.atleast_1d(as_numbers(x0, "x0"))
    if x.ndim > 1 or not x.size or not np.isfinite(x).all():
        raise InputError(f"x0 has shape {x.shape} or is not finite, expected (d,): at least one finite number.")
    box = None if bounds is None else Box.of(bounds, x)
    problem = FunctionProblem(functions, x, jac, box)
    chosen = as_solver(solver if solver is not None else "pdo" if preference is None else "pb_pdo")
    check_seed(random_state)
    check_needs(chosen, problem)
    if preference is None and "preferences" in chosen.accepts:
        raise InputError(f"solver {chosen.name!r} needs a preference, found None; give one, or use solver='pdo'.")
    if preference is not None and as_numbers(preference, "preference").ndim != 1:
        raise InputError(
            f"preference has shape {np.shape(preference)}, expected ({problem.algebra.m},): one number per objective."
        )
    start = x if box is None else box.free(x)
    target = chosen.target(problem.algebra, preference)
    if target is not None:
        _refuse_negative(problem.values(x).h)
    with np.errstate(over="ignore", invalid="ignore"):  # a step may land where values overflow
        outcome = chosen.solve(problem, Aim(target, start.reshape(1, 1, -1), random_state=random_state))
    end, fun, history = outcome.W[0].reshape(-1), outcome.objectives[0], outcome.history[0]
    if target is not None:
        _refuse_negative(fun)
    status = outcome.status[0]
    return MinimizeResult(
        x=end if box is None else box.point(end),
        fun=fun,
        status=status,
        message=str(status),
        success=status.solved,
        nit=len(history) - 1,
        nfev=outcome.passes,
        alpha=history.alpha[-1],
        direction_norm=float(history.direction_norm[-1]),
        history=history,
    )


def _refuse_negative(h: Array) -> None:
    """Refuse objectives below 0 where a preference compares their ratios."""
    if (h < 0.0).any():
        raise InputError(
            f"objective {int(h.argmin())} falls to {h.min():.3g}, expected objectives of at least 0 with a "
            "preference, which compares their ratios; add a constant to it, or leave the preference out."
        )
