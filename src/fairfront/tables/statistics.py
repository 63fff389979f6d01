"""Statistics of columns that come in chunks: counts, different values, range, median, mean and spread.

A column in memory is one chunk. Counts, ranges and medians are exact; numbers of different values are exact up to the
limit that a caller sets, and good estimates beyond; hashes are kept for them, values are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .table import Array, Column, Kind, Table

Hashes = NDArray[np.uint64]
KEPT = 1 << 14
"""Hashes that are kept of a column too long for memory."""
NAMED_LEVELS = 100_000
"""Levels up to which their texts are kept; a column with more is an identifier, of which codes are enough."""
SAMPLE = 100_000
"""Most rows that relations between columns are judged on, and brackets of medians are taken from."""
FEW_VALUES = 20
"""Numbers of so few different values are all counted, without a bracket of the median."""
WIDTHS = (0.01, 0.1, 0.5)
"""Shares of a random sample on either side of its median, between which the median of all rows is looked for."""
MERGED = 1 << 16
"""Numbers near the median that wait until each of them is kept once, with its count."""
ROUNDING = 1e-12
"""A spread below this share of the mean is no more than rounding."""


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


class Tally:
    """How many rows of a column have a value, how many values differ, and the range of numbers, so far.

    Distinct values are counted by their smallest hashes (k minimum values). Up to k = ``kept`` of them the count is
    exact; None keeps them all. Beyond, with u the k-th smallest hash as a share of the range, the estimate is
    (k - 1) / u, whose standard error is about 1 / sqrt(k) = 0.8 %.
    """

    def __init__(self, kept: int | None = KEPT) -> None:
        self.kept, self.full, self.present = kept, False, 0
        self.integers, self.low, self.high = True, np.inf, -np.inf
        self.smallest: Hashes = np.empty(0, dtype=np.uint64)
        self.pending: list[Hashes] = []

    def add_numbers(self, known: Array) -> None:
        if len(known):
            self.integers = self.integers and bool((known == np.rint(known)).all())
            self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))
            self.add_levels(hash_numbers(known), len(known))

    def add_levels(self, hashes: Hashes, present: int) -> None:
        self.present += present
        self.pending.append(hashes[hashes < self.smallest[-1]] if self.full else hashes)
        if sum(map(len, self.pending)) >= 2 * KEPT:  # sorting is dear, so it is done seldom
            self._merge()

    def _merge(self) -> None:
        self.smallest = np.unique(np.concatenate([self.smallest, *self.pending]))[: self.kept]
        self.pending.clear()
        self.full = len(self.smallest) == self.kept

    @property
    def exact(self) -> bool:
        self._merge()
        return not self.full

    @property
    def n_distinct(self) -> int:
        if self.exact:
            return len(self.smallest)
        return min(self.present, round((len(self.smallest) - 1) / (float(self.smallest[-1]) / 2.0**64)))


class ColumnTally(Tally):
    """One column of training rows: besides its facts, the rows of each level, and the sampled rows."""

    def __init__(self, kind: Kind, kept: int | None) -> None:
        super().__init__(kept)
        self.kind, self.named = kind, True
        self.counts: dict[str, int] = {}
        self.parts: list[Column] = []

    def add(self, column: Column, drawn: NDArray[np.intp]) -> None:
        self.parts.append(column.take(drawn))
        if column.numbers is not None:
            self.add_numbers(column.numbers[~column.absent])
            return
        sizes = np.bincount(column.values[column.values >= 0], minlength=column.n_levels)
        seen = np.flatnonzero(sizes).tolist()
        self.named = self.named and column.named
        # codes without texts, of an identifier, tell values apart as well: they come in one table only
        texts = [column.levels[code] for code in seen] if column.named else []
        self.add_levels(hash_texts(texts) if column.named else hash_numbers(np.array(seen)), int(sizes.sum()))
        if self.named:
            for level, code in zip(texts, seen, strict=True):
                self.counts[level] = self.counts.get(level, 0) + int(sizes[code])
            self.named = len(self.counts) <= NAMED_LEVELS

    def sample(self) -> Column:
        """Return the sampled rows as one column; levels of several tables are sorted."""
        if len(self.parts) == 1:
            return self.parts[0]
        if self.kind == "number":
            return Column(np.concatenate([part.values for part in self.parts]))
        levels = sorted({part.levels[code] for part in self.parts for code in part.distinct()[1].tolist()})
        return Column.of_codes(np.concatenate([part.codes_in(levels) for part in self.parts]), levels)


class MedianSearch:
    """Find the median of n numbers: count those below a bracket, and keep those inside.

    The bracket is taken from a random sample. With 100 000 rows it misses the median about once in a thousand million
    times; a wider one is then tried in another pass. The last one is the whole line, and the first for few values.
    """

    def __init__(self, sample: Array, n: int) -> None:
        self.sample, self.n = np.sort(sample[~np.isnan(sample)]), n
        many = np.count_nonzero(self.sample[1:] != self.sample[:-1]) >= FEW_VALUES
        self._begin(0 if many else len(WIDTHS) - 1)

    def _begin(self, tried: int) -> None:
        self.tried, width, m = tried, WIDTHS[tried], len(self.sample)
        low, high = int((0.5 - width) * m), int((0.5 + width) * m)
        self.low = self.sample[low] if low > 0 else -np.inf
        self.high = self.sample[high] if high < m else np.inf
        self.below, self.values, self.counts = 0, np.empty(0), np.empty(0, dtype=np.intp)
        self.pending: list[Array] = []

    def add(self, known: Array) -> None:
        self.below += int((known < self.low).sum())
        self.pending.append(known[(known >= self.low) & (known <= self.high)])
        if sum(map(len, self.pending)) > MERGED:
            self._merge()

    def _merge(self) -> None:
        sizes = np.concatenate([self.counts, np.ones(sum(map(len, self.pending)))])
        self.values, place = np.unique(np.concatenate([self.values, *self.pending]), return_inverse=True)
        self.counts = np.bincount(place, sizes, minlength=len(self.values)).astype(np.intp)
        self.pending.clear()

    def settled(self) -> bool:
        """Tell whether the median was in the bracket; where not, begin with a wider one."""
        self._merge()
        inside = self.below <= (self.n - 1) // 2 and self.n // 2 < self.below + int(self.counts.sum())
        if inside or not self.n:
            return True
        self._begin(self.tried + 1)
        return False

    def median(self) -> float:
        """Return the middle value, or the mean of the two middle values; 0 where there is none."""
        if not self.n:
            return 0.0
        ends = self.below + np.cumsum(self.counts)
        middle = [self.values[np.searchsorted(ends, rank, side="right")] for rank in ((self.n - 1) // 2, self.n // 2)]
        return float(np.mean(middle))


class Moments:
    """Mean and standard deviation so far; chunks are merged as Chan, Golub and LeVeque (1983) do.

    One chunk gives what NumPy gives for it, to the last bit.
    """

    def __init__(self) -> None:
        self.n, self.mean, self.spread = 0, 0.0, 0.0

    def add(self, values: Array) -> None:
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


class TrainingRows:
    """What one pass over n training rows found.

    Besides a sample of rows, memory holds counts per level and the values around each median. A table in memory is a
    stream of one. ``stream`` yields the rows of the columns asked for, in order, a table at a time, as often as it is
    called; up to ``kept`` different values (None: always) their number is exact.
    """

    def __init__(
        self,
        stream: Callable[[Sequence[str]], Iterable[Table]],
        kinds: Mapping[str, Kind],
        missing: tuple[str, ...],
        n: int,
        kept: int | None = KEPT,
    ) -> None:
        self.stream, self.missing, self.n = stream, missing, n
        rng = np.random.default_rng(0)
        self.drawn: NDArray[np.intp] = np.sort(rng.permutation(n)[:SAMPLE])
        self.halves: NDArray[np.bool_] = rng.random(len(self.drawn)) < 0.5
        self.columns = {name: ColumnTally(kind, kept) for name, kind in kinds.items()}
        first = 0
        for table in stream(list(kinds)):
            low, high = np.searchsorted(self.drawn, [first, first + table.n])
            for name, tally in self.columns.items():
                tally.add(table.columns[name], self.drawn[low:high] - first)
            first += table.n

    @classmethod
    def of(cls, table: Table, names: Sequence[str]) -> TrainingRows:
        return cls(lambda _: [table], {name: table.column(name).kind for name in names}, table.missing, table.n, None)

    def moments(self, names: Sequence[str]) -> dict[str, tuple[float, Moments]]:
        """Return the median of numbers, and the moments in which it stands for missing values.

        Takes at least two more passes over these columns.
        """
        tallies, left = {name: self.columns[name] for name in names}, list(names)
        searches = {name: MedianSearch(tally.sample().values, tally.present) for name, tally in tallies.items()}
        while left:
            for name, column in self._columns(left):
                searches[name].add(column.values[~column.absent])
            left = [name for name in left if not searches[name].settled()]
        found = {name: (search.median(), Moments()) for name, search in searches.items()}
        for name, column in self._columns(names):
            found[name][1].add(np.where(column.absent, found[name][0], column.values))
        return found

    def _columns(self, names: Sequence[str]) -> Iterator[tuple[str, Column]]:
        for table in self.stream(names) if names else ():
            yield from ((name, table.columns[name]) for name in names)
