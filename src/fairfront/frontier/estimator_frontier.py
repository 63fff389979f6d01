"""Frontiers of estimators: the search by weighted fits, which of them are kept, and the models on all rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError, progress_bar
from ..objectives import Array
from ..pareto import nondominated
from ..problems import EstimatorProblem, Reading
from ..problems.pieces import feature_names
from ..solvers import Status, Weighting
from ..solvers.search import StopSearch, met, search
from .estimator_models import EstimatorModels
from .frontier import Frontier
from .held_out import Judge
from .models import Models
from .points import Facts, Points, multipliers_of

HEURISTIC = (
    "Some weights are negative and were turned into weights on the other label, which is a heuristic: those fits need "
    "not be the best at their gap."
)
OnFit = Callable[[], None]


def trace_estimator(
    problem: EstimatorProblem,
    config: Weighting,
    progress: bool | Literal["auto"] = "auto",
    judge: Judge | None = None,
) -> Frontier:
    """Trace an estimator's frontier by weighted fits; every fit moves the bar, also those on all rows.

    ``judge`` may add what predictions of rows that were left out say of the points.
    """
    fits_in_all = problem.fits(config.max_fits)
    done: list[int] = []
    with progress_bar(progress, "fitting", fits_in_all) as bar:

        def on_fit() -> None:
            done.append(1)
            bar.update(len(done), f"{len(done)} fits of {type(problem.estimator).__name__}")

        fits = _read_all(problem, config, None, on_fit)
        front, kept = _assemble(problem, fits, config, on_fit)
        return front if judge is None else judge(front, kept)


def fit_capped(problem: EstimatorProblem, config: Weighting, cap: float) -> tuple[Any, Reading, int]:
    """Return the estimator whose held-out gaps are at most the cap, its reading and the number of weightings tried.

    Where the cap cannot be met, it is the one that comes nearest.
    """
    fits = _read_all(problem, config, cap)
    found = fits[met(fits, problem.criterion.algebra, cap, config.tol)]
    model = found.model if found.model is not None else problem.refit(found.multipliers)
    return model, found, len(fits)


def _read_all(
    problem: EstimatorProblem,
    config: Weighting,
    cap: float | None,
    on_fit: OnFit = lambda: None,
) -> list[Reading]:
    """Run the search; a fit that fails ends it, and what was found so far is kept and the failure told."""

    def read(multipliers: Array) -> Reading:
        try:
            return problem.read(multipliers, on_fit)
        except InputError:
            raise
        except Exception as error:  # any learner, any error: the fits so far are worth keeping
            name, told = type(problem.estimator).__name__, f"{type(error).__name__}: {error}"
            if not np.any(multipliers):
                raise InputError(f"{name} could not be fitted with sample_weight ({told}).") from error
            warnings.warn(
                f"a weighted fit of {name} failed ({told}); the frontier ends with the fits before it.",
                FairfrontWarning,
                stacklevel=5,
            )
            raise StopSearch(str(error)) from error

    return search(problem, config, read, cap)


def _refit(problem: EstimatorProblem, multipliers: Array, place: int) -> Any:
    return problem.refit(multipliers[place])


def _attempt(refit: Callable[[int], Any], place: int) -> tuple[Any, Exception | None]:
    """The model, or why there is none."""
    try:
        return refit(place), None
    except Exception as error:  # any learner, any error: what is known so far is worth keeping
        return None, error


def _assemble(
    problem: EstimatorProblem, fits: list[Reading], config: Weighting, on_fit: OnFit
) -> tuple[Frontier, list[Reading]]:
    """Make a frontier of weighted fits, sorted from plain training to the smallest gap, and return it with its fits.

    With one gap all fits stay, also those past zero; with several, those that another one dominates go. A fit on all
    rows that fails leaves its point out, with a warning.
    """
    chosen = [fits[i] for i in _kept(problem, fits)]
    X = problem.X
    wide = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else None
    common = (problem.objectives.task, problem.objectives.loss.name, feature_names(X), wide)
    refit = partial(_refit, problem, np.stack([fit.multipliers for fit in chosen]))
    models = {place: fit.model for place, fit in enumerate(chosen) if fit.model is not None}
    lacking = [place for place in range(len(chosen)) if place not in models]
    jobs = (delayed(_attempt)(refit, place) for place in lacking)
    made = Parallel(n_jobs=problem.n_jobs, return_as="generator")(jobs) if lacking else ()
    lost: dict[int, Exception] = {}
    for place, (model, error) in zip(lacking, made, strict=True):
        on_fit()
        if error is None:
            models[place] = model
        else:
            lost[place] = error
    if lost and not models:
        raise next(iter(lost.values()))
    for place, error in lost.items() if len(lost) < len(lacking) else ():
        warnings.warn(
            f"the fit of point {place} on all rows failed ({error}); the point is left out.",
            FairfrontWarning,
            stacklevel=4,
        )
    found = EstimatorModels(tuple(models[place] for place in sorted(models)), *common)
    chosen = [chosen[place] for place in sorted(models)]
    return _frontier(problem, chosen, found, config), chosen


def _kept(problem: EstimatorProblem, fits: list[Reading]) -> NDArray[np.intp]:
    """Places in the order of the largest weight change or of the loss."""
    lam = np.stack([fit.multipliers for fit in fits])
    if lam.shape[1] == 1:
        return np.argsort(np.abs(lam[:, 0]), kind="stable")
    loss = np.array([fit.loss for fit in fits])
    worst = np.array([problem.criterion.algebra.violation(fit.gaps).max() for fit in fits])
    efficient = nondominated(np.column_stack([loss, worst]))
    efficient[0] = True  # plain training stays, whatever noise says
    places = np.flatnonzero(efficient)
    return places[np.argsort(-worst[places], kind="stable")]


def _frontier(problem: EstimatorProblem, fits: list[Reading], models: Models, solver: Weighting) -> Frontier:
    algebra = problem.criterion.algebra
    z = np.stack([fit.gaps for fit in fits])
    loss, found = np.array([fit.loss for fit in fits]), np.stack([fit.multipliers for fit in fits])
    points = Points.of_gaps(algebra, loss, z, Status.WEIGHTED, **multipliers_of(problem.algebra, found))
    base, parts = Facts.of(problem.criterion, solver), len(problem.folds.pairs)
    heuristic = any(fit.heuristic for fit in fits)
    held = "one held-out part of the rows" if parts == 1 else f"cross-fitted predictions, {parts} folds"
    measured = "training rows" if problem.folds.same else held
    words = f"Weighted fits of {type(problem.estimator).__name__}; losses and gaps are those of {measured}."
    facts = replace(
        base,
        sentences=(*base.sentences, words, *[HEURISTIC] * heuristic),
        unit="loss gap" if problem.criterion is problem.objectives else "rate gap",
        used_for="weights of training rows and evaluation; predictions do not need it",
        measured_on=measured,
        heuristic=heuristic,
    )
    return Frontier(models, points, facts)
