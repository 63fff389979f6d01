"""Estimators of any kind, fitted to weighted rows and measured on predictions of rows that were left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from joblib import Memory, Parallel, delayed
from numpy.typing import NDArray

from ..exceptions import InputError, setting, spelled
from ..objectives import Algebra, Array, Layout, Objectives, Quantity, Question
from ..objectives.question import Signs
from ..validation import check_seed, is_dask, is_whole, refuse
from ..validation.inputs import take_rows
from . import fit_rows, learners
from .fit_rows import Folds, Ints, Reading, WeightedRows
from .signs import handed_on

Criterion = Literal["loss_gap", "rate_gap"]
NOISE = 0.25
"""Share of the range of weightings below which held-out gaps of two fits do not tell them apart."""


@dataclass(frozen=True, eq=False)
class EstimatorProblem:
    """A learner, its data, and the cells on which its predictions are measured.

    ``objectives`` are those of the training loss, whose algebra turns multipliers into weights; ``criterion`` those
    whose gaps are lowered (the same ones, or rates of decisions); ``signs`` (q,) turn its gaps into the direction of
    loss gaps; ``memory`` keeps fits.
    """

    estimator: Any
    X: Any
    codes: Array
    objectives: Objectives
    criterion: Objectives
    signs: Array
    folds: Folds
    seed: int = 0
    n_jobs: int | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    memory: Memory = field(default_factory=lambda: Memory(None))
    keeps_scores: bool = False

    @property
    def algebra(self) -> Algebra:
        return self.objectives.algebra

    @property
    def shares(self) -> Array:
        """Of all weight behind every entry of L, (k,)."""
        found = self.objectives.weights / self.objectives.layout.cells.weight.sum()
        found[-1] = 0.0
        return np.asarray(found)

    @property
    def own(self) -> NDArray[np.bool_]:
        """Entries of L that are losses on the rows' own labels, (k,)."""
        found = np.zeros(self.objectives.layout.k, dtype=bool)
        found[dict(self.objectives.layout.quantities)[Quantity("loss")]] = True
        return found

    @property
    def noise(self) -> float:
        """Return how much of the range of weightings is noise: nothing where fits are measured on their own rows."""
        return 0.0 if self.folds.same else NOISE

    @property
    def can_flip(self) -> bool:
        return self.objectives.task.kind != "regression"

    @property
    def fits_per_reading(self) -> int:
        return len(self.folds.pairs)

    def fits(self, weightings: int) -> int:
        """With those on all rows."""
        return weightings * (self.fits_per_reading + (not self.folds.same))

    def check(self) -> None:
        for each in (self.objectives, self.criterion):
            fit_rows.cell_values(each, np.zeros((each.n_scores, len(self.codes))), self.folds.held)

    def omega(self, multipliers: Array) -> Array:
        return np.asarray(self.algebra.p + self.algebra.B.T @ multipliers)

    def read(self, multipliers: Array, on_fit: Callable[[], None] = lambda: None) -> Reading:
        """Fit with the weights of the multipliers, once per fold, and measure what was held out."""
        rows = self.weighted(multipliers)
        jobs = (delayed(self.fit_and_score)(rows, fit, held) for fit, held in self.folds.pairs)
        found = run_jobs(jobs, self.n_jobs, on_fit)
        scores = np.zeros((found[0][1].shape[0], len(self.codes)))
        for (_, held), (_, part) in zip(self.folds.pairs, found, strict=True):
            scores[:, held] = part
        heuristic = fit_rows.is_heuristic(self.objectives.layout, self.omega(multipliers))
        return self._measured(multipliers, scores, found[0][0], heuristic)

    def refit(self, multipliers: Array) -> Any:
        return self._fit(self.weighted(multipliers), None)

    def weighted(self, multipliers: Array) -> WeightedRows:
        return fit_rows.weighted_rows(self.objectives, self.codes, self.omega(multipliers))

    def _seen(self, rows: WeightedRows, only: Ints | None) -> tuple[Any, NDArray[Any], Array]:
        """Features, labels and weights, of some of the rows or of all."""
        chosen = slice(None) if only is None or self.folds.same else np.isin(rows.index, only)
        index, target, weight = rows.index[chosen], rows.target[chosen], rows.weight[chosen]
        task = self.objectives.task
        y = target if task.kind == "regression" else np.asarray(task.classes)[target.astype(np.intp)]
        whole = len(index) == len(self.codes) and bool((np.diff(index) == 1).all())
        return (self.X if whole else take_rows(self.X, index)), y, weight

    def _fit(self, rows: WeightedRows, only: Ints | None) -> Any:
        fit = self.memory.cache(learners.fit_learner)
        return fit(self.estimator, *self._seen(rows, only), self.seed, self.fit_params)

    def fit_and_score(self, rows: WeightedRows, fit: Ints, held: Ints) -> tuple[Any, Array]:
        """Fit to some rows and score others; the model itself is kept only when it is its own measure."""
        model = self._fit(rows, fit)
        X = self.X if self.folds.same else take_rows(self.X, held)
        scores = learners.scores_of_learner(model, X, self.objectives.task, self.objectives.loss.name)
        return (model if self.folds.same else None), scores

    def _measured(self, multipliers: Array, scores: Array, model: Any, heuristic: bool) -> Reading:
        held = self.folds.held
        L = fit_rows.cell_values(self.objectives, scores, held)
        loss = float(self.algebra.p @ L)
        if self.criterion is not self.objectives:
            L = fit_rows.cell_values(self.criterion, fit_rows.hardened(scores), held)
        gaps = self.criterion.algebra.gaps(L[None])[0]
        if not (np.isfinite(loss) and np.isfinite(gaps).all()):
            raise ArithmeticError(f"{type(self.estimator).__name__} gave predictions that are not finite")
        kept = scores if self.keeps_scores else None
        return Reading(multipliers, loss, gaps, gaps * self.signs, model, heuristic, kept)


def run_jobs(jobs: Iterable[Any], n_jobs: int | None, on_fit: Callable[[], None], fits: int = 1) -> list[Any]:
    """Each job is so many fits."""
    found = []
    for result in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        found.append(result)
        for _ in range(fits):
            on_fit()
    return found


MOST_JOBS = 1024
"""Most processes that joblib is asked for; more would be made, one by one."""


def estimator_problem(
    X: Any,
    y: Any,
    *,
    estimator: Any,
    sensitive_features: Any,
    sample_weight: Any = None,
    loss: Any = "logistic",
    criterion: Criterion = "loss_gap",
    cv: Any = "auto",
    n_jobs: int | None = None,
    random_state: int | None = None,
    fit_params: Mapping[str, Any] | None = None,
    memory: Any = None,
    person: Any = None,
    signs: Signs = (),
    **known: Any,
) -> EstimatorProblem:
    """Check the data and lay out the cells that an estimator's predictions are measured on.

    X is passed to the estimator as it is. ``known``: favourable, notion, gap, groups, as in `linear_problem`. Rows of
    one ``person`` (n,) are in one fold. ``signs`` go to the estimator's own setting.
    """
    if any(is_dask(part) for part in (X, y, sensitive_features, sample_weight)):
        raise InputError(
            "estimator= is for data in memory, found Dask collections; give it a sample, X.compute(), or leave it out."
        )
    rows = fit_rows.kept_rows(X, y, sensitive_features, sample_weight)
    measured = learners.loss_for(estimator, loss)
    regression = measured == "squared"
    if regression and criterion == "rate_gap":
        raise InputError("criterion 'rate_gap' compares decisions, found a regressor; use criterion='loss_gap'.")
    if any(notion.no_losses for notion in Question.of(**known).notions):
        named = ", ".join(repr(notion.name) for notion in Question.of(**known).notions)
        raise InputError(
            f"notion {named} is made of shares of decisions, expected one of losses, which weights of rows stand for; "
            f"use {setting('notion', 'equalized_odds')}, or leave {spelled('estimator')} out for linear models."
        )
    question = Question.of(**known, loss=measured, ridge=0.0, task="regression" if regression else "classification")
    asked_of = (rows.labels, rows.groups, rows.weight)
    objectives = driven = Objectives.of(question, *asked_of)
    if criterion == "rate_gap":
        driven = Objectives.of(replace(question, surrogate="rate"), *asked_of)
    estimator = handed_on(estimator, signs, objectives.task, X)
    learners.weight_keyword(estimator)
    learners.check_learner(estimator, objectives.task, objectives.loss.name, criterion)
    classes, seed = objectives.task.classes, check_seed(random_state) or 0
    codes = rows.labels if regression else np.array([classes.index(v) for v in rows.labels.tolist()])
    who = None if person is None else fit_rows.person_codes(person, rows.n, rows.kept)
    cells, probable = objectives.layout.cells, objectives.copy_of is not None
    folds = fit_rows.find_folds(cv, *rows.whole, rows.kept, cells, not regression, seed, who, probable=probable)
    values, fits = codes.astype(np.float64), (folds, seed, n_jobs, fit_params or {})
    kept = memory if isinstance(memory, Memory) else Memory(memory, verbose=0)  # None keeps nothing
    problem = EstimatorProblem(estimator, rows.X, values, objectives, driven, _signs(driven.layout), *fits, memory=kept)
    problem.check()
    return problem


def check_jobs(n_jobs: Any) -> None:
    if n_jobs is None or (is_whole(n_jobs) and 0 != n_jobs <= MOST_JOBS):
        return
    raise refuse("n_jobs", n_jobs, f"None, a whole number from 1 to {MOST_JOBS}, or -1 for all processors")


def _signs(layout: Layout) -> Array:
    """Return -1 for contrasts of rates of which more is better, where the loss gap has the other sign."""
    found = np.ones(len(layout.contrasts))
    for j, contrast in enumerate(layout.contrasts):
        average = layout.averages[contrast.terms[0][0]]
        label = average.quantity.label
        if average.quantity.kind == "rate" and label is not None and average.labels in (None, (label,)):
            found[j] = -1.0
    return found
