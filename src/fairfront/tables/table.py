"""Tables in memory, 8 bytes per number and 4 per category, and the target and the groups that are read from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..objectives import count_in_words
from ..validation import counted, shown
from .source import MISSING, Array, Kind, listed, nearest, number_of

MAX_CLASSES = 20
MAX_GROUPS = 50


def number_text(value: float) -> str | None:
    """Write a number as people do: 3 rather than 3.0; None for NaN."""
    if value != value:
        return None
    return str(int(value)) if value == np.rint(value) and abs(value) < 2**53 else repr(value)


def to_texts(cells: NDArray[Any]) -> list[str | None]:
    if cells.dtype.kind == "f":
        return [number_text(value) for value in cells.tolist()]
    return [str(value) for value in cells.tolist()] if cells.dtype.kind in "iu" else cells.tolist()


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


@dataclass(frozen=True, eq=False)
class Column:
    """One column: numbers with NaN for missing, or codes into levels with -1 for missing.

    ``levels`` are sorted texts. A column with very many of them, such as an identifier, keeps the codes and not the
    texts: ``levels`` is then empty while ``n_levels`` counts them. ``time`` marks numbers that are seconds since 1970.
    """

    numbers: Array | None = None
    codes: NDArray[np.int32] | None = None
    levels: tuple[str, ...] = ()
    n_levels: int = 0
    time: bool = False

    @classmethod
    def of_codes(cls, codes: NDArray[np.int32], levels: tuple[str, ...]) -> Column:
        return cls(codes=codes, levels=levels, n_levels=len(levels))

    @property
    def kind(self) -> Kind:
        return "category" if self.numbers is None else "number"

    @property
    def named(self) -> bool:
        """Tell whether the texts of the levels were kept."""
        return self.numbers is not None or len(self.levels) == self.n_levels

    @property
    def values(self) -> NDArray[Any]:
        found = self.codes if self.numbers is None else self.numbers
        assert found is not None
        return found

    @property
    def absent(self) -> NDArray[np.bool_]:
        missing: NDArray[np.bool_] = self.values < 0 if self.numbers is None else np.isnan(self.numbers)
        return missing

    def take(self, rows: Any) -> Column:
        part = self.values[rows]
        return replace(self, codes=part) if self.numbers is None else replace(self, numbers=part)

    def distinct(self) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return codes of the values that occur (-1 for missing), and these values (or the codes of levels)."""
        if self.codes is not None:
            seen = np.append(np.bincount(self.codes[self.codes >= 0], minlength=self.n_levels) > 0, False)
            return np.where(seen, np.cumsum(seen) - 1, -1)[self.codes], np.flatnonzero(seen)
        codes = np.full(len(self.values), -1, dtype=np.intp)
        known = ~self.absent
        found, codes[known] = np.unique(self.values[known], return_inverse=True)
        return codes, found

    def texts(self, found: NDArray[Any]) -> list[str | None]:
        """Return values that `distinct` found as texts; numbers are written as people do."""
        if self.numbers is not None:
            return to_texts(found)
        return [self.levels[code] for code in found.tolist()]


@dataclass(frozen=True, eq=False)
class Table:
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
                f"column {name!r} is missing in {count_in_words(int(absent.sum()))} rows (first in row "
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


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes (n,) that index ``values``, of which the last may be None for missing; or numbers, without values."""

    codes: NDArray[Any]
    values: NDArray[Any] | None = None

    @classmethod
    def of(cls, codes: NDArray[np.intp], values: NDArray[Any]) -> Codes:
        """Make the codes as small as they can be; -1 stands for the last value."""
        small = np.min_scalar_type(len(values))
        return cls(np.where(codes < 0, len(values) - 1, codes).astype(small), values)

    def take(self, rows: Any = slice(None)) -> NDArray[Any]:
        return np.asarray(self.codes[rows] if self.values is None else self.values[self.codes[rows]])

    def where(self, rows: NDArray[np.bool_]) -> Codes:
        return Codes(self.codes[rows], self.values)


@dataclass(frozen=True, eq=False)
class Target:
    """Labels of the ``rows`` of a table that have one; ``dropped`` rows have none.

    ``column`` holds whole numbers, numbers or texts, as they are in the table; ``favourable`` is the label that is good
    for the person, in the type of the labels, and None for regression.
    """

    column: Codes = field(repr=False)
    favourable: Any
    rows: NDArray[np.intp] = field(repr=False)
    dropped: int

    @property
    def labels(self) -> NDArray[Any]:
        return self.column.take()


def read_target(table: Table, name: str, favourable: Any = None, *, regression: bool = False) -> Target:
    """Read the column to predict, a number for a regression; rows where it is missing are left out and counted.

    ``favourable`` is the label that is good for the person; text is turned into the type of the labels.
    """
    column = table.column(name)
    rows = np.flatnonzero(~column.absent)
    if not len(rows):
        raise InputError(f"target {name!r} is missing in all {table.n} rows, expected labels; choose another column.")
    kept, dropped = column.take(rows), table.n - len(rows)
    if not regression:
        labels = _labels(name, kept)
        good = None if favourable is None else _favourable(name, favourable, labels.values)
        return Target(labels, good, rows, dropped)
    if kept.numbers is None:
        raise InputError(
            f"target {name!r} has {column.n_levels} categories, expected numbers for a regression; name words for "
            "missing values with --missing, or use a loss for labels such as logistic."
        )
    if np.ptp(kept.numbers) == 0:
        raise InputError(f"target {name!r} has one value in all rows, expected different ones; choose another column.")
    return Target(Codes(kept.numbers), None, rows, dropped)


def _labels(name: str, column: Column) -> Codes:
    codes, found = column.distinct()
    if len(found) > MAX_CLASSES:
        remedy = "choose another column, or merge its values"
        if column.numbers is not None:
            remedy = "it looks like a number to predict: use --loss squared"
        raise InputError(
            f"target {name!r} has {counted(len(found), 'value')}, expected 2 to {MAX_CLASSES} labels; {remedy}."
        )
    values = found if column.numbers is not None else np.array(column.texts(found), dtype=object)
    if column.numbers is not None and (found == np.rint(found)).all() and np.abs(found).max() < 2**53:
        values = found.astype(np.int64)
    if len(found) < 2:
        raise InputError(
            f"target {name!r} has one value only ({values.tolist()[0]!r}), expected 2 to {MAX_CLASSES} labels; choose "
            "another column, or rows of both kinds."
        )
    return Codes.of(codes, values)


def _favourable(name: str, asked: Any, labels: Any) -> Any:
    try:
        number = float(asked)
    except (TypeError, ValueError):
        number = np.nan
    for label in labels.tolist():
        if label == asked or str(label) == str(asked).strip() or (not isinstance(label, str) and label == number):
            return label
    texts = [str(label) for label in labels.tolist()]
    raise InputError(
        f"{spelled('favourable')} is {shown(asked)}, but {name!r} has no such value, expected one of "
        f"{listed([repr(text) for text in texts])}{nearest(str(asked), texts, '.')}"
    )


def read_groups(table: Table, names: Sequence[str]) -> dict[str, Codes]:
    """Return group columns as texts with None for missing ones; columns with too many values are refused."""
    return {name: _group(table, name) for name in names}


def _group(table: Table, name: str) -> Codes:
    column = table.column(name)
    codes, found = column.distinct()
    texts = column.texts(found) if column.named else []
    if len(found) > MAX_GROUPS or not column.named:
        remedy = "merge them into fewer groups, or choose another column"
        if texts and all(np.isfinite(number_of(str(text))) for text in texts):
            remedy = "cut the numbers into bands first"
        count = len(found) if column.named else column.n_levels
        raise InputError(
            f"group column {name!r} has {count} values in {table.n} rows, expected at most {MAX_GROUPS} groups; "
            f"{remedy}."
        )
    if len(found) < 2:
        what = f"one value only ({texts[0]!r})" if texts else "no value at all"
        raise InputError(f"group column {name!r} has {what}, expected 2 to {MAX_GROUPS} groups; choose another column.")
    return Codes.of(codes, np.array([*texts, None], dtype=object))
