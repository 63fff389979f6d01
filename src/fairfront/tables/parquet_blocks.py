"""Blocks of a Parquet file: some consecutive rows at a time, front to back or wherever they are asked for.

Texts are read as codes of a small dictionary per block, so that a pass over the file makes no text per cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, require
from .arrow_reading import parquet_batches
from .cells import CodeBook
from .frame_reading import as_frame, typed_cells
from .loading import numbers_of
from .schema import Kind, Schema
from .source import Chunk
from .table import Column, Table


@dataclass(frozen=True)
class Block:
    """Rows ``start`` to ``stop`` of a row group; ``first`` is the place of its first row in the file."""

    group: int
    start: int
    stop: int
    first: int

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return self.stop - self.start

    @property
    def rows(self) -> slice:
        """Return the places of the rows in the file."""
        return slice(self.first, self.first + self.n)


@dataclass(frozen=True)
class ParquetBlocks:
    """A Parquet file whose columns have known kinds; it can be sent to other processes that see the same file."""

    path: Path
    stored: Mapping[str, str]
    """The name in the file of each column."""
    kinds: Mapping[str, Kind]
    missing: tuple[str, ...]

    @classmethod
    def of(cls, path: Path, names: Sequence[str], schema: Schema) -> ParquetBlocks:
        """Open the file of a source; ``names`` are all of its columns, in order."""
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
        """Yield the rows of the file that are kept, in order, a table at a time."""
        first = 0
        with self._reader(names) as file:
            for batch in parquet_batches(file, rows, [self.stored[name] for name in names]):
                wanted = np.flatnonzero(kept[first : first + batch.num_rows])
                yield self._table([batch], names, wanted, first)
                first += batch.num_rows

    def read(self, block: Block, names: Sequence[str], wanted: NDArray[np.intp]) -> Table:
        """Return some rows of a block, by their places in it."""
        parts, at = [], 0
        columns = [self.stored[name] for name in names]
        with self._reader(names) as file:
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

    def _reader(self, names: Sequence[str]) -> Any:
        texts = [self.stored[name] for name in names if self.kinds[name] == "category"]
        return _opened(self.path, read_dictionary=texts)

    def _table(self, batches: list[Any], names: Sequence[str], wanted: NDArray[np.intp], first: int) -> Table:
        arrow = require("pyarrow", "parquet", "reading Parquet files")
        table = arrow.Table.from_batches(batches).select([self.stored[name] for name in names])
        table = table.take(arrow.array(wanted)) if len(wanted) < table.num_rows else table
        absent = frozenset(self.missing)
        columns = {name: self._column(arrow, table.column(j), name, absent, first) for j, name in enumerate(names)}
        return Table(len(wanted), columns, self.missing)

    def _column(self, arrow: Any, cells: Any, name: str, absent: frozenset[str], first: int) -> Column:
        book = CodeBook(absent)
        if arrow.types.is_dictionary(cells.type) and _is_text(arrow, cells.type.value_type):
            codes = [_codes(part, book) for part in cells.chunks]
            return _category(np.concatenate([np.empty(0, dtype=np.int32), *codes]), book)
        typed = typed_cells(as_frame(arrow.table({name: cells}))[:, 0], name)
        if self.kinds[name] == "number":
            return Column(numbers=numbers_of(Chunk({name: typed}, first), name, absent))
        return _category(book.codes(typed), book)


def _category(codes: NDArray[np.int32], book: CodeBook) -> Column:
    levels = tuple(book.levels)
    return Column(codes=codes, levels=levels, n_levels=len(levels))


def _codes(part: Any, book: CodeBook) -> NDArray[np.int32]:
    """Return the codes of texts that are stored by their places in a dictionary; the last place is for missing."""
    texts = part.dictionary.to_pylist()
    places = part.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    found = np.zeros(len(texts) + 1, dtype=bool)
    found[places] = True  # texts that do not occur in these rows get no code
    known = [book[text] if there else -1 for text, there in zip([*texts, None], found.tolist(), strict=True)]
    codes: NDArray[np.int32] = np.array(known, dtype=np.int32)[places]
    return codes


def _is_text(arrow: Any, kind: Any) -> bool:
    return bool(arrow.types.is_string(kind) or arrow.types.is_large_string(kind))


def _opened(path: Path, **options: Any) -> Any:
    parquet = require("pyarrow.parquet", "parquet", "reading Parquet files")
    try:
        return parquet.ParquetFile(path, **options)
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror or error}), expected a whole Parquet file."
        ) from error
