"""What every source of rows offers: names, a fingerprint, and chunks of raw cells in constant memory."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "null", "NULL", "None", "?")
"""Cells that stand for a missing value in every file, compared after blanks at both ends are taken off.

Upper and lower case count, as in pandas: "None" is missing, and "none" is a value that people gave."""

ROWS = 50_000
PASS_ROWS = 5_000
"""Rows per chunk of a pass over the whole source: the cells then stay in the processor's cache."""
SHOWN = 12


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


class Source(ABC):
    """A table that can be read again and again, front to back.

    Attributes
    ----------
    title : str
        What sentences call it: the file's name, or "the data frame".
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
    names: tuple[str, ...]
    missing: tuple[str, ...]
    typed: bool
    size: int

    @abstractmethod
    def sha256(self) -> str | None:
        """Return the fingerprint of the file's bytes; None for a data frame."""

    @abstractmethod
    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        """Yield the rows in order, a chunk at a time, with the columns asked for (default: all)."""

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

    def chosen(self, columns: Iterable[str] | None) -> tuple[str, ...]:
        """Return the columns asked for, each once, after checking that they are there."""
        asked = self.names if columns is None else tuple(dict.fromkeys(columns))
        for name in asked:
            self.check_column(name)
        return asked


def nearest(name: str, known: Sequence[str]) -> str:
    """End a sentence about an unknown column: the nearest name where there is one, else all names."""
    lower = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {lower[near[0]]!r}?"
    shown = ", ".join(known[:SHOWN]) + (", ..." if len(known) > SHOWN else "")
    return f", expected one of {shown}."


def check_names(names: Sequence[str], title: str) -> tuple[str, ...]:
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
