"""Medians and moments of numbers that come in blocks: the median exactly, in the memory of the values around it."""

from __future__ import annotations

import numpy as np

from .blocks import FEW_VALUES, has_many_values, rare_values, settled
from .raw_cells import Array

WIDTHS = (0.01, 0.1, 0.5)
"""Shares of a random sample on either side of its median, between which the median of all rows is looked for."""
MERGED = 1 << 16


class MedianSearch:
    """Find the median of n numbers: count those below a bracket, and keep those inside.

    The bracket is taken from a random sample. With 100 000 rows it misses the median about once in a thousand million
    times; a wider one is then tried in another pass. The last one is the whole line.
    """

    def __init__(self, sample: Array, n: int) -> None:
        self.sample, self.n, self.tried = np.sort(sample[~np.isnan(sample)]), n, 0
        self._begin()

    def _begin(self) -> None:
        width, m = WIDTHS[self.tried], len(self.sample)
        low, high = int((0.5 - width) * m), int((0.5 + width) * m)
        self.low = self.sample[low] if low > 0 else -np.inf
        self.high = self.sample[high] if high < m else np.inf
        self.below = 0
        self.values, self.counts = np.empty(0), np.empty(0, dtype=np.intp)
        self.pending: list[Array] = []

    def add(self, known: Array) -> None:
        """Take some more numbers."""
        self.below += int((known < self.low).sum())
        self.pending.append(known[(known >= self.low) & (known <= self.high)])
        if sum(map(len, self.pending)) > MERGED:
            self._merge()

    def _merge(self) -> None:
        """Keep each value once, with its count."""
        new, sizes = np.unique(np.concatenate([np.empty(0), *self.pending]), return_counts=True)
        self.pending.clear()
        values, place = np.unique(np.concatenate([self.values, new]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.counts, sizes]), minlength=len(values))
        self.values, self.counts = values, counts.astype(np.intp)

    def settled(self) -> bool:
        """Tell whether the median was in the bracket; where not, begin with a wider one."""
        self._merge()
        inside = self.below <= (self.n - 1) // 2 and self.n // 2 < self.below + int(self.counts.sum())
        if inside or not self.n:
            return True
        self.tried += 1
        self._begin()
        return False

    def median(self) -> float:
        """Return the middle value, or the mean of the two middle values."""
        ends = self.below + np.cumsum(self.counts)
        middle = [self.values[np.searchsorted(ends, rank, side="right")] for rank in ((self.n - 1) // 2, self.n // 2)]
        return float(np.mean(middle))


class Moments:
    """Sums of numbers and their squares, from a sample's mean on and in units of its size, so that little is lost."""

    def __init__(self, sample: Array) -> None:
        known = sample[~np.isnan(sample)]
        self.size = float(np.abs(known).max(initial=0.0)) or 1.0
        self.centre = float((known / self.size).mean()) if len(known) else 0.0
        self.n, self.first, self.second = 0, 0.0, 0.0
        self.counts: dict[float, int] | None = None if has_many_values(known) else {}

    def add(self, known: Array) -> None:
        """Take some more numbers; those of few different values are counted."""
        if self.counts is not None:
            for value, count in zip(*(each.tolist() for each in np.unique(known, return_counts=True)), strict=True):
                self.counts[value] = self.counts.get(value, 0) + count
            self.counts = self.counts if len(self.counts) <= FEW_VALUES else None
        away = known / self.size - self.centre
        self.n += len(known)
        self.first += float(away.sum())
        self.second += float(away @ away)

    def of(self, filled: float, absent: int, min_count: int) -> tuple[float, float]:
        """Return mean and standard deviation with a value put in for every absent row, and for rare ones of a few."""
        known = self.counts or {}
        counts = np.array(list(known.values()), dtype=np.intp)
        rare = rare_values(counts, min_count)
        gone, times = np.array(list(known))[rare] / self.size - self.centre, counts[rare]
        away, n, put = filled / self.size - self.centre, self.n + absent, absent + int(times.sum())
        first, second = self.first - float(gone @ times), self.second - float(gone**2 @ times)
        shift = (first + put * away) / n
        variance = max((second + put * away * away) / n - shift * shift, 0.0)
        return settled((self.centre + shift) * self.size, float(np.sqrt(variance)) * self.size)
