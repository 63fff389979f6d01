"""Statistics of a column that comes in chunks: counts, different values, range, median, mean and spread.

A column in memory is one chunk. Counts, ranges and medians are exact; numbers of different values are exact up to the
limit that a caller sets, and good estimates beyond; hashes are kept for them, values are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .raw_cells import Array, Kind

Hashes = NDArray[np.uint64]
KEPT = 1 << 14
"""Hashes that are kept of a column too long for memory."""
FEW_VALUES = 20
"""Numbers of so few different values are counted: mean and scale would tell how many rows have a rare one of them."""
WIDTHS = (0.01, 0.1, 0.5)
"""Shares of a random sample on either side of its median, between which the median of all rows is looked for."""
MERGED = 1 << 16
"""Numbers near the median that wait until each of them is kept once, with its count."""
ROUNDING = 1e-12
"""A spread below this share of the mean is no more than rounding."""


class DistinctCount:
    """Count distinct values by their smallest hashes (k minimum values).

    Up to k = ``kept`` distinct values the count is exact; None keeps them all. Beyond, with u the k-th smallest hash
    as a share of the range, the estimate is (k - 1) / u, whose standard error is about 1 / sqrt(k) = 0.8 %.
    """

    def __init__(self, kept: int | None = KEPT) -> None:
        self.kept, self.full = kept, False
        self.smallest: Hashes = np.empty(0, dtype=np.uint64)
        self.pending: list[Hashes] = []

    def add(self, hashes: Hashes) -> None:
        """Take note of some more values."""
        if self.full:
            hashes = hashes[hashes < self.smallest[-1]]
        self.pending.append(hashes)
        if sum(map(len, self.pending)) >= 2 * KEPT:  # sorting is dear, so it is done seldom
            self._merge()

    def _merge(self) -> None:
        if self.pending:
            self.smallest = np.unique(np.concatenate([self.smallest, *self.pending]))[: self.kept]
            self.pending.clear()
            self.full = len(self.smallest) == self.kept

    @property
    def exact(self) -> bool:
        """Tell whether the count is exact."""
        self._merge()
        return not self.full

    @property
    def count(self) -> int:
        """Return the number of distinct values, or its estimate."""
        if self.exact:
            return len(self.smallest)
        return round((len(self.smallest) - 1) / (float(self.smallest[-1]) / 2.0**64))


def hash_numbers(values: NDArray[Any]) -> Hashes:
    """Return 64-bit hashes of floats, mixed so that near numbers are far apart (splitmix64)."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0 makes one zero of two
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = bits ^ (bits >> np.uint64(31))
    return mixed


def hash_texts(texts: Iterable[str]) -> Hashes:
    """Return 64-bit hashes of texts that are the same in every process."""
    digests = b"".join(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, dtype=np.uint64)


@dataclass(frozen=True)
class ColumnFacts:
    """How many rows have a value, how many values differ (an estimate unless ``exact``), and the numbers' range."""

    kind: Kind
    present: int
    n_distinct: int
    exact: bool = True
    integers: bool = False
    low: float = 0.0
    high: float = 0.0


class FactTally:
    """The facts of a column so far."""

    def __init__(self, kept: int | None = KEPT) -> None:
        self.distinct, self.present = DistinctCount(kept), 0
        self.integers, self.low, self.high = True, np.inf, -np.inf

    def add_numbers(self, known: Array) -> None:
        """Take note of rows with a number."""
        self.present += len(known)
        if len(known):
            self.distinct.add(hash_numbers(known))
            self.integers = self.integers and bool((known == np.rint(known)).all())
            self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))

    def add_levels(self, hashes: Hashes, present: int) -> None:
        """Take note of so many rows with a text, by the hashes of their different texts."""
        self.present += present
        self.distinct.add(hashes)

    def result(self, kind: Kind) -> ColumnFacts:
        """Return what is known at the end."""
        exact, count = self.distinct.exact, min(self.distinct.count, self.present)
        if kind == "category" or not self.present:
            return ColumnFacts(kind, self.present, count, exact)
        return ColumnFacts(kind, self.present, count, exact, self.integers, self.low, self.high)


class MedianSearch:
    """Find the median of n numbers: count those below a bracket, and keep those inside.

    The bracket is taken from a random sample. With 100 000 rows it misses the median about once in a thousand million
    times; a wider one is then tried in another pass. The last one is the whole line.
    """

    def __init__(self, sample: Array, n: int) -> None:
        self.sample, self.n, self.tried = np.sort(sample[~np.isnan(sample)]), n, 0
        self.few: dict[float, int] | None = None if _has_many_values(self.sample) else {}
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
        """Take some more numbers; those of few different values are counted in the first pass."""
        if self.few is not None and not self.tried:
            for value, count in zip(*(each.tolist() for each in np.unique(known, return_counts=True)), strict=True):
                self.few[value] = self.few.get(value, 0) + count
            self.few = self.few if len(self.few) <= FEW_VALUES else None
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
        """Return the middle value, or the mean of the two middle values; 0 where there is none."""
        if not self.n:
            return 0.0
        ends = self.below + np.cumsum(self.counts)
        middle = [self.values[np.searchsorted(ends, rank, side="right")] for rank in ((self.n - 1) // 2, self.n // 2)]
        return float(np.mean(middle))

    def rare(self, min_count: int) -> Array:
        """Return those of a few values that fewer than ``min_count`` rows have, unless these are half of the rows."""
        values, counts = np.array(list(self.few or {})), np.array(list((self.few or {}).values()), dtype=np.intp)
        few = counts < min_count
        return values[few & bool(2 * counts[few].sum() < counts.sum())]


def _has_many_values(known: Array) -> bool:
    return any(len(np.unique(some)) > FEW_VALUES for some in (known[:1000], known) if len(some))


class Moments:
    """Mean and standard deviation so far; chunks are merged as Chan, Golub and LeVeque (1983) do.

    One chunk gives what NumPy gives for it, to the last bit.
    """

    def __init__(self) -> None:
        self.n, self.mean, self.spread = 0, 0.0, 0.0

    def add(self, values: Array) -> None:
        """Take some more numbers, none of which is missing."""
        if not len(values):
            return
        size = float(np.abs(values).max()) or 1.0  # divided out first, so that squares of huge numbers stay finite
        mean, spread = float((values / size).mean()) * size, float((values / size).std()) * size
        self.n += len(values)
        share, shift = len(values) / self.n, mean - self.mean
        between = math.sqrt(share * (1 - share)) * shift
        self.mean += share * shift
        self.spread = math.hypot(math.sqrt(1 - share) * self.spread, math.sqrt(share) * spread, between)

    @property
    def factor(self) -> float:
        """Return 1 / standard deviation, 0 where that is no more than rounding."""
        return 1.0 / self.spread if self.spread > max(ROUNDING * abs(self.mean), 1e-300) else 0.0
