"""Splitting: rows for training, validation and test; at random within atoms, by time, or by person."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..validation import check_text
from .raw_cells import number_of, seconds_of
from .table import Column, Table, table_of

PARTS = ("train", "validation", "test")
SHARES = (60.0, 20.0, 20.0)
STRETCH = 1_000_000
EXPECTED = "expected 60/20/20, time:COLUMN:D1,D2 or by:COLUMN"

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Split(ABC):
    """A rule that sends every row to one of three parts; the same seed gives the same parts."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that the rule reads."""
        return ()

    @property
    def times(self) -> tuple[str, ...]:
        """Return those of the columns that hold times, to be loaded as such."""
        return ()

    @abstractmethod
    def describe(self, *, grouped: bool = True) -> str:
        """Say the rule in one sentence; ``grouped`` says that atoms are classes of label and groups, not of labels."""

    @abstractmethod
    def assign(self, table: Table, atoms: Rows, seed: int) -> NDArray[np.int8]:
        """Return the part of every row: 0, 1 or 2."""

    def parts(self, table: Table | Mapping[str, Any], atoms: Any, seed: int = 0) -> dict[str, Rows]:
        """Return the rows of train, validation and test.

        Parameters
        ----------
        table : Table, or arrays by column name
            Must hold ``columns``.
        atoms : array of shape (n,)
            Code of each row's (label, group) class, whose proportions are kept as far as possible.
        seed : int
        """
        part = self.codes(table, atoms, seed)
        return {name: np.flatnonzero(part == place) for place, name in enumerate(PARTS)}

    def codes(self, table: Table | Mapping[str, Any], atoms: Any, seed: int = 0) -> NDArray[np.int8]:
        """Return the part of every row, 0, 1 or 2, none of which is empty; parameters as in `parts`."""
        codes = dense(np.asarray(atoms))
        if not isinstance(table, Table):
            table = table_of({name: table[name] for name in self.columns if name in table}, len(codes))
        if table.n != len(codes):
            raise InputError(f"atoms have {len(codes)} rows, expected {table.n}, as many as the table.")
        part = self.assign(table, codes, seed)
        for name, size in zip(PARTS, np.bincount(part, minlength=len(PARTS)), strict=True):
            if not size:
                raise InputError(
                    f"the {name} part of the split has no rows ({len(codes)} in all), expected some in each part; "
                    f"{self.remedy}."
                )
        return part

    @property
    def remedy(self) -> str:
        """Say what helps against an empty part."""
        return "use more rows, or other shares"


@dataclass(frozen=True)
class RandomSplit(Split):
    """Rows at random, every atom in the same proportions."""

    shares: tuple[float, float, float] = SHARES

    def describe(self, *, grouped: bool = True) -> str:
        """Say the rule in one sentence."""
        return f"{_percent(self.shares)}, at random within each class of label{' and groups' if grouped else ''}."

    def assign(self, table: Table, atoms: Rows, seed: int) -> NDArray[np.int8]:
        """Deal the rows out, atom after atom."""
        return dealt(atoms, self.shares, seed)


@dataclass(frozen=True)
class PersonSplit(Split):
    """All rows of one identifier in one part."""

    column: str
    shares: tuple[float, float, float] = SHARES

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the column of identifiers."""
        return (self.column,)

    @property
    def remedy(self) -> str:
        """Say what helps against an empty part."""
        return f"{self.column!r} needs at least 3 different values, and more to keep the shares"

    def describe(self, *, grouped: bool = True) -> str:
        """Say the rule in one sentence."""
        return f"{_percent(self.shares)}, all rows with the same {self.column!r} in one part, at random."

    def assign(self, table: Table, atoms: Rows, seed: int) -> NDArray[np.int8]:
        """Deal the identifiers out, by their most frequent atom and then by size, large ones first."""
        column = table.complete(self.column)
        owner, found = column.distinct()
        sizes = np.bincount(owner, minlength=len(found))
        order = shuffled(main_atoms(owner, atoms), -sizes, seed)
        part = np.empty(len(found), dtype=np.int8)
        part[order] = seats(len(found), self.shares)
        return part[owner]


@dataclass(frozen=True)
class TimeSplit(Split):
    """Rows before a first time train, rows from a second time on test, rows between validate."""

    column: str
    first: str
    second: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the column of times."""
        return (self.column,)

    @property
    def times(self) -> tuple[str, ...]:
        """Return the column where the limits are dates."""
        return () if np.isfinite(number_of(self.first, frozenset())) else (self.column,)

    @property
    def remedy(self) -> str:
        """Say what helps against an empty part."""
        return f"choose other limits than {self.first} and {self.second}"

    def describe(self, *, grouped: bool = True) -> str:
        """Say the rule in one sentence."""
        return (
            f"Rows with {self.column!r} before {self.first} train, rows from {self.second} on test, those "
            "between validate."
        )

    def assign(self, table: Table, atoms: Rows, seed: int) -> NDArray[np.int8]:
        """Compare each row with the two limits."""
        column = table.complete(self.column)
        limits = [limit for limit in (_limit(self.first), _limit(self.second)) if limit is not None]
        holds_times = column.time or column.numbers is None
        if holds_times != bool(self.times):
            found, wanted = ("dates", "such as 2024-01-31") if holds_times else ("numbers", "that are numbers")
            raise InputError(f"column {self.column!r} holds {found}, expected limits {wanted}, found {self.first}.")
        values = column.numbers if column.numbers is not None else _level_times(self.column, column)
        return np.searchsorted(limits, values, side="right").astype(np.int8)


def parse_split(text: str) -> Split:
    """Read ``60/20/20``, ``time:COLUMN:D1,D2``, ``by:COLUMN`` or ``by:COLUMN:60/20/20``."""
    kind, colon, rest = check_text(text, "split", "a text such as '60/20/20'").strip().partition(":")
    if not colon:
        return RandomSplit(_shares(kind))
    if kind == "by" and rest:
        name, _, tail = rest.rpartition(":")
        is_share = bool(name) and re.fullmatch(r"[\d.]+(/[\d.]+)*", tail) is not None
        return PersonSplit(name, _shares(tail)) if is_share else PersonSplit(rest)
    column, _, limits = rest.partition(":")
    if kind != "time" or not column or limits.count(",") != 1:
        raise InputError(f"{spelled('split')} is {text!r}, {EXPECTED}.")
    first, second = (limit.strip() for limit in limits.split(","))
    _check_limits(first, second)
    return TimeSplit(column, first, second)


def _shares(text: str) -> tuple[float, float, float]:
    found = [number_of(part, frozenset()) for part in text.split("/")]
    total = sum(found)
    if (
        len(found) != 3
        or not all(0 < share < np.inf for share in found)
        or min(abs(total - 100), abs(total - 1)) > 1e-9
    ):
        raise InputError(
            f"{spelled('split')} is {text!r}, expected three shares above 0 that sum to 100, such as 60/20/20."
        )
    scale = 100.0 / total
    return found[0] * scale, found[1] * scale, found[2] * scale


def _limit(text: str) -> float | None:
    number = number_of(text, frozenset())
    return number if np.isfinite(number) else seconds_of(text)


def _check_limits(first: str, second: str) -> None:
    found = f"{spelled('split')} has the times {first!r} and {second!r}"
    one, two = _limit(first), _limit(second)
    kinds = {bool(np.isfinite(number_of(limit, frozenset()))) for limit in (first, second)}
    if one is None or two is None or len(kinds) > 1:
        raise InputError(f"{found}, expected two ISO dates, or two numbers.")
    if one >= two:
        raise InputError(f"{found}, expected the earlier one first.")


def _percent(shares: tuple[float, float, float]) -> str:
    train, validation, test = (f"{share:g} %" for share in shares)
    return f"{train} of the rows train, {validation} validate, {test} test"


def _level_times(name: str, column: Column) -> NDArray[np.float64]:
    if not column.named:
        raise InputError(
            f"column {name!r} has {column.n_levels} different texts, expected dates; load it with times=[{name!r}]."
        )
    found = [seconds_of(level) for level in column.levels]
    if None in found:
        wrong = column.levels[found.index(None)]
        raise InputError(f"column {name!r} has {wrong!r}, expected ISO dates such as 2024-01-31; write them that way.")
    times: NDArray[np.float64] = np.array(found, dtype=np.float64)[column.values]
    return times


def seats(n: int, shares: tuple[float, ...]) -> NDArray[np.int8]:
    """Return parts for n rows or people in turn, such that every stretch of them has nearly the right shares.

    Part k has its j-th seat at time (j + 1/2) / share_k; seats are taken in the order of time, a stretch at a time.
    """
    found, done, early = np.empty(n, dtype=np.int8), 0, 0.0
    while done < n:
        late = early + STRETCH / sum(shares)
        times = [_times(early, late, share) for share in shares]
        part = np.repeat(np.arange(len(shares), dtype=np.int8), [len(each) for each in times])
        order = np.argsort(np.concatenate(times), kind="stable")[: n - done]
        found[done : done + len(order)] = part[order]
        done, early = done + len(order), late
    return found


def _times(early: float, late: float, share: float) -> NDArray[np.float64]:
    """Return the times of one part's seats in a stretch."""
    places = np.arange(max(0, int(early * share) - 2), int(late * share) + 3, dtype=np.float64)
    times = (places + 0.5) / share
    return np.asarray(times[(times >= early) & (times < late)], dtype=np.float64)


def dealt(atoms: Rows, shares: tuple[float, ...], seed: int) -> NDArray[np.int8]:
    """Return the part of every row: atoms take seats in random order, and their rows in random order within."""
    rng = np.random.default_rng(seed)
    turn = rng.permutation(int(atoms.max(initial=0)) + 1)
    luck, taken = rng.random(len(atoms)), seats(len(atoms), shares)
    part, start = np.empty(len(atoms), dtype=np.int8), 0
    for atom in np.argsort(turn):  # one atom at a time, because an order of all rows takes much memory
        rows = np.flatnonzero(atoms == atom)
        part[rows[np.argsort(luck[rows], kind="stable")]] = taken[start : start + len(rows)]
        start += len(rows)
    return part


def shuffled(atoms: Rows, then: Rows, seed: int) -> Rows:
    """Return an order by atom (in random order), then by a second key, then at random."""
    rng = np.random.default_rng(seed)
    turn = rng.permutation(int(atoms.max(initial=0)) + 1)
    return np.lexsort((rng.random(len(atoms)), then, turn[atoms]))


def main_atoms(owner: Rows, atoms: Rows) -> Rows:
    """Return the most frequent atom of each owner, the first of equals."""
    n_atoms = int(atoms.max(initial=0)) + 1
    pairs, counts = np.unique(owner * n_atoms + atoms, return_counts=True)
    order = np.lexsort((-counts, pairs // n_atoms))
    first = np.unique((pairs // n_atoms)[order], return_index=True)[1]
    main: Rows = (pairs % n_atoms)[order][first]
    return main


def dense(codes: NDArray[Any]) -> NDArray[np.intp]:
    """Number values from 0 on, in their order, without a gap."""
    whole = len(codes) and codes.dtype.kind in "iu" and codes.min() >= 0
    if not whole or codes.max() > max(len(codes), 1 << 20):
        return np.unique(codes, return_inverse=True)[1].astype(np.intp)
    seen = np.bincount(codes) > 0  # counting takes less time and memory than sorting
    numbered: NDArray[np.intp] = (np.cumsum(seen) - 1)[codes]
    return numbered
