"""From weighted fits to a frontier: which are kept, the models on all rows, and what is said of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning
from ..objectives import Array
from ..pareto import nondominated
from ..problems import EstimatorProblem, PosteriorProblem, Reading
from ..problems.fits.problem import names_of_features
from ..solvers import Newton, Status, Weighting
from .assembling import facts_of
from .estimator_models import EstimatorModels, PosteriorModels
from .facts import EstimatorFacts
from .frontier import Frontier
from .models import Models
from .points import Points

HEURISTIC = (
    "Some weights are negative and were turned into weights on the other label, which is a heuristic: those fits need "
    "not be the best at their gap."
)
GUESSED = (
    "The models guess the group from the features and weigh the guess, so whoever has one can guess groups with it."
)


@dataclass(frozen=True)
class _Refit:
    """Fits a point on all rows; keeps the training rows as long as it lives."""

    problem: EstimatorProblem
    multipliers: Array

    def __call__(self, place: int) -> Any:
        return self.problem.refit(self.multipliers[place])


def assemble_estimators(
    problem: EstimatorProblem,
    fits: list[Reading],
    solver: Weighting,
    lazy: bool = False,
    on_fit: Callable[[], None] | None = None,
) -> Frontier:
    """Make a frontier of weighted fits, sorted from plain training to the smallest gap.

    With one gap all fits stay, also those past zero; with several, those that another one dominates go.
    """
    chosen = [fits[i] for i in _kept(problem, fits)]
    if isinstance(problem, PosteriorProblem):
        weights = np.stack([problem.weights(fit.multipliers) for fit in chosen])
        known = problem.learn(on_fit)[0]
        return _frontier(problem, chosen, PosteriorModels(known, weights, *_common(problem)), solver)
    models = {place: fit.model for place, fit in enumerate(chosen) if fit.model is not None}
    refit = _Refit(problem, np.stack([fit.multipliers for fit in chosen]))
    lacking = [place for place in range(len(chosen)) if place not in models]
    if not lazy and lacking:
        fitted, lost = _refitted(problem, refit, lacking, on_fit)
        models |= fitted
        if not models:
            raise next(iter(lost.values()))
        chosen = [fit for place, fit in enumerate(chosen) if place not in lost]
        models = dict(enumerate(models[place] for place in sorted(models)))
    kept = EstimatorModels(models, len(chosen), *_common(problem), refit if lazy else None, problem.n_jobs)
    return _frontier(problem, chosen, kept, solver)


def _common(problem: EstimatorProblem) -> tuple[Any, str, tuple[str, ...] | None, int | None]:
    """Return task, loss, names and number of features, which models of both kinds know."""
    X = problem.X
    wide = X.shape[1] if hasattr(X, "shape") and len(X.shape) == 2 else None
    return problem.objectives.task, problem.objectives.loss.name, names_of_features(problem), wide


def _kept(problem: EstimatorProblem, fits: list[Reading]) -> NDArray[np.intp]:
    """Return the places of the fits to keep, in the order of their largest weight change or of their loss."""
    lam = np.stack([fit.multipliers for fit in fits])
    if lam.shape[1] == 1:
        return np.argsort(np.abs(lam[:, 0]), kind="stable")
    loss = np.array([fit.loss for fit in fits])
    worst = np.array([problem.criterion.algebra.violation(fit.gaps).max() for fit in fits])
    efficient = nondominated(np.column_stack([loss, worst]))
    efficient[0] = True  # plain training stays, whatever noise says
    places = np.flatnonzero(efficient)
    return places[np.argsort(-worst[places], kind="stable")]


def _refitted(
    problem: EstimatorProblem, refit: _Refit, places: list[int], on_fit: Callable[[], None] | None
) -> tuple[dict[int, Any], dict[int, Exception]]:
    """Fit points on all rows; a fit that fails leaves its point out, with a warning."""
    jobs = (delayed(_attempt)(refit, place) for place in places)
    found: list[tuple[Any, Exception | None]] = []
    for result in Parallel(n_jobs=problem.n_jobs, return_as="generator")(jobs):
        found.append(result)
        if on_fit is not None:
            on_fit()
    lost = {place: error for place, (_, error) in zip(places, found, strict=True) if error is not None}
    for place, error in lost.items() if len(lost) < len(places) else ():
        warnings.warn(
            f"the fit of point {place} on all rows failed ({error}); the point is left out.",
            FairfrontWarning,
            stacklevel=5,
        )
    return {place: model for place, (model, error) in zip(places, found, strict=True) if error is None}, lost


def _attempt(refit: _Refit, place: int) -> tuple[Any, Exception | None]:
    try:
        return refit(place), None
    except Exception as error:  # any learner, any error: what is known so far is worth keeping
        return None, error


def _frontier(problem: EstimatorProblem, fits: list[Reading], models: Models, solver: Weighting) -> Frontier:
    algebra = problem.criterion.algebra
    z = np.stack([fit.gaps for fit in fits])
    sizes = algebra.violation(z)
    assert algebra.notion_of is not None
    assert problem.algebra.signs is not None
    worst = [sizes[:, algebra.notion_of == i].max(axis=1) for i in range(len(algebra.notions))]
    phi = algebra.gap.value(np.where(algebra.two_sided, z, np.maximum(z, 0.0)))
    lam = np.stack([fit.multipliers for fit in fits])
    several = bool((np.abs(problem.algebra.signs).sum(axis=1) > 1).any())
    points = Points.new(
        np.column_stack([[fit.loss for fit in fits], phi]),
        np.stack(worst, axis=1),
        z,
        algebra.names,
        (status_of(problem),) * len(fits),
        multipliers=lam @ problem.algebra.signs.T if several else lam,
        multiplier_names=problem.algebra.mean_names if several else problem.algebra.names[1:],
    )
    return Frontier(models, points, _facts(problem, solver, any(fit.heuristic for fit in fits)))


def status_of(problem: EstimatorProblem) -> Status:
    """Return what is said of points of this kind."""
    return Status.POSTERIOR if isinstance(problem, PosteriorProblem) else Status.WEIGHTED


def _facts(problem: EstimatorProblem, solver: Weighting, heuristic: bool) -> EstimatorFacts:
    """Say in names and words what the frontier was made from."""
    base = facts_of(problem.criterion, solver)
    known = {each.name: getattr(base, each.name) for each in fields(base)}
    same = problem.folds.same
    parts = len(problem.folds.pairs)
    held = "one held-out part of the rows" if parts == 1 else f"cross-fitted predictions, {parts} folds"
    measured = "training rows" if same else held
    drive = "loss_gap" if problem.criterion is problem.objectives else "rate_gap"
    words = f"{problem.made} of {type(problem.estimator).__name__}; losses and gaps are those of {measured}."
    more = [GUESSED] * isinstance(problem, PosteriorProblem) + [HEURISTIC] * heuristic
    known.update(
        sentences=(*base.sentences, words, *more),
        newton=Newton(),
        used_for=f"{problem.used_for} and evaluation; predictions need no sensitive feature",
        measured_on=measured,
    )
    return EstimatorFacts(**known, drive=drive, estimator=type(problem.estimator).__name__, heuristic=heuristic)
