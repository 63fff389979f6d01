"""Sources of rows: names, a fingerprint, and chunks of raw cells in constant memory; a data frame is one of them."""

from __future__ import annotations

import difflib
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..validation import is_missing

Array = NDArray[np.float64]
Places = NDArray[np.intp]
Kind = Literal["number", "category"]
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "null", "NULL", "None", "?")
"""Cells that stand for a missing value in every file, compared after blanks at both ends are taken off.

Upper and lower case count, as in pandas: "None" is missing, and "none" is a value that people gave."""

ROWS = 50_000
PASS_ROWS = 5_000
"""Rows per chunk of a pass over the whole source: the cells then stay in the processor's cache."""
SHOWN = 12
ABSENT: Any = float("nan")
MONTH = re.compile(r"\d{4}-\d{2}")
OBJECTS = (nw.Boolean, nw.Categorical, nw.Enum, nw.Date, nw.Datetime, nw.Time, nw.Object)


def to_numbers(cells: NDArray[Any], missing: frozenset[str]) -> tuple[Array, Places]:
    """Return numbers (NaN where missing) and the rows whose cell is neither a finite number nor missing.

    Texts are numbers as Python's ``float`` reads them, without underscores, NaN and infinity: those are words.
    """
    if cells.dtype.kind in "iuf":
        values = cells.astype(np.float64)
        return values, np.flatnonzero(np.isinf(values))
    texts = cells.tolist()
    quick = _all_numbers(texts)
    if quick is None:
        quick = _all_numbers([ABSENT if text is None or text in missing else text for text in texts])
    return _read_each(texts, number_of, missing) if quick is None else (quick, np.empty(0, dtype=np.intp))


def _all_numbers(texts: list[Any]) -> Array | None:
    """Convert all texts at once; None where one of them is no finite number, save those that are known absent."""
    try:
        values = np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    except (TypeError, ValueError):
        return None
    absent = texts.count(ABSENT)
    if np.count_nonzero(np.isfinite(values)) != len(texts) - absent:
        return None
    written = "".join(texts if not absent else [text for text in texts if text is not ABSENT])
    return None if "_" in written else values


def _read_each(texts: list[Any], read: Callable[[str], float], missing: frozenset[str]) -> tuple[Array, Places]:
    """Convert the distinct texts one by one, which is quick for categories."""
    known = {text: np.nan if text is None or text.strip() in missing else read(text) for text in set(texts)}
    values = np.fromiter(map(known.__getitem__, texts), dtype=np.float64, count=len(texts))
    words = np.flatnonzero(np.isinf(values))
    values[words] = np.nan
    return values, words


def number_of(text: str) -> float:
    """Return the number that a text stands for, infinity for a word."""
    try:
        value = float(text)
    except ValueError:
        return np.inf
    return value if np.isfinite(value) and "_" not in text else np.inf


def seconds_of(text: str) -> float:
    """Return the seconds since 1970 (UTC where no zone is given) of an ISO date, month or time; else infinity."""
    plain = text.strip()
    try:
        found = datetime.fromisoformat(f"{plain}-01" if MONTH.fullmatch(plain) else plain)
    except ValueError:
        return np.inf
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


class Chunk(dict[str, NDArray[Any]]):
    """Some consecutive rows by column: numbers as int or float arrays, text as object arrays.

    Attributes
    ----------
    lines : ndarray of shape (n,) or None
        Line of the file in which each row begins (the header is line 1); None where rows have no lines.
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
        return len(next(iter(self.values()))) if self else 0

    def places(self, rows: Places) -> str:
        """Say where some rows stand: "lines 3, 8" of a text file, "row 5" of others."""
        word, numbers = ("row", self.first + 1 + rows) if self.lines is None else ("line", self.lines[rows])
        return f"{word}{'s' if len(rows) > 1 else ''} {', '.join(map(str, numbers.tolist()))}"

    def numbers(self, name: str, missing: frozenset[str], *, time: bool = False) -> Array:
        """Return a column as numbers, or ISO dates as seconds since 1970; NaN where missing. Name another text."""
        cells = self[name]
        if not time:
            values, words = to_numbers(cells, missing)
        elif cells.dtype.kind in "iuf":
            return cells.astype(np.float64)
        else:
            values, words = _read_each(cells.tolist(), seconds_of, missing)
        if not len(words):
            return values
        where, cell = self.places(words[:1]), str(cells[words[0]])
        if time:
            raise InputError(
                f"column {name!r} has {cell!r} in {where}, expected an ISO date such as 2024-01-31; write it that way, "
                "or name it with --missing."
            )
        raise InputError(
            f"column {name!r} has {cell.strip()!r} in {where} ({len(words)} such rows nearby), expected a number; mend "
            "it, or name it with --missing."
        )


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


class FrameSource(Source):
    """A data frame of pandas, polars or pyarrow."""

    title = "the data frame"

    def __init__(self, frame: Any, missing: tuple[str, ...]) -> None:
        self.frame, self.missing = as_frame(frame), missing
        self.size = len(self.frame)
        self.names = distinct_names([str(name) for name in self.frame.columns], self.title)
        if not self.names or not self.size:
            raise InputError(f"{self.title} has shape {self.frame.shape}, expected one row per person and columns.")

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        asked = self.chosen(columns)
        for first in range(0, self.size, rows):
            part = self.frame[first : first + rows]
            cells = {name: typed_cells(part[:, place], name) for name, place in asked.items()}
            yield Chunk(cells, first, min(first + rows, self.size))


def as_frame(frame: Any) -> Any:
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
