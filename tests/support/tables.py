"""Tables made of arrays, and the rows of each part of a split."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairfront.tables import Column, Split, Table


def table_of(columns: Mapping[str, Any], n: int | None = None) -> Table:
    """Make a table of arrays by name: arrays of numbers are numbers, all else are categories, None is missing."""
    found = {name: column_of(np.asarray(values)) for name, values in columns.items()}
    return Table(n if n is not None else len(next(iter(found.values())).values), found)


def column_of(values: np.ndarray) -> Column:
    """Make a column of numbers or of sorted levels."""
    if values.dtype.kind in "iuf":
        return Column(values.astype(np.float64))
    known = ~np.array([value is None for value in values.tolist()])
    levels, places = np.unique(values[known].astype(str), return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[known] = places
    return Column.of_codes(codes, tuple(levels.tolist()))


def parts_of(split: Split, table: Table, atoms: np.ndarray, seed: int = 0) -> dict[str, np.ndarray]:
    """Return the rows of train, validation and test."""
    codes = split.codes(table, atoms, seed)
    return {name: np.flatnonzero(codes == place) for place, name in enumerate(("train", "validation", "test"))}
