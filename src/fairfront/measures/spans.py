"""Values of rounded counts with the least and the most that exact ones can be, and how they are written.

What rounding may have moved notably is written as these two ends, ``0.15-0.26``: the value between them is that of
rounded counts, and nobody's. The ends follow from what is published (see `ranges`), so they tell nothing new.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .counts import ratio

NO_BOUND = "no bound: nobody of the other group may have it"
NOTABLE = 0.02
"""How far rounding may move a share before its ends are written; of means in a target's unit, as a share of them."""


def notable(value: Any, least: Any, most: Any, *, means: bool = False, by: float = NOTABLE) -> NDArray[np.bool_]:
    """Tell where the exact value may be notably off; ``means`` are in the unit of a target."""
    off = np.maximum(np.subtract(most, value), np.subtract(value, least))
    scale = np.maximum(np.abs(least), np.abs(most)) if means else 1.0
    return np.asarray(off > by * scale)


def plain_number(value: Any) -> Any:
    """Return a value for JSON, which has no word for infinity."""
    return NO_BOUND if isinstance(value, float) and math.isinf(value) else value


def share_ends(least: float, most: float) -> str:
    """Write the ends of a share, rounded outward."""
    if math.isinf(most):
        return f"{least:.2f} or more"
    low, high = math.floor(100.0 * least + 1e-9) / 100.0, math.ceil(100.0 * most - 1e-9) / 100.0
    return f"{low:.2f}{'-' if low >= 0 else ' to '}{high:.2f}"


def with_ends(text: str, ends: Sequence[float] = (), write: Callable[[float], str] | None = None) -> str:
    """Return what exact values can be, where there are such ends, in the place of a text; shares unless told how."""
    if not len(ends):
        return text
    return share_ends(*ends) if write is None else f"{write(ends[0])} to {write(ends[1])}"


def count_ends(value: float, ends: Sequence[float] = ()) -> str:
    """Write a number of people, or the least and the most that it can be."""
    return f"{ends[0]:.0f}-{ends[1]:.0f}" if len(ends) and ends[0] < ends[1] else f"{value:.0f}"


@dataclass(frozen=True, eq=False)
class Range:
    """A published value with the least and the most that the exact one can be, arrays of one shape."""

    shown: Array
    low: Array
    high: Array

    @classmethod
    def exactly(cls, value: Array) -> Range:
        return cls(value, value, value)

    def at(self, *places: Any) -> Range:
        return Range(self.shown[places], self.low[places], self.high[places])

    def sum(self, axis: Any) -> Range:
        return Range(self.shown.sum(axis=axis), self.low.sum(axis=axis), self.high.sum(axis=axis))

    @property
    def whole(self) -> Range:
        return Range(self.shown, np.ceil(self.low - 1e-9) + 0.0, np.floor(self.high + 1e-9))

    @property
    def width(self) -> Array:
        return np.asarray(np.maximum(self.high - self.shown, self.shown - self.low))

    def notable_ends(self, *, means: bool = False, by: float = NOTABLE) -> Array | None:
        """Return the ends (..., 2), NaN where values are hardly off; None where all are such."""
        there = notable(self.shown, self.low, self.high, means=means, by=by)
        return np.where(there[..., None], np.stack([self.low, self.high], axis=-1), np.nan) if there.any() else None


def each_end(change: Callable[[Array], Array], some: Range) -> Range:
    return Range(change(some.shown), change(some.low), change(some.high))


def stacked(axis: int, *some: Range) -> Range:
    return Range(*(np.stack([getattr(each, end) for each in some], axis=axis) for end in ("shown", "low", "high")))


def joined(one: Range, other: Range, axis: int) -> Range:
    ends = ("shown", "low", "high")
    return Range(*(np.concatenate([getattr(one, end), getattr(other, end)], axis=axis) for end in ends))


@dataclass(frozen=True, eq=False)
class RateRange:
    """The least and the most that exact rates of groups can be, (N, c), and the fewest rows behind, (c,) or (N, c).

    NaN for groups that surely have no such rows; those that may have some, or are pooled, have any rate and 0 rows.
    """

    low: Array
    high: Array
    least: Array

    def take(self, places: Any) -> RateRange:
        least = self.least[places] if self.least.ndim == self.low.ndim else self.least
        return RateRange(self.low[places], self.high[places], least)

    def at(self, groups: NDArray[np.intp]) -> RateRange:
        return RateRange(self.low[:, groups], self.high[:, groups], self.least[groups])

    def pooled(self, place: int) -> RateRange:
        """Return ranges in which nothing is known of the groups that are together in one place."""
        low, high, least = (np.array(each) for each in (self.low, self.high, self.least))
        low[:, place], high[:, place], (least.T if least.ndim == low.ndim else least)[place] = 0.0, 1.0, 0.0
        return RateRange(low, high, least)

    def surely(self, model: int, lowest: int, highest: int) -> bool:
        """Tell whether these two groups of a model have the lowest and the highest rate, whatever the exact counts."""
        low, high = self.low[model], self.high[model]
        below = np.fmin.reduce(np.delete(low, lowest), initial=np.inf)
        above = np.fmax.reduce(np.delete(high, highest), initial=-np.inf)
        return bool(high[lowest] <= below and above <= low[highest])

    @property
    def gap(self) -> tuple[Array, Array]:
        """Return the least and the most that the largest gap between two groups can be, (N,)."""
        sure = np.where(np.isnan(self.low) | (self.least == 0), np.nan, 1.0)  # others need not have the rate
        least = np.fmax.reduce(self.low * sure, axis=1) - np.fmin.reduce(self.high * sure, axis=1)
        ordered = self.low.shape[1]
        apart = [self.high[:, i] - self.low[:, j] for i in range(ordered) for j in range(ordered) if i != j]
        most = np.fmax.reduce(apart, axis=0, initial=np.nan) if apart else np.full(self.low[:, 0].shape, np.nan)
        anything = ((self.least == 0) & ~np.isnan(self.low)).any(axis=1)  # of several that are pooled, too
        least, most = np.maximum(np.nan_to_num(least), 0.0), np.where(anything, 1.0, most)
        if least.ndim > 1:
            least, most = np.fmax.reduce(least, axis=1), np.fmax.reduce(most, axis=1)
        return least, most

    @property
    def ratio(self) -> tuple[Array, Array]:
        """Return the least and the most that the lowest rate over the highest can be, (N,)."""
        sure = np.where(np.isnan(self.low) | (self.least == 0), np.nan, 1.0)
        least = ratio(np.fmin.reduce(self.low, axis=1), np.fmax.reduce(self.high, axis=1))
        most = ratio(np.fmin.reduce(self.high * sure, axis=1), np.fmax.reduce(self.low * sure, axis=1))
        return np.nan_to_num(least), np.minimum(np.nan_to_num(most, nan=1.0), 1.0)
