"""The frontier of any classifier from a few plain fits: weights applied to probabilities instead of rows.

Where a row of cell c and label j has weight w_cj, the probabilities that minimise the weighted log loss over all
functions of x are, by Bayes' rule,

    P_w(j | x)  proportional to  sum_c w_cj P(label j, cell c | x),

and deciding for the largest minimises the weighted error, also where weights are negative. So one classifier of labels
and one of cells per label, fitted plainly, give an estimate of what every weighted fit estimates, for all weightings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ..objectives import Array, Quantity
from ..validation import take_rows
from .estimator import EstimatorProblem, Reading
from .learners import log_odds
from .posteriors import Coded, PosteriorClassifier, Posteriors, fit_posteriors, joined, weighed
from .weighted_fits import flipped, is_heuristic, label_weights, row_sums


@dataclass(frozen=True, eq=False)
class PosteriorProblem(EstimatorProblem):
    """A learner whose weightings are read from posteriors; ``fitted`` holds them once they are there."""

    fitted: dict[str, Any] = field(default_factory=dict)

    @property
    def noise(self) -> float:
        """Return 0: all weightings share their fits, so that gaps are a smooth function of the multipliers."""
        return 0.0

    @property
    def fits_per_reading(self) -> int:
        """Return 0: a reading fits nothing."""
        return 0

    def fits(self, weightings: int, lazy: bool) -> int:
        """Return how many times the learner is fitted: to the rows of every fold and to all."""
        return len(self.folds.pairs) + (not self.folds.same)

    @property
    def posteriors(self) -> Posteriors:
        """Return the posteriors fitted on all rows."""
        found: Posteriors = self.learn()["posteriors"]
        return found

    def weights(self, multipliers: Array) -> Array:
        """Return how much a row of every pair (label, cell) counts for each label, (pairs, K)."""
        return flipped(label_weights(self.laid.problem.layout, self.omega(multipliers), self.rows.cells))

    @property
    def rows(self) -> Coded:
        """Return labels and cells of all rows as numbers."""
        layout = self.laid.problem.layout
        cells = layout.cells
        cell = np.empty(cells.n, dtype=np.intp)
        cell[cells.order] = np.repeat(np.arange(cells.count), np.diff(cells.offsets))
        weight = None if cells.row_weight is None else row_sums(layout, Quantity("loss"), self.algebra.p)
        return Coded(self.codes.astype(np.intp), cell, weight)

    def read(self, multipliers: Array, on_fit: Callable[[], None] | None = None) -> Reading:
        """Measure the model of the multipliers on rows that its posteriors were not fitted to."""
        pairs = self.learn(on_fit)["pairs"]
        scores = np.zeros((self.laid.problem.K, len(self.codes)))
        scores[:, self.folds.held] = log_odds(weighed(pairs, self.weights(multipliers)))
        heuristic = is_heuristic(self.laid.problem.layout, self.omega(multipliers))
        return self._measured(multipliers, scores, None, heuristic)

    def refit(self, multipliers: Array) -> PosteriorClassifier:
        """Return the model of the multipliers."""
        return PosteriorClassifier(self.posteriors, self.weights(multipliers), self.laid.task.classes)

    def learn(self, on_fit: Callable[[], None] | None = None) -> dict[str, Any]:
        """Fit to every fold and to all rows, once, and scale by what the folds left out."""
        if not self.fitted:
            everything = np.arange(len(self.codes), dtype=np.intp)
            parts = [fit for fit, _ in self.folds.pairs] + ([] if self.folds.same else [everything])
            known = (self.estimator, self.X, self.rows)
            jobs = (delayed(fit_posteriors)(*known, only, self.seed, self.fit_params) for only in parts)
            models = []
            for model in Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs):
                models.append(model)
                if on_fit is not None:
                    on_fit()
            self.fitted.update(self._scaled(models))
        return self.fitted

    def _scaled(self, models: list[Posteriors]) -> dict[str, Any]:
        """Return the posteriors of all rows, scaled, and the scaled pairs of the rows that were held out."""
        held, rows, final = self.folds.held, self.rows, models[-1]
        raw = self._held_out(models)
        if not self.folds.same:
            among = [np.arange(len(held))] + [np.flatnonzero(rows.label[held] == j) for j in range(len(rows.cells))]
            codes = [rows.label] + [rows.member(j) for j in range(len(rows.cells))]
            label, *members = (
                guess.scaled_to(
                    P[places], code[held][places], None if rows.weight is None else rows.weight[held][places]
                )
                for guess, P, places, code in zip(final.guesses, raw, among, codes, strict=True)
            )
            final = Posteriors(label, tuple(members), final.cells)
        scaled = [
            P if guess.model is None else guess.scaling.apply(P) for guess, P in zip(final.guesses, raw, strict=True)
        ]
        return {"posteriors": final, "pairs": joined(scaled)}

    def _held_out(self, models: list[Posteriors]) -> list[Array]:
        """Return every guess's own probabilities of the held-out rows, in the order of the rows."""
        place = np.full(len(self.codes), -1, dtype=np.intp)
        place[self.folds.held] = np.arange(len(self.folds.held))
        found = [np.zeros((len(self.folds.held), len(guess.scaling.bias))) for guess in models[-1].guesses]
        for (_, held), model in zip(self.folds.pairs, models, strict=False):
            X = take_rows(self.X, held)
            for P, guess in zip(found, model.guesses, strict=True):
                P[place[held]] = guess.raw(X, len(held))
        return found
