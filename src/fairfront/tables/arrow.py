"""Tables whose columns have types: data frames, and Parquet and Feather (Arrow) files with the extra ``parquet``.

Files are read front to back, or any block of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, require
from ..validation import is_missing
from .schema import Schema
from .source import ROWS, TYPED, Source, distinct_names
from .table import Chunk, CodeBook, Column, Rows, Table

TOGETHER = 250_000
"""Rows of small row groups that are read together."""
OBJECTS = (nw.Boolean, nw.Categorical, nw.Enum, nw.Date, nw.Datetime, nw.Time, nw.Object)


class FrameSource(Source):
    """A data frame of pandas, polars or pyarrow."""

    title = "the data frame"

    def __init__(self, frame: Any, missing: tuple[str, ...]) -> None:
        self.frame, self.missing = _as_frame(frame), missing
        self.size = len(self.frame)
        self.names = distinct_names([str(name) for name in self.frame.columns], self.title)
        if not self.names or not self.size:
            raise InputError(f"{self.title} has shape {self.frame.shape}, expected one row per person and columns.")

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        asked = self.chosen(columns)
        for first in range(0, self.size, rows):
            part = self.frame[first : first + rows]
            cells = {name: _typed_cells(part[:, place], name) for name, place in asked.items()}
            yield Chunk(cells, first, min(first + rows, self.size))


def _as_frame(frame: Any) -> Any:
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            f"the data have the type {type(frame).__name__}, expected a path or a data frame of pandas, polars or "
            "pyarrow; collect a lazy frame first."
        ) from None
    except ValueError as error:
        raise InputError(f"the data frame cannot be used, expected different column names ({error}).") from error


def _typed_cells(series: Any, name: str) -> NDArray[Any]:
    """Return numbers as an int or float array, all else as texts with None for missing ones."""
    dtype, n_missing = series.dtype, series.null_count()
    if dtype.is_integer() and not n_missing:
        return np.asarray(series.to_numpy())
    if dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if n_missing == len(series):
        return np.full(len(series), None, dtype=object)
    if dtype == nw.Boolean and not n_missing:
        return np.where(series.to_numpy(), "true", "false").astype(object)
    if dtype == nw.String:
        return np.array([cell if isinstance(cell, str) else None for cell in series.to_list()], dtype=object)
    if dtype not in OBJECTS:
        expected = "numbers, text, true and false, or dates"
        raise InputError(f"column {name!r} has the type {dtype}, expected {expected}; convert or drop it.")
    values = [_cell(value, name) for value in series.to_list()]
    if any(isinstance(value, str) for value in values) or all(value is None for value in values):
        return np.array([None if value is None else str(value) for value in values], dtype=object)
    return np.array([np.nan if value is None else float(value) for value in values])  # objects that are all numbers


def _cell(value: Any, name: str) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (str, int, float, np.number)):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise InputError(
        f"column {name!r} has a cell of the type {type(value).__name__}, expected a number, text, true or false, or a "
        "date; convert or drop the column."
    )


@contextmanager
def _opened(path: Path, **options: Any) -> Iterator[Any]:
    """Open a file; what its reader complains of inside is said in one sentence."""
    kind = TYPED[path.suffix.lower()]
    arrow, parquet, ipc = (
        require(f"pyarrow{each}", "parquet", f"reading {kind} files") for each in ("", ".parquet", ".ipc")
    )
    try:
        with parquet.ParquetFile(path, **options) if kind == "Parquet" else _ipc_file(arrow, ipc, path) as file:
            yield file
    except (arrow.ArrowInvalid, OSError) as error:
        why = str(error).splitlines()[0].partition(". ")[0][:120].rstrip(".")
        raise InputError(
            f"{path} cannot be read as a {kind} file ({why}), expected a whole file of that kind; write it again, or "
            "give it the ending of what it is."
        ) from error


def _ipc_file(arrow: Any, ipc: Any, path: Path) -> Any:
    try:
        return ipc.open_file(arrow.memory_map(str(path)))
    except arrow.ArrowInvalid:
        return ipc.open_stream(arrow.memory_map(str(path)))


def _stored(file: Any) -> Iterator[Any]:
    """Yield the batches of an open Feather or Arrow file."""
    count = getattr(file, "num_record_batches", None)
    return iter(file) if count is None else (file.get_batch(i) for i in range(count))


def _row_groups(file: Any, rows: int, columns: list[str]) -> Iterator[Any]:
    """Yield batches of an open Parquet file, a few row groups at a time, because the reader keeps the bytes of all.

    Small row groups are put together, so that batches have the rows that were asked for.
    """
    together: list[int] = []
    held = 0
    for group in range(file.metadata.num_row_groups):
        together.append(group)
        held += file.metadata.row_group(group).num_rows
        if held >= TOGETHER or group == file.metadata.num_row_groups - 1:
            yield from file.iter_batches(rows, row_groups=together, columns=columns)
            together, held = [], 0


class ArrowSource(Source):
    """A Parquet, Feather or Arrow file; ``stored`` are the names of its columns in the file."""

    def __init__(self, path: Path, missing: tuple[str, ...]) -> None:
        self.path: Path = path
        self.title, self.missing, self.kind = str(path), missing, TYPED[path.suffix.lower()]
        with _opened(path) as file:
            if self.kind == "Parquet":
                names, self.size = file.schema_arrow.names, int(file.metadata.num_rows)
            else:
                names, self.size = file.schema.names, sum(batch.num_rows for batch in _stored(file))
        self.names = distinct_names(names, self.title)
        self.stored = dict(zip(self.names, names, strict=True))
        if not self.size:
            raise InputError(f"{self.title} has {len(self.names)} columns and no rows, expected one row per person.")

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        asked, first = list(self.chosen(columns)), 0
        names = [self.stored[name] for name in asked]
        arrow = require("pyarrow", "parquet", f"reading {self.kind} files")
        with _opened(self.path) as file:
            if self.kind == "Parquet":
                batches = (batch for batch in _row_groups(file, rows, names) if batch.num_rows)
            else:
                parts = _stored(file)
                batches = (part.slice(start, rows) for part in parts for start in range(0, part.num_rows, rows))
            for batch in batches:
                frame = _as_frame(arrow.Table.from_batches([batch.select(names)]))
                cells = {name: _typed_cells(frame[:, j], name) for j, name in enumerate(asked)}
                yield Chunk(cells, first, first + batch.num_rows)
                first += batch.num_rows


@dataclass(frozen=True)
class Block:
    """Rows ``start`` to ``stop`` of a row group; ``first`` is the place of its first row in the file."""

    group: int
    start: int
    stop: int
    first: int

    @property
    def n(self) -> int:
        return self.stop - self.start

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + self.n)


@dataclass(frozen=True)
class ParquetBlocks:
    """A Parquet file whose columns have known kinds; it can be sent to other processes that see the same file.

    Texts are read as codes of a small dictionary per block, so that a pass over the file makes no text per cell.
    ``stored`` are the names of the columns in the file.
    """

    path: Path
    stored: Mapping[str, str]
    schema: Schema

    @classmethod
    def of(cls, source: ArrowSource, schema: Schema) -> ParquetBlocks:
        return cls(source.path.absolute(), source.stored, schema)

    def cut(self, rows: int) -> list[Block]:
        """Cut the file into blocks of at most so many rows, none of which crosses row groups."""
        with _opened(self.path) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        firsts = np.cumsum([0, *sizes]).tolist()
        blocks = []
        for group, size in enumerate(sizes):
            ends = np.linspace(0, size, max(1, -(-size // rows)) + 1).astype(int).tolist()
            blocks += [Block(group, a, b, firsts[group] + a) for a, b in pairwise(ends) if b > a]
        return blocks

    def stream(self, names: Sequence[str], rows: int, kept: NDArray[np.bool_]) -> Iterator[Table]:
        first = 0
        with self._read(names) as (file, columns):
            for batch in _row_groups(file, rows, columns):
                wanted = np.flatnonzero(kept[first : first + batch.num_rows])
                yield self._table([batch], names, wanted, first)
                first += batch.num_rows

    def read(self, block: Block, names: Sequence[str], wanted: Rows) -> Table:
        """``wanted`` are places in the block."""
        parts, at = [], 0
        with self._read(names) as (file, columns):
            # a row group is decoded from its beginning, so rows before the block are passed over
            for batch in file.iter_batches(block.n, row_groups=[block.group], columns=columns):
                low, high = max(block.start, at), min(block.stop, at + batch.num_rows)
                if low < high:
                    parts.append(batch.slice(low - at, high - low))
                at += batch.num_rows
                if at >= block.stop:
                    break
        if sum(part.num_rows for part in parts) != block.n:
            raise InputError(f"{self.path} has fewer rows than a moment ago; it is being written to.")
        return self._table(parts, names, wanted, block.first)

    @contextmanager
    def _read(self, names: Sequence[str]) -> Iterator[tuple[Any, list[str]]]:
        texts = [self.stored[name] for name in names if self.schema.kinds[name] == "category"]
        with _opened(self.path, read_dictionary=texts) as file:
            yield file, [self.stored[name] for name in names]

    def _table(self, batches: list[Any], names: Sequence[str], wanted: Rows, first: int) -> Table:
        arrow = require("pyarrow", "parquet", "reading Parquet files")
        table = arrow.Table.from_batches(batches).select([self.stored[name] for name in names])
        table = table.take(arrow.array(wanted)) if len(wanted) < table.num_rows else table
        columns = {name: self._column(arrow, table.column(j), name, first) for j, name in enumerate(names)}
        return Table(len(wanted), columns, self.schema.missing)

    def _column(self, arrow: Any, cells: Any, name: str, first: int) -> Column:
        absent = frozenset(self.schema.missing)
        book = CodeBook(absent)
        if arrow.types.is_dictionary(cells.type) and cells.type.value_type in (arrow.string(), arrow.large_string()):
            codes = [_codes(part, book) for part in cells.chunks]
            return Column.of_codes(np.concatenate([np.empty(0, dtype=np.int32), *codes]), book.levels)
        typed = _typed_cells(_as_frame(arrow.table({name: cells}))[:, 0], name)
        if self.schema.kinds[name] == "number":
            return Column(Chunk({name: typed}, first).numbers(name, absent, self.schema.column(name).notation))
        return Column.of_codes(book.codes(typed), book.levels)


def _codes(part: Any, book: CodeBook) -> NDArray[np.int32]:
    """Return the codes of texts that are stored by their places in a dictionary; the last place is for missing."""
    texts = part.dictionary.to_pylist()
    places = part.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    found = np.zeros(len(texts) + 1, dtype=bool)
    found[places] = True  # texts that do not occur in these rows get no code
    known = [book[text] if there else -1 for text, there in zip([*texts, None], found.tolist(), strict=True)]
    codes: NDArray[np.int32] = np.array(known, dtype=np.int32)[places]
    return codes
