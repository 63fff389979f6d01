"""Parquet and Feather (Arrow) files, read batch by batch with the extra ``parquet``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..exceptions import InputError, require
from .frame_reading import as_frame, typed_cells
from .source import ROWS, Chunk, Source, check_names

TOGETHER = 250_000
"""Rows of small row groups that are read together."""
KINDS = {".parquet": "Parquet", ".pq": "Parquet", ".feather": "Feather", ".arrow": "Arrow", ".ipc": "Arrow"}


class ArrowSource(Source):
    """A Parquet, Feather or Arrow file."""

    typed = True

    def __init__(self, path: Path, missing: tuple[str, ...]) -> None:
        self.path, self.title, self.missing = path, str(path), missing
        self.kind = KINDS[path.suffix.lower()]
        self.arrow = require("pyarrow", "parquet", f"reading {self.kind} files")
        names, self.size = self._head()
        self.names = check_names(names, self.title)
        if not self.size:
            raise InputError(f"{self.title} has {len(self.names)} columns and no rows, expected one row per person.")

    def sha256(self) -> str:
        """Return the fingerprint of the file's bytes."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        """Yield typed cells, a chunk of at most so many rows at a time."""
        asked = self.chosen(columns)
        places = [self.places[name] for name in asked]
        first = 0
        for batch in self._batches(places, rows):
            frame = as_frame(self.arrow.Table.from_batches([batch]))
            cells = {name: typed_cells(frame[:, j], name) for j, name in enumerate(asked)}
            yield Chunk(cells, first, first + batch.num_rows)
            first += batch.num_rows

    def _head(self) -> tuple[list[str], int]:
        try:
            if self.kind == "Parquet":
                with self._parquet() as file:
                    return list(file.schema_arrow.names), int(file.metadata.num_rows)
            with self._ipc() as file:
                return list(file.schema.names), sum(batch.num_rows for batch in _stored(file))
        except (self.arrow.ArrowInvalid, OSError) as error:
            raise self._fault(error) from error

    def _batches(self, places: list[int], rows: int) -> Iterator[Any]:
        try:
            if self.kind == "Parquet":
                with self._parquet() as file:
                    names = [file.schema_arrow.names[place] for place in places]
                    yield from (batch.select(names) for batch in parquet_batches(file, rows, names) if batch.num_rows)
                return
            with self._ipc() as file:
                for batch in _stored(file):
                    part = batch.select(places)
                    yield from (part.slice(start, rows) for start in range(0, part.num_rows, rows))
        except (self.arrow.ArrowInvalid, OSError) as error:
            raise self._fault(error) from error

    def _parquet(self) -> Any:
        return require("pyarrow.parquet", "parquet", "reading Parquet files").ParquetFile(self.path)

    def _ipc(self) -> Any:
        ipc = require("pyarrow.ipc", "parquet", f"reading {self.kind} files")
        try:
            return ipc.open_file(self.arrow.memory_map(str(self.path)))
        except self.arrow.ArrowInvalid:
            return ipc.open_stream(self.arrow.memory_map(str(self.path)))

    def _fault(self, error: Exception) -> InputError:
        why = str(error).splitlines()[0].partition(". ")[0][:120].rstrip(".")
        return InputError(
            f"{self.title} cannot be read as a {self.kind} file ({why}), expected a whole file of that kind; "
            "write it again, or give it the ending of what it is."
        )


def parquet_batches(file: Any, rows: int, columns: list[str]) -> Iterator[Any]:
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


def _stored(file: Any) -> Iterator[Any]:
    """Yield the batches of an open Arrow file or stream."""
    if hasattr(file, "num_record_batches"):
        yield from (file.get_batch(i) for i in range(file.num_record_batches))
    else:
        yield from file
