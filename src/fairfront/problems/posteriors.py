"""Posteriors: how likely every label is, and every group given a label, for a row of features.

They are learnt once, by plain fits, and every rule of decisions on the frontier weighs them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from ..objectives import Array
from ..validation.inputs import take_rows
from .fit_rows import Folds, Ints
from .guesses import Coded, Posteriors, fit_posteriors, fit_scaling
from .weighted_fits import run_jobs


def learn_posteriors(
    estimator: Any, X: Any, rows: Coded, folds: Folds, seed: int, n_jobs: int | None, on_fit: Callable[[], None]
) -> tuple[Posteriors, Array]:
    """Return posteriors of all rows, scaled to rows left out of the folds' fits, and P(label, cell) of the latter."""
    held, same = folds.held, folds.same
    parts = [fit for fit, _ in folds.pairs] + ([] if same else [np.arange(len(rows.label), dtype=np.intp)])
    jobs = (delayed(fit_posteriors)(estimator, X, rows, only, seed) for only in parts)
    models = run_jobs(jobs, n_jobs, on_fit, sum(size > 1 for size in rows.sizes))
    raw = [np.zeros((len(held), size)) for size in rows.sizes]
    for (_, out), model in zip(folds.pairs, models, strict=False):
        left = take_rows(X, out)
        for P, guess in zip(raw, model.guesses, strict=True):
            P[np.searchsorted(held, out)] = guess.raw(left, len(out))
    if same:
        return models[-1], models[-1].joined(raw)
    return _scaled(models[-1], raw, rows, held)


def _scaled(plain: Posteriors, raw: list[Array], rows: Coded, held: Ints) -> tuple[Posteriors, Array]:
    """Scale every guess, and then all pairs together, to what is said of rows left out, ``raw``."""
    guesses = []
    for guess, P, (knows, codes) in zip(plain.guesses, raw, rows.tasks, strict=True):
        places = np.flatnonzero(np.isin(held, knows))
        weight = None if rows.weight is None else rows.weight[held[places]]
        fitted = guess.model is not None
        scaling = fit_scaling(P[places], codes[held[places]], weight) if fitted else guess.scaling
        guesses.append(replace(guess, scaling=scaling))
    pairs = Posteriors(guesses[0], tuple(guesses[1:]), plain.scaling).joined(raw)
    own = rows.pair[held]
    knows = np.flatnonzero(own >= 0)
    weight = None if rows.weight is None else rows.weight[held[knows]]
    scaling = fit_scaling(pairs[knows], own[knows], weight, joint=True)
    label, *members = (guess.folded() for guess in guesses)
    return Posteriors(label, tuple(members), scaling), scaling.apply(pairs)


class RuleClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decide by weighted posteriors: label j scores the sum over pairs of P(pair | x) weights[pair, j].

    It comes fitted, and ``fit`` leaves it as it is. It needs no sensitive feature, but guesses it from the others.
    Probabilities are those of the label, which the guess does not move; decisions follow the score.

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
