"""Differences of two models on the same rows, with intervals: shares, means, and the area under the ROC curve.

A difference of two shares rests on the rows where the two models differ. With b rows for the one and c for the other of
n, Agresti and Min (Statistics in Medicine 24, 2005, 729-740) add half a row to each of the four cells:

    (b - c) / (n + 2)  -+  z sqrt(b + c + 1 - (b - c)^2 / (n + 2)) / (n + 2)

Means of values (regression) take the plain normal interval of the differences. With unequal weights, n is Kish's
effective number of rows and b, c are scaled to it.

The difference of two areas takes the variance of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988, 837-845): that
of each row's place among the rows of the other label, the one model's less the other's. Weights count as the weights of
a mean, sum w^2 (v - mean)^2 / (sum w)^2, which is theirs where all are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..objectives import Array
from .claims import Sides, changed_sides
from .counts import ratio, weighted_sums
from .intervals import normal_quantile


def rounded(values: ArrayLike, digits: int = 6) -> list[Any]:
    """None for NaN."""
    array = np.round(np.asarray(values, dtype=np.float64), digits)
    found = array.astype(object)
    found[~np.isfinite(array)] = None
    return list(found.tolist())


@dataclass(frozen=True, eq=False)
class Change:
    """A difference with the ends of its interval, arrays of one shape."""

    value: Array
    lower: Array
    upper: Array

    def less(self, other: Change) -> Change:
        """Of other people: squared and added, as Newcombe does for two shares."""
        value = self.value - other.value
        down = np.hypot(self.value - self.lower, other.upper - other.value)
        up = np.hypot(self.upper - self.value, other.value - other.lower)
        return Change(value, value - down, value + up)

    def moved_to(self, value: Array) -> Change:
        return Change(value, self.lower - self.value + value, self.upper - self.value + value)

    def columns(self, part: slice | int) -> Change:
        return Change(self.value[:, part], self.lower[:, part], self.upper[:, part])

    def at(self, place: int) -> Change:
        return Change(self.value[place], self.lower[place], self.upper[place])

    def listed(self) -> dict[str, Any]:
        return {"change": rounded(self.value), "lower": rounded(self.lower), "upper": rounded(self.upper)}

    @property
    def excludes_zero(self) -> NDArray[np.bool_]:
        return np.asarray((self.lower > 0) | (self.upper < 0))


def share_change(gained: Array, lost: Array, size: Array, confidence: float) -> Change:
    """Of a share when ``gained`` of ``size`` rows come in and ``lost`` go out."""
    net, differ = gained - lost, gained + lost
    n = np.where(size > 0, size, np.nan)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(differ + 1.0 - net**2 / (n + 2.0), 0.0)) / (n + 2.0)
    middle, value = net / (n + 2.0), net / n
    return Change(value, np.minimum(middle - half, value), np.maximum(middle + half, value))


def mean_change(mean: Array, square: Array, size: Array, confidence: float) -> Change:
    """From the mean and mean square of the rows' differences."""
    n = np.where(size > 1, size, np.nan)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(square - mean**2, 0.0) / n)
    return Change(mean, mean - half, mean + half)


def effective_rows(columns: Array) -> Array:
    """Kish's effective number of rows of each column of weights, (q,)."""
    squared = (columns**2).sum(axis=0)
    return np.asarray(columns.sum(axis=0) ** 2 / np.where(squared > 0, squared, 1.0))


def mean_changes(values: NDArray[Any], plain: int, columns: Array, people: Array, confidence: float) -> Change:
    """Of weighted means of N models against one of them in each column of weights (n, q), (N, q).

    ``people`` (q,) are published over exact rows.
    """
    before, total = values[plain], columns.sum(axis=0)
    mean = ratio(weighted_sums(values, columns, lambda block: block - before), total)
    square = ratio(weighted_sums(values, columns, lambda block: (block - before) ** 2), total)
    return mean_change(mean, square, effective_rows(columns) * people, confidence)


def share_changes(
    values: NDArray[np.bool_], plain: int, columns: Array, weight: Array, sides: Sides, people: Array, confidence: float
) -> Change:
    """Of weighted shares, as `mean_changes`; ``sides`` are the rows, as published, that came in and went out."""
    before, total = values[plain], columns.sum(axis=0)
    size = effective_rows(columns) * people
    exact = changed_sides(values, before, columns / weight[:, None])
    weights = changed_sides(values, before, columns)
    scale = np.nan_to_num(ratio(size, total * people))
    gained, lost = (
        w * np.nan_to_num(ratio(shown, all_rows)) * scale
        for w, shown, all_rows in zip(weights, sides, exact, strict=True)
    )
    return share_change(gained, lost, size, confidence)


def area_changes(
    scores: Array, positive: NDArray[np.bool_], weight: Array | None, plain: int, confidence: float
) -> Change:
    """Of the areas under the ROC curve of N models against one of them, (N,); scores (N, n) speak for ``positive``."""
    one = np.ones(len(positive)) if weight is None else weight
    before = _places(scores[plain], positive, one)
    value, variance = np.empty(len(scores)), np.empty(len(scores))
    for model, each in enumerate(scores):
        moved = _places(each, positive, one) - before
        mean, above = _mean_and_variance(moved[positive], one[positive])
        _, below = _mean_and_variance(moved[~positive], one[~positive])
        value[model], variance[model] = mean, above + below
    half = normal_quantile(confidence) * np.sqrt(variance)
    return Change(value, value - half, value + half)


def _places(scores: Array, positive: NDArray[np.bool_], weight: Array) -> Array:
    """Return the share of rows of the other label that each row is on the right side of, ties counting half, (n,)."""
    found, code = np.unique(scores, return_inverse=True)
    up, down = (np.bincount(code, np.where(kept, weight, 0.0), len(found)) for kept in (positive, ~positive))
    beaten = ratio(np.cumsum(down) - 0.5 * down, down.sum())
    beating = ratio(up.sum() - np.cumsum(up) + 0.5 * up, up.sum())
    return np.asarray(np.where(positive, beaten[code], beating[code]))


def _mean_and_variance(values: Array, weight: Array) -> tuple[float, float]:
    """Return a weighted mean and the variance of that mean; NaN for fewer than two rows."""
    n, total = len(values), float(weight.sum())
    if n < 2 or total <= 0:
        return np.nan, np.nan
    mean = float(values @ weight) / total
    return mean, float((weight**2) @ (values - mean) ** 2) / total**2 * n / (n - 1)
