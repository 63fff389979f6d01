"""The schema of a table: what kind each column is and how full, without a single value from a cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Literal

from ..exceptions import InputError
from ..objectives.small_counts import FEWER, FEWEST, rounded_count

Kind = Literal["number", "category"]


@dataclass(frozen=True)
class ColumnSchema:
    """What is known of one column.

    Attributes
    ----------
    kind : {"number", "category"}
    n_missing, n_distinct : int
        Rows without a value; different values among the others (an estimate where ``exact`` is False).
    integers : bool
        Whether all numbers are whole.
    constant : bool
        Whether there is at most one value (rows without one left aside).
    unique : bool
        Whether texts or whole numbers differ in (nearly) every row, as identifiers do.
    """

    name: str
    kind: Kind
    n_missing: int
    n_distinct: int
    exact: bool
    integers: bool
    constant: bool
    unique: bool


@dataclass(frozen=True)
class Schema:
    """Number of rows and what is known of each column, with the texts that were read as missing."""

    n: int
    columns: tuple[ColumnSchema, ...]
    missing: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> dict[str, Kind]:
        """Return the kind of each column."""
        return {column.name: column.kind for column in self.columns}

    @cached_property
    def _by_name(self) -> dict[str, ColumnSchema]:
        return {column.name: column for column in self.columns}

    def column(self, name: str) -> ColumnSchema:
        """Return what is known of one column."""
        if name in self._by_name:
            return self._by_name[name]
        raise InputError(f"the schema has no column {name!r}, expected one of {', '.join(self.names)}.")

    def to_json(self, n: int | None = None) -> dict[str, Any]:
        """Return plain values for ``n`` rows, by default as many as there are.

        A small number of missing cells is written as words, not as a count, and that of different values such that
        what it leaves of all rows does not tell that count.
        """
        shown = self.n if n is None else n
        columns = [
            asdict(column) | {"n_missing": _hidden(column.n_missing), "n_distinct": self._distinct(column, shown)}
            for column in self.columns
        ]
        return {"n": shown, "missing": list(self.missing), "columns": columns}

    def _distinct(self, column: ColumnSchema, shown: int) -> int:
        left = self.n - column.n_distinct
        return shown - rounded_count(left) if left < FEWEST else column.n_distinct

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Schema:
        """Read a schema that `to_json` wrote; a hidden count comes back as its upper end."""
        known = {field.name for field in fields(ColumnSchema)}
        try:
            columns = tuple(ColumnSchema(**(column | {"n_missing": _shown(column)})) for column in found["columns"])
            return cls(int(found["n"]), columns, tuple(found["missing"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"the schema cannot be read ({error}), expected n, missing and columns with {', '.join(sorted(known))}."
            ) from error


def _hidden(count: int) -> int | str:
    return FEWER if 0 < count < FEWEST else count


def _shown(column: Mapping[str, Any]) -> int:
    return FEWEST - 1 if column["n_missing"] == FEWER else int(column["n_missing"])
