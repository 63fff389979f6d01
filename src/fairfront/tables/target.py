"""The target: label codes, the favourable value, and what cannot be one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..measures.report import count_text
from ..validation import counted, shown
from .notation import number_of
from .table import Column, Rows, Table, listed, nearest

MAX_CLASSES = 20


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes (n,) that index ``values``, of which the last may be None for missing; or numbers, without values."""

    codes: NDArray[Any]
    values: NDArray[Any] | None = None

    @classmethod
    def of(cls, codes: Rows, values: NDArray[Any]) -> Codes:
        """Make the codes as small as they can be; -1 stands for the last value."""
        small = np.min_scalar_type(len(values))
        return cls(np.where(codes < 0, len(values) - 1, codes).astype(small), values)

    def take(self, rows: Any = slice(None)) -> NDArray[Any]:
        return np.asarray(self.codes[rows] if self.values is None else self.values[self.codes[rows]])

    @property
    def n_missing(self) -> int:
        """Return how many rows have no value; numbers all have one."""
        if self.values is None or not len(self.values) or self.values[-1] is not None:
            return 0
        return int(np.count_nonzero(self.codes == len(self.values) - 1))


def ungrouped_notes(groups: Mapping[str, Codes]) -> Iterator[str]:
    """Count the rows without a group, in words for the card."""
    for name, each in groups.items():
        if n := each.n_missing:
            rows = count_text(n)
            yield f"Rows without {name!r}: {rows}; they count in the loss and in figures of all rows, not in gaps."


@dataclass(frozen=True, eq=False)
class Target:
    """Labels of the ``rows`` of a table that have one; ``dropped`` rows have none.

    ``column`` holds whole numbers, numbers or texts, as they are in the table; ``favourable`` is the label that is good
    for the person, in the type of the labels, and None for regression.
    """

    column: Codes = field(repr=False)
    favourable: Any
    rows: Rows = field(repr=False)
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
        return Target(labels, None if favourable is None else _favourable(name, favourable, labels), rows, dropped)
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
    number = column.numbers is not None
    if len(found) > MAX_CLASSES:
        remedy = "choose another column, or merge its values"
        raise InputError(
            f"target {name!r} has {counted(len(found), 'value')}, expected 2 to {MAX_CLASSES} labels; "
            f"{'it looks like a number to predict: use --loss squared' if number else remedy}."
        )
    values = found if number else np.array(column.texts(found), dtype=object)
    if not number:
        check_case(f"target {name!r}", values.tolist())
    if number and (found == np.rint(found)).all() and np.abs(found).max() < 2**53:
        values = found.astype(np.int64)
    if len(found) < 2:
        raise InputError(
            f"target {name!r} has one value only ({values.tolist()[0]!r}), expected 2 to {MAX_CLASSES} labels; choose "
            "another column, or rows of both kinds."
        )
    return Codes.of(codes, values)


def check_case(what: str, texts: Iterable[str]) -> None:
    """Refuse values such as TRUE and True, which people mean to be one."""
    known: dict[str, str] = {}
    for text in texts:
        other = known.setdefault(text.casefold(), text)
        if other != text:
            raise InputError(
                f"{what} has {other!r} and {text!r}, which differ in upper and lower case only, expected one spelling "
                "of each value; fix the file."
            )


def _favourable(name: str, asked: Any, labels: Codes) -> Any:
    assert labels.values is not None
    number = number_of(str(asked))
    for label in labels.values.tolist():
        if label == asked or str(label) == str(asked).strip() or (not isinstance(label, str) and label == number):
            return label
    texts = [str(label) for label in labels.values.tolist()]
    raise InputError(
        f"{spelled('favourable')} is {shown(asked)}, but {name!r} has no such value, expected one of "
        f"{listed([repr(text) for text in texts])}{nearest(str(asked), texts, '.')}"
    )
