"""Learning from a stream of training rows what `screen` and `TableEncoder.fit` learn from rows in memory.

Counts, medians and categories come out the same; means and standard deviations up to rounding; numbers of different
values are exact up to 16 384 and estimates beyond. Besides a sample of 100 000 rows, memory holds counts per level and
the values around each median.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from .blocks import Block, CategoryStats, NumberStats, check_named
from .column_facts import ColumnFacts, FactTally
from .encoder import TableEncoder, is_thin
from .medians import MedianSearch, Moments
from .schema import Kind
from .screening import drawn_rows
from .table import NAMED_LEVELS, Column, Table

Stream = Callable[[Sequence[str]], Iterable[Table]]
"""Reads some columns of all training rows, in order, a table at a time."""


class Looker:
    """One column seen so far: its facts, the rows of each level, and the sampled rows."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.facts = kind, FactTally()
        self.counts: dict[str, int] = {}
        self.sampled: list[Column] = []

    def add(self, column: Column, drawn: np.ndarray) -> None:
        """Take note of some more rows, of which some were drawn."""
        self.facts.add(column)
        self.sampled.append(column.take(drawn))
        if self.kind == "category" and len(self.counts) <= NAMED_LEVELS:
            sizes = np.bincount(column.values[column.values >= 0], minlength=column.n_levels)
            for level, size in zip(column.levels, sizes.tolist(), strict=True):
                if size:
                    self.counts[level] = self.counts.get(level, 0) + size

    def sample(self) -> Column:
        """Return the sampled rows as one column, levels sorted."""
        if self.kind == "number":
            return Column(numbers=np.concatenate([part.values for part in self.sampled]))
        levels = sorted({part.levels[code] for part in self.sampled for code in np.unique(part.values) if code >= 0})
        place = {level: code for code, level in enumerate(levels)}
        codes = [
            np.array([*(place.get(level, -1) for level in part.levels), -1], dtype=np.int32)[part.values]
            for part in self.sampled
        ]
        return Column(codes=np.concatenate(codes), levels=tuple(levels), n_levels=len(levels))

    def stats(self) -> CategoryStats:
        """Return the rows of each level."""
        levels = tuple(sorted(self.counts))
        sizes = np.array([self.counts[level] for level in levels], dtype=np.intp)
        return CategoryStats(levels, sizes, self.facts.n - self.facts.present)


class Learner:
    """What one pass over n training rows found, from which columns are screened and an encoder is fitted."""

    def __init__(self, stream: Stream, kinds: Mapping[str, Kind], missing: tuple[str, ...], n: int) -> None:
        self.stream, self.missing = stream, missing
        self.drawn, self.halves = drawn_rows(n)
        self.lookers = {name: Looker(kind) for name, kind in kinds.items()}
        first = 0
        for table in stream(list(kinds)):
            low, high = np.searchsorted(self.drawn, [first, first + table.n])
            here = self.drawn[low:high] - first
            for name, looker in self.lookers.items():
                looker.add(table.columns[name], here)
            first += table.n

    @property
    def facts(self) -> dict[str, ColumnFacts]:
        """Return the facts of every column."""
        return {name: looker.facts.result(looker.kind) for name, looker in self.lookers.items()}

    def sample(self) -> Table:
        """Return the sampled rows."""
        columns = {name: looker.sample() for name, looker in self.lookers.items()}
        return Table(len(self.drawn), columns, self.missing)

    def encoder(self, features: Sequence[str], *, rare: float = 0.001, min_count: int = 10) -> TableEncoder:
        """Fit an encoder as `TableEncoder.fit` does, with at least one more pass over the numbers."""
        numbers = [name for name in features if self.lookers[name].kind == "number"]
        found: dict[str, Block] = {
            name: stats.block(name, min_count) for name, stats in self._number_stats(numbers, min_count).items()
        }
        for name in features:
            if name not in found:
                looker = self.lookers[name]
                check_named(name, len(looker.counts) <= NAMED_LEVELS, looker.facts.distinct.count)
                found[name] = looker.stats().block(name, rare, min_count)
        blocks = tuple(found[name] for name in features)
        return TableEncoder(blocks, is_thin(blocks), self.missing)

    def _number_stats(self, names: Sequence[str], min_count: int) -> dict[str, NumberStats]:
        """Find medians and moments; the pass is made again for columns whose median lay outside its bracket."""
        samples = {name: self.lookers[name].sample().values for name in names}
        moments = {name: Moments(samples[name]) for name in names}
        searches = {name: MedianSearch(samples[name], self.lookers[name].facts.present) for name in names}
        left, again = list(names), False
        while left:
            for table in self.stream(left):
                for name in left:
                    known = table.columns[name].values
                    known = known[~np.isnan(known)]
                    searches[name].add(known)
                    if not again:
                        moments[name].add(known)
            left, again = [name for name in left if not searches[name].settled()], True
        gone = {name: self.lookers[name].facts.n - self.lookers[name].facts.present for name in names}
        return {name: _stats(searches[name], moments[name], gone[name], min_count) for name in names}


def _stats(search: MedianSearch, moments: Moments, absent: int, min_count: int) -> NumberStats:
    if not search.n:
        return NumberStats(0, absent)
    median = search.median()
    return NumberStats(search.n, absent, median, *moments.of(median, absent, min_count))
