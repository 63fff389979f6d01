"""Blocks: how one column becomes columns of a matrix; frozen, learnt from training rows, rare values forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .raw_cells import Array
from .schema import Kind
from .table import Column

OTHER, NONE = "(other)", "(missing)"
FEW_VALUES = 20
"""Numbers of so few different values are counted: mean and scale would tell how many rows have a rare one of them."""
Positions = NDArray[np.int64]
Put = Callable[[Positions | None, Array], None]


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

    def put(self, column: Column, put: Put) -> None:
        """Hand over the values of the block: ``put(positions, values)``, None for its first column."""
        assert column.numbers is not None
        absent = column.absent
        put(None, (np.where(absent, self.median, column.numbers) - self.mean) * self.factor)
        if self.indicator:
            put(np.where(absent, 1, -1), np.ones(len(absent)))


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

    def put(self, column: Column, put: Put) -> None:
        """Hand over the values of the block: ``put(positions, values)``, position -1 for rows that are all zero."""
        place = {level: position for position, level in enumerate(self.levels)}
        rest = len(self.levels) if self.other else -1
        absent = len(self.levels) + self.other if self.missing else -1
        lookup = np.array([*(place.get(level, rest) for level in column.levels), absent], dtype=np.int64)
        put(lookup[column.values], np.ones(len(column.values)))


Block = NumberBlock | CategoryBlock


@dataclass(frozen=True, eq=False)
class NumberStats:
    """What training rows say of a number: rows with and without one, the median, mean and spread.

    In ``mean`` and ``spread`` the median stands for what is missing, and for rare ones of a few different values.
    """

    known: int
    absent: int
    median: float = 0.0
    mean: float = 0.0
    spread: float = 0.0

    def block(self, name: str, min_count: int) -> NumberBlock:
        """Return how the column is encoded."""
        indicator = self.absent >= min_count
        if self.known < min_count:  # statistics of so few people would be facts about them
            return NumberBlock(name, 0.0, 0.0, 0.0, indicator)
        return NumberBlock(name, self.median, self.mean, 1.0 / self.spread if self.spread > 0 else 0.0, indicator)


@dataclass(frozen=True, eq=False)
class CategoryStats:
    """What training rows say of a category: sorted levels, the rows of each, and those without one."""

    levels: tuple[str, ...]
    counts: NDArray[np.intp]
    absent: int

    def block(self, name: str, rare: float, min_count: int) -> CategoryBlock:
        """Return how the column is encoded; levels in fewer than max(min_count, rare * n) rows are pooled."""
        known = int(self.counts.sum())
        limit = max(min_count, rare * (known + self.absent))
        frequent = np.flatnonzero(self.counts >= limit).tolist()
        kept = [code for code in frequent if self.levels[code] not in (OTHER, NONE)]
        pooled = known - int(self.counts[kept].sum())
        levels = tuple(self.levels[code] for code in kept)
        return CategoryBlock(name, levels, pooled >= min_count, self.absent >= min_count)


def fit_block(name: str, column: Column, rare: float, min_count: int) -> Block:
    """Learn how to encode a column from training rows."""
    if column.numbers is not None:
        return _number_stats(column.numbers, column.absent, min_count).block(name, min_count)
    check_named(name, column.named, column.n_levels)
    known = column.values[column.values >= 0]
    counts = np.bincount(known, minlength=column.n_levels)
    return CategoryStats(column.levels, counts, len(column.values) - len(known)).block(name, rare, min_count)


def check_named(name: str, named: bool, n_levels: int) -> None:
    """Refuse a category with so many levels that their texts are not kept."""
    if not named:
        raise InputError(
            f"column {name!r} has {n_levels} different values, expected a category with few; leave it out with "
            f"--drop {name}."
        )


def _number_stats(values: Array, absent: NDArray[np.bool_], min_count: int) -> NumberStats:
    known = values[~absent]
    gone = int(absent.sum())
    if not len(known):
        return NumberStats(0, gone)
    median = float(np.median(known))
    unlike = absent | np.isin(values, _rare(known, min_count))
    return NumberStats(len(known), gone, median, *_moments(np.where(unlike, median, values)))


def _rare(known: Array, min_count: int) -> Array:
    if has_many_values(known):
        return np.empty(0)
    values, counts = np.unique(known, return_counts=True)
    return values[rare_values(counts, min_count)]


def rare_values(counts: NDArray[np.intp], min_count: int) -> NDArray[np.bool_]:
    """Tell which of a few values fewer than ``min_count`` rows have; none where these are most of the rows."""
    few = counts < min_count
    return few & bool(2 * counts[few].sum() < counts.sum())


def has_many_values(known: Array) -> bool:
    """Tell whether there are more than `FEW_VALUES` different numbers."""
    return any(len(np.unique(some)) > FEW_VALUES for some in (known[:1000], known) if len(some))


def _moments(values: Array) -> tuple[float, float]:
    """Return mean and standard deviation; the latter is 0 where differences are no more than rounding."""
    size = float(np.abs(values).max()) or 1.0  # divided out first, so that squares of huge numbers stay finite
    return settled(float((values / size).mean()) * size, float((values / size).std()) * size)


def settled(mean: float, spread: float) -> tuple[float, float]:
    """Return mean and standard deviation, the latter as 0 where it is no more than rounding."""
    return mean, spread if spread > max(1e-12 * abs(mean), 1e-300) else 0.0
