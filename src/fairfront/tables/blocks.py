"""Blocks: how one column becomes columns of a matrix; frozen, learnt from training rows, rare values forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .cells import Array
from .schema import Kind
from .table import Column

OTHER, NONE = "(other)", "(missing)"
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


def fit_block(name: str, column: Column, rare: float, min_count: int) -> Block:
    """Learn how to encode a column from training rows."""
    if column.numbers is not None:
        return _number(name, column.numbers, column.absent, min_count)
    if not column.named:
        raise InputError(
            f"column {name!r} has {column.n_levels} different values, expected a category with few; leave it out with "
            f"--drop {name}."
        )
    return _category(name, column, max(min_count, rare * len(column.values)), min_count)


def _number(name: str, values: Array, absent: NDArray[np.bool_], min_count: int) -> NumberBlock:
    known = values[~absent]
    indicator = int(absent.sum()) >= min_count
    if len(known) < min_count:  # statistics of so few people would be facts about them
        return NumberBlock(name, 0.0, 0.0, 0.0, indicator)
    median = float(np.median(known))
    mean, spread = _moments(np.where(absent, median, values))
    return NumberBlock(name, median, mean, 1.0 / spread if spread > 0 else 0.0, indicator)


def _moments(values: Array) -> tuple[float, float]:
    """Return mean and standard deviation; the latter is 0 where differences are no more than rounding."""
    size = float(np.abs(values).max()) or 1.0  # divided out first, so that squares of huge numbers stay finite
    mean, spread = float((values / size).mean()) * size, float((values / size).std()) * size
    return mean, spread if spread > max(1e-12 * abs(mean), 1e-300) else 0.0


def _category(name: str, column: Column, limit: float, min_count: int) -> CategoryBlock:
    known = column.values[column.values >= 0]
    counts = np.bincount(known, minlength=column.n_levels)
    kept = [code for code in np.flatnonzero(counts >= limit).tolist() if column.levels[code] not in (OTHER, NONE)]
    pooled = len(known) - int(counts[kept].sum())
    absent = len(column.values) - len(known)
    levels = tuple(column.levels[code] for code in kept)
    return CategoryBlock(name, levels, pooled >= min_count, absent >= min_count)
