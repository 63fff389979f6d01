"""Posteriors: how likely every label is, and every group given a label, for a row of features.

They are learnt once, by plain fits, and give the model of every weighting: see `posterior_problem`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ..objectives import Array
from ..validation import take_rows
from .learners import fit_plainly
from .scaling import Scaling, fit_scaling

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Guess:
    """One fitted classifier of numbered classes, its probabilities scaled; without a model the only class is sure."""

    model: Any
    scaling: Scaling

    def probabilities(self, X: Any, n: int) -> Array:
        """Return the probability of every class, (n, K), scaled."""
        return self.scaling.apply(self.raw(X, n)) if self.model is not None else np.ones((n, 1))

    def raw(self, X: Any, n: int) -> Array:
        """Return the model's own probabilities, (n, K); a class that its rows did not have has 0."""
        found = np.zeros((n, len(self.scaling.bias)))
        if self.model is None:
            found[:, 0] = 1.0
        elif n:
            found[:, np.asarray(self.model.classes_, dtype=np.intp)] = self.model.predict_proba(X)
        return found

    def scaled_to(self, P: Array, codes: Ints, weight: Array | None) -> Guess:
        """Return the guess with the scaling that fits these of its probabilities, of rows not fitted to."""
        return self if self.model is None else replace(self, scaling=fit_scaling(P, codes, weight))


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Probabilities of pairs (label, cell): those of the label, times those of the cells given the label.

    ``cells`` holds, for every label, the cells that its rows fall in; pairs are in this order.
    """

    label: Guess
    members: tuple[Guess, ...]
    cells: tuple[tuple[int, ...], ...]

    @property
    def guesses(self) -> tuple[Guess, ...]:
        """Return the label's guess and those of the cells, in one row."""
        return (self.label, *self.members)

    def pairs(self, X: Any) -> Array:
        """Return the probability of every pair, (n, pairs)."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        return joined([guess.probabilities(X, n) for guess in self.guesses])


def joined(parts: list[Array]) -> Array:
    """Return the probabilities of pairs from those of labels and those of cells given each label."""
    label, *members = parts
    return np.column_stack([label[:, [j]] * member for j, member in enumerate(members)])


@dataclass(frozen=True, eq=False)
class Coded:
    """Rows as numbers: the label and the cell of each, and its weight (None: all the same)."""

    label: Ints
    cell: Ints
    weight: Array | None

    @property
    def cells(self) -> tuple[tuple[int, ...], ...]:
        """Return the cells of every label's rows."""
        return tuple(tuple(np.unique(self.cell[self.label == j]).tolist()) for j in range(int(self.label.max()) + 1))

    def member(self, label: int) -> Ints:
        """Return every row's place among the cells of a label; meant for rows of that label."""
        return np.searchsorted(np.array(self.cells[label]), self.cell).astype(np.intp)


def fit_posteriors(
    estimator: Any, X: Any, rows: Coded, only: Ints, seed: int, fit_params: Mapping[str, Any]
) -> Posteriors:
    """Fit to some of the rows: the label on all of them, the cell on those of each label."""

    def guess(codes: Ints, among: Ints, size: int) -> Guess:
        if size == 1:
            return Guess(None, Scaling.none(1))
        weight = None if rows.weight is None else rows.weight[among]
        model = None
        if len(np.unique(codes[among])) > 1:
            model = fit_plainly(estimator, take_rows(X, among), codes[among], weight, seed, fit_params)
        return Guess(model, Scaling.none(size))

    cells = rows.cells
    members = [guess(rows.member(j), only[rows.label[only] == j], len(found)) for j, found in enumerate(cells)]
    return Posteriors(guess(rows.label, only, len(cells)), tuple(members), cells)


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
        """Return the labels."""
        return np.asarray(self.classes)

    @property
    def n_features_in_(self) -> int:
        """Return how many columns the learner was given, where it says so."""
        return int(self.posteriors.label.model.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Return the names of the columns that the learner was given, where it knows them."""
        return np.asarray(self.posteriors.label.model.feature_names_in_)

    def fit(self, X: Any, y: Any = None) -> PosteriorClassifier:
        """Return the classifier as it is."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every label under the weights, (n, K)."""
        return weighed(self.posteriors.pairs(X), self.weights)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label that counts most."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def weighed(pairs: Array, weights: Array) -> Array:
    """Return probabilities of labels (n, K) from those of pairs, (n, pairs), and their weights, (pairs, K)."""
    found = pairs @ weights
    total = found.sum(axis=1, keepdims=True)
    even = np.full_like(found, 1.0 / found.shape[1])
    return np.asarray(np.divide(found, total, out=even, where=total > 0.0))
