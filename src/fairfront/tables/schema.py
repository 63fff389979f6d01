"""The schema of a table (what kind each column is, how it is written and how full), and columns loaded by it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..records import Record
from .notation import ISO_DATES, PLAIN, Notation, number_of
from .source import Source
from .statistics import NAMED_LEVELS
from .table import Chunk, CodeBook, Column, Kind, Table, to_texts
from .target import Codes, check_case

PASS_ROWS = 5_000
"""Rows per chunk of a pass over the whole source: the cells then stay in the processor's cache."""


@dataclass(frozen=True)
class ColumnSchema:
    """What is known of one column, without a value from any cell.

    ``n_missing`` rows have no value, and of the others ``n_distinct`` differ (an estimate where not ``exact``): at most
    one where ``constant``, and texts or whole numbers in (nearly) every row, as identifiers do, where ``unique``. Dates
    are categories that can be loaded as times. ``otherwise`` is the decimal mark ("point" or "comma") with which its
    numbers would be others, where nobody said which it is.
    """

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    exact: bool
    integers: bool
    constant: bool
    unique: bool
    notation: Notation = PLAIN
    otherwise: str = ""


@dataclass(frozen=True, repr=False)
class Schema(Record):
    """Number of rows and what is known of each column, with the texts that were read as missing."""

    n: int
    columns: tuple[ColumnSchema, ...]
    missing: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> dict[str, Kind]:
        return {column.name: column.kind for column in self.columns}

    @property
    def notations(self) -> dict[str, Notation]:
        """Return how columns are written that are not written plainly."""
        return {column.name: column.notation for column in self.columns if column.notation != PLAIN}

    @cached_property
    def _by_name(self) -> dict[str, ColumnSchema]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> ColumnSchema:
        if name in self._by_name:
            return self._by_name[name]
        raise InputError(f"the schema has no column {name!r}, expected one of {', '.join(self.names)}.")

    def to_json(self) -> dict[str, Any]:
        return {"n": self.n, "missing": list(self.missing), "columns": [asdict(column) for column in self.columns]}


def passed(source: Source, columns: Iterable[str], on_progress: Callable[[int], None] | None) -> Iterator[Chunk]:
    for chunk in source.chunks(columns, PASS_ROWS):
        yield chunk
        if on_progress is not None:
            on_progress(chunk.done)


def load(
    source: Source,
    schema: Schema,
    columns: Iterable[str] | None = None,
    *,
    times: Collection[str] = (),
    on_progress: Callable[[int], None] | None = None,
) -> Table:
    """Read columns, by default those of the schema, into memory; ``on_progress`` gets units of ``source.size``.

    ``times`` are dates to load as seconds since 1970, which takes no text per different time.
    """
    asked = source.chosen(schema.names if columns is None else columns)
    fills = [_Fill(schema, name, name in times) for name in asked]
    start = 0
    for chunk in passed(source, asked, on_progress):
        if start + chunk.n <= schema.n:
            for fill in fills:
                fill.put(slice(start, start + chunk.n), chunk)
        start += chunk.n
    if start != schema.n:
        raise InputError(
            f"{source.title} has {start} rows, expected {schema.n} as a moment ago; it is being written to."
        )
    return Table(schema.n, {fill.name: fill.column() for fill in fills}, schema.missing)


class _Fill:
    """A column that is filled chunk by chunk: numbers or times, codes of levels, or codes of very many texts.

    The latter are distinguished by 64-bit hashes and numbered by first appearance; other levels are sorted at the end.
    """

    def __init__(self, schema: Schema, name: str, time: bool) -> None:
        column = schema.column(name)
        self.name, self.time, self.missing = name, time, frozenset(schema.missing)
        self.number, self.book = time or column.kind == "number", CodeBook(self.missing)
        self.notation = ISO_DATES if time and column.notation.kind != "date" else column.notation
        self.many = not self.number and column.n_distinct > NAMED_LEVELS
        self.values: NDArray[Any] = np.empty(schema.n, dtype=np.float64 if self.number else np.int32)
        self.hashes: NDArray[np.int64] = np.empty(schema.n if self.many else 0, dtype=np.int64)

    def put(self, here: slice, chunk: Chunk) -> None:
        if self.number:
            self.values[here] = chunk.numbers(self.name, self.missing, self.notation)
        elif not self.many:
            self.values[here] = self.book.codes(chunk[self.name])
        else:
            bare = [None if text is None else text.strip() for text in to_texts(chunk[self.name])]
            self.hashes[here] = np.fromiter(map(hash, bare), dtype=np.int64, count=len(bare))
            self.values[here] = [-1 if text is None or text in self.missing else 0 for text in bare]

    def column(self) -> Column:
        if self.number:
            return Column(self.values, time=self.time)
        if self.many:
            known = self.values >= 0
            _, first, inverse = np.unique(self.hashes[known], return_index=True, return_inverse=True)
            self.values[known] = np.argsort(np.argsort(first))[inverse]
            return Column(self.values, "category", n_levels=len(first))
        return Column.of_codes(self.values, self.book.levels).sorted()


MAX_GROUPS, MAX_NUMBERS = 50, 12


def read_groups(
    table: Table,
    names: Sequence[str],
    allow: Collection[str] | None = None,
) -> dict[str, Codes]:
    """Return group columns as texts with None for missing ones; columns with too many values are refused.

    More than twelve different numbers are refused unless the column is in ``allow``.
    """
    return {name: _group(table, name, allow) for name in names}


def _group(table: Table, name: str, allow: Collection[str] | None) -> Codes:
    column = table.column(name)
    codes, found = column.distinct()
    texts: Sequence[str | None] = column.texts(found) if column.named else []
    numbers = texts and all(np.isfinite(number_of(str(text))) for text in texts)
    most = MAX_NUMBERS if numbers and name not in (allow or ()) else MAX_GROUPS
    if len(found) > most or not column.named:
        remedy = "merge them into fewer groups, or choose another column"
        if numbers:
            remedy = "cut the numbers into a few groups first, such as with pandas.cut"
            possible = allow is not None and len(found) <= MAX_GROUPS
            remedy += f", or keep codes with --allow {shlex.quote(name)}" if possible else ""
        raise InputError(
            f"group column {name!r} has {len(found) if column.named else column.n_levels} values in {table.n} rows, "
            f"expected at most {most} groups; {remedy}."
        )
    if name not in (allow or ()):
        check_case(f"group column {name!r}", map(str, texts))
    if len(found) < 2:
        what = f"one value only ({texts[0]!r})" if texts else "no value at all"
        raise InputError(f"group column {name!r} has {what}, expected 2 to {MAX_GROUPS} groups; choose another column.")
    return Codes.of(codes, np.array([*texts, None], dtype=object))
