"""Estimators of any kind: weighted fits, or posteriors fitted once, measured on predictions of rows left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..objectives import Algebra, Array, Objectives, Quantity
from ..objectives.groups import FEWEST
from ..validation.data import take_rows
from .fit_rows import (
    Folds,
    Ints,
    Reading,
    WeightedRows,
    cell_values,
    flipped,
    hardened,
    held_weights,
    is_heuristic,
    label_weights,
    weighted_rows,
)
from .learners import SharedTrees, fit_learner, log_odds, scores_of_learner
from .posteriors import Coded, PosteriorClassifier, Posteriors, fit_posteriors, fit_scaling, weighed

Criterion = Literal["loss_gap", "rate_gap"]
NOISE = 0.25
"""Share of the range of weightings below which held-out gaps of two fits do not tell them apart."""


@dataclass(frozen=True, eq=False)
class EstimatorProblem:
    """A learner, its data, and the cells on which its predictions are measured.

    ``objectives`` are those of the training loss, whose algebra turns multipliers into weights; ``criterion`` those
    whose gaps are lowered (the same ones, or rates of decisions); ``signs`` (q,) turn its gaps into the direction of
    loss gaps. ``begun`` holds the shared trees of every fold, and under None those of all rows.
    """

    made: ClassVar[str] = "Weighted fits"
    used_for: ClassVar[str] = "weights of training rows"

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
    shared: SharedTrees | None = None
    begun: dict[int | None, Any] = field(default_factory=dict)

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

    def fits(self, weightings: int, lazy: bool) -> int:
        """With those on all rows unless they are put off."""
        return weightings * (self.fits_per_reading + (not lazy and not self.folds.same))

    def check(self) -> None:
        """Refuse cells that have no held-out rows to be measured on."""
        for each in (self.objectives, self.criterion):
            cell_values(each, np.zeros((each.n_scores, len(self.codes))), self.folds.held)

    def smallest_held(self) -> float:
        """Return how many held-out rows the smallest (group, label) cell is measured on."""
        rows = replace(self.objectives.layout.cells, row_weight=None)
        return float(held_weights(rows, self.folds.held).min())

    def omega(self, multipliers: Array) -> Array:
        return np.asarray(self.algebra.p + self.algebra.B.T @ multipliers)

    def read(self, multipliers: Array, on_fit: Callable[[], None] | None = None) -> Reading:
        """Fit with the weights of the multipliers, once per fold, and measure what was held out."""
        rows = self.weighted(multipliers)
        pairs = enumerate(self.folds.pairs)
        jobs = (delayed(self.fit_and_score)(rows, fit, held, self._begun(i, fit)) for i, (fit, held) in pairs)
        found = run_jobs(jobs, self.n_jobs, on_fit or (lambda: None))
        scores = np.zeros((found[0][1].shape[0], len(self.codes)))
        for (_, held), (_, part) in zip(self.folds.pairs, found, strict=True):
            scores[:, held] = part
        model = found[0][0] if self.folds.same else None
        return self._measured(multipliers, scores, model, is_heuristic(self.objectives.layout, self.omega(multipliers)))

    def refit(self, multipliers: Array) -> Any:
        return self._fit(self.weighted(multipliers), None, self._begun(None, None))

    def weighted(self, multipliers: Array) -> WeightedRows:
        return weighted_rows(self.objectives.layout, self.objectives.task, self.codes, self.omega(multipliers))

    def _begun(self, fold: int | None, only: Ints | None) -> Any:
        """Return the trees that all fits of a fold share, grown when they are first needed; None without any."""
        if self.shared is not None and fold not in self.begun:
            seen = self._seen(self.weighted(np.zeros(len(self.algebra.b))), only)
            self.begun[fold] = self.shared.begin(*seen, self.seed, self.fit_params)
        return self.begun.get(fold)

    def _seen(self, rows: WeightedRows, only: Ints | None) -> tuple[Ints, Any, NDArray[Any], Array]:
        """Row numbers, features, labels and weights, of some of the rows or of all."""
        chosen = slice(None) if only is None or self.folds.same else np.isin(rows.index, only)
        index, target, weight = rows.index[chosen], rows.target[chosen], rows.weight[chosen]
        task = self.objectives.task
        y = target if task.kind == "regression" else np.asarray(task.classes)[target.astype(np.intp)]
        whole = len(index) == len(self.codes) and bool((np.diff(index) == 1).all())
        return index, (self.X if whole else take_rows(self.X, index)), y, weight

    def _fit(self, rows: WeightedRows, only: Ints | None, begun: Any) -> Any:
        seen = self._seen(rows, only)
        grown = None if self.shared is None else self.shared.grow(begun, *seen, self.fit_params)
        return grown if grown is not None else fit_learner(self.estimator, *seen[1:], self.seed, self.fit_params)

    def fit_and_score(self, rows: WeightedRows, fit: Ints, held: Ints, begun: Any) -> tuple[Any, Array]:
        """Fit to some rows and score others; the model itself is kept only when it is its own measure."""
        model = self._fit(rows, fit, begun)
        X = self.X if self.folds.same else take_rows(self.X, held)
        scores = scores_of_learner(model, X, self.objectives.task, self.objectives.loss.name)
        return (model if self.folds.same else None), scores

    def _measured(self, multipliers: Array, scores: Array, model: Any, heuristic: bool) -> Reading:
        held = self.folds.held
        L = cell_values(self.objectives, scores, held)
        loss = float(self.algebra.p @ L)
        if self.criterion is not self.objectives:
            L = cell_values(self.criterion, hardened(scores), held)
        gaps = self.criterion.algebra.gaps(L[None])[0]
        if not (np.isfinite(loss) and np.isfinite(gaps).all()):
            raise ArithmeticError(f"{type(self.estimator).__name__} gave predictions that are not finite")
        return Reading(multipliers, loss, gaps, gaps * self.signs, model, heuristic)


@dataclass(frozen=True, eq=False)
class PosteriorProblem(EstimatorProblem):
    """A learner whose weightings are read from posteriors; ``fitted`` holds them once they are there.

    Where a row of cell c and label j has weight w_cj, the probabilities that minimise the weighted log loss over all
    functions of x are, by Bayes' rule,

        P_w(j | x)  proportional to  sum_c w_cj P(label j, cell c | x),

    and deciding for the largest minimises the weighted error, also where weights are negative. So one classifier of
    labels and one of cells per label, fitted plainly, give an estimate of what every weighted fit estimates, for all
    weightings.
    """

    made: ClassVar[str] = "Posteriors"
    used_for: ClassVar[str] = "a guess of the group inside the model"

    fitted: dict[str, Any] = field(default_factory=dict)

    @property
    def noise(self) -> float:
        """All weightings share their fits, so that gaps are a smooth function of the multipliers."""
        return 0.0

    @property
    def fits_per_reading(self) -> int:
        return 0

    def fits(self, weightings: int, lazy: bool) -> int:
        """To labels and groups, in every fold and on all rows."""
        return (len(self.folds.pairs) + (not self.folds.same)) * sum(size > 1 for size in self.rows.sizes)

    @cached_property
    def rows(self) -> Coded:
        cells = self.objectives.layout.cells
        weight = None if cells.row_weight is None else cells.unsorted(cells.row_weight)
        return Coded(self.codes.astype(np.intp), cells.of_rows, weight)

    def check(self) -> None:
        """Refuse shares of groups, and cells of so few rows of a label that weights and models would tell how many."""
        super().check()
        if self.objectives.layout.cells.shares is not None:
            raise InputError("posteriors need the group of every row, found GroupProbabilities; leave posteriors out.")
        rows, compared = self.rows, np.unique(np.concatenate([a.cells for a in self.objectives.layout.averages]))
        pairs, counts = np.unique(np.stack([rows.label, rows.cell]), axis=1, return_counts=True)
        if (counts[np.isin(pairs[1], compared)] < FEWEST).any():
            raise InputError(
                f"a group has fewer than {FEWEST} rows of a label, expected more for posteriors, from which their "
                "number could be read; merge groups, leave some out with "
                f"{spelled('min_size', 'groups=Groups(min_size=...)')}, or weigh fits."
            )

    def weights(self, multipliers: Array) -> Array:
        """How much a row of every pair (label, cell) counts for each label, (pairs, K)."""
        return flipped(label_weights(self.objectives.layout, self.omega(multipliers), self.rows.cells))

    def read(self, multipliers: Array, on_fit: Callable[[], None] | None = None) -> Reading:
        """Measure the model of the multipliers on rows that its posteriors were not fitted to."""
        _, pairs = self.learn(on_fit)
        scores = np.zeros((self.objectives.n_scores, len(self.codes)))
        scores[:, self.folds.held] = log_odds(weighed(pairs, self.weights(multipliers)))
        return self._measured(multipliers, scores, None, heuristic=False)

    def refit(self, multipliers: Array) -> PosteriorClassifier:
        return PosteriorClassifier(self.learn()[0], self.weights(multipliers), self.objectives.task.classes)

    def learn(self, on_fit: Callable[[], None] | None = None) -> tuple[Posteriors, Array]:
        """Return posteriors fitted to all rows, and pairs of the rows that folds left out; both are made once.

        The first are scaled to the rows that were held out.
        """
        if self.fitted:
            return self.fitted["found"]  # type: ignore[no-any-return]

        def on_part() -> None:
            for _ in range(sum(size > 1 for size in rows.sizes) if on_fit else 0):
                on_fit()  # type: ignore[misc]

        rows, held, same = self.rows, self.folds.held, self.folds.same
        parts = [fit for fit, _ in self.folds.pairs] + ([] if same else [np.arange(len(self.codes), dtype=np.intp)])
        jobs = (delayed(fit_posteriors)(self.estimator, self.X, rows, only, self.seed) for only in parts)
        models = run_jobs(jobs, self.n_jobs, on_part)
        raw = [np.zeros((len(held), size)) for size in rows.sizes]
        for (_, out), model in zip(self.folds.pairs, models, strict=False):
            X = take_rows(self.X, out)
            for P, guess in zip(raw, model.guesses, strict=True):
                P[np.searchsorted(held, out)] = guess.raw(X, len(out))
        guesses = list(models[-1].guesses)
        for task, (P, (knows, codes)) in enumerate(zip(raw, rows.tasks, strict=True)):
            if not same and guesses[task].model is not None:
                places = np.flatnonzero(np.isin(held, knows))
                weight = None if rows.weight is None else rows.weight[held[places]]
                scaling = fit_scaling(P[places], codes[held[places]], weight)
                guesses[task] = replace(guesses[task], scaling=scaling)
        found = Posteriors(guesses[0], tuple(guesses[1:]))
        self.fitted["found"] = found, found.joined(raw)
        return self.fitted["found"]  # type: ignore[no-any-return]


def run_jobs(jobs: Iterable[Any], n_jobs: int | None, on_done: Callable[[], None]) -> list[Any]:
    """In the order of the jobs."""
    found = []
    for result in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        found.append(result)
        on_done()
    return found
