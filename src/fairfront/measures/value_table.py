"""Columns of an audit's table for regression: means of predictions, residuals and squared residuals per line."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..objectives import Array
from .disclosure import in_units, publish_weights
from .group_table import Sureness, normal_columns
from .intervals import normal_quantile
from .lines import Lines, count
from .sums import ratio
from .worst import Worst, worst_means


def value_columns(
    truth: Array,
    predicted: Array,
    row_weight: Array | None,
    lines: Lines,
    sure: Sureness,
    shown: Array | None = None,
    known: bool = True,
) -> tuple[dict[str, Any], tuple[Worst, ...]]:
    """Return rows, weights and means with normal intervals, and the worst gaps.

    ``shown`` are published numbers of rows, beside which weights and means are given in units of what one row adds;
    those of all rows are not where their number is ``known``.
    """
    nothing = np.zeros(len(truth), dtype=np.intp)
    counts = count(lines, nothing, nothing, 1, row_weight)
    weight = counts.weight[:, 0, 0]
    size = np.nan_to_num(ratio(weight**2, counts.squared[:, 0, 0]))
    n = counts.rows[:, 0, 0]
    columns: dict[str, Any] = {"n": lines.whole(n if shown is None else shown), "weight": weight}
    if shown is not None:
        mean_weight = float(weight[-1] / n[-1])
        columns["weight"] = np.append(publish_weights(weight[:-1], n[:-1], shown[:-1], mean_weight), weight[-1])
    residual = truth - predicted
    z = normal_quantile(sure.of_pairs(lines.c))
    worst = []
    for name, values in {"prediction": predicted, "residual": residual, "mse": residual**2}.items():
        mean, error = _means(lines, values, row_weight, weight, size)
        if shown is not None:
            one = np.nan_to_num(error * np.sqrt(size)) / np.where(shown > 0, shown, 1.0)
            mean = in_units(mean, np.append(one[:-1], 0.0 if known else one[-1]))
        columns |= normal_columns(name, mean, error, lines, sure)
        worst.append(worst_means(name, mean, error, lines, z))
    return columns, tuple(worst)


def _means(lines: Lines, values: Array, row_weight: Array | None, weight: Array, size: Array) -> tuple[Array, Array]:
    """Return the mean of every line and its standard error."""
    shift = float(values.mean())
    first, second = (_sums(lines, (values - shift) ** k, row_weight) for k in (1, 2))
    mean = ratio(first, weight)
    spread = np.maximum(ratio(second, weight) - mean**2, 0.0)
    return mean + shift, np.sqrt(ratio(spread, np.where(size > 1, size - 1.0, np.nan)))


def _sums(lines: Lines, values: Array, row_weight: Array | None) -> Array:
    weighted = values if row_weight is None else values * row_weight
    if lines.shares is not None:
        return np.append(weighted @ lines.shares, weighted.sum())
    assert lines.codes is not None
    total = np.bincount(lines.codes, weighted, minlength=len(lines.names) - 1)
    return np.append(total, weighted.sum())
