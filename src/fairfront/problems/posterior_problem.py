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
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed

from ..exceptions import InputError, spelled
from ..objectives import Array
from ..objectives.small_counts import FEWEST
from ..validation import take_rows
from .fit_rows import flipped, label_weights
from .learners import log_odds
from .posteriors import Coded, PosteriorClassifier, Posteriors, fit_posteriors, joined, weighed
from .weighted_fits import EstimatorProblem, Reading


@dataclass(frozen=True, eq=False)
class PosteriorProblem(EstimatorProblem):
    """A learner whose weightings are read from posteriors; ``fitted`` holds them once they are there."""

    made: ClassVar[str] = "Posteriors"
    used_for: ClassVar[str] = "a guess of the group inside the model"

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
        """Return how many times the learner is fitted: to labels and groups, in every fold and on all rows."""
        return (len(self.folds.pairs) + (not self.folds.same)) * self._fits_per_part

    @property
    def _fits_per_part(self) -> int:
        return sum(size > 1 for size in self.rows.sizes)

    @cached_property
    def rows(self) -> Coded:
        """Return labels and cells of all rows as numbers."""
        cells = self.objectives.layout.cells
        weight = None
        if cells.row_weight is not None:
            weight = np.empty(cells.n)
            weight[cells.order] = cells.row_weight
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
        """Return how much a row of every pair (label, cell) counts for each label, (pairs, K)."""
        return flipped(label_weights(self.objectives.layout, self.omega(multipliers), self.rows.cells))

    def read(self, multipliers: Array, on_fit: Callable[[], None] | None = None) -> Reading:
        """Measure the model of the multipliers on rows that its posteriors were not fitted to."""
        _, pairs = self.learn(on_fit)
        scores = np.zeros((self.objectives.n_scores, len(self.codes)))
        scores[:, self.folds.held] = log_odds(weighed(pairs, self.weights(multipliers)))
        return self._measured(multipliers, scores, None, heuristic=False)

    def refit(self, multipliers: Array) -> PosteriorClassifier:
        """Return the model of the multipliers."""
        return PosteriorClassifier(self.learn()[0], self.weights(multipliers), self.objectives.task.classes)

    def learn(self, on_fit: Callable[[], None] | None = None) -> tuple[Posteriors, Array]:
        """Return posteriors fitted to all rows, and pairs of the rows that folds left out; both are made once."""
        if not self.fitted:
            everything = np.arange(len(self.codes), dtype=np.intp)
            parts = [fit for fit, _ in self.folds.pairs] + ([] if self.folds.same else [everything])
            jobs = (delayed(fit_posteriors)(self.estimator, self.X, self.rows, only, self.seed) for only in parts)
            models = []
            for model in Parallel(n_jobs=self.n_jobs, return_as="generator")(jobs):
                models.append(model)
                if on_fit is not None:
                    for _ in range(self._fits_per_part):
                        on_fit()
            self.fitted["found"] = self._scaled(models)
        found: tuple[Posteriors, Array] = self.fitted["found"]
        return found

    def _scaled(self, models: list[Posteriors]) -> tuple[Posteriors, Array]:
        """Return the posteriors of all rows, scaled to the rows that were held out, and the pairs of those."""
        held, rows = self.folds.held, self.rows
        raw, guesses = self._held_out(models), models[-1].guesses
        if not self.folds.same:
            scaled = []
            for guess, P, (knows, codes) in zip(guesses, raw, rows.tasks, strict=True):
                places = np.flatnonzero(np.isin(held, knows))
                weight = None if rows.weight is None else rows.weight[held[places]]
                scaled.append(guess.scaled_to(P[places], codes[held[places]], weight))
            guesses = tuple(scaled)
        pairs = joined([guess.scaling.apply(P) for guess, P in zip(guesses, raw, strict=True)])
        return Posteriors(guesses[0], guesses[1:]), pairs

    def _held_out(self, models: list[Posteriors]) -> list[Array]:
        """Return every guess's own probabilities of the held-out rows, in the order of the rows."""
        place = np.full(len(self.codes), -1, dtype=np.intp)
        place[self.folds.held] = np.arange(len(self.folds.held))
        found = [np.zeros((len(self.folds.held), size)) for size in self.rows.sizes]
        for (_, held), model in zip(self.folds.pairs, models, strict=False):
            X = take_rows(self.X, held)
            for P, guess in zip(found, model.guesses, strict=True):
                P[place[held]] = guess.raw(X, len(held))
        return found
