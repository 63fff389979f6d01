"""Entry functions: trace a frontier, and (from `solvers`) solve a problem and minimise functions."""

from __future__ import annotations

from typing import Any, Literal

from .frontier import Frontier, assemble
from .frontier.estimator_frontier import trace_estimator
from .objectives import Gap, Groups, Loss, Notion, warn_of_proxies
from .objectives.notions import Surrogate
from .problems import LinearProblem, blas_threads, linear_problem
from .problems.base import decomposable
from .progress import progress_bar
from .solvers import Solver, Weighting
from .solvers.base import Request
from .solvers.entry import MinimizeResult, as_solver, minimize, solve
from .solvers.fingerprints import linear_fingerprint
from .solvers.journal import open_journal
from .solvers.weighting import as_search, refuse_linear
from .storage.checkpoints import Fingerprint, check_checkpoint
from .validation import MOST_POINTS, check_count, check_flag, check_progress, check_seed

__all__ = ["MinimizeResult", "minimize", "solve", "trace", "trace_problem"]


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
    groups: Groups | None = None,
    estimator: Any = None,
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
        ``"paper_pdo"``, ``"paper_pb_pdo"``; or an instance with other parameters. With an estimator, a `Weighting`, or
        ``"posteriors"``.
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
        fits of it, not certified, and X is whatever it takes. ``solver`` is then a `Weighting`, which says how many
        weightings are tried, which gap is lowered, and on which rows it is measured.
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
    check_flag(fit_intercept, "fit_intercept")
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
    linear: dict[str, Any] = {"surrogate": surrogate, "ridge": ridge, "fit_intercept": fit_intercept}
    asked: dict[str, Any] = {"preferences": preferences, "n_points": n_points}
    if estimator is not None:
        refuse_linear(trace, {**linear, **asked})
        search = as_search(solver, Weighting())
        fits = search.problem(X, y, estimator=estimator, random_state=random_state, **common)
        return trace_estimator(fits, search, **kept)
    as_solver(solver)
    return trace_problem(linear_problem(X, y, **linear, **common), solver, **asked, random_state=random_state, **kept)


@blas_threads(1)
@decomposable()
def trace_problem(
    problem: LinearProblem,
    solver: str | Solver,
    *,
    preferences: Any = None,
    n_points: int | None = None,
    random_state: int | None = None,
    checkpoint: Any = None,
    resume: bool = False,
    progress: bool | Literal["auto"] = "auto",
) -> Frontier:
    """Trace the frontier of a linear problem; parameters as in `trace`."""
    check_seed(random_state)
    count = None if n_points is None else check_count(n_points, "n_points", least=2, most=MOST_POINTS)
    chosen = as_solver(solver, problem.algebra)
    request = Request(preferences, count, random_state)

    def owner() -> Fingerprint:
        return linear_fingerprint(problem, **{"random_state": random_state, "solver": chosen, **vars(request)})

    stated = chosen.stated(problem)
    with open_journal(checkpoint, resume, owner) as journal, progress_bar(progress, "tracing") as bar:
        points = chosen.trace(stated, request, journal, bar.update)
        return assemble(stated, chosen, points)
