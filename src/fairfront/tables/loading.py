"""Loading: a second pass that fills arrays of the right size; texts live once per level, not once per cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .cells import Array, CodeBook, to_numbers, to_texts
from .schema import ColumnSchema, Schema
from .source import PASS_ROWS, Chunk, Source
from .table import Column, Table
from .times import to_seconds

NAMED_LEVELS = 100_000
"""Levels up to which their texts are kept; a column with more is an identifier, of which codes are enough."""


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
    missing = frozenset(schema.missing)
    fills = {name: _fill(schema.column(name), schema.n, missing, name in times) for name in asked}
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


class Fill(Protocol):
    """A column that is being filled."""

    def put(self, start: int, chunk: Chunk) -> None:
        """Take the rows of a chunk."""
        ...

    def done(self) -> Column:
        """Return the column."""
        ...


def _fill(column: ColumnSchema, n: int, missing: frozenset[str], time: bool) -> Fill:
    if time:
        return TimeFill(column.name, n, missing)
    if column.kind == "number":
        return NumberFill(column.name, n, missing)
    return (CodeFill if column.n_distinct <= NAMED_LEVELS else IdentityFill)(column.name, n, missing)


class NumberFill:
    """Numbers, NaN where missing."""

    def __init__(self, name: str, n: int, missing: frozenset[str]) -> None:
        self.name, self.missing = name, missing
        self.values: Array = np.empty(n)

    def put(self, start: int, chunk: Chunk) -> None:
        """Take the rows of a chunk."""
        self.values[start : start + chunk.n] = numbers_of(chunk, self.name, self.missing)

    def done(self) -> Column:
        """Return the column."""
        return Column(numbers=self.values)


class TimeFill(NumberFill):
    """Times as seconds since 1970, NaN where missing."""

    def put(self, start: int, chunk: Chunk) -> None:
        """Take the rows of a chunk."""
        self.values[start : start + chunk.n] = to_seconds(chunk, self.name, self.missing)

    def done(self) -> Column:
        """Return the column."""
        return Column(numbers=self.values, time=True)


class CodeFill:
    """Codes of categories; levels are sorted at the end."""

    def __init__(self, name: str, n: int, missing: frozenset[str]) -> None:
        self.name, self.book = name, CodeBook(missing)
        self.codes: NDArray[np.int32] = np.empty(n, dtype=np.int32)

    def put(self, start: int, chunk: Chunk) -> None:
        """Take the rows of a chunk."""
        self.codes[start : start + chunk.n] = self.book.codes(chunk[self.name])

    def done(self) -> Column:
        """Return the column."""
        found = list(self.book.levels)
        order = sorted(range(len(found)), key=found.__getitem__)
        rank = np.full(len(found) + 1, -1, dtype=np.int32)
        rank[order] = np.arange(len(found), dtype=np.int32)
        return Column(codes=rank[self.codes], levels=tuple(found[i] for i in order), n_levels=len(found))


class IdentityFill:
    """Codes of very many texts, told apart by 64-bit hashes, numbered by first appearance."""

    def __init__(self, name: str, n: int, missing: frozenset[str]) -> None:
        self.name, self.missing = name, missing
        self.hashes: NDArray[np.int64] = np.empty(n, dtype=np.int64)
        self.known: NDArray[np.bool_] = np.empty(n, dtype=bool)

    def put(self, start: int, chunk: Chunk) -> None:
        """Take the rows of a chunk."""
        bare = [None if text is None else text.strip() for text in to_texts(chunk[self.name])]
        here = slice(start, start + chunk.n)
        self.hashes[here] = np.fromiter(map(hash, bare), dtype=np.int64, count=len(bare))
        absent = self.missing | {None}
        self.known[here] = ~np.fromiter(map(absent.__contains__, bare), dtype=bool, count=len(bare))

    def done(self) -> Column:
        """Return the column."""
        _, first, inverse = np.unique(self.hashes[self.known], return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int32)
        rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        codes = np.full(len(self.hashes), -1, dtype=np.int32)
        codes[self.known] = rank[inverse]
        return Column(codes=codes, n_levels=len(first))


def numbers_of(chunk: Chunk, name: str, missing: frozenset[str]) -> Array:
    """Return a column of a chunk as numbers, or say which line has a word."""
    cells: NDArray[Any] = chunk[name]
    values, words = to_numbers(cells, missing)
    if len(words):
        raise InputError(
            f"column {name!r} has {str(cells[words[0]]).strip()!r} in {chunk.place(int(words[0]))} ({len(words)} such "
            "rows nearby), expected a number; mend it, or name it with --missing."
        )
    return values
