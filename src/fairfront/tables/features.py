"""Features: what training rows say of a column, and how the column becomes columns of a matrix.

Training rows come as a stream of tables, read again and again; a table in memory is a stream of one. Besides a sample
of 100 000 rows, memory holds counts per level and the values around each median.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .raw_cells import Array, Kind
from .statistics import KEPT, ColumnFacts, FactTally, MedianSearch, Moments, hash_numbers, hash_texts
from .table import NAMED_LEVELS, Column, Table

OTHER, NONE = "(other)", "(missing)"
SAMPLE = 100_000
"""Most rows that relations between columns are judged on, and brackets of medians are taken from."""
Positions = NDArray[np.int64]
Stream = Callable[[Sequence[str]], Iterable[Table]]
"""Reads some columns of all training rows, in order, a table at a time."""


@dataclass(frozen=True)
class NumberBlock:
    """A number, centred and scaled; missing ones become the median, with an indicator where enough were missing.

    ``factor`` is 1 / standard deviation, and 0 for a column that is constant or known in too few training rows: it
    then says nothing.
    """

    name: str
    median: float
    mean: float
    factor: float
    indicator: bool
    kind: Kind = "number"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the block's columns."""
        return (self.name, f"{self.name} (missing)") if self.indicator else (self.name,)

    def entries(self, column: Column) -> Iterator[tuple[Positions | None, Array]]:
        """Yield each row's value and its column in the block (-1: nowhere), None where all are in the first."""
        assert column.numbers is not None
        absent = column.absent
        yield None, (np.where(absent, self.median, column.numbers) - self.mean) * self.factor
        if self.indicator:
            yield np.where(absent, 1, -1), np.ones(len(absent))


@dataclass(frozen=True)
class CategoryBlock:
    """One indicator per level that is frequent enough, one for all others together, one for missing.

    The columns for others and missing are there where enough training rows were; elsewhere such rows are zero in
    the whole block, like levels that were never seen.
    """

    name: str
    levels: tuple[str, ...]
    other: bool
    missing: bool
    kind: Kind = "category"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the names of the block's columns."""
        tail = [label for label, there in ((OTHER, self.other), (NONE, self.missing)) if there]
        return tuple(f"{self.name}={level}" for level in (*self.levels, *tail))

    def entries(self, column: Column) -> Iterator[tuple[Positions | None, Array]]:
        """Yield each row's value and its column in the block (-1: nowhere)."""
        place = {level: position for position, level in enumerate(self.levels)}
        rest = len(self.levels) if self.other else -1
        absent = len(self.levels) + self.other if self.missing else -1
        lookup = np.array([*(place.get(level, rest) for level in column.levels), absent], dtype=np.int64)
        yield lookup[column.values], np.ones(len(column.values))


Block = NumberBlock | CategoryBlock


class ColumnTally:
    """One column seen so far: its facts, the rows of each level, and the sampled rows."""

    def __init__(self, name: str, kind: Kind, kept: int | None) -> None:
        self.name, self.kind, self.tally = name, kind, FactTally(kept)
        self.n, self.named = 0, True
        self.counts: dict[str, int] = {}
        self.sampled: list[Column] = []

    def add(self, column: Column, drawn: NDArray[np.intp]) -> None:
        """Take note of some more rows, of which some were drawn."""
        self.n += len(column.values)
        self.sampled.append(column.take(drawn))
        if column.numbers is not None:
            self.tally.add_numbers(column.numbers[~column.absent])
            return
        sizes = np.bincount(column.values[column.values >= 0], minlength=column.n_levels)
        seen = np.flatnonzero(sizes).tolist()
        self.named = self.named and column.named
        # codes without texts, of an identifier, tell values apart as well: they come in one table only
        texts = [column.levels[code] for code in seen] if column.named else []
        self.tally.add_levels(hash_texts(texts) if column.named else hash_numbers(np.array(seen)), int(sizes.sum()))
        if self.named:
            for level, code in zip(texts, seen, strict=True):
                self.counts[level] = self.counts.get(level, 0) + int(sizes[code])
            self.named = len(self.counts) <= NAMED_LEVELS

    @property
    def facts(self) -> ColumnFacts:
        """Return the facts of all training rows."""
        return self.tally.result(self.kind)

    @property
    def absent(self) -> int:
        """Return the number of rows without a value."""
        return self.n - self.tally.present

    def sample(self) -> Column:
        """Return the sampled rows as one column; levels of several tables are sorted."""
        if len(self.sampled) == 1:
            return self.sampled[0]
        if self.kind == "number":
            return Column(numbers=np.concatenate([part.values for part in self.sampled]))
        levels = sorted({part.levels[code] for part in self.sampled for code in np.unique(part.values) if code >= 0})
        place = {level: code for code, level in enumerate(levels)}
        codes = [
            np.array([*(place.get(level, -1) for level in part.levels), -1], dtype=np.int32)[part.values]
            for part in self.sampled
        ]
        return Column.of_codes(np.concatenate(codes), tuple(levels))

    def category(self, rare: float, min_count: int) -> CategoryBlock:
        """Return how a category is encoded; levels in fewer than max(min_count, rare * n) rows are pooled."""
        if not self.named:
            raise InputError(
                f"column {self.name!r} has {self.facts.n_distinct} different values, expected a category with few; "
                f"leave it out with --drop {self.name}."
            )
        limit = max(min_count, rare * self.n)
        kept = {level for level, count in self.counts.items() if count >= limit} - {OTHER, NONE}
        pooled = self.tally.present - sum(self.counts[level] for level in kept)
        return CategoryBlock(self.name, tuple(sorted(kept)), pooled >= min_count, self.absent >= min_count)

    def number(self, median: float, moments: Moments, min_count: int) -> NumberBlock:
        """Return how a number is encoded; ``moments`` are those of the filled column."""
        indicator = self.absent >= min_count
        if self.tally.present < min_count:  # statistics of so few people would be facts about them
            return NumberBlock(self.name, 0.0, 0.0, 0.0, indicator)
        return NumberBlock(self.name, median, moments.mean, moments.factor, indicator)


class TrainingRows:
    """What one pass over n training rows found.

    Parameters
    ----------
    stream : function of column names
        Yields the rows of these columns, in order, a table at a time, as often as it is called.
    kinds : mapping of str to {"number", "category"}
        The columns to look at.
    missing : tuple of str
        Texts that were read as missing values.
    n : int
        Number of rows.
    kept : int or None
        Different values up to which their number is exact; None: always.
    """

    def __init__(
        self, stream: Stream, kinds: Mapping[str, Kind], missing: tuple[str, ...], n: int, kept: int | None = KEPT
    ) -> None:
        self.stream, self.missing, self.n = stream, missing, n
        rng = np.random.default_rng(0)
        self.drawn: NDArray[np.intp] = np.sort(rng.permutation(n)[:SAMPLE])
        self.halves: NDArray[np.bool_] = rng.random(len(self.drawn)) < 0.5
        self.columns = {name: ColumnTally(name, kind, kept) for name, kind in kinds.items()}
        first = 0
        for table in stream(list(kinds)):
            low, high = np.searchsorted(self.drawn, [first, first + table.n])
            for name, tally in self.columns.items():
                tally.add(table.columns[name], self.drawn[low:high] - first)
            first += table.n

    @classmethod
    def of(cls, table: Table, names: Sequence[str]) -> TrainingRows:
        """Look at columns of a table in memory."""
        return cls(lambda _: [table], {name: table.column(name).kind for name in names}, table.missing, table.n, None)

    def blocks(self, names: Sequence[str], rare: float, min_count: int) -> tuple[Block, ...]:
        """Learn how to encode columns, with at least two more passes over the numbers."""
        numbers = self._numbers([name for name in names if self.columns[name].kind == "number"], min_count)
        return tuple(
            numbers[name] if name in numbers else self.columns[name].category(rare, min_count) for name in names
        )

    def _numbers(self, names: Sequence[str], min_count: int) -> dict[str, NumberBlock]:
        """Find medians, then moments, in which the median stands for missing values and for rare ones of a few."""
        searches = {name: self._median(name) for name in names}
        left = list(names)
        while left:
            for name, column in self._columns(left):
                searches[name].add(column.values[~column.absent])
            left = [name for name in left if not searches[name].settled()]
        medians = {name: search.median() for name, search in searches.items()}
        rare = {name: search.rare(min_count) for name, search in searches.items()}
        moments = {name: Moments() for name in names}
        for name, column in self._columns(names):
            unlike = column.absent | np.isin(column.values, rare[name])
            moments[name].add(np.where(unlike, medians[name], column.values))
        return {name: self.columns[name].number(medians[name], moments[name], min_count) for name in names}

    def _median(self, name: str) -> MedianSearch:
        return MedianSearch(self.columns[name].sample().values, self.columns[name].tally.present)

    def _columns(self, names: Sequence[str]) -> Iterator[tuple[str, Column]]:
        for table in self.stream(names) if names else ():
            yield from ((name, table.columns[name]) for name in names)
