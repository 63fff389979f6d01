"""Two models judged on the same rows: intervals of differences, and which models differ significantly.

A difference of two shares on the same rows rests on the rows where the two differ. With b rows for the one and c for
the other of n, Agresti and Min (Statistics in Medicine 24, 2005, 729-740) add half a row to each of the four cells:

    (b - c) / (n + 2)  -+  z sqrt(b + c + 1 - (b - c)^2 / (n + 2)) / (n + 2)

Means of values (regression) take the plain normal interval of the differences. With unequal weights, n is Kish's
effective number of rows and b, c are scaled to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures.intervals import normal_quantile
from ..objectives import Array

ROWS_AT_ONCE = 16_384


@dataclass(frozen=True, eq=False)
class Change:
    """A difference with the ends of its interval, arrays of one shape."""

    value: Array
    lower: Array
    upper: Array

    def less(self, other: Change) -> Change:
        """Return this difference less another on other people (squared and added, as Newcombe does for two shares)."""
        value = self.value - other.value
        down = np.hypot(self.value - self.lower, other.upper - other.value)
        up = np.hypot(self.upper - self.value, other.value - other.lower)
        return Change(value, value - down, value + up)

    def moved_to(self, value: Array) -> Change:
        """Return this difference with another value in the middle of its interval."""
        return Change(value, self.lower - self.value + value, self.upper - self.value + value)

    @property
    def excludes_zero(self) -> NDArray[np.bool_]:
        """Tell where zero lies outside the interval."""
        return np.asarray((self.lower > 0) | (self.upper < 0))


def share_change(gained: Array, lost: Array, size: Array, confidence: float) -> Change:
    """Return the change of a share when ``gained`` of ``size`` rows come in and ``lost`` go out."""
    net, differ = gained - lost, gained + lost
    n = np.where(size > 0, size, np.nan)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(differ + 1.0 - net**2 / (n + 2.0), 0.0)) / (n + 2.0)
    middle = net / (n + 2.0)
    value = net / n
    return Change(value, np.minimum(middle - half, value), np.maximum(middle + half, value))


def mean_change(mean: Array, square: Array, size: Array, confidence: float) -> Change:
    """Return the change of a mean from the mean and mean square of the rows' differences."""
    n = np.where(size > 1, size, np.nan)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(square - mean**2, 0.0) / n)
    return Change(mean, mean - half, mean + half)


def effective_rows(columns: Array) -> Array:
    """Return Kish's effective number of rows of each column of weights, (q,)."""
    squared = (columns**2).sum(axis=0)
    return np.asarray(columns.sum(axis=0) ** 2 / np.where(squared > 0, squared, 1.0))


def pairwise(values: NDArray[Any], weight: Array, confidence: float, *, share: bool) -> Change:
    """Return the differences of weighted means between any two of k models, (k, k), row model less column model.

    ``values`` (k, n) are flags where ``share`` is true; products run over blocks of rows.
    """
    k, total = len(values), float(weight.sum())
    product, mean = np.zeros((k, k)), np.zeros(k)
    kind: Any = np.float32 if share else np.float64
    for start in range(0, values.shape[1], ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        block: NDArray[Any] = values[:, part].astype(kind)
        row: NDArray[Any] = weight[part].astype(kind)
        product += np.asarray((block * row) @ block.T, dtype=np.float64)
        mean += np.asarray(block @ row, dtype=np.float64)
    size = float(effective_rows(weight[:, None])[0])
    if total <= 0:
        return Change(*(np.full((k, k), np.nan) for _ in range(3)))
    own = np.diag(product) / total
    square = np.maximum(own[:, None] + own[None, :] - 2.0 * product / total, 0.0)
    difference = (mean[:, None] - mean[None, :]) / total
    if not share:
        return mean_change(difference, square, np.asarray(size), confidence)
    gained, lost = (np.maximum(square + s * difference, 0.0) * size / 2.0 for s in (1.0, -1.0))
    return share_change(gained, lost, np.asarray(size), confidence)


def differing_pairs(
    overall: NDArray[Any], rates: Sequence[tuple[NDArray[Any], Array]], weight: Array, confidence: float, *, share: bool
) -> NDArray[np.bool_]:
    """Return which two of k models differ significantly, (k, k): in error or in a gap to the reference.

    ``rates`` pairs flags (k, n) with the weights (n, c) of the rows that the rate is about, the reference last.
    """
    found = pairwise(overall, weight, confidence, share=share).excludes_zero
    for values, columns in rates:
        per_group = [pairwise(values, column, confidence, share=share) for column in columns.T]
        for one in per_group[:-1]:
            found |= one.less(per_group[-1]).excludes_zero
    return found
