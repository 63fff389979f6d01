"""The schema of a table, found in one pass (what kind each column is and how full), and columns loaded by it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives.groups import FEWER, FEWEST, rounded
from ..records import Record
from .source import Source
from .statistics import NAMED_LEVELS, Tally, hash_texts
from .table import Chunk, CodeBook, Column, Kind, Table, to_numbers, to_texts

PASS_ROWS = 5_000
"""Rows per chunk of a pass over the whole source: the cells then stay in the processor's cache."""
NEARLY = 0.97
EXAMPLES = 3


@dataclass(frozen=True)
class ColumnSchema:
    """What is known of one column, without a value from any cell.

    ``n_missing`` rows have no value, and of the others ``n_distinct`` differ (an estimate where not ``exact``): at most
    one where ``constant``, and texts or whole numbers in (nearly) every row, as identifiers do, where ``unique``.
    """

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    exact: bool
    integers: bool
    constant: bool
    unique: bool


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

    @cached_property
    def _by_name(self) -> dict[str, ColumnSchema]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> ColumnSchema:
        if name in self._by_name:
            return self._by_name[name]
        raise InputError(f"the schema has no column {name!r}, expected one of {', '.join(self.names)}.")

    def to_json(self, n: int | None = None) -> dict[str, Any]:
        """Return plain values for ``n`` rows, by default as many as there are.

        A small number of missing cells is written as words, not as a count, and that of different values such that
        what it leaves of all rows does not tell that count.
        """
        shown = self.n if n is None else n
        columns = [asdict(column) for column in self.columns]
        for column in columns:
            if 0 < column["n_missing"] < FEWEST:
                column["n_missing"] = FEWER
            if (left := self.n - column["n_distinct"]) < FEWEST:
                column["n_distinct"] = shown - int(rounded(left))
        return {"n": shown, "missing": list(self.missing), "columns": columns}


def infer(
    source: Source,
    *,
    text: Collection[str] = (),
    numbers: Collection[str] = (),
    columns: Iterable[str] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Schema:
    """Find the kinds of columns in one pass, in constant memory; ``on_progress`` gets units of ``source.size``.

    Columns in ``text`` and ``numbers`` are read as such, whatever they look like. Another is a number where every cell
    that is not missing is a finite one. A column that is mostly numbers with some words is refused: it is a slip, or a
    category that only looks like a number, and only a person knows which.
    """
    asked = source.chosen(columns)
    for what, named in (("text", text), ("numbers", numbers)):
        for name in named:
            source.check_column(name, what)
    for name in asked:
        if name in text and name in numbers:
            raise InputError(f"column {name!r} is named in text and in numbers, expected one of them.")
    kinds: dict[str, Kind] = {**dict.fromkeys(text, "category"), **dict.fromkeys(numbers, "number")}
    tallies = [_CellTally(source, name, kinds.get(name)) for name in asked]
    n = 0
    for chunk in _passed(source, asked, on_progress):
        for tally in tallies:
            tally.add_cells(chunk)
        n += chunk.n
    _refuse_mixed([tally for tally in tallies if tally.mixed])
    return Schema(n, tuple(tally.result() for tally in tallies), tuple(source.missing))


def _passed(source: Source, columns: Iterable[str], on_progress: Callable[[int], None] | None) -> Iterator[Chunk]:
    for chunk in source.chunks(columns, PASS_ROWS):
        yield chunk
        if on_progress is not None:
            on_progress(chunk.done)


class _CellTally(Tally):
    """What has been seen of the raw cells of one column so far."""

    def __init__(self, source: Source, name: str, forced: Kind | None) -> None:
        super().__init__()
        self.name, self.forced, self.typed = name, forced, source.typed
        self.missing = frozenset(source.missing)
        self.n_missing = self.n_numbers = 0
        self.numeric, self.example, self.places = False, "", ""

    def add_cells(self, chunk: Chunk) -> None:
        cells = chunk[self.name]
        is_text = cells.dtype == object
        self.numeric |= not is_text
        names = self.n_numbers == 0 and self.full  # many words, never a number: no need to try each
        if self.forced != "category" and (self.forced or not is_text or not (self.typed or names)):
            values, words = to_numbers(cells, self.missing)
            known = values[np.isfinite(values)]
            self.n_numbers += len(known)
            if not len(words):
                self.n_missing += len(values) - len(known)
                self.add_numbers(known)
                return
            if not self.places:
                self.example = str(cells[words[0]]).strip()
                self.places = chunk.places(words[:EXAMPLES])
        book = CodeBook(self.missing)
        present = int((book.codes(cells) >= 0).sum())
        self.n_missing += len(cells) - present
        self.add_levels(hash_texts(book.levels), present)

    @property
    def n_words(self) -> int:
        """Return the number of rows that have a value which is not a number, or was not tried."""
        return self.present - self.n_numbers

    @property
    def mixed(self) -> bool:
        """Tell whether numbers and words are in one column: words in one of numbers, or in one that is mostly so."""
        if self.forced == "number":
            return self.n_words > 0
        return self.forced is None and 0 < self.n_words < self.n_numbers

    def result(self) -> ColumnSchema:
        number = self.n_words == 0 and bool(self.n_numbers or self.numeric)
        kind: Kind = self.forced or ("number" if number else "category")
        count, exact, present = self.n_distinct, self.exact, self.present
        integers = kind == "number" and present > 0 and self.integers
        alike = count == present if exact else count >= NEARLY * present
        unique = alike and present > 1 and (integers or kind == "category")
        return ColumnSchema(self.name, kind, self.n_missing, count, exact, integers, count <= 1, unique)


def _refuse_mixed(mixed: list[_CellTally]) -> None:
    if not mixed:
        return
    one, others = mixed[0], [tally.name for tally in mixed[1:]]
    also = f" (the same holds for {', '.join(others)})" if others else ""
    word = one.example if len(one.example) <= 30 else one.example[:30] + "..."
    wanted, second = "one kind", f"--text {one.name} if it is a category"
    if one.forced is not None:
        wanted, second = "a number in each", "mend them"
    raise InputError(
        f"column {one.name!r} has numbers in {one.n_numbers} rows and words in {one.n_words} (first in {one.places}, "
        f"such as {word!r}), expected {wanted}{also}; give --missing {word!r} if it stands for a missing value, "
        f"or {second}."
    )


def load(
    source: Source,
    schema: Schema,
    columns: Iterable[str] | None = None,
    *,
    times: Collection[str] = (),
    on_progress: Callable[[int], None] | None = None,
) -> Table:
    """Read columns, by default those of the schema, into memory; ``on_progress`` gets units of ``source.size``.

    ``times`` are ISO dates to load as seconds since 1970, which takes no text per different time.
    """
    asked = source.chosen(schema.names if columns is None else columns)
    fills = [_Fill(schema, name, name in times) for name in asked]
    start = 0
    for chunk in _passed(source, asked, on_progress):
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

    The latter are told apart by 64-bit hashes and numbered by first appearance; other levels are sorted at the end.
    """

    def __init__(self, schema: Schema, name: str, time: bool) -> None:
        column = schema.column(name)
        self.name, self.time, self.missing = name, time, frozenset(schema.missing)
        self.number, self.book = time or column.kind == "number", CodeBook(self.missing)
        self.many = not self.number and column.n_distinct > NAMED_LEVELS
        self.values: NDArray[Any] = np.empty(schema.n, dtype=np.float64 if self.number else np.int32)
        self.hashes: NDArray[np.int64] = np.empty(schema.n if self.many else 0, dtype=np.int64)

    def put(self, here: slice, chunk: Chunk) -> None:
        if self.number:
            self.values[here] = chunk.numbers(self.name, self.missing, time=self.time)
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
