"""Posteriors: how likely every label is, and every group given a label, for a row of features.

They are learnt once, by plain fits, and every rule of decisions on the frontier weighs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ..objectives import Array
from ..validation.inputs import take_rows
from .fit_rows import Folds, Ints
from .guesses import Coded, Guess, Posteriors, Scaling, fit_posteriors, fit_scaling
from .learners import SURE
from .logistic_guesses import LogisticRows
from .weighted_fits import run_jobs

MIXING = 500
"""Most steps of the stack's shares, each of which raises its likelihood."""
SETTLED = 1e-9  # change of the shares below which they stay as they are


@dataclass(frozen=True, eq=False)
class Stack:
    """Posteriors of one learner or more, mixed by ``shares`` (learners,) of least log loss on rows left out.

    The mixture is scaled once more, all pairs together: one of calibrated parts is not calibrated itself, and rules
    trade the label's probability against the group's.
    """

    parts: tuple[Posteriors, ...]
    shares: Array
    scaling: Scaling

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many pairs each label has."""
        return tuple(len(guess.scaling.bias) for guess in self.parts[0].members)

    def pairs(self, X: Any) -> Array:
        """Return P(label, cell | x), (n, pairs); rows sum to 1."""
        found: Array = sum(share * part.pairs(X) for share, part in zip(self.shares, self.parts, strict=True))
        return self.scaling.apply(found)

    def labels(self, pairs: Array) -> Array:
        """Return P(label | x), (n, K)."""
        starts = np.cumsum((0, *self.sizes[:-1]))
        return np.asarray(np.add.reduceat(pairs, starts, axis=1))


def learn_posteriors(
    estimators: Sequence[Any],
    X: Any,
    rows: Coded,
    folds: Folds,
    seed: int,
    n_jobs: int | None,
    on_fit: Callable[[], None],
    closed: LogisticRows | None = None,
) -> tuple[Stack, Array]:
    """Return posteriors of all rows, scaled to rows left out and stacked, and those of the rows left out.

    Where logistic regressions leave rows out in ``closed`` form, they stand for the estimators that are None.
    """
    learnt = [
        _left_out(closed, rows, on_fit)
        if estimator is None and closed is not None
        else _learn(estimator, X, rows, folds, seed, n_jobs, on_fit)
        for estimator in estimators
    ]
    pairs, own = [P for _, P in learnt], rows.pair[folds.held]
    knows = np.flatnonzero(own >= 0)
    weight = None if rows.weight is None else rows.weight[folds.held[knows]]
    shares = mixing_shares(np.column_stack([P[knows, own[knows]] for P in pairs]), weight)
    mixed: Array = sum(share * P for share, P in zip(shares, pairs, strict=True))
    scaling = Scaling.none(mixed.shape[1])
    if not folds.same:
        scaling = fit_scaling(mixed[knows], own[knows], weight, joint=True)
    return Stack(tuple(part for part, _ in learnt), shares, scaling), scaling.apply(mixed)


def _learn(
    estimator: Any, X: Any, rows: Coded, folds: Folds, seed: int, n_jobs: int | None, on_fit: Callable[[], None]
) -> tuple[Posteriors, Array]:
    held, same = folds.held, folds.same
    parts = [fit for fit, _ in folds.pairs] + ([] if same else [np.arange(len(rows.label), dtype=np.intp)])
    jobs = (delayed(fit_posteriors)(estimator, X, rows, only, seed) for only in parts)
    models = run_jobs(jobs, n_jobs, on_fit, sum(size > 1 for size in rows.sizes))
    raw = [np.zeros((len(held), size)) for size in rows.sizes]
    for (_, out), model in zip(folds.pairs, models, strict=False):
        left = take_rows(X, out)
        for P, guess in zip(raw, model.guesses, strict=True):
            P[np.searchsorted(held, out)] = guess.raw(left, len(out))
    return _scaled(list(models[-1].guesses), raw, rows, held, same)


def _left_out(closed: LogisticRows, rows: Coded, on_fit: Callable[[], None]) -> tuple[Posteriors, Array]:
    """Fit logistic regressions once, to the label and to the cell of every label, and leave rows out of them."""
    raw, guesses = [], []
    labels = len(rows.cells)
    for task, ((knows, _), size) in enumerate(zip(rows.tasks, rows.sizes, strict=True)):
        if size == 1:
            guesses.append(Guess(None, np.zeros(1, dtype=np.intp), Scaling.none(1)))
            raw.append(np.ones((len(rows.label), 1)))
            continue
        table = np.full((labels, int(rows.cell.max()) + 1), -1, dtype=np.intp)
        if task == 0:
            table[:] = np.arange(labels)[:, None]
        else:
            table[task - 1, list(rows.cells[task - 1])] = np.arange(size)
        weight = float(len(knows) if rows.weight is None else rows.weight[knows].sum())
        guess, P = closed.guess(table, size, weight)
        guesses.append(guess)
        raw.append(P)
        on_fit()
    return _scaled(guesses, raw, rows, np.arange(len(rows.label), dtype=np.intp), same=False)


def _scaled(guesses: list[Guess], raw: list[Array], rows: Coded, held: Ints, same: bool) -> tuple[Posteriors, Array]:
    """Scale guesses to what they say of rows left out, ``raw``; return them, and P(label, cell) of these rows."""
    for task, (P, (knows, codes)) in enumerate(zip(raw, rows.tasks, strict=True)):
        if not same and guesses[task].model is not None:
            places = np.flatnonzero(np.isin(held, knows))
            weight = None if rows.weight is None else rows.weight[held[places]]
            guesses[task] = replace(guesses[task], scaling=fit_scaling(P[places], codes[held[places]], weight))
    pairs = Posteriors(guesses[0], tuple(guesses[1:])).joined(raw)
    kept = [guess.folded() for guess in guesses]
    return Posteriors(kept[0], tuple(kept[1:])), pairs


def mixing_shares(likelihood: Array, weight: Array | None = None) -> Array:
    """Return the shares of a mixture with the smallest log loss, from each part's P(own pair), (n, parts).

    Expectation and maximisation: the mean share of every part in what it says of the rows.
    """
    n, parts = likelihood.shape
    shares, each = np.full(parts, 1.0 / parts), np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    known = np.maximum(likelihood, SURE)
    for _ in range(MIXING if parts > 1 else 0):
        said = known * shares
        moved = each @ (said / said.sum(axis=1, keepdims=True))
        if np.abs(moved - shares).max() < SETTLED:
            break
        shares = moved
    return shares


class RuleClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decide by weighted posteriors: label j scores the sum over pairs of P(pair | x) weights[pair, j].

    It comes fitted, and ``fit`` leaves it as it is. It needs no sensitive feature, but guesses it from the others.
    Probabilities are those of the label, which the guess does not move; decisions follow the score.

    Parameters
    ----------
    posteriors : Stack
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
        return int(self.posteriors.parts[0].label.model.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        return np.asarray(self.posteriors.parts[0].label.model.feature_names_in_)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> RuleClassifier:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> Array:
        """Return probabilities of the labels, (n, K), which do not decide.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        """
        return np.asarray(self.posteriors.labels(self.posteriors.pairs(X)))

    def decision_function(self, X: Any) -> Array:
        """Return the score of the rule, (n,) for two labels (above 0 decides for the second), else (n, K).

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        """
        found = rule_scores(self.posteriors.pairs(X), self.weights)
        return found[0] if len(found) == 1 else np.ascontiguousarray(found.T)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the decided label of every row.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
        """
        found = rule_scores(self.posteriors.pairs(X), self.weights)
        return np.asarray(self.classes_[found.argmax(axis=0) if len(found) > 1 else (found[0] > 0).astype(np.intp)])


def rule_scores(pairs: Array, weights: Array) -> Array:
    """Return scores (1 or K, n) of rules of decisions, from P(pair | x), (n, pairs), and weights (pairs, K)."""
    if weights.shape[1] == 2:
        return np.asarray((pairs @ (weights[:, 1] - weights[:, 0]))[None])
    return np.ascontiguousarray((pairs @ weights).T)
