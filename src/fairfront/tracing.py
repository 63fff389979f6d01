"""Entry functions: trace a frontier, solve a problem for single points, and minimise functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .exceptions import InputError, progress_bar
from .frontier import Frontier, assemble
from .frontier.estimator_frontier import trace_estimator
from .frontier.held_out import HeldOut, readings_judge
from .objectives import Array, Gap, Groups, Loss, Notion, is_regression, warn_of_proxies
from .objectives.comparisons import Surrogate
from .objectives.exposures import per_exposure
from .problems import FirstOrder, FunctionProblem, LinearProblem, blas_threads, linear_problem
from .problems.point import check_finite, decomposable
from .records import Record
from .solvers import Outcome, Solver, Status, Weighting, as_solver
from .solvers.base import Journal, Request, check_needs
from .solvers.fingerprints import problem_fingerprint
from .solvers.journal import open_journal
from .solvers.loop import Aim
from .solvers.pdo import confirmed
from .solvers.search import as_search, refuse_linear
from .storage.checkpoints import Fingerprint, check_checkpoint
from .validation import check_callable, check_flag, check_progress, check_seed, refuse
from .validation.inputs import as_numbers


def trace(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    favourable: Any = None,
    notion: str | Notion | tuple[str | Notion, ...] | list[str | Notion] = "equal_opportunity",
    surrogate: Surrogate = "loss",
    loss: str | Loss = "logistic",
    gap: str | Gap = "squared",
    solver: str | Solver = "newton",
    preferences: Any = None,
    n_points: int | None = None,
    ridge: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    exposure: Any = None,
    groups: Groups | None = None,
    estimator: Any = None,
    random_state: int | None = None,
    held_out: bool | None = False,
    person: Any = None,
    checkpoint: Any = None,
    resume: bool = False,
    progress: bool | Literal["auto"] = "auto",
) -> Frontier:
    """Trace the frontier between loss and worst gap.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
        Features; leave sensitive columns out unless you mean to use them at prediction time.
    y : array of shape (n,) of labels of any kind, or of numbers for a regression's loss, such as ``loss="squared"``
    sensitive_features : array, series, frame, mapping or GroupProbabilities
        The group of every row; several columns are taken each on its own unless ``groups`` crosses them.
    favourable : the label that is good for the person; by default the second of the sorted classes
    notion, surrogate, loss, gap : what is compared, by loss or by smooth rate, the training loss, and the gap function
    solver : str or solver
        ``"newton"`` (default: every point solved exactly), ``"pb_pdo"``, ``"pdo"``, or the printed algorithms
        ``"paper_pdo"``, ``"paper_pb_pdo"``; or an instance. With an estimator, a `Weighting`, or ``"posteriors"``.
    preferences : None, int or array of shape (R, m)
        Preference vectors, or how many targets to place evenly between unconstrained training and the smallest gap.
    n_points : int, optional
        Newton: how many points to solve, evenly from unconstrained training to the smallest gap; by default as many
        as the curve bends. First-order solvers: most points to keep (100), ends of runs always.
    ridge : float, optional
        Penalty on the squared weights; by default 1 / (sum of weights), scikit-learn's C = 1, so that a weight of 2 is
        a row that is there twice.
    fit_intercept : bool, whether there is an intercept, which is not penalised
    sample_weight : array of shape (n,) of weights of at least 0, optional
    exposure : array of shape (n,) of numbers above 0 (time at risk, trials), optional
        Where y are counts or totals: ``y / exposure`` is then modelled, with weights times exposure.
    groups : Groups, which says reference groups, crossed columns and the smallest size of a group, optional
    estimator : estimator, optional
        Any classifier or regressor whose fit takes sample_weight, instead of a linear model: points are then weighted
        fits of it, not certified, and X is whatever it takes; ``solver`` is then a `Weighting`.
    random_state : int, seed of random starts, folds and fits, optional
    held_out : bool or None
        Whether all points are also judged on the training rows, by the scores that each row gets from the point solved
        without it, with its caps kept: the evaluation "held_out". That is a Newton step in closed form and costs less
        than the trace for smooth losses and dense rows in memory with at most 500 weights; None makes it only there, up
        to about half a million rows (times classes). True makes it elsewhere too: from 10 folds that are refitted, or
        from those that an estimator's weightings are measured on.
    person : array of shape (n,), optional
        Who each row is, where people have several: they are left out together. It is used for nothing else.
    checkpoint, resume : path, bool
        File that takes note of what was found on the way, small and without data. With ``resume=True`` a run of the
        same data and settings goes on from it (or begins) and ends as if it had never stopped.
    progress : bool or "auto", whether to draw a bar on standard error; "auto": where that is a terminal

    Returns
    -------
    Frontier
    """
    if checkpoint is not None or resume is not False:
        check_checkpoint(checkpoint, resume)
    check_progress(progress)
    check_seed(random_state)
    check_flag(fit_intercept, "fit_intercept")
    if held_out is not None:
        check_flag(held_out, "held_out")
    warn_of_proxies(sensitive_features)
    y, sample_weight = per_exposure(y, sample_weight, exposure, regression=is_regression(loss))
    rows: dict[str, Any] = {"sensitive_features": sensitive_features, "sample_weight": sample_weight, "groups": groups}
    question: dict[str, Any] = {"favourable": favourable, "notion": notion, "loss": loss, "gap": gap}
    linear: dict[str, Any] = {"surrogate": surrogate, "ridge": ridge, "fit_intercept": fit_intercept}
    asked: dict[str, Any] = {"preferences": preferences, "n_points": n_points}
    kept: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "progress": progress}
    labelled = (y, sensitive_features, sample_weight)
    if estimator is not None:
        refuse_linear(trace, {**linear, **asked})
        search = as_search(solver, Weighting())
        learner: dict[str, Any] = {"estimator": estimator, "random_state": random_state, "person": person}
        fits = search.problem(X, y, **learner, **rows, **question)
        if not held_out:
            return trace_estimator(fits, search, **kept)
        fits = replace(fits, keeps_scores=True)
        return trace_estimator(fits, search, **kept, judge=readings_judge(fits, labelled))
    chosen = as_solver(solver)
    problem = linear_problem(X, y, **rows, **question, **linear)
    held = HeldOut.of(problem, chosen, labelled, person, held_out)
    return trace_problem(problem, chosen, **asked, random_state=random_state, held_out=held, **kept)


@blas_threads(1)
@decomposable()
def trace_problem(
    problem: LinearProblem,
    solver: str | Solver,
    *,
    preferences: Any = None,
    n_points: int | None = None,
    random_state: int | None = None,
    held_out: HeldOut | None = None,
    checkpoint: Any = None,
    resume: bool = False,
    progress: bool | Literal["auto"] = "auto",
) -> Frontier:
    """Trace the frontier of a linear problem; parameters as in `trace`, but for rows that are to be judged."""
    check_seed(random_state)
    request = Request(preferences, n_points, random_state)
    chosen = as_solver(solver, problem.algebra)
    stated = chosen.stated(problem)
    journal = _journal(checkpoint, resume, lambda: problem_fingerprint(problem, **vars(request), solver=chosen))
    with journal, progress_bar(progress, "tracing") as bar:
        points = chosen.trace(stated, request, journal, bar.update)
        return assemble(stated, chosen, points, held_out)


def _journal(checkpoint: Any, resume: bool, owner: Callable[[], Fingerprint]) -> Journal:
    return Journal() if checkpoint is None and resume is False else open_journal(checkpoint, resume, owner)


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
    start : array of shape (K, d) or (R, K, d) of weights that runs begin at, optional
    preferences : array of shape (R, m), optional
    max_gap : float, optional
        A cap on every gap. Both say where the runs of ``Newton`` and ``PBPDO`` end; without either they go to the
        smallest gap.
    on_iterate : callable, optional
        Is told the step, the runs that took it and where they are: of steps that are taken, not of those recalled.
    random_state : int, optional
    checkpoint, resume : as in `trace`
    """
    chosen = as_solver(solver)
    check_seed(random_state)
    if on_iterate is not None:
        check_callable(on_iterate, "on_iterate", "a function of the step, the runs and where they are")
    if not isinstance(problem, FirstOrder):
        raise refuse("problem", problem, "what linear_problem returns, or a problem with cells and move")
    given = None if start is None else _start(start, problem)
    asked = {"preferences": preferences, "max_gap": max_gap, "random_state": random_state}
    stated: Any = problem
    work, first, exact = stated, given, None
    if isinstance(problem, LinearProblem):
        as_solver(chosen, problem.algebra)
        stated = chosen.stated(problem)
        work, exact = chosen.working(stated), stated.framed()
        first = None if given is None else work.from_user(given)
    aim = Aim(chosen.target(work.algebra, preferences, max_gap), first, exact, on_iterate, random_state)
    if exact is not None and on_iterate is not None:  # is told weights in the users' units
        aim = replace(aim, on_iterate=lambda t, ids, at: on_iterate(t, ids, replace(at, W=work.to_user(at.W))))
    asked |= {"loss": getattr(work, "loss", None), "solver": chosen}
    with _journal(checkpoint, resume, lambda: problem_fingerprint(stated, given, **asked)) as journal:
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
    checkpoint: Any = None,
    resume: bool = False,
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
    checkpoint, resume : path, bool
        File that takes note of the state after every 25 steps; with ``resume=True`` the run goes on from it.
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
    settings = {"solver": chosen, "preference": preference, "random_state": random_state}
    with _journal(checkpoint, resume, lambda: problem_fingerprint(problem, aim.start, **settings)) as journal:
        outcome = chosen.solve(problem, aim, journal)
    end, fun, history = outcome.W[0].reshape(-1), outcome.objectives[0], outcome.history[0]
    status, looked = confirmed(problem, outcome.status[0], end, history, preference)
    nit, nfev = len(history) - 1, outcome.passes + looked
    return MinimizeResult(end, fun, status, str(status), status.solved, nit=nit, nfev=nfev, history=history)
