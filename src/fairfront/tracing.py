"""Entry functions: trace a frontier, solve a problem, minimise a vector of functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .exceptions import InputError
from .frontier import Archive, Frontier, assemble, assemble_knots
from .objectives import Array, Gap, Groups, Loss, Notion
from .objectives.notions import Surrogate
from .problems import FunctionProblem, LinearProblem, Setup, linear_problem
from .progress import Progress, progress_bar
from .solvers import PBPDO, SOLVERS, Knot, Newton, Outcome, PaperPBPDO, PaperPDO, Solver, Status, run
from .solvers.aiming import Path, aim, sided, single_target, working_problem
from .solvers.loop import check_needs
from .solvers.path import FIRST, newton_path
from .solvers.singles import narrowed, newton_outcome, polished
from .validation import as_numbers, check_count, check_preferences


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
    path: Path = "worst_gap",
    preferences: Any = None,
    n_points: int | None = None,
    ridge: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    groups: Groups | None = None,
    random_state: int | None = None,
    progress: bool | Literal["auto"] = "auto",
) -> Frontier:
    """Trace the frontier between loss and worst gap.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
        Features; leave sensitive columns out unless you mean to use them at prediction time.
    y : array of shape (n,)
        Labels of any values, or numbers for ``loss="squared"``.
    sensitive_features : array, series, frame, mapping or GroupProbabilities
        The group of every row; several columns are taken each on its own unless ``groups`` crosses them.
    favourable : label, optional
        The label that is good for the person; by default the second of the sorted classes.
    notion, surrogate, loss, gap
        What is compared, by loss or by smooth rate, the training loss, and the gap function.
    solver : str or solver
        ``"newton"`` (default: every point solved exactly), ``"pb_pdo"``, ``"pdo"``, or the printed algorithms
        ``"paper_pdo"``, ``"paper_pb_pdo"``; or an instance with other parameters.
    path : {"worst_gap", "proportional"}
        How automatic targets shrink: one cap on the worst gap of each notion, or all gaps in proportion.
    preferences : None, int or array of shape (R, m)
        Preference vectors, or how many targets to place evenly between plain training and the smallest gap.
    n_points : int, optional
        Newton: how many points to solve, evenly between plain training and the smallest gap; by default as many as the
        curve bends. First-order solvers: most points to keep (100), those that runs ended at always.

    Returns
    -------
    Frontier
    """
    setup = linear_problem(
        X,
        y,
        sensitive_features=sensitive_features,
        favourable=favourable,
        notion=notion,
        surrogate=surrogate,
        loss=loss,
        gap=gap,
        ridge=ridge,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        groups=groups,
    )
    return trace_setup(
        setup,
        solver,
        path=path,
        preferences=preferences,
        n_points=n_points,
        random_state=random_state,
        progress=progress,
    )


def trace_setup(
    setup: Setup,
    solver: str | Solver,
    *,
    path: Path = "worst_gap",
    preferences: Any = None,
    n_points: int | None = None,
    random_state: int | None = None,
    progress: bool | Literal["auto"] = "auto",
) -> Frontier:
    """Trace the frontier of a problem that is laid out already; parameters as in `trace`."""
    if path not in ("worst_gap", "proportional"):
        raise InputError(f"unknown path {path!r}, expected 'worst_gap' or 'proportional'.")
    count = None if n_points is None else check_count(n_points, "n_points", least=2)
    chosen = resolve_solver(solver, setup)
    if isinstance(chosen, Newton):
        return _trace_newton(setup, chosen, path, preferences, count, progress)
    archive = Archive(count or 100)
    work, start, target = aim(setup, chosen, path, preferences, random_state)
    runs = len(target.pi)
    with progress_bar(progress, "tracing", runs) as bar:
        outcome = run(work, chosen, start, target, _recorder(work, archive, bar, runs), random_state)
    if getattr(chosen, "polish", False):
        outcome = polished(work, outcome, target)
    return assemble(setup, chosen, outcome, target, archive)


def _trace_newton(
    setup: Setup, newton: Newton, path: Path, preferences: Any, n_points: int | None, progress: bool | Literal["auto"]
) -> Frontier:
    """Trace by Newton: even points, points where it bends, or one per preference."""
    check_needs(setup.problem, newton.needs, newton)
    setup = sided(setup, newton)
    pi = None
    if isinstance(preferences, (int, np.integer)):
        n_points = check_count(preferences, "preferences", least=2)
    elif preferences is not None:
        pi = check_preferences(preferences, setup.problem.algebra.names)
    total = len(pi) if pi is not None else (n_points or FIRST)
    with progress_bar(progress, "tracing", total) as bar:
        done = [0]

        def on_knot(knot: Knot) -> None:
            done[0] += 1
            bar.update(min(done[0], total), f"{done[0]} points solved")

        knots = newton_path(working_problem(setup, newton), newton, path, n_points, pi, on_knot)
        knots = narrowed(setup.problem, newton, knots)
    return assemble_knots(setup, newton, knots, path)


def resolve_solver(solver: str | Solver, setup: Setup) -> Any:
    """Return the solver by name or as given, checked against what was asked of it."""
    if isinstance(solver, type) or not (isinstance(solver, str) or hasattr(solver, "needs")):
        raise InputError(f"solver is {solver!r}, expected a name or an instance such as ff.Newton().")
    chosen: Any = SOLVERS[solver]() if isinstance(solver, str) else solver
    algebra = setup.problem.algebra
    if not algebra.gap.even and not isinstance(chosen, PaperPDO):
        raise InputError(
            f"gap {algebra.gap.name!r} rewards gaps of one sign and exists in paper mode only, found solver "
            f"{chosen.name!r}; use gap='exponential', or solver='paper_pdo' or 'paper_pb_pdo'."
        )
    return chosen


def _recorder(problem: LinearProblem, archive: Archive, bar: Progress, runs: int) -> Any:
    """Return the callback that offers every accepted iterate to the archive and moves the bar."""
    algebra = problem.algebra
    seen: set[int] = set()

    def on_iterate(iteration: int, ids: Any, point: Any) -> None:
        axes = np.column_stack([algebra.loss(point.L), algebra.worst(point.L)])
        archive.add(axes, point.W, point.L)
        seen.intersection_update(ids.tolist()) if iteration > 1 else seen.update(ids.tolist())
        bar.update(runs - len(seen), f"step {iteration}, {len(seen)} of {runs} runs going")

    return on_iterate


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
    """Run a solver on a problem (or `linear_problem`'s setup) and return where its runs ended.

    ``preferences`` (R, m), or ``max_gap``, a cap on every gap, say where the runs of ``Newton`` and ``PBPDO`` end;
    without either they go to the smallest gap.
    """
    chosen = SOLVERS[solver]() if isinstance(solver, str) else solver
    first = None if start is None else np.asarray(start, dtype=np.float64)
    if isinstance(problem, Setup):
        resolve_solver(chosen, problem)
        problem = sided(problem, chosen)
        work = working_problem(problem, chosen)
    else:
        work = problem
    target = single_target(work.algebra, chosen, preferences, max_gap)
    if isinstance(chosen, Newton):
        check_needs(work, chosen.needs, chosen)
        assert target is not None
        exact = problem.problem if isinstance(problem, Setup) else None
        return newton_outcome(work, chosen, target, first, exact)
    outcome = run(work, chosen, first, target, on_iterate, random_state)
    return polished(work, outcome, target) if getattr(chosen, "polish", False) and target is not None else outcome


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
    """
    x = as_numbers(x0, "x0").reshape(-1)
    if not x.size or not np.isfinite(x).all():
        raise InputError(f"x0 has shape {np.shape(x0)} or is not finite, expected at least one finite number.")
    problem = FunctionProblem(functions, x, jac)
    name = solver if solver is not None else ("pdo" if preference is None else "pb_pdo")
    chosen = SOLVERS[name]() if isinstance(name, str) else name
    if preference is None and isinstance(chosen, (PBPDO, PaperPBPDO)):
        raise InputError(f"solver {chosen.name!r} needs a preference, found None; give one, or use solver='pdo'.")
    if preference is not None and np.ndim(preference) != 1:
        raise InputError(
            f"preference has shape {np.shape(preference)}, expected ({problem.algebra.m},): one number per objective."
        )
    target = single_target(problem.algebra, chosen, preference, None)
    outcome = run(problem, chosen, x.reshape(1, 1, -1), target, None, random_state)
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
