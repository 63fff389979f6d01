"""CSV and TSV files, gzipped or not: rows with their line numbers, streamed, and every fault as a sentence."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from ..exceptions import InputError
from . import csv_faults as faults
from .source import ROWS, Chunk, Source, check_names

GZIP = b"\x1f\x8b"


class CsvSource(Source):
    """A delimited text file with a header line, in UTF-8 with or without a byte order mark.

    Cells are what Python's csv module reads with ``strict=True, skipinitialspace=True``; empty lines are passed over.
    """

    typed = False

    def __init__(self, path: Path, delimiter: str, missing: tuple[str, ...]) -> None:
        self.path, self.delimiter, self.missing = path, delimiter, missing
        self.title, self.size = str(path), path.stat().st_size
        with opened(path) as (data, _), closing(CsvRows(path, data, delimiter)) as reader:
            header, _ = reader.take(1)
        if not header:
            raise InputError(f"{path} is empty, expected a header line and one row per person.")
        fault = faults.wrong_delimiter(self.title, header, delimiter)
        if fault is not None:
            raise fault
        self.names = check_names(header, self.title)

    def sha256(self) -> str:
        """Return the fingerprint of the file's bytes."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        """Yield text cells, a chunk of rows at a time."""
        asked = self.chosen(columns)
        places, width = {name: self.places[name] for name in asked}, len(self.names)
        first = 0
        with opened(self.path) as (data, raw), closing(CsvRows(self.path, data, self.delimiter)) as reader:
            reader.take(1)
            while (found := reader.take(rows, width))[0]:
                cells, lines = found
                named = {name: np.array(cells[place::width], dtype=object) for name, place in places.items()}
                del found, cells
                yield Chunk(named, first, raw.tell(), np.array(lines, dtype=np.int64))
                first += len(lines)
        if not first:
            raise InputError(f"{self.title} has a header line and no rows, expected one row per person below it.")


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file, unpacking gzip; yield its content and the file itself, whose position tells the progress."""
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP
        raw.seek(0)
        if packed:
            with gzip.open(raw) as data:
                yield data, raw  # type: ignore[misc]
        else:
            yield raw, raw


class CsvRows:
    """The rows of an open file; knows in which line it is."""

    def __init__(self, path: Path, data: IO[bytes], delimiter: str) -> None:
        self.path, self.title = path, str(path)
        self.text = io.TextIOWrapper(data, encoding="utf-8-sig", newline="")
        blanks = delimiter != " "
        self.reader = csv.reader(self._lines(), delimiter=delimiter, strict=True, skipinitialspace=blanks)
        self.line = 0

    def close(self) -> None:
        """Close the file."""
        self.text.close()

    def _lines(self) -> Iterator[str]:
        read, limit = self.text.readline, faults.LINE_LIMIT
        while line := read(limit):
            if "\0" in line:
                raise faults.nul(self.title, self.reader.line_num + 1)
            if len(line) == limit:
                raise faults.long_line(self.title, self.reader.line_num + 1)
            yield line

    def take(self, n: int, width: int | None = None) -> tuple[list[str], list[int]]:
        """Return the cells of up to n rows, one row after the other, and the line in which each row begins.

        Rows must have ``width`` cells. They are joined in one list, because millions of small lists keep Python's
        garbage collector busy.
        """
        cells: list[str] = []
        lines: list[int] = []
        try:
            with field_limit(faults.FIELD_LIMIT):
                self._collect(cells, lines, n, width)
        except UnicodeDecodeError:
            with opened(self.path) as (data, _):
                raise faults.not_utf8(self.title, data) from None
        except csv.Error as error:
            raise faults.broken_quotes(self.title, self.line + 1, self.reader.line_num, str(error)) from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise faults.broken_gzip(self.title, error) from None
        except OSError as error:
            raise InputError(f"{self.title} cannot be read ({error.strerror}), expected a file; try again.") from error
        return cells, lines

    def _collect(self, cells: list[str], lines: list[int], n: int, width: int | None) -> None:
        reader = self.reader
        for row in reader:
            start, self.line = self.line + 1, reader.line_num
            if len(row) != width and _blank(row):
                continue
            if len(row) != width and width is not None:
                raise faults.ragged(self.title, start, self.line, len(row), width)
            cells += row
            lines.append(start)
            if len(lines) == n:
                return


def _blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip())


@contextmanager
def field_limit(limit: int) -> Iterator[None]:
    """Let cells be so long for a moment; the csv module keeps the limit for the whole process."""
    before = csv.field_size_limit(limit)
    try:
        yield
    finally:
        csv.field_size_limit(before)
