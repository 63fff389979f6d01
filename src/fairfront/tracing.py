"""Entry functions: trace a frontier, solve a problem, and (from `solvers.minimizing`) minimise functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from .exceptions import InputError
from .frontier import Archive, Frontier, assemble, assemble_knots
from .frontier.fitting_estimators import trace_estimator
from .objectives import Gap, Groups, Loss, Notion
from .objectives.notions import Surrogate
from .problems import LinearProblem, Setup, estimator_problem, linear_problem
from .problems.estimator import Drive
from .progress import Progress, progress_bar
from .solvers import SOLVERS, Knot, Newton, Outcome, PaperPDO, Solver, Weighting, run
from .solvers.aiming import Path, aim, sided, single_target, working_problem
from .solvers.loop import check_needs
from .solvers.minimizing import MinimizeResult, minimize
from .solvers.path import FIRST, newton_path
from .solvers.singles import narrowed, newton_outcome, polished
from .validation import check_count, check_preferences

__all__ = ["MinimizeResult", "minimize", "resolve_solver", "solve", "trace", "trace_setup"]


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
    estimator: Any = None,
    max_fits: int = 12,
    cv: Any = "auto",
    drive: Drive = "loss_gap",
    fit_params: Mapping[str, Any] | None = None,
    lazy: bool = False,
    n_jobs: int | None = None,
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
    estimator : estimator, optional
        Any classifier or regressor whose fit takes sample_weight, instead of a linear model: points are then weighted
        fits of it, not certified, and X is whatever it takes. ``max_fits`` weightings are tried (or ``solver`` is a
        `Weighting`). Gaps are those of predictions of rows left out of the fit: ``cv`` folds, a held-out fraction,
        "auto" (3 folds, or a quarter where every cell has many rows), or "train" (the training rows). ``drive`` says
        which gap is lowered, of losses or of rates of decisions; ``fit_params`` go to every fit, ``n_jobs`` to joblib;
        ``lazy`` fits models on all rows only when asked for, keeping the training rows in memory until then.

    Returns
    -------
    Frontier
    """
    common: dict[str, Any] = {
        "sensitive_features": sensitive_features,
        "favourable": favourable,
        "notion": notion,
        "loss": loss,
        "gap": gap,
        "sample_weight": sample_weight,
        "groups": groups,
    }
    if estimator is not None:
        search = resolve_search(
            solver,
            max_fits,
            surrogate=surrogate,
            preferences=preferences,
            n_points=n_points,
            ridge=ridge,
            fit_intercept=fit_intercept,
            path=path,
        )
        problem = estimator_problem(
            X,
            y,
            estimator=estimator,
            drive=drive,
            cv=cv,
            n_jobs=n_jobs,
            random_state=random_state,
            fit_params=fit_params,
            **common,
        )
        return trace_estimator(problem, search, lazy, progress)
    refuse_search(max_fits=max_fits, cv=cv, drive=drive, fit_params=fit_params, lazy=lazy)
    setup = linear_problem(X, y, surrogate=surrogate, ridge=ridge, fit_intercept=fit_intercept, **common)
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


LINEAR: dict[str, Any] = {
    "surrogate": "loss",
    "preferences": None,
    "preference": None,
    "n_points": None,
    "ridge": None,
    "fit_intercept": True,
    "path": "worst_gap",
}
"""What only linear models have, and how it is when nobody asked for it."""
SEARCH: dict[str, Any] = {"max_fits": 12, "cv": "auto", "drive": "loss_gap", "fit_params": None, "lazy": False}
"""What only the weighted fits of an estimator have, and how it is when nobody asked for it."""


def resolve_search(solver: Any, max_fits: int, **linear: Any) -> Weighting:
    """Return the search in weights, refusing what only linear models have."""
    for name, value in linear.items():
        if value is not LINEAR[name] and not (isinstance(value, str) and value == LINEAR[name]):
            raise InputError(
                f"{name} is for linear models, found an estimator; use max_fits=, drive='rate_gap' or a cap, or set it "
                "in the estimator."
            )
    if isinstance(solver, Weighting):
        return solver
    if solver != "newton":
        raise InputError(f"solver is {solver!r}, expected none or a Weighting with an estimator.")
    return Weighting(max_fits=max_fits)


def refuse_search(**given: Any) -> None:
    """Refuse what only an estimator's weighted fits have, where there is no estimator."""
    for name, value in given.items():
        usual = SEARCH[name]
        if value is not usual and not (isinstance(value, (str, int)) and value == usual):
            raise InputError(f"{name} is for weighted fits, found no estimator; give estimator=, or leave it out.")


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
