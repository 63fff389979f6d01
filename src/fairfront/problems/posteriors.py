"""Posteriors: how likely every label is, and every group given a label, for a row of features.

They are learnt once, by plain fits, and give the model of every weighting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline

from ..exceptions import InputError, spelled
from ..objectives import Array
from ..objectives.groups import FEWEST
from ..validation.inputs import take_rows
from .fit_rows import Coded, Ints, Reading, flipped, label_weights
from .learners import SURE, fit_learner, log_odds
from .weighted_fits import EstimatorProblem, run_jobs


@dataclass(frozen=True, eq=False)
class Scaling:
    """P_j to the power of ``slope``, times exp(``bias_j``), normalised: a slope below 1 says that P was too sure."""

    slope: float
    bias: Array

    def apply(self, P: Array) -> Array:
        if self.slope == 1.0 and not self.bias.any():
            return P
        return np.asarray(softmax(self.slope * np.log(np.maximum(P, SURE)) + self.bias, axis=1))


def fit_scaling(P: Array, codes: Ints, weight: Array | None = None) -> Scaling:
    """Return the scaling with the smallest log loss on labels (n,), held near none by as much as one row tells."""
    logs, n, size = np.log(np.maximum(P, SURE)), len(codes), P.shape[1]
    share = np.full(n, 1.0) if weight is None else weight * (n / weight.sum())
    hit = np.zeros((n, size))
    hit[np.arange(n), codes] = 1.0
    start = np.concatenate([[1.0], np.zeros(size)])

    def loss(theta: Array) -> tuple[float, Array]:
        away = theta - start
        logged = log_softmax(theta[0] * logs + theta[1:], axis=1)
        slope = share[:, None] * (np.exp(logged) - hit)
        value = -float((share[:, None] * hit * logged).sum()) + 0.5 * float(away @ away)
        return value / n, (np.concatenate([[(slope * logs).sum()], slope.sum(axis=0)]) + away) / n

    bounds = [(0.0, None)] + [(None, None)] * size
    found: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": 1e-8})
    return Scaling(float(found.x[0]), np.asarray(found.x[1:]))


@dataclass(frozen=True, eq=False)
class Guess:
    """One fitted classifier of numbered classes, and how its probabilities are scaled.

    ``seen`` are the classes that its rows had; with one of them there is no model, and it is sure.
    """

    model: Any
    seen: Ints
    scaling: Scaling

    def raw(self, X: Any, n: int) -> Array:
        """Return the model's own probabilities, (n, K); a class that its rows did not have has 0."""
        found = np.zeros((n, len(self.scaling.bias)))
        if n:
            found[:, self.seen] = 1.0 if self.model is None else self.model.predict_proba(X)
        if not np.isfinite(found).all():
            raise InputError(f"{type(self.model).__name__} gave probabilities that are not finite, expected numbers.")
        return found


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Probabilities of pairs (label, cell): those of the label, times those of the cells given each label."""

    label: Guess
    members: tuple[Guess, ...]

    @property
    def guesses(self) -> tuple[Guess, ...]:
        return (self.label, *self.members)

    def pairs(self, X: Any) -> Array:
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        return self.joined([guess.raw(X, n) for guess in self.guesses])

    def joined(self, raw: list[Array]) -> Array:
        """Shape (n, pairs), from every guess's own probabilities."""
        label, *members = (guess.scaling.apply(P) for guess, P in zip(self.guesses, raw, strict=True))
        return np.column_stack([label[:, [j]] * member for j, member in enumerate(members)])


def fit_posteriors(estimator: Any, X: Any, rows: Coded, only: Ints, seed: int) -> Posteriors:
    """Fit to some of the rows: the label on all of them, the cell on those of each label."""
    guesses, name = [], type(estimator).__name__
    for task, ((knows, codes), size) in enumerate(zip(rows.tasks, rows.sizes, strict=True)):
        among = np.intersect1d(knows, only, assume_unique=True)
        seen, inner = np.unique(codes[among], return_inverse=True)
        model = None
        if len(seen) > 1:
            weight = None if rows.weight is None else rows.weight[among]
            try:
                model = fit_learner(estimator, take_rows(X, among), inner.astype(np.intp), weight, seed, {})
            except Exception as error:  # any learner, any error
                what = f"{size} labels" if task == 0 else f"{size} groups of the rows of one label"
                raise InputError(
                    f"{name} could not be fitted to {what} ({type(error).__name__}: {error}); leave what depends on "
                    "the labels, such as its objective, open, or use weighted fits."
                ) from error
            last = model.steps[-1][1] if isinstance(model, Pipeline) else model
            if any(hasattr(last, attribute) for attribute in ROWS_INSIDE):
                raise InputError(
                    f"{name} keeps the rows that it was trained on, and with them each person's group, expected a "
                    "learner that does not; use trees, forests or linear models."
                )
        guesses.append(Guess(model, seen.astype(np.intp), Scaling(1.0, np.zeros(size))))
    return Posteriors(guesses[0], tuple(guesses[1:]))


ROWS_INSIDE = ("_fit_X", "X_train_", "support_vectors_")
"""Attributes of fitted models that hold rows: of neighbours, Gaussian processes and support vector machines."""


class PosteriorClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decide by weighted posteriors: label j counts sum over pairs of P(pair | x) weights[pair, j].

    It comes fitted, and ``fit`` leaves it as it is. It needs no sensitive feature, but guesses it from the others.

    Parameters
    ----------
    posteriors : Posteriors
        What the features say of label and group.
    weights : array of shape (pairs, K)
        How much a row of each pair counts for each label.
    classes : tuple
        The labels.
    """

    def __init__(self, posteriors: Any, weights: Any, classes: Any) -> None:
        self.posteriors = posteriors
        self.weights = weights
        self.classes = classes

    @property
    def classes_(self) -> NDArray[Any]:
        return np.asarray(self.classes)

    @property
    def n_features_in_(self) -> int:
        return int(self.posteriors.label.model.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        return np.asarray(self.posteriors.label.model.feature_names_in_)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PosteriorClassifier:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> Array:
        return weighted_posterior(self.posteriors.pairs(X), self.weights)

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def weighted_posterior(pairs: Array, weights: Array) -> Array:
    """Return probabilities of labels (n, K) from those of pairs, (n, pairs), and their weights, (pairs, K)."""
    found = pairs @ weights
    total = found.sum(axis=1, keepdims=True)
    even = np.full_like(found, 1.0 / found.shape[1])
    return np.asarray(np.divide(found, total, out=even, where=total > 0.0))


@dataclass(frozen=True, eq=False)
class PosteriorProblem(EstimatorProblem):
    """A learner whose weightings are read from posteriors; ``fitted`` holds them once they are there.

    Where a row of cell c and label j has weight w_cj, the probabilities that minimise the weighted log loss over all
    functions of x are, by Bayes' rule,

        P_w(j | x)  proportional to  sum_c w_cj P(label j, cell c | x),

    and deciding for the largest minimises the weighted error, also where weights are negative. So one classifier of
    labels and one of cells per label, fitted plainly, estimate what all weighted fits estimate.
    """

    made: ClassVar[str] = "Posteriors"
    used_for: ClassVar[str] = "a guess of the group inside the model"

    noise: ClassVar[float] = 0.0  # all weightings share their fits: gaps are a smooth function of the multipliers
    fits_per_reading: ClassVar[int] = 0

    fitted: list[tuple[Posteriors, Array]] = field(default_factory=list)

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
                f"{spelled('min_size', 'groups=Groups(min_size=...)')}, or use weighted fits."
            )

    def weights(self, multipliers: Array) -> Array:
        """How much a row of every pair (label, cell) counts for each label, (pairs, K)."""
        return flipped(label_weights(self.objectives.layout, self.omega(multipliers), self.rows.cells))

    def read(self, multipliers: Array, on_fit: Callable[[], None] = lambda: None) -> Reading:
        """Measure the model of the multipliers on rows that its posteriors were not fitted to."""
        _, pairs = self.learn(on_fit)
        scores = np.zeros((self.objectives.n_scores, len(self.codes)))
        scores[:, self.folds.held] = log_odds(weighted_posterior(pairs, self.weights(multipliers)))
        return self._measured(multipliers, scores, None, heuristic=False)

    def refit(self, multipliers: Array) -> PosteriorClassifier:
        return PosteriorClassifier(self.learn()[0], self.weights(multipliers), self.objectives.task.classes)

    def learn(self, on_fit: Callable[[], None] = lambda: None) -> tuple[Posteriors, Array]:
        """Return posteriors of all rows, scaled to those held out, and the pairs of these; both are made once."""
        if not self.fitted:
            self.fitted.append(self._learnt(on_fit))
        return self.fitted[0]

    def _learnt(self, on_fit: Callable[[], None]) -> tuple[Posteriors, Array]:
        rows, held, same = self.rows, self.folds.held, self.folds.same
        parts = [fit for fit, _ in self.folds.pairs] + ([] if same else [np.arange(len(self.codes), dtype=np.intp)])
        jobs = (delayed(fit_posteriors)(self.estimator, self.X, rows, only, self.seed) for only in parts)
        models = run_jobs(jobs, self.n_jobs, on_fit, sum(size > 1 for size in rows.sizes))
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
        return found, found.joined(raw)
