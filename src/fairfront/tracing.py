"""Entry functions: trace a frontier, and (from `solvers`) solve a problem and minimise functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from .frontier import Frontier, assemble
from .frontier.estimator_frontier import trace_estimator
from .objectives import Gap, Groups, Loss, Notion, warn_of_proxies
from .objectives.notions import Surrogate
from .problems import LinearProblem, blas_threads, estimator_problem, linear_problem
from .problems.base import decomposable
from .problems.weighted_fits import Drive
from .progress import progress_bar
from .solvers import Solver
from .solvers.base import Path, Request
from .solvers.choosing import refuse_search, resolve_search
from .solvers.entry import MinimizeResult, as_solver, minimize, solve
from .solvers.fingerprints import linear_fingerprint
from .solvers.journal import open_journal
from .storage.checkpoints import Fingerprint, check_checkpoint
from .validation import MOST_POINTS, check_choice, check_count, check_flag, check_progress, check_seed

__all__ = [
    "MinimizeResult",
    "minimize",
    "refuse_search",
    "resolve_search",
    "solve",
    "trace",
    "trace_problem",
]


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
    shared_trees: float = 0.0,
    posteriors: bool = False,
    lazy: bool = False,
    n_jobs: int | None = None,
    random_state: int | None = None,
    checkpoint: Any = None,
    resume: bool = False,
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
    ridge : float, optional
        Penalty on the squared weights; by default 1 / (sum of weights), scikit-learn's C = 1, so that a weight of 2 is
        a row that is there twice.
    estimator : estimator, optional
        Any classifier or regressor whose fit takes sample_weight, instead of a linear model: points are then weighted
        fits of it, not certified, and X is whatever it takes. ``max_fits`` weightings are tried (or ``solver`` is a
        `Weighting`). Gaps are those of predictions of rows left out of the fit: ``cv`` folds, a held-out fraction,
        "auto" (3 folds, or a quarter where every cell has many rows), or "train" (the training rows). ``drive`` says
        which gap is lowered, of losses or of rates of decisions; ``fit_params`` go to every fit, ``n_jobs`` to joblib;
        ``posteriors=True`` fits the estimator to labels and groups, once, and reads all weightings from its
        probabilities: a whole frontier for about eight fits, with models that guess the group (docs/any-estimator.md);
        ``shared_trees=0.5`` grows the first half of HistGradientBoosting's trees once for all weightings of a fold;
        ``lazy`` fits models on all rows only when asked for, keeping the training rows in memory until then.
    checkpoint : path, optional
        File that takes note of what was found on the way, small and without data. With ``resume=True`` the run goes on
        from it (or begins, where there is none yet) and ends as if it had never stopped; it has to be given the same
        data and settings.

    Returns
    -------
    Frontier
    """
    check_checkpoint(checkpoint, resume)
    check_progress(progress)
    check_seed(random_state)
    for name, flag in (("fit_intercept", fit_intercept), ("posteriors", posteriors), ("lazy", lazy)):
        check_flag(flag, name)
    warn_of_proxies(sensitive_features)
    kept: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "progress": progress}
    common: dict[str, Any] = {
        "sensitive_features": sensitive_features,
        "favourable": favourable,
        "notion": notion,
        "loss": loss,
        "gap": gap,
        "sample_weight": sample_weight,
        "groups": groups,
    }
    asked = {
        "solver": solver,
        "surrogate": surrogate,
        "preferences": preferences,
        "n_points": n_points,
        "ridge": ridge,
        "fit_intercept": fit_intercept,
        "path": path,
        "max_fits": max_fits,
        "cv": cv,
        "drive": drive,
        "fit_params": fit_params,
        "shared_trees": shared_trees,
        "posteriors": posteriors,
        "lazy": lazy,
        "n_jobs": n_jobs,
    }
    if estimator is not None:
        search = resolve_search(trace, asked)
        problem = estimator_problem(
            X,
            y,
            estimator=estimator,
            drive=drive,
            cv=cv,
            n_jobs=n_jobs,
            random_state=random_state,
            fit_params=fit_params,
            shared_trees=shared_trees,
            posteriors=posteriors,
            **common,
        )
        return trace_estimator(problem, search, lazy, **kept)
    refuse_search(trace, asked)
    linear = linear_problem(X, y, surrogate=surrogate, ridge=ridge, fit_intercept=fit_intercept, **common)
    return trace_problem(
        linear,
        solver,
        path=path,
        preferences=preferences,
        n_points=n_points,
        random_state=random_state,
        **kept,
    )


@blas_threads(1)
@decomposable()
def trace_problem(
    problem: LinearProblem,
    solver: str | Solver,
    *,
    path: Path = "worst_gap",
    preferences: Any = None,
    n_points: int | None = None,
    random_state: int | None = None,
    checkpoint: Any = None,
    resume: bool = False,
    progress: bool | Literal["auto"] = "auto",
) -> Frontier:
    """Trace the frontier of a linear problem; parameters as in `trace`."""
    check_choice(path, "path", get_args(Path))
    check_seed(random_state)
    count = None if n_points is None else check_count(n_points, "n_points", least=2, most=MOST_POINTS)
    chosen = as_solver(solver, problem.algebra)
    request = Request(path, preferences, count, random_state)

    def owner() -> Fingerprint:
        return linear_fingerprint(problem, **{"random_state": random_state, "solver": chosen, **vars(request)})

    stated = chosen.stated(problem)
    with open_journal(checkpoint, resume, owner) as journal, progress_bar(progress, "tracing") as bar:
        points = chosen.trace(stated, request, journal, bar.update)
        return assemble(stated, chosen, points, path)
