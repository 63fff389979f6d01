"""Quality of many models on all rows: error, area under the ROC curve, mean squared error."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..objectives import Array
from ..validation import check_weights
from .sums import as_models, blocks, weighted_sums


def error_rate(decided: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
    """Return the weighted share of rows decided wrongly, (N,); decided is (N, n) or (n,), labels (n,)."""
    truth = np.asarray(labels)
    wrong = as_models(decided, len(truth), "decided") != truth
    weight = _row_weight(sample_weight, len(truth))
    return np.asarray(np.clip(weighted_sums(wrong, weight[:, None])[:, 0] / weight.sum(), 0.0, 1.0))


def mean_squared_error(predictions: ArrayLike, values: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
    """Return the weighted mean of (value - prediction)^2, (N,)."""
    truth = np.asarray(values, dtype=np.float64)
    predicted = as_models(predictions, len(truth), "predictions")
    weight = _row_weight(sample_weight, len(truth))
    total = weighted_sums(predicted, weight[:, None], lambda block: (truth - block) ** 2)[:, 0]
    return np.asarray(total / weight.sum())


def auc(scores: ArrayLike, is_positive: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
    """Return the area under the ROC curve of N models, (N,).

        P(score of a positive row > score of a negative row) + 1/2 P(the two are equal)

    Parameters
    ----------
    scores : array of shape (N, n) or (n,)
        Higher scores speak for the positive label.
    is_positive : array of bool, shape (n,)
    sample_weight : array of shape (n,), optional

    Notes
    -----
    Equals `sklearn.metrics.roc_auc_score`, weights and ties included; NaN when one of the two labels has no
    weight.
    """
    positive = np.asarray(is_positive, dtype=bool)
    ranked = as_models(scores, len(positive), "scores")
    weight = _row_weight(sample_weight, len(positive))
    up, across = np.where(positive, weight, 0.0), np.where(positive, 0.0, weight)
    whole = up.sum() * across.sum()
    if whole == 0:
        return np.full(len(ranked), np.nan)
    area = [_area(ranked[part], up, across) for part in blocks(*ranked.shape)]
    return np.asarray(np.clip(np.concatenate([np.empty(0), *area]) / whole, 0.0, 1.0))


def _area(scores: NDArray[Any], up: Array, across: Array) -> Array:
    """Add, for each model, up-weight times the across-weight below it, ties counting half.

    Models are laid end to end, one entry per distinct score: the running sums at the last row of each tie.
    """
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    last = np.ones(ranked.shape, dtype=bool)
    last[:, :-1] = ranked[:, 1:] != ranked[:, :-1]
    model = np.repeat(np.arange(len(scores)), last.sum(axis=1))
    starts = np.flatnonzero(np.diff(model, prepend=-1))
    above = np.cumsum(up[order], axis=1)[last]
    beside = np.cumsum(across[order], axis=1)[last]
    height = above - _shifted(above, starts)
    area = np.bincount(model, height * (beside + _shifted(beside, starts)), minlength=len(scores))
    return np.asarray(0.5 * area)


def _shifted(running: Array, starts: NDArray[np.intp]) -> Array:
    """Return the entry before each one, 0 at the start of a model."""
    before = np.concatenate([[0.0], running[:-1]])
    before[starts] = 0.0
    return before


def _row_weight(sample_weight: ArrayLike | None, n: int) -> Array:
    weight = check_weights(sample_weight, n)
    return np.ones(n) if weight is None else weight
