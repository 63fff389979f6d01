"""Guesses: plain classifiers of the label, and of the cell among the rows of a label, with probabilities scaled."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from ..exceptions import InputError, setting
from ..objectives import Array
from ..validation.inputs import take_rows
from .fit_rows import Ints
from .learners import SURE, fit_learner

FEWEST = 10
"""Rows of a label that a cell needs, at least, to be guessed; so few cannot teach a classifier."""


@dataclass(frozen=True, eq=False)
class Coded:
    """Rows as numbers: the label and the cell of each, and its weight (None: all the same)."""

    label: Ints
    cell: Ints
    weight: Array | None

    @cached_property
    def cells(self) -> tuple[tuple[int, ...], ...]:
        """Return the cells that are guessed, by label: those of enough rows, or of the most."""
        found = []
        for j in range(int(self.label.max()) + 1):
            cells, counts = np.unique(self.cell[self.label == j], return_counts=True)
            found.append(tuple(cells[counts >= min(FEWEST, counts.max())].tolist()))
        return tuple(found)

    @cached_property
    def tasks(self) -> tuple[tuple[Ints, Ints], ...]:
        """Return what is guessed, the label and then the cell of each label: rows that know it, and codes of all."""
        found = [(np.arange(len(self.label), dtype=np.intp), self.label)]
        for j, cells in enumerate(self.cells):
            knows = (self.label == j) & np.isin(self.cell, cells)
            codes = np.minimum(np.searchsorted(cells, self.cell), len(cells) - 1)
            found.append((np.flatnonzero(knows), codes.astype(np.intp)))
        return tuple(found)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (len(self.cells), *map(len, self.cells))

    @cached_property
    def pairs(self) -> Ints:
        """Return the label and the cell of every pair that is guessed, (pairs, 2)."""
        return np.array([(j, c) for j, cells in enumerate(self.cells) for c in cells], dtype=np.intp)

    @cached_property
    def pair(self) -> Ints:
        """Return the pair of every row, (n,); -1 where its cell has too few rows of its label."""
        found = np.full(len(self.label), -1, dtype=np.intp)
        for place, (j, c) in enumerate(self.pairs):
            found[(self.label == j) & (self.cell == c)] = place
        return found


@dataclass(frozen=True, eq=False)
class Scaling:
    """softmax(log P @ ``slope`` + ``bias``): a slope below 1 says that P was too sure."""

    slope: Array
    bias: Array

    @classmethod
    def none(cls, size: int) -> Scaling:
        return cls(np.eye(size), np.zeros(size))

    @property
    def is_none(self) -> bool:
        return not self.bias.any() and np.array_equal(self.slope, np.eye(len(self.bias)))

    def apply(self, P: Array) -> Array:
        if self.is_none:
            return P
        return np.asarray(softmax(np.log(np.maximum(P, SURE)) @ self.slope + self.bias, axis=1))


def fit_scaling(P: Array, codes: Ints, weight: Array | None = None, *, joint: bool = False) -> Scaling:
    """Return the scaling with the smallest log loss on labels (n,), held near none by as much as one row tells.

    One slope for all classes, or, for classes that are scaled ``joint``, a matrix of them, held near none by one row
    per class: what one class is said to be then corrects another.
    """
    logs, n, size = np.log(np.maximum(P, SURE)), len(codes), P.shape[1]
    share = np.full(n, 1.0) if weight is None else weight * (n / weight.sum())
    hit = np.zeros((n, size))
    hit[np.arange(n), codes] = 1.0
    first = np.eye(size)
    basis = np.eye(size * size) if joint else first.reshape(1, -1)
    start = np.concatenate([basis @ first.ravel() if joint else [1.0], np.zeros(size)])
    held = float(size if joint else 1)

    def loss(theta: Array) -> tuple[float, Array]:
        away = theta - start
        slopes = (theta[:-size] @ basis).reshape(size, size)
        logged = log_softmax(logs @ slopes + theta[-size:], axis=1)
        slope = share[:, None] * (np.exp(logged) - hit)
        value = -float((share[:, None] * hit * logged).sum()) + 0.5 * held * float(away @ away)
        moved = np.concatenate([basis @ (logs.T @ slope).ravel(), slope.sum(axis=0)])
        return value / n, (moved + held * away) / n

    bounds = [(None if joint else 0.0, None)] * len(basis) + [(None, None)] * size
    found: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"gtol": 1e-8})
    return Scaling((found.x[:-size] @ basis).reshape(size, size), np.asarray(found.x[-size:]))


def logistic_model(coef: Array, intercept: Array, names: tuple[str, ...] | None) -> LogisticRegression:
    """Return a fitted logistic regression with these coefficients."""
    if coef.ndim != 2 or intercept.shape != coef.shape[:1] or not (np.isfinite(coef).all()):
        raise InputError(f"coefficients have the shape {coef.shape}, expected finite (K, d); save it again.")
    model = LogisticRegression()
    model.coef_, model.intercept_, model.n_features_in_ = coef, intercept, coef.shape[1]
    model.classes_ = np.arange(max(2, len(coef)))
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    return model


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

    def folded(self) -> Guess:
        """Return a logistic regression with its scaling inside its coefficients, which is the same; others as is."""
        model, size = self.model, len(self.scaling.bias)
        if type(model) is not LogisticRegression or len(self.seen) != size:
            return self
        slope, bias = float(self.scaling.slope[0, 0]), self.scaling.bias
        shift = bias[1:] - bias[:1] if len(model.coef_) == 1 else bias
        scaled = copy.copy(model)
        scaled.coef_, scaled.intercept_ = slope * model.coef_, slope * model.intercept_ + shift
        return Guess(scaled, self.seen, Scaling.none(size))


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Probabilities of pairs (label, cell): those of the label, times those of the cells given each label.

    They are scaled once more, all pairs together, because rules trade the label's probability against the group's.
    """

    label: Guess
    members: tuple[Guess, ...]
    scaling: Scaling

    @property
    def guesses(self) -> tuple[Guess, ...]:
        return (self.label, *self.members)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many pairs each label has."""
        return tuple(len(guess.scaling.bias) for guess in self.members)

    def pairs(self, X: Any) -> Array:
        """Return P(label, cell | x), (n, pairs); rows sum to 1."""
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        return self.joined([guess.raw(X, n) for guess in self.guesses])

    def joined(self, raw: list[Array]) -> Array:
        """Shape (n, pairs), from every guess's own probabilities."""
        label, *members = (guess.scaling.apply(P) for guess, P in zip(self.guesses, raw, strict=True))
        return self.scaling.apply(np.column_stack([label[:, [j]] * member for j, member in enumerate(members)]))

    def labels(self, pairs: Array) -> Array:
        """Return P(label | x), (n, K)."""
        starts = np.cumsum((0, *self.sizes[:-1]))
        return np.asarray(np.add.reduceat(pairs, starts, axis=1))


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
                    f"the labels, such as its objective, open, or use {setting('units', 'losses')}."
                ) from error
            last = model.steps[-1][1] if isinstance(model, Pipeline) else model
            if any(hasattr(last, attribute) for attribute in ROWS_INSIDE):
                raise InputError(
                    f"{name} keeps the rows that it was trained on, and with them each person's group, expected a "
                    "learner that does not; use trees, forests or linear models."
                )
        guesses.append(Guess(model, seen.astype(np.intp), Scaling.none(size)))
    return Posteriors(guesses[0], tuple(guesses[1:]), Scaling.none(len(rows.pairs)))


ROWS_INSIDE = ("_fit_X", "X_train_", "support_vectors_")
"""Attributes of fitted models that hold rows: of neighbours, Gaussian processes and support vector machines."""
