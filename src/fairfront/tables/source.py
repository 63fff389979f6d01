"""Sources of rows: any file or data frame, opened by one function, and read in chunks of raw cells.

CSV and TSV files, gzipped or not, are streamed, and rows know their lines; the other kinds are in ``arrow``.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import hashlib
import io
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..exceptions import InputError, spelled
from ..validation import check_names, check_path, refuse
from .csv_faults import FIELD_LIMIT, LINE_LIMIT, bad_line, not_utf8, ragged, unreadable
from .table import MISSING, Chunk, nearest

ROWS = 50_000
GZIP = b"\x1f\x8b"
DELIMITED = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
TYPED = {".parquet": "Parquet", ".pq": "Parquet", ".feather": "Feather", ".arrow": "Arrow", ".ipc": "Arrow"}
DELIMITERS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
SPELT = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}


class Source(ABC):
    """A table that can be read again and again, front to back.

    ``title`` is what sentences call it, ``size`` its length in the units of `Chunk.done` (bytes of a text file, rows of
    others), ``missing`` are texts that stand for a missing value. Where columns have types of their own (``typed``),
    text stays text, whatever it looks like. A data frame has no ``path``.
    """

    title: str
    path: Path | None = None
    names: tuple[str, ...]
    missing: tuple[str, ...]
    typed: bool = True
    size: int

    @abstractmethod
    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        """Yield the rows in order, at most so many at a time, with the columns asked for (default: all)."""

    def sha256(self) -> str | None:
        """Return the fingerprint of the file's bytes; None for a data frame."""
        if self.path is None:
            return None
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def check_column(self, name: str, what: str = "columns") -> None:
        if name not in self._places:
            raise InputError(
                f"{spelled(what)} names {name!r}, but {self.title} has no such column{nearest(name, self.names)}"
            )

    def chosen(self, columns: Iterable[str] | None) -> dict[str, int]:
        """Return the columns asked for, each once, with their places; all must be there."""
        asked = self.names if columns is None else tuple(columns)
        for name in asked:
            self.check_column(name)
        return {name: self._places[name] for name in asked}


def distinct_names(names: Sequence[str], title: str) -> tuple[str, ...]:
    """Return column names without blanks around them, "column 3" for one without a name; each occurs once."""
    seen: dict[str, int] = {}
    for place, given in enumerate(names, start=1):
        name = given.strip() or f"column {place}"
        if name in seen:
            raise InputError(
                f"{title} has the column {name!r} twice (places {seen[name]} and {place}), expected different names; "
                "rename one of them."
            )
        seen[name] = place
    return tuple(seen)


def open_source(data: Any, *, delimiter: str | None = None, missing: Iterable[str] = MISSING) -> Source:
    """Open a file (CSV or TSV, also gzipped, Parquet, Feather, Arrow) or a data frame without reading it.

    ``delimiter`` is by default a comma, or a tab for ``.tsv``; cells in ``missing`` stand for a missing value.
    """
    from .arrow import ArrowSource, FrameSource

    known = check_names(missing, "missing", "texts such as 'NA'")
    if not isinstance(data, (str, PathLike)):
        return FrameSource(data, known)
    path = check_path(data, "data").expanduser()
    try:
        _check_file(path)
        if path.suffix.lower() in TYPED:
            return ArrowSource(path, known)
        bare = Path(path.name.lower().removesuffix(".gz"))
        return CsvSource(path, check_delimiter(delimiter) or DELIMITED[bare.suffix], known)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}), expected a file that may be read.") from error


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder, expected a file; name the file in it.")
    if not path.exists():
        beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1)
        hint = f"; did you mean {path.parent / near[0]}?" if near else "; check the path."
        raise InputError(f"there is no file {path}, expected a CSV, TSV, Parquet or Feather file{hint}")
    if not path.is_file():
        raise InputError(f"{path} is not a regular file, expected one that can be read twice; save it as a file first.")
    endings = (*DELIMITED, *(f"{ending}.gz" for ending in DELIMITED), *TYPED)
    if not path.name.lower().endswith(endings):
        raise InputError(
            f"{path} has the ending {path.suffix or '(none)'!r}, expected one of {', '.join(endings)}; save the table "
            "as CSV, or rename the file to what it is."
        )
    if not path.stat().st_size:
        raise InputError(f"{path} is empty (0 bytes), expected a header line and one row per person.")
    if path.suffix.lower() == ".gz":
        with _opened(path) as (data, raw):
            if data is raw:
                raise InputError(
                    f"{path} is not a gzip file, expected one by its ending .gz; rename it, or pack it again."
                )


def check_delimiter(given: Any) -> str | None:
    if given is None:
        return None
    found = SPELT.get(given, given) if isinstance(given, str) else ""
    if len(found) != 1 or found in '"\r\n':
        raise refuse("delimiter", given, "one character such as ',' or ';', or the word tab")
    return found


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file, unpacking gzip; yield its content and the file itself, whose position tells the progress."""
    with path.open("rb") as raw:
        packed = raw.read(2) == GZIP
        raw.seek(0)
        if packed:
            with gzip.open(raw) as data:
                yield data, raw  # type: ignore[misc]
        else:
            yield raw, raw


class CsvSource(Source):
    """A delimited text file with a header line, in UTF-8 with or without a byte order mark.

    Cells are what Python's csv module reads with ``strict=True, skipinitialspace=True``; empty lines are passed over.
    """

    typed = False

    def __init__(self, path: Path, delimiter: str, missing: tuple[str, ...]) -> None:
        self.path: Path = path
        self.delimiter, self.missing = delimiter, missing
        self.title, self.size = str(path), path.stat().st_size
        with _opened(path) as (data, _), closing(_Rows(path, data, delimiter)) as reader:
            header, _ = reader.take(1)
        if not header:
            raise InputError(f"{path} is empty, expected a header line and one row per person.")
        counts = {words: header[0].count(each) for each, words in DELIMITERS.items() if each != delimiter}
        likely = max(counts, key=lambda words: counts[words])
        if len(header) == 1 and counts[likely]:
            raise InputError(
                f"{path} has one column when it is cut at {DELIMITERS.get(delimiter, repr(delimiter))}, expected "
                f"several; its header looks delimited by {likely}: give --delimiter {likely}."
            )
        self.names = distinct_names(header, self.title)

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        asked, width, first = self.chosen(columns), len(self.names), 0
        with _opened(self.path) as (data, raw), closing(_Rows(self.path, data, self.delimiter)) as reader:
            reader.take(1)
            while (found := reader.take(rows, width))[0]:
                cells, lines = found
                named = {name: np.array(cells[place::width], dtype=object) for name, place in asked.items()}
                del found, cells
                yield Chunk(named, first, raw.tell(), np.array(lines, dtype=np.int64))
                first += len(lines)
        if not first:
            raise InputError(f"{self.title} has a header line and no rows, expected one row per person below it.")


class _Rows:
    """The rows of an open file; knows in which line it is."""

    def __init__(self, path: Path, data: IO[bytes], delimiter: str) -> None:
        self.path, self.line = path, 0
        self.text = io.TextIOWrapper(data, encoding="utf-8-sig", newline="")
        blanks = delimiter != " "
        self.reader = csv.reader(self._lines(), delimiter=delimiter, strict=True, skipinitialspace=blanks)

    def close(self) -> None:
        self.text.close()

    def _lines(self) -> Iterator[str]:
        while line := self.text.readline(LINE_LIMIT):
            if "\0" in line or len(line) == LINE_LIMIT:
                raise bad_line(self.path, self.reader.line_num + 1, line)
            yield line

    def take(self, n: int, width: int | None = None) -> tuple[list[str], list[int]]:
        """Return the cells of up to n rows, one row after the other, and the line in which each row begins.

        Rows must have ``width`` cells. They are joined in one list, because millions of small lists keep Python's
        garbage collector busy.
        """
        cells: list[str] = []
        lines: list[int] = []
        before = csv.field_size_limit(FIELD_LIMIT)  # the csv module keeps the limit for the whole process
        try:
            for row in self.reader:
                start, self.line = self.line + 1, self.reader.line_num
                if len(row) != width:
                    if not row or (len(row) == 1 and not row[0].strip()):
                        continue
                    if width is not None:
                        raise ragged(self.path, start, self.line, len(row), width)
                cells += row
                lines.append(start)
                if len(lines) == n:
                    break
            return cells, lines
        except UnicodeDecodeError:
            with _opened(self.path) as (data, _):
                raise not_utf8(self.path, data) from None
        except (csv.Error, EOFError, zlib.error, OSError) as error:
            raise unreadable(self.path, self.line + 1, self.reader.line_num, error) from error
        finally:
            csv.field_size_limit(before)
