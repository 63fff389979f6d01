"""Splitting: rows for training, validation and test; at random within atoms, by time, or by person."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..validation import check_text
from .source import number_of, seconds_of
from .table import Table

PARTS = ("train", "validation", "test")
SHARES = (60.0, 20.0, 20.0)
STRETCH = 1_000_000
EXPECTED = "expected 60/20/20, time:COLUMN:D1,D2 or by:COLUMN"

Rows = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Split(ABC):
    """A rule that sends every row to one of three parts, by a column or none; the same seed gives the same parts.

    ``times`` are those of the columns that hold times, to be loaded as such.
    """

    _rule: ClassVar[str]
    _remedy: ClassVar[str]
    column: str = ""
    times: tuple[str, ...] = ()
    shares: tuple[float, float, float] = SHARES

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,) if self.column else ()

    def describe(self, *, grouped: bool = True) -> str:
        """``grouped`` says that atoms are classes of label and groups, not of labels."""
        shares = ", ".join(f"{share:g} % {name}" for share, name in zip(self.shares, PARTS, strict=True))
        atoms = "label and group" if grouped else "label"
        return self._rule.format(**{**vars(self), "atoms": atoms, "shares": shares})

    def codes(self, table: Table, atoms: NDArray[Any], seed: int = 0) -> NDArray[np.int8]:
        """Return the part of every row: 0 for train, 1 for validation, 2 for test, none of which is empty.

        ``atoms`` (n,) are codes of each row's (label, group) class, whose proportions are kept as far as possible.
        """
        if table.n != len(atoms):
            raise InputError(f"atoms have {len(atoms)} rows, expected {table.n}, as many as the table.")
        part = self._assign(table, dense(atoms), np.random.default_rng(seed))
        for name, size in zip(PARTS, np.bincount(part, minlength=len(PARTS)), strict=True):
            if not size:
                raise InputError(
                    f"the {name} part of the split has no rows ({len(atoms)} in all), expected some in each part; "
                    f"{self._remedy.format(**vars(self))}."
                )
        return part

    @abstractmethod
    def _assign(self, table: Table, atoms: Rows, rng: np.random.Generator) -> NDArray[np.int8]: ...


class RandomSplit(Split):
    """Rows at random, every atom in the same proportions."""

    _rule = "Random split, stratified by {atoms}: {shares}."
    _remedy = "use more rows, or other shares"

    def _assign(self, table: Table, atoms: Rows, rng: np.random.Generator) -> NDArray[np.int8]:
        """Give seats to atoms in random order, and to the rows of each in random order."""
        turn = rng.permutation(int(atoms.max(initial=0)) + 1)
        luck, taken = rng.random(len(atoms)), seats(len(atoms), self.shares)
        part, start = np.empty(len(atoms), dtype=np.int8), 0
        for atom in np.argsort(turn):  # one atom at a time, because an order of all rows takes much memory
            rows = np.flatnonzero(atoms == atom)
            part[rows[np.argsort(luck[rows], kind="stable")]] = taken[start : start + len(rows)]
            start += len(rows)
        return part


class PersonSplit(Split):
    """All rows of one identifier in one part."""

    _rule = "Random split, all rows with the same {column!r} in one part: {shares}."
    _remedy = "{column!r} needs at least 3 different values, and more to keep the shares"

    def _assign(self, table: Table, atoms: Rows, rng: np.random.Generator) -> NDArray[np.int8]:
        """Give seats to identifiers: by their most frequent atom, in random order, large ones first."""
        owner, found = table.complete(self.column).distinct()
        main, sizes = _main_atoms(owner, atoms), np.bincount(owner, minlength=len(found))
        turn = rng.permutation(int(main.max(initial=0)) + 1)
        part = np.empty(len(found), dtype=np.int8)
        part[np.lexsort((rng.random(len(main)), -sizes, turn[main]))] = seats(len(found), self.shares)
        return part[owner]


@dataclass(frozen=True, kw_only=True)
class TimeSplit(Split):
    """Rows before a first time train, rows from a second time on test, rows between validate."""

    _rule = "Split by {column!r}: train before {first}, validation from {first}, test from {second}."
    _remedy = "choose other limits than {first} and {second}"
    first: str
    second: str

    def _assign(self, table: Table, atoms: Rows, rng: np.random.Generator) -> NDArray[np.int8]:
        """A column of dates has to be loaded as times."""
        column = table.complete(self.column)
        dates = column.time or column.numbers is None
        if dates != bool(self.times):
            found, wanted = ("dates", "such as 2024-01-31") if dates else ("numbers", "that are numbers")
            raise InputError(f"column {self.column!r} holds {found}, expected limits {wanted}, found {self.first}.")
        read = seconds_of if self.times else number_of
        limits = np.array([read(self.first), read(self.second)])
        return np.searchsorted(limits, column.values, side="right").astype(np.int8)


def parse_split(text: str) -> Split:
    """Read ``60/20/20``, ``time:COLUMN:D1,D2``, ``by:COLUMN`` or ``by:COLUMN:60/20/20``."""
    kind, colon, rest = check_text(text, "split", "a text such as '60/20/20'").strip().partition(":")
    if not colon:
        return RandomSplit(shares=_shares(kind))
    if kind == "by" and rest:
        name, _, tail = rest.rpartition(":")
        is_share = bool(name) and re.fullmatch(r"[\d.]+(/[\d.]+)*", tail) is not None
        return PersonSplit(column=name, shares=_shares(tail)) if is_share else PersonSplit(column=rest)
    column, _, limits = rest.partition(":")
    if kind != "time" or not column or limits.count(",") != 1:
        raise InputError(f"{spelled('split')} is {text!r}, {EXPECTED}.")
    first, second = (limit.strip() for limit in limits.split(","))
    numbers = np.isfinite([number_of(first), number_of(second)])
    read = number_of if numbers.any() else seconds_of
    one, two = read(first), read(second)
    found = f"{spelled('split')} has the times {first!r} and {second!r}"
    if np.isinf([one, two]).any():
        raise InputError(f"{found}, expected two ISO dates, or two numbers.")
    if one >= two:
        raise InputError(f"{found}, expected the earlier one first.")
    return TimeSplit(column=column, times=() if numbers.any() else (column,), first=first, second=second)


def _shares(text: str) -> tuple[float, float, float]:
    found = [number_of(part) for part in text.split("/")]
    total = sum(found)
    positive = len(found) == 3 and all(0 < share < np.inf for share in found)
    if not positive or min(abs(total - 100), abs(total - 1)) > 1e-9:
        raise InputError(
            f"{spelled('split')} is {text!r}, expected three shares above 0 that sum to 100, such as 60/20/20."
        )
    scale = 100.0 / total
    return found[0] * scale, found[1] * scale, found[2] * scale


def seats(n: int, shares: tuple[float, ...]) -> NDArray[np.int8]:
    """Return parts for n rows or people in turn, such that every stretch of them has nearly the right shares.

    Part k has its j-th seat at time (j + 1/2) / share_k; seats are taken in the order of time, a stretch at a time.
    """
    found, done, early = np.empty(n, dtype=np.int8), 0, 0.0
    while done < n:
        late = early + STRETCH / sum(shares)
        times = []
        for share in shares:
            places = np.arange(max(0, int(early * share) - 2), int(late * share) + 3, dtype=np.float64)
            due = (places + 0.5) / share
            times.append(due[(due >= early) & (due < late)])
        part = np.repeat(np.arange(len(shares), dtype=np.int8), [len(each) for each in times])
        order = np.argsort(np.concatenate(times), kind="stable")[: n - done]
        found[done : done + len(order)] = part[order]
        done, early = done + len(order), late
    return found


def _main_atoms(owner: Rows, atoms: Rows) -> Rows:
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
