"""Table: the columns of a file in memory, 8 bytes per number and 4 per category, without a string per cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import count_in_words
from ..validation import is_missing
from .cells import Array, number_text
from .schema import Kind
from .source import MISSING, nearest

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Column:
    """One column: numbers with NaN for missing, or codes into levels with -1 for missing.

    ``levels`` are sorted texts. A column with very many of them, such as an identifier, keeps the codes and not the
    texts: ``levels`` is then empty while ``n_levels`` counts them. ``time`` marks numbers that are seconds since 1970.
    """

    numbers: Array | None = None
    codes: Codes | None = None
    levels: tuple[str, ...] = ()
    n_levels: int = 0
    time: bool = False

    @property
    def kind(self) -> Kind:
        """Return "number" or "category"."""
        return "category" if self.numbers is None else "number"

    @property
    def named(self) -> bool:
        """Tell whether the texts of the levels were kept."""
        return self.numbers is not None or len(self.levels) == self.n_levels

    @property
    def values(self) -> NDArray[Any]:
        """Return the numbers, or the codes."""
        found = self.codes if self.numbers is None else self.numbers
        assert found is not None
        return found

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Return which rows are missing."""
        missing: NDArray[np.bool_] = np.isnan(self.values) if self.kind == "number" else self.values < 0
        return missing

    def take(self, rows: Any) -> Column:
        """Return the column of some rows; levels stay as they are."""
        if self.numbers is not None:
            return replace(self, numbers=self.numbers[rows])
        return replace(self, codes=self.values[rows])

    def distinct(self) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return codes of the values that occur (-1 for missing), and these values (or the codes of levels)."""
        if self.codes is not None:
            seen = np.append(np.bincount(self.codes[self.codes >= 0], minlength=self.n_levels) > 0, False)
            return np.where(seen, np.cumsum(seen) - 1, -1)[self.codes], np.flatnonzero(seen)
        codes = np.full(len(self.values), -1, dtype=np.intp)
        known = ~self.absent
        found, inverse = np.unique(self.values[known], return_inverse=True)
        codes[known] = inverse
        return codes, found


@dataclass(frozen=True, eq=False)
class Table:
    """Rows in memory, by column; ``missing`` are the texts that were read as missing values."""

    n: int
    columns: Mapping[str, Column] = field(repr=False)
    missing: tuple[str, ...] = MISSING

    @property
    def kinds(self) -> dict[str, Kind]:
        """Return the kind of each column."""
        return {name: column.kind for name, column in self.columns.items()}

    def column(self, name: str) -> Column:
        """Return a column, or say which name is nearest."""
        if name not in self.columns:
            raise InputError(f"the table has no column {name!r}{nearest(name, tuple(self.columns))}")
        return self.columns[name]

    def complete(self, name: str) -> Column:
        """Return a column that has a value in every row, or say how many have none."""
        column = self.column(name)
        absent = column.absent
        if absent.any():
            raise InputError(
                f"column {name!r} is missing in {count_in_words(int(absent.sum()))} rows (first in row "
                f"{int(np.argmax(absent)) + 1}), expected a value in each; fill them in, or leave those rows out."
            )
        return column

    def take(self, rows: Any) -> Table:
        """Return the table of some rows (numbers or a mask)."""
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        n = len(np.arange(self.n)[rows])
        return replace(self, n=n, columns=columns)

    def drop(self, *names: str) -> Table:
        """Return the table without some columns."""
        for name in names:
            self.column(name)
        return replace(self, columns={name: c for name, c in self.columns.items() if name not in names})

    def texts(self, name: str) -> NDArray[Any]:
        """Return a column as texts, with None for missing ones; numbers are written as people do."""
        column = self.column(name)
        if column.numbers is not None:
            codes, found = column.distinct()
            return np.array([*map(number_text, found.tolist()), None], dtype=object)[codes]
        if not column.named:
            raise InputError(
                f"column {name!r} has {column.n_levels} different values, expected groups or labels; it looks like an "
                "identifier: choose another column."
            )
        names: NDArray[Any] = np.array([*column.levels, None], dtype=object)[column.values]
        return names


def table_of(columns: Mapping[str, Any], n: int | None = None) -> Table:
    """Make a table of arrays by name: arrays of numbers are numbers, all else are categories, None is missing."""
    found = {name: _column(np.asarray(values)) for name, values in columns.items()}
    length = len(next(iter(found.values())).values) if n is None else n
    for name, column in found.items():
        if len(column.values) != length:
            raise InputError(
                f"column {name!r} has {len(column.values)} rows, expected {length}, as many as the others."
            )
    return Table(length, found)


def _column(values: NDArray[Any]) -> Column:
    if values.dtype.kind in "iuf":
        return Column(numbers=values.astype(np.float64))
    texts = [None if is_missing(value) else str(value) for value in values.tolist()]
    levels = tuple(sorted({text for text in texts if text is not None}))
    place = {level: code for code, level in enumerate(levels)}
    codes = np.array([-1 if text is None else place[text] for text in texts], dtype=np.int32)
    return Column(codes=codes, levels=levels, n_levels=len(levels))
