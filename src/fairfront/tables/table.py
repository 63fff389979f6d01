"""Tables in memory, 8 bytes per number and 4 per category: texts live once per level, not once per cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import count_in_words
from .raw_cells import Array, CodeBook, Kind, number_text, to_texts
from .schema import Schema
from .source import MISSING, PASS_ROWS, Chunk, Source, nearest

NAMED_LEVELS = 100_000
"""Levels up to which their texts are kept; a column with more is an identifier, of which codes are enough."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column: numbers with NaN for missing, or codes into levels with -1 for missing.

    ``levels`` are sorted texts. A column with very many of them, such as an identifier, keeps the codes and not the
    texts: ``levels`` is then empty while ``n_levels`` counts them. ``time`` marks numbers that are seconds since 1970.
    """

    numbers: Array | None = None
    codes: NDArray[np.int32] | None = None
    levels: tuple[str, ...] = ()
    n_levels: int = 0
    time: bool = False

    @classmethod
    def of_codes(cls, codes: NDArray[np.int32], levels: tuple[str, ...]) -> Column:
        """Make a category of codes into its levels."""
        return cls(codes=codes, levels=levels, n_levels=len(levels))

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

    def texts(self, found: NDArray[Any]) -> list[str | None]:
        """Return values that `distinct` found as texts; numbers are written as people do."""
        if self.numbers is not None:
            return [number_text(value) for value in found.tolist()]
        return [self.levels[code] for code in found.tolist()]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows in memory, by column; ``missing`` are the texts that were read as missing values."""

    n: int
    columns: Mapping[str, Column] = field(repr=False)
    missing: tuple[str, ...] = MISSING

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

    def texts(self, name: str) -> NDArray[Any]:
        """Return a column as texts, with None for missing ones; numbers are written as people do."""
        column = self.column(name)
        if not column.named:
            raise InputError(
                f"column {name!r} has {column.n_levels} different values, expected groups or labels; it looks like an "
                "identifier: choose another column."
            )
        codes, found = column.distinct()
        return np.array([*column.texts(found), None], dtype=object)[codes]


def load(
    source: Source,
    schema: Schema,
    columns: Iterable[str] | None = None,
    *,
    times: Collection[str] = (),
    on_progress: Callable[[int], None] | None = None,
) -> Table:
    """Read columns into memory as the schema says.

    Parameters
    ----------
    source : Source
    schema : Schema
        What `infer` found in the same source.
    columns : names, optional
        Columns to load; default: those of the schema.
    times : names of columns
        ISO dates to load as seconds since 1970, which takes no text per different time.
    on_progress : function, optional
        Called with the amount read so far, in units of ``source.size``.
    """
    asked = source.chosen(schema.names if columns is None else columns)
    fills = {name: _fill(schema, name, name in times) for name in asked}
    start = 0
    for chunk in source.chunks(asked, PASS_ROWS):
        if start + chunk.n <= schema.n:
            for fill in fills.values():
                fill.put(start, chunk)
        start += chunk.n
        if on_progress is not None:
            on_progress(chunk.done)
    if start != schema.n:
        raise InputError(
            f"{source.title} has {start} rows, expected {schema.n} as a moment ago; it is being written to."
        )
    return Table(schema.n, {name: fill.done() for name, fill in fills.items()}, schema.missing)


def _fill(schema: Schema, name: str, time: bool) -> _NumberFill | _CodeFill:
    """Return a column that is to be filled chunk by chunk."""
    missing, column = frozenset(schema.missing), schema.column(name)
    if time or column.kind == "number":
        return _NumberFill(name, schema.n, missing, time)
    return (_CodeFill if column.n_distinct <= NAMED_LEVELS else _IdentityFill)(name, schema.n, missing)


class _NumberFill:
    """Numbers, or times as seconds since 1970; NaN where missing."""

    def __init__(self, name: str, n: int, missing: frozenset[str], time: bool) -> None:
        self.name, self.missing, self.time = name, missing, time
        self.values: Array = np.empty(n)

    def put(self, start: int, chunk: Chunk) -> None:
        read = chunk.seconds if self.time else chunk.numbers
        self.values[start : start + chunk.n] = read(self.name, self.missing)

    def done(self) -> Column:
        return Column(numbers=self.values, time=self.time)


class _CodeFill:
    """Codes of categories; levels are sorted at the end."""

    def __init__(self, name: str, n: int, missing: frozenset[str]) -> None:
        self.name, self.missing, self.book = name, missing, CodeBook(missing)
        self.codes: NDArray[np.int32] = np.empty(n, dtype=np.int32)

    def put(self, start: int, chunk: Chunk) -> None:
        self.codes[start : start + chunk.n] = self.book.codes(chunk[self.name])

    def done(self) -> Column:
        found = list(self.book.levels)
        order = sorted(range(len(found)), key=found.__getitem__)
        rank = np.full(len(found) + 1, -1, dtype=np.int32)
        rank[order] = np.arange(len(found), dtype=np.int32)
        return Column.of_codes(rank[self.codes], tuple(found[i] for i in order))


class _IdentityFill(_CodeFill):
    """Codes of very many texts, told apart by 64-bit hashes, numbered by first appearance."""

    def __init__(self, name: str, n: int, missing: frozenset[str]) -> None:
        super().__init__(name, n, missing)
        self.hashes: NDArray[np.int64] = np.empty(n, dtype=np.int64)

    def put(self, start: int, chunk: Chunk) -> None:
        bare = [None if text is None else text.strip() for text in to_texts(chunk[self.name])]
        here, absent = slice(start, start + chunk.n), self.missing | {None}
        self.hashes[here] = np.fromiter(map(hash, bare), dtype=np.int64, count=len(bare))
        self.codes[here] = [-1 if text in absent else 0 for text in bare]

    def done(self) -> Column:
        known = self.codes == 0
        _, first, inverse = np.unique(self.hashes[known], return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int32)
        rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        self.codes[known] = rank[inverse]
        return Column(codes=self.codes, n_levels=len(first))
