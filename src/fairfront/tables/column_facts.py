"""Facts about a column that decide whether it is learnt from: found in memory, or added up block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .distinct import DistinctCount, hash_numbers, hash_texts
from .schema import Kind
from .table import Column

WHOLE = 2**53
"""From here on every float is whole."""


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


def facts_of(column: Column) -> ColumnFacts:
    """Return the facts of a column in memory."""
    present = len(column.values) - int(column.absent.sum())
    _, values = column.distinct()
    if column.numbers is None or not len(values):
        return ColumnFacts(column.kind, present, len(values))
    whole = bool((values == np.rint(values)).all())
    return ColumnFacts("number", present, len(values), True, whole, float(values.min()), float(values.max()))


class FactTally:
    """What has been seen of a column so far."""

    def __init__(self) -> None:
        self.distinct = DistinctCount()
        self.n = self.present = 0
        self.integers, self.low, self.high = True, np.inf, -np.inf

    def add(self, column: Column) -> None:
        """Take note of some more rows."""
        self.n += len(column.values)
        if column.numbers is None:
            counts = np.bincount(column.values[column.values >= 0], minlength=column.n_levels)
            self.present += int(counts.sum())
            self.distinct.add(hash_texts(column.levels[code] for code in np.flatnonzero(counts).tolist()))
            return
        known = column.numbers[~column.absent]
        self.present += len(known)
        if len(known):
            self.distinct.add(hash_numbers(known))
            self.integers = self.integers and bool((known == np.rint(known)).all())
            self.low, self.high = min(self.low, float(known.min())), max(self.high, float(known.max()))

    def result(self, kind: Kind) -> ColumnFacts:
        """Return what is known at the end."""
        exact = self.distinct.exact
        count = self.distinct.count if exact else min(self.distinct.count, self.present)
        if kind == "category" or not self.present:
            return ColumnFacts(kind, self.present, count, exact)
        return ColumnFacts(kind, self.present, count, exact, self.integers, self.low, self.high)
