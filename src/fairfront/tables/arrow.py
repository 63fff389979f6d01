"""Parquet and Feather (Arrow) files, with the extra ``parquet``: front to back, or any block of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, require
from .schema import Schema
from .source import ROWS, Chunk, Kind, Source, as_frame, distinct_names, typed_cells
from .table import CodeBook, Column, Table

TOGETHER = 250_000
"""Rows of small row groups that are read together."""
KINDS = {".parquet": "Parquet", ".pq": "Parquet", ".feather": "Feather", ".arrow": "Arrow", ".ipc": "Arrow"}


@contextmanager
def _opened(path: Path, **options: Any) -> Iterator[Any]:
    """Open a file; what its reader complains of inside is said in one sentence."""
    kind = KINDS[path.suffix.lower()]
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
    if hasattr(file, "num_record_batches"):
        yield from (file.get_batch(i) for i in range(file.num_record_batches))
    else:
        yield from file


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
    """A Parquet, Feather or Arrow file."""

    def __init__(self, path: Path, missing: tuple[str, ...]) -> None:
        self.path: Path = path
        self.title, self.missing, self.kind = str(path), missing, KINDS[path.suffix.lower()]
        with _opened(path) as file:
            if self.kind == "Parquet":
                names, self.size = file.schema_arrow.names, int(file.metadata.num_rows)
            else:
                names, self.size = file.schema.names, sum(batch.num_rows for batch in _stored(file))
        self.names = distinct_names(names, self.title)
        if not self.size:
            raise InputError(f"{self.title} has {len(self.names)} columns and no rows, expected one row per person.")

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        asked, first = self.chosen(columns), 0
        with _opened(self.path) as file:
            for batch in self._batches(file, list(asked.values()), rows):
                frame = as_frame(batch)
                cells = {name: typed_cells(frame[:, j], name) for j, name in enumerate(asked)}
                yield Chunk(cells, first, first + batch.num_rows)
                first += batch.num_rows

    def _batches(self, file: Any, places: list[int], rows: int) -> Iterator[Any]:
        arrow = require("pyarrow", "parquet", f"reading {self.kind} files")
        if self.kind == "Parquet":
            names = [file.schema_arrow.names[place] for place in places]
            batches = (batch.select(names) for batch in _row_groups(file, rows, names) if batch.num_rows)
        else:
            parts = (batch.select(places) for batch in _stored(file))
            batches = (part.slice(start, rows) for part in parts for start in range(0, part.num_rows, rows))
        yield from (arrow.Table.from_batches([batch]) for batch in batches)


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
    kinds: Mapping[str, Kind]
    missing: tuple[str, ...]

    @classmethod
    def of(cls, path: Path, names: Sequence[str], schema: Schema) -> ParquetBlocks:
        """``names`` are all columns of the file, in order."""
        with _opened(path) as file:
            stored = dict(zip(names, file.schema_arrow.names, strict=True))
        return cls(path.absolute(), {name: stored[name] for name in schema.names}, schema.kinds, schema.missing)

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
        with _opened(self.path, read_dictionary=self._texts(names)) as file:
            for batch in _row_groups(file, rows, [self.stored[name] for name in names]):
                wanted = np.flatnonzero(kept[first : first + batch.num_rows])
                yield self._table([batch], names, wanted, first)
                first += batch.num_rows

    def read(self, block: Block, names: Sequence[str], wanted: NDArray[np.intp]) -> Table:
        """``wanted`` are places in the block."""
        parts, at = [], 0
        columns = [self.stored[name] for name in names]
        with _opened(self.path, read_dictionary=self._texts(names)) as file:
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

    def _texts(self, names: Sequence[str]) -> list[str]:
        return [self.stored[name] for name in names if self.kinds[name] == "category"]

    def _table(self, batches: list[Any], names: Sequence[str], wanted: NDArray[np.intp], first: int) -> Table:
        arrow = require("pyarrow", "parquet", "reading Parquet files")
        table = arrow.Table.from_batches(batches).select([self.stored[name] for name in names])
        table = table.take(arrow.array(wanted)) if len(wanted) < table.num_rows else table
        columns = {name: self._column(arrow, table.column(j), name, first) for j, name in enumerate(names)}
        return Table(len(wanted), columns, self.missing)

    def _column(self, arrow: Any, cells: Any, name: str, first: int) -> Column:
        absent = frozenset(self.missing)
        book = CodeBook(absent)
        if arrow.types.is_dictionary(cells.type) and cells.type.value_type in (arrow.string(), arrow.large_string()):
            codes = [_codes(part, book) for part in cells.chunks]
            return Column.of_codes(np.concatenate([np.empty(0, dtype=np.int32), *codes]), tuple(book.levels))
        typed = typed_cells(as_frame(arrow.table({name: cells}))[:, 0], name)
        if self.kinds[name] == "number":
            return Column(numbers=Chunk({name: typed}, first).numbers(name, absent))
        return Column.of_codes(book.codes(typed), tuple(book.levels))


def _codes(part: Any, book: CodeBook) -> NDArray[np.int32]:
    """Return the codes of texts that are stored by their places in a dictionary; the last place is for missing."""
    texts = part.dictionary.to_pylist()
    places = part.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    found = np.zeros(len(texts) + 1, dtype=bool)
    found[places] = True  # texts that do not occur in these rows get no code
    known = [book[text] if there else -1 for text, there in zip([*texts, None], found.tolist(), strict=True)]
    codes: NDArray[np.int32] = np.array(known, dtype=np.int32)[places]
    return codes
