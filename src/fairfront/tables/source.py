"""Sources of rows: any file or data frame, opened by one function, and read in chunks of raw cells.

Text files are in ``delimited``; data frames, and files whose columns have types, in ``arrow``.
"""

from __future__ import annotations

import difflib
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..exceptions import InputError, spelled
from ..validation import check_names, check_path
from .table import MISSING, Chunk, nearest

ROWS = 50_000
DELIMITED = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
TYPED = {".parquet": "Parquet", ".pq": "Parquet", ".feather": "Feather", ".arrow": "Arrow", ".ipc": "Arrow"}


class Source(ABC):
    """A table that can be read again and again, front to back.

    ``title`` is what sentences call it, ``size`` its length in the units of `Chunk.done` (bytes of a text file, rows of
    others), ``missing`` are texts that stand for a missing value. Where columns have types of their own (``typed``),
    text that looks like a plain number stays text. A data frame has no ``path``. ``notes`` say what was guessed, and
    ``copies`` map columns that were renamed to the name they have in the file.
    """

    title: str
    path: Path | None = None
    names: tuple[str, ...]
    missing: tuple[str, ...]
    typed: bool = True
    size: int
    notes: tuple[str, ...] = ()
    copies: Mapping[str, str] = MappingProxyType({})

    @abstractmethod
    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        """Yield the rows in order, at most so many at a time, with the columns asked for (default: all)."""

    def sha256(self) -> str | None:
        """Return the fingerprint of the file's bytes; None for a data frame."""
        return None if self.path is None else fingerprint(self.path)

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


def fingerprint(data: Any) -> str:
    """Return the sha256 of a file of rows, however it is written."""
    path = check_path(data, "data").expanduser()
    try:
        _check_file(path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}), expected a file that may be read.") from error


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


def open_source(
    data: Any, *, delimiter: str | None = None, missing: Iterable[str] = MISSING, encoding: str | None = None
) -> Source:
    """Open a file (CSV or TSV, also gzipped, Parquet, Feather, Arrow) or a data frame without reading it.

    ``delimiter`` is by default a comma, or a tab for ``.tsv``, or what the header looks cut by; cells in ``missing``
    stand for a missing value; ``encoding`` is by default UTF-8, with or without a byte order mark.
    """
    from .arrow import ArrowSource, FrameSource
    from .delimited import CsvSource, check_delimiter, check_encoding

    known = check_names(missing, "missing", "texts such as 'NA'")
    cut, coded = check_delimiter(delimiter), check_encoding(encoding)
    if not isinstance(data, (str, PathLike)):
        return FrameSource(data, known)
    path = check_path(data, "data").expanduser()
    try:
        _check_file(path)
        if path.suffix.lower() in TYPED:
            return ArrowSource(path, known)
        bare = Path(path.name.lower().removesuffix(".gz"))
        return CsvSource(path, cut, known, coded, DELIMITED[bare.suffix])
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}), expected a file that may be read.") from error


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder, expected a file; name the file in it.")
    if not path.exists():
        beside = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1)
        hint = f"; did you mean {path.parent / near[0]}?" if near else "; check the path."
        raise InputError(f"{path} does not exist, expected a CSV, TSV, Parquet or Feather file{hint}")
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
