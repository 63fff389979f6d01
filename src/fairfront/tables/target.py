"""Targets and groups: the labels to predict and the columns to compare, checked for what they can be used for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..validation import counted, shown
from .raw_cells import number_text
from .source import listed, nearest
from .table import Column, Table

MAX_CLASSES = 20
MAX_GROUPS = 50


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
        """Return the values of some rows."""
        return np.asarray(self.codes[rows] if self.values is None else self.values[self.codes[rows]])

    def where(self, rows: NDArray[np.bool_]) -> Codes:
        """Return the column of some rows."""
        return Codes(self.codes[rows], self.values)


@dataclass(frozen=True, eq=False)
class Target:
    """Labels of the rows that have one.

    Attributes
    ----------
    column : Codes of len(rows) labels
        Whole numbers, numbers or texts, as they are in the column; numbers as such for regression.
    favourable : label or None
        The label that is good for the person, in the type of the labels; None for regression.
    rows : ndarray
        Rows of the table that have a label.
    dropped : int
        Number of rows without one.
    """

    column: Codes = field(repr=False)
    favourable: Any
    rows: NDArray[np.intp] = field(repr=False)
    dropped: int

    @property
    def labels(self) -> NDArray[Any]:
        """Return the label of every row, (len(rows),)."""
        return self.column.take()


def read_target(table: Table, name: str, favourable: Any = None, *, regression: bool = False) -> Target:
    """Read the column to predict; rows where it is missing are left out and counted.

    Parameters
    ----------
    table : Table
    name : str
        The target.
    favourable : label, optional
        The one that is good for the person; text is turned into the type of the labels.
    regression : bool
        Whether the target is a number to be predicted.
    """
    column = table.column(name)
    rows = np.flatnonzero(~column.absent)
    if not len(rows):
        raise InputError(f"target {name!r} is missing in all {table.n} rows, expected labels; choose another column.")
    kept, dropped = column.take(rows), table.n - len(rows)
    if regression:
        return Target(Codes(_values(name, kept)), None, rows, dropped)
    labels, classes = _classes(name, kept)
    return Target(labels, None if favourable is None else _favourable(name, favourable, classes), rows, dropped)


def _values(name: str, column: Column) -> NDArray[np.float64]:
    if column.numbers is None:
        raise InputError(
            f"target {name!r} has {column.n_levels} categories, expected numbers for a regression; name words for "
            "missing values with --missing, or use a loss for labels such as logistic."
        )
    if np.ptp(column.numbers) == 0:
        raise InputError(f"target {name!r} has one value in all rows, expected different ones; choose another column.")
    return column.numbers


def _classes(name: str, column: Column) -> tuple[Codes, list[Any]]:
    codes, found = column.distinct()
    if len(found) > MAX_CLASSES:
        remedy = (
            "it looks like a number to predict: use --loss squared"
            if column.numbers is not None
            else "choose another column, or merge its values"
        )
        raise InputError(
            f"target {name!r} has {counted(len(found), 'value')}, expected 2 to {MAX_CLASSES} labels; {remedy}."
        )
    values = _labels(column, found)
    if len(found) < 2:
        raise InputError(
            f"target {name!r} has one value only ({values.tolist()[0]!r}), expected 2 to {MAX_CLASSES} labels; choose "
            "another column, or rows of both kinds."
        )
    return Codes.of(codes, values), values.tolist()


def _labels(column: Column, found: NDArray[Any]) -> NDArray[Any]:
    if column.numbers is None:
        return np.array(column.texts(found), dtype=object)
    whole = (found == np.rint(found)).all() and np.abs(found).max() < 2**53
    return found.astype(np.int64) if whole else found


def _favourable(name: str, asked: Any, classes: list[Any]) -> Any:
    for label in classes:
        if label == asked or str(label) == str(asked).strip() or _same_number(label, asked):
            return label
    texts = [str(label) for label in classes]
    raise InputError(
        f"{spelled('favourable')} is {shown(asked)}, but {name!r} has no such value, expected one of "
        f"{listed([repr(text) for text in texts])}{nearest(str(asked), texts, '.')}"
    )


def _same_number(label: Any, asked: Any) -> bool:
    if isinstance(label, str):
        return False
    try:
        return float(asked) == float(label)
    except (TypeError, ValueError):
        return False


def read_groups(table: Table, names: Sequence[str]) -> dict[str, Codes]:
    """Return group columns as texts with None for missing ones; columns with too many values are refused."""
    return {name: _group(table, name) for name in names}


def _group(table: Table, name: str) -> Codes:
    column = table.column(name)
    codes, found = column.distinct()
    if len(found) > MAX_GROUPS:
        numeric = column.numbers is not None or _look_numeric(column, found)
        remedy = (
            "cut the numbers into bands first" if numeric else "merge them into fewer groups, or choose another column"
        )
        raise InputError(
            f"group column {name!r} has {len(found)} values in {table.n} rows, expected at most {MAX_GROUPS} groups; "
            f"{remedy}."
        )
    if len(found) < 2:
        value = table.texts(name)[np.flatnonzero(~column.absent)[:1]].tolist()
        what = f"one value only ({value[0]!r})" if value else "no value at all"
        raise InputError(f"group column {name!r} has {what}, expected 2 to {MAX_GROUPS} groups; choose another column.")
    return Codes.of(codes, np.array([*column.texts(found), None], dtype=object))


def _look_numeric(column: Column, found: NDArray[Any]) -> bool:
    if not column.named:
        return False
    try:
        return all(number_text(float(column.levels[code])) is not None for code in found.tolist())
    except ValueError:
        return False
