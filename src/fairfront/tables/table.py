"""Rows: raw cells as they are read, what texts stand for, and columns and tables in memory.

A number takes 8 bytes and a category 4. What texts stand for is in `notation`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..records import Record
from ..validation import counted
from .notation import PLAIN, Notation, number_of

Array = NDArray[np.float64]
Rows = NDArray[np.intp]
Kind = Literal["number", "category"]
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "null", "NULL", "None", "?")
"""Cells that stand for a missing value in every file, compared after blanks at both ends are taken off.

Upper and lower case count, as in pandas: "None" is missing, and "none" is a value that people gave."""
SHOWN = 12
ABSENT: Any = float("nan")


def to_numbers(
    cells: NDArray[Any], missing: frozenset[str], read: Callable[[str], float] = number_of
) -> tuple[Array, Rows]:
    """Return numbers (NaN where missing) and the rows whose cell is neither a finite number nor missing.

    Texts are numbers as Python's ``float`` reads them, without underscores, NaN and infinity: those are words.
    """
    if cells.dtype.kind in "iuf":
        values = cells.astype(np.float64)
        return values, np.flatnonzero(np.isinf(values))
    texts = cells.tolist()
    if read is number_of:
        quick = _all_numbers(texts)
        if quick is None:
            quick = _all_numbers([ABSENT if text is None or text in missing else text for text in texts])
        if quick is not None:
            return quick, np.empty(0, dtype=np.intp)
    # one by one the distinct texts, which is quick for categories
    known = {text: np.nan if text is None or text.strip() in missing else read(text) for text in set(texts)}
    values = np.fromiter(map(known.__getitem__, texts), dtype=np.float64, count=len(texts))
    words = np.flatnonzero(np.isinf(values))
    values[words] = np.nan
    return values, words


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


def number_text(value: float) -> str | None:
    """Write a number as people do: 3 rather than 3.0; None for NaN."""
    if value != value:
        return None
    return str(int(value)) if value == np.rint(value) and abs(value) < 2**53 else repr(value)


def to_texts(cells: NDArray[Any]) -> list[str | None]:
    if cells.dtype.kind == "f":
        return [number_text(value) for value in cells.tolist()]
    return [str(value) for value in cells.tolist()] if cells.dtype.kind in "iu" else cells.tolist()


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


class Chunk(dict[str, NDArray[Any]]):
    """Some consecutive rows by column, as they were read: numbers as int or float arrays, text as object arrays.

    ``first`` rows of the source are before it; ``done`` is how much was read, in units of `Source.size`; ``lines``
    (n,) of a text file are those in which rows begin, counted from 1.
    """

    def __init__(
        self, cells: Mapping[str, NDArray[Any]], first: int = 0, done: int = 0, lines: NDArray[np.int64] | None = None
    ) -> None:
        super().__init__(cells)
        self.first, self.done, self.lines = first, done, lines

    @property
    def n(self) -> int:
        return len(next(iter(self.values()))) if self else 0

    def places(self, rows: Rows) -> str:
        """Say where some rows stand: "lines 3, 8" of a text file, "row 5" of others."""
        word, numbers = ("row", self.first + 1 + rows) if self.lines is None else ("line", self.lines[rows])
        return f"{word}{'s' if len(rows) > 1 else ''} {', '.join(map(str, numbers.tolist()))}"

    def numbers(self, name: str, missing: frozenset[str], notation: Notation = PLAIN) -> Array:
        """Return a column as numbers, dates as seconds since 1970; NaN where missing. Name another text."""
        values, words = to_numbers(self[name], missing, notation.read)
        if not len(words):
            return values
        nearby = "" if notation.is_date else f" ({len(words)} such rows nearby)"
        raise InputError(
            f"column {name!r} has {str(self[name][words[0]]).strip()!r} in {self.places(words[:1])}{nearby}, expected "
            f"{notation.expected}, or name it with --missing."
        )


class CodeBook(dict[Any, int]):
    """Give texts codes 0, 1, ... in the order of their first appearance, and missing ones -1.

    Raw cells are looked up at the speed of a dict; blanks are taken off once for each distinct cell.
    """

    def __init__(self, missing: frozenset[str], levels: Iterable[str] = (), other: int | None = None) -> None:
        super().__init__({None: -1})
        self.missing, self.other = missing, other
        self.levels: dict[str, int] = {level: code for code, level in enumerate(levels)}

    def __missing__(self, cell: Any) -> int:
        text = str(cell).strip()
        if text in self.missing:
            code = -1
        elif self.other is None:
            code = self.levels.setdefault(text, len(self.levels))
        else:
            code = self.levels.get(text, self.other)
            if code == self.other:
                return code  # unknown texts are not collected, so that a stream of them stays small
        self[cell] = code
        return code

    def codes(self, cells: NDArray[Any]) -> NDArray[np.int32]:
        texts = to_texts(cells)
        return np.fromiter(map(self.__getitem__, texts), dtype=np.int32, count=len(texts))


@dataclass(frozen=True, eq=False, repr=False)
class Column(Record):
    """One column: numbers with NaN for missing, or codes into levels with -1 for missing.

    ``levels`` are sorted texts. A column with very many of them, such as an identifier, keeps the codes and not the
    texts: ``levels`` is then empty while ``n_levels`` counts them. ``time`` marks numbers that are seconds since 1970.
    """

    values: NDArray[Any]
    kind: Kind = "number"
    levels: tuple[str, ...] = ()
    n_levels: int = 0
    time: bool = False

    @classmethod
    def of_codes(cls, codes: NDArray[np.int32], levels: Iterable[str]) -> Column:
        texts = tuple(levels)
        return cls(codes, "category", texts, len(texts))

    @property
    def numbers(self) -> Array | None:
        return self.values if self.kind == "number" else None

    @property
    def named(self) -> bool:
        """Tell whether the texts of the levels were kept."""
        return len(self.levels) == self.n_levels

    @property
    def absent(self) -> NDArray[np.bool_]:
        missing: NDArray[np.bool_] = np.isnan(self.values) if self.kind == "number" else self.values < 0
        return missing

    def take(self, rows: Any) -> Column:
        return replace(self, values=self.values[rows])

    def codes_in(self, levels: Sequence[str], other: int = -1, absent: int = -1) -> NDArray[np.int32]:
        """Return codes into other levels; ``other`` is that of a level which is not among them."""
        place = {level: code for code, level in enumerate(levels)}
        lookup = np.array([*(place.get(level, other) for level in self.levels), absent], dtype=np.int32)
        found: NDArray[np.int32] = lookup[self.values]
        return found

    def sorted(self) -> Column:
        levels = sorted(self.levels)
        return Column.of_codes(self.codes_in(levels), levels)

    def distinct(self) -> tuple[Rows, NDArray[Any]]:
        """Return codes of the values that occur (-1 for missing), and these values (or the codes of levels)."""
        known = ~self.absent
        if self.kind == "category":
            seen = np.append(np.bincount(self.values[known], minlength=self.n_levels) > 0, False)
            return np.where(seen, np.cumsum(seen) - 1, -1)[self.values], np.flatnonzero(seen)
        codes = np.full(len(self.values), -1, dtype=np.intp)
        found, codes[known] = np.unique(self.values[known], return_inverse=True)
        return codes, found

    def texts(self, found: NDArray[Any]) -> list[str | None]:
        """Return values that `distinct` found as texts; numbers are written as people do."""
        return to_texts(found) if self.kind == "number" else [self.levels[code] for code in found.tolist()]


@dataclass(frozen=True, eq=False, repr=False)
class Table(Record):
    """Rows in memory, by column; ``missing`` are the texts that were read as missing values."""

    n: int
    columns: Mapping[str, Column] = field(repr=False)
    missing: tuple[str, ...] = MISSING

    def column(self, name: str) -> Column:
        if name not in self.columns:
            raise InputError(f"the table has no column {name!r}{nearest(name, tuple(self.columns))}")
        return self.columns[name]

    def complete(self, name: str) -> Column:
        column = self.column(name)
        absent = column.absent
        if absent.any():
            raise InputError(
                f"column {name!r} is missing in {counted(int(absent.sum()), 'row')} (first in row "
                f"{int(np.argmax(absent)) + 1}), expected a value in each; fill them in, or leave those rows out."
            )
        return column

    def take(self, rows: Any) -> Table:
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return replace(self, n=len(np.arange(self.n)[rows]), columns=columns)

    def texts(self, name: str) -> NDArray[Any]:
        """Return a column as texts, with None for missing ones; numbers are written as people do."""
        column = self.column(name)
        if not column.named:
            raise InputError(
                f"column {name!r} has {column.n_levels} different values, expected groups or labels; it looks like an "
                "identifier: choose another column."
            )
        codes, found = column.distinct()
        return np.array([*column.texts(found), None], dtype=object)[codes]
