"""Sources of rows: names, a fingerprint, and chunks of raw cells in constant memory; a data frame is one of them."""

from __future__ import annotations

import difflib
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..validation import is_missing
from .raw_cells import Array, to_numbers, to_seconds

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "null", "NULL", "None", "?")
"""Cells that stand for a missing value in every file, compared after blanks at both ends are taken off.

Upper and lower case count, as in pandas: "None" is missing, and "none" is a value that people gave."""

ROWS = 50_000
PASS_ROWS = 5_000
"""Rows per chunk of a pass over the whole source: the cells then stay in the processor's cache."""
SHOWN = 12
TIMES = (nw.Date, nw.Datetime, nw.Time)
TEXTS = (nw.String, nw.Categorical, nw.Enum)


class Chunk(dict[str, NDArray[Any]]):
    """Some consecutive rows by column: numbers as int or float arrays, text as object arrays.

    Attributes
    ----------
    lines : ndarray of shape (n,) or None
        Line of the file in which each row begins; None where rows have no lines.
    first : int
        Number of rows before this chunk.
    done : int
        How much of the source was read, in units of `Source.size`.
    """

    def __init__(
        self, cells: dict[str, NDArray[Any]], first: int = 0, done: int = 0, lines: NDArray[np.int64] | None = None
    ) -> None:
        super().__init__(cells)
        self.first, self.done, self.lines = first, done, lines

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.values()))) if self else 0

    def place(self, row: int) -> str:
        """Say where a row of the chunk stands: its line in a text file (the header is line 1), else its number."""
        return f"line {int(self.lines[row])}" if self.lines is not None else f"row {self.first + row + 1}"

    def places(self, rows: Sequence[int]) -> str:
        """Say where some rows stand, "lines 3, 8"."""
        word, _, first = self.place(int(rows[0])).partition(" ")
        rest = [self.place(int(row)).partition(" ")[2] for row in rows[1:]]
        return f"{word}{'s' if rest else ''} {', '.join([first, *rest])}"

    def numbers(self, name: str, missing: frozenset[str]) -> Array:
        """Return a column as numbers, NaN where missing, or say which line has a word."""
        values, words = to_numbers(self[name], missing)
        if len(words):
            raise InputError(
                f"column {name!r} has {str(self[name][words[0]]).strip()!r} in {self.place(int(words[0]))} "
                f"({len(words)} such rows nearby), expected a number; mend it, or name it with --missing."
            )
        return values

    def seconds(self, name: str, missing: frozenset[str]) -> Array:
        """Return a column of ISO dates as seconds since 1970, NaN where missing, or say which line has another text."""
        values, words = to_seconds(self[name], missing)
        if len(words):
            raise InputError(
                f"column {name!r} has {self[name][words[0]]!r} in {self.place(int(words[0]))}, expected an ISO date "
                "such as 2024-01-31; write it that way, or name it with --missing."
            )
        return values


class Source(ABC):
    """A table that can be read again and again, front to back.

    Attributes
    ----------
    title : str
        What sentences call it: the file's name, or "the data frame".
    path : Path or None
        The file; None for a data frame.
    names : tuple of str
        Its columns, in order.
    missing : tuple of str
        Text that stands for a missing value.
    typed : bool
        Whether columns have types of their own; text then stays text, whatever it looks like.
    size : int
        Length in the units of `Chunk.done`: bytes of a text file, rows of others.
    """

    title: str
    path: Path | None = None
    names: tuple[str, ...]
    missing: tuple[str, ...]
    typed: bool
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
    def places(self) -> dict[str, int]:
        """Return the place of every column, counted from 0."""
        return {name: place for place, name in enumerate(self.names)}

    def check_column(self, name: str, what: str = "columns") -> None:
        """Refuse a name that the source does not have, and name the nearest."""
        if name not in self.places:
            raise InputError(
                f"{spelled(what)} names {name!r}, but {self.title} has no such column{nearest(name, self.names)}"
            )

    def chosen(self, columns: Iterable[str] | None) -> dict[str, int]:
        """Return the columns asked for, each once, with their places; all must be there."""
        asked = self.names if columns is None else tuple(columns)
        for name in asked:
            self.check_column(name)
        return {name: self.places[name] for name in asked}


def nearest(name: str, known: Sequence[str], otherwise: str | None = None) -> str:
    """End a sentence about an unknown name: the nearest one where there is one, else all of them or another end."""
    lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {lower[near[0]]!r}?"
    return f", expected one of {listed(known)}." if otherwise is None else otherwise


def listed(names: Sequence[str]) -> str:
    """Return names in a sentence, not more than 12 of them."""
    return ", ".join(names[:SHOWN]) + (f", ... ({len(names)} in all)" if len(names) > SHOWN else "")


def distinct_names(names: Sequence[str], title: str) -> tuple[str, ...]:
    """Return column names without blanks around them, "column 3" for one without a name; each occurs once."""
    found = tuple(name.strip() or f"column {place}" for place, name in enumerate(names, start=1))
    seen: dict[str, int] = {}
    for place, name in enumerate(found, start=1):
        if name in seen:
            raise InputError(
                f"{title} has the column {name!r} twice (places {seen[name]} and {place}), expected different names; "
                "rename one of them."
            )
        seen[name] = place
    return found


class FrameSource(Source):
    """A data frame of pandas, polars or pyarrow."""

    typed = True
    title = "the data frame"

    def __init__(self, frame: Any, missing: tuple[str, ...]) -> None:
        self.frame, self.missing = as_frame(frame), missing
        self.size = len(self.frame)
        self.names = distinct_names([str(name) for name in self.frame.columns], self.title)
        if not self.names or not self.size:
            raise InputError(f"{self.title} has shape {self.frame.shape}, expected one row per person and columns.")

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        """Yield typed cells."""
        asked = self.chosen(columns)
        for first in range(0, self.size, rows):
            part = self.frame[first : first + rows]
            cells = {name: typed_cells(part[:, place], name) for name, place in asked.items()}
            yield Chunk(cells, first, min(first + rows, self.size))


def as_frame(frame: Any) -> Any:
    """Return a data frame in the form that all libraries share."""
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            f"the data have the type {type(frame).__name__}, expected a path or a data frame of pandas, polars or "
            "pyarrow; collect a lazy frame first."
        ) from None
    except ValueError as error:
        raise InputError(f"the data frame cannot be used, expected different column names ({error}).") from error


def typed_cells(series: Any, name: str) -> NDArray[Any]:
    """Return numbers as an int or float array, all else as texts with None for missing ones."""
    dtype = series.dtype
    if dtype.is_integer() and not series.null_count():
        return np.asarray(series.to_numpy())
    if dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if series.null_count() == len(series):
        return np.full(len(series), None, dtype=object)
    if dtype == nw.String:
        texts = series.to_list()
        return np.array(
            [v if isinstance(v, str) else None for v in texts] if series.null_count() else texts, dtype=object
        )
    if dtype == nw.Boolean and not series.null_count():
        return np.where(series.to_numpy(), "true", "false").astype(object)
    if dtype == nw.Boolean or dtype in TEXTS or dtype in TIMES or dtype == nw.Object:
        return _objects([_cell(value, name) for value in series.to_list()])
    raise InputError(
        f"column {name!r} has the type {dtype}, expected numbers, text, true and false, or dates; convert or drop it."
    )


def _objects(values: list[Any]) -> NDArray[Any]:
    """Return texts, or numbers where a column of mixed objects holds nothing else."""
    known = [value for value in values if value is not None]
    if known and not any(isinstance(value, str) for value in known):
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.array([None if value is None else str(value) for value in values], dtype=object)


def _cell(value: Any, name: str) -> Any:
    """Return one cell as text, as a number where it is one, or None."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (int, float, np.number)):
        return value
    raise InputError(
        f"column {name!r} has a cell of the type {type(value).__name__}, expected a number, text, true or false, or a "
        "date; convert or drop the column."
    )
