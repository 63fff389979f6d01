"""Predictions of any regressor judged per group: mean prediction, mean residual and squared error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..objectives import Array
from ..validation import check_weights
from .contrasts import PerGroup
from .sums import as_models, membership, ratio, weighted_sums


@dataclass(frozen=True, eq=False)
class GroupMeans(PerGroup):
    """Weighted means of N models in the c groups of one attribute, (N, c); NaN for a group without weight.

    - ``prediction``  mean prediction
    - ``residual``    mean of value minus prediction: above 0 where the model predicts too little
    - ``mse``         mean of (value - prediction)^2, twice the squared loss that models are trained on
    """

    names: ClassVar[tuple[str, ...]] = ("prediction", "residual", "mse")

    prediction: Array
    residual: Array
    mse: Array


def group_means(
    predictions: ArrayLike,
    values: ArrayLike,
    codes: ArrayLike,
    levels: Sequence[str],
    sample_weight: ArrayLike | None = None,
) -> GroupMeans:
    """Compute the means of N models in each group.

    Parameters
    ----------
    predictions : array of shape (N, n) or (n,)
    values : array of shape (n,)
        What was to be predicted.
    codes, levels, sample_weight
        As in `fairfront.measures.group_rates`.
    """
    return mean_sums(predictions, values, codes, len(levels), sample_weight).rates(levels)


@dataclass(frozen=True, eq=False)
class MeanSums:
    """Sums over rows from which `GroupMeans` follow; those of two sets of rows add up field by field."""

    n: Array
    weight: Array
    prediction: Array
    residual: Array
    squared: Array

    def rates(self, levels: Sequence[str]) -> GroupMeans:
        """Divide the sums."""
        return GroupMeans(
            levels=tuple(levels),
            n=self.n,
            weight=self.weight,
            prediction=ratio(self.prediction, self.weight),
            residual=ratio(self.residual, self.weight),
            mse=ratio(self.squared, self.weight),
        )


def mean_sums(
    predictions: ArrayLike, values: ArrayLike, codes: ArrayLike, c: int, sample_weight: ArrayLike | None = None
) -> MeanSums:
    """Sum predictions and errors of N models in c groups; arguments are those of `group_means`."""
    truth = np.asarray(values, dtype=np.float64)
    predicted = as_models(predictions, len(truth), "predictions")
    member = membership(codes, len(truth), c)
    row_weight = check_weights(sample_weight, len(truth))
    columns = member if row_weight is None else member * row_weight[:, None]
    return MeanSums(
        n=member.sum(axis=0),
        weight=columns.sum(axis=0),
        prediction=weighted_sums(predicted, columns),
        residual=weighted_sums(predicted, columns, lambda block: truth - block),
        squared=weighted_sums(predicted, columns, lambda block: (truth - block) ** 2),
    )
