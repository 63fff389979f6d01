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
    truth = np.asarray(values, dtype=np.float64)
    predicted = as_models(predictions, len(truth), "predictions")
    member = membership(codes, len(truth), len(levels))
    row_weight = check_weights(sample_weight, len(truth))
    columns = member if row_weight is None else member * row_weight[:, None]
    weight = columns.sum(axis=0)

    def mean(of: Array) -> Array:
        return ratio(of, weight)

    return GroupMeans(
        levels=tuple(levels),
        n=member.sum(axis=0),
        weight=weight,
        prediction=mean(weighted_sums(predicted, columns)),
        residual=mean(weighted_sums(predicted, columns, lambda block: truth - block)),
        mse=mean(weighted_sums(predicted, columns, lambda block: (truth - block) ** 2)),
    )
