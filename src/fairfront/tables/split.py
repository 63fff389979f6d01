"""The split of rows into training, validation and test: at random within atoms, by time, or by person."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..objectives import Array
from ..validation import check_text
from ..validation.inputs import factorize
from .notation import number_of, seconds_of, time_words
from .table import Column, Rows, Table

PARTS = ("train", "validation", "test")
SHARES = (60.0, 20.0, 20.0)
STRETCH = 1_000_000
RULES = {
    "random": "Random split, stratified by {atoms}: {shares}.",
    "by": "Random split, all rows with the same {0!r} in one part: {shares}.",
    "time": "Split by {0!r}: train before {1}, validation from {1}, test from {2}.",
}
REMEDIES = {
    "random": "use more rows, or other shares",
    "by": "{0!r} needs at least 3 different values, and more to keep the shares",
    "time": "choose other limits than {1} and {2}",
}


def covered(values: Array, codes: NDArray[np.int8], words: Callable[[float], str]) -> dict[str, list[str]]:
    """Return, by part, the first and last time that its rows have; NaN is none."""
    found = {}
    for i, name in enumerate(PARTS):
        known = values[(codes == i) & ~np.isnan(values)]
        if len(known):
            found[name] = [words(float(known.min())), words(float(known.max()))]
    return found


@dataclass(frozen=True)
class Split:
    """A rule that sends every row to one of three parts; the same seed gives the same parts.

    ``kind`` "random": rows at random, every atom in the same proportions. "by": all rows with one value of ``column``
    in one part. "time": rows before the first of ``limits`` train, rows from the second on test, rows between validate.
    ``person`` is the column that says who rows are of, where people have several.
    """

    kind: Literal["random", "by", "time"]
    column: str = ""
    shares: tuple[float, float, float] = SHARES
    limits: tuple[str, ...] = ()
    person: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name in (self.column, self.person) if name))

    def people(self, table: Table) -> Rows | None:
        """Return who every row is of, as codes; None where every row is another person."""
        return table.complete(self.person).distinct()[0] if self.person else None

    @property
    def times(self) -> tuple[str, ...]:
        """Return the columns that hold times, to be loaded as such: those with limits that are not numbers."""
        return tuple(self.column for limit in self.limits[:1] if np.isinf(number_of(limit)))

    def describe(self, *, grouped: bool = True) -> str:
        """``grouped`` says that atoms are classes of label and groups, not of labels."""
        shares = ", ".join(f"{share:g} % {name}" for share, name in zip(self.shares, PARTS, strict=True) if share)
        atoms = "label and group" if grouped else "label"
        return RULES[self.kind].format(self.column, *self.limits, atoms=atoms, shares=shares)

    def codes(self, table: Table, atoms: NDArray[Any], seed: int = 0) -> NDArray[np.int8]:
        """Return the part of every row: 0 for train, 1 for validation, 2 for test, none of which is empty.

        ``atoms`` (n,) are codes of each row's (label, group) class, whose proportions are kept as far as possible.
        """
        if table.n != len(atoms):
            raise InputError(f"atoms have {len(atoms)} rows, expected {table.n}, as many as the table.")
        if self.kind == "time":
            part = self._by_time(table.complete(self.column))
        elif self.kind == "by":
            part = self._by_owner(table.complete(self.column), factorize(atoms)[0], np.random.default_rng(seed))
        else:
            part = self._drawn(factorize(atoms)[0], None, np.random.default_rng(seed))
        for name, share, size in zip(PARTS, self.shares, np.bincount(part, minlength=len(PARTS)), strict=True):
            if not size and share:
                raise InputError(
                    f"the {name} part of the split has no rows ({len(atoms)} in all), expected some in each part; "
                    f"{REMEDIES[self.kind].format(self.column, *self.limits)}."
                )
        return part

    def period(self, table: Table, codes: NDArray[np.int8]) -> dict[str, Any] | None:
        """Return the column and the time that each part covers, as texts; None where rows are not split by time."""
        if self.kind != "time":
            return None
        values = table.column(self.column).values
        return {"column": self.column, "parts": covered(values, codes, time_words if self.times else "{:g}".format)}

    def _drawn(self, atoms: Rows, sizes: Rows | None, rng: np.random.Generator) -> NDArray[np.int8]:
        """Give seats to atoms in random order, and to the rows or people of each in random order, large ones first."""
        turn = rng.permutation(int(atoms.max(initial=0)) + 1)
        luck, taken = rng.random(len(atoms)), seats(len(atoms), self.shares)
        part, start = np.empty(len(atoms), dtype=np.int8), 0
        for atom in np.argsort(turn):  # one atom at a time, because an order of all rows takes much memory
            rows = np.flatnonzero(atoms == atom)
            order = np.lexsort((luck[rows],) if sizes is None else (luck[rows], -sizes[rows]))
            part[rows[order]] = taken[start : start + len(rows)]
            start += len(rows)
        return part

    def _by_owner(self, column: Column, atoms: Rows, rng: np.random.Generator) -> NDArray[np.int8]:
        """An owner counts for its most frequent atom, the first of equals."""
        owner, found = column.distinct()
        n_atoms = int(atoms.max(initial=0)) + 1
        pairs, counts = np.unique(owner * n_atoms + atoms, return_counts=True)
        order = np.lexsort((-counts, pairs // n_atoms))
        first = np.unique((pairs // n_atoms)[order], return_index=True)[1]
        main = (pairs % n_atoms)[order][first]
        return self._drawn(main, np.bincount(owner, minlength=len(found)), rng)[owner]

    def _by_time(self, column: Column) -> NDArray[np.int8]:
        """A column of dates has to be loaded as times."""
        dates = column.time or column.numbers is None
        if dates != bool(self.times):
            found, wanted = ("dates", "such as 2024-01-31") if dates else ("numbers", "that are numbers")
            raise InputError(f"column {self.column!r} holds {found}, expected limits {wanted}, found {self.limits[0]}.")
        limits = np.array([(seconds_of if self.times else number_of)(limit) for limit in self.limits])
        return np.searchsorted(limits, column.values, side="right").astype(np.int8)


def parse_split(text: str, person: str | None = None) -> Split:
    """Read ``60/20/20``, ``time:COLUMN:D1,D2``, ``by:COLUMN`` or ``by:COLUMN:60/20/20``; ``80/20`` has no validation.

    Rows of one ``person``, by the column of that name, stay together unless rows are split by time.
    """
    split = _parsed(text)
    if person is None or split.kind == "random":
        owner = split.column if person is None and split.kind == "by" else person or ""
        return replace(split, kind="by" if owner else split.kind, column=owner or split.column, person=owner)
    if split.kind == "by" and split.column != person:
        raise InputError(
            f"{spelled('split')} keeps rows of {split.column!r} together and {spelled('person')} is {person!r}, "
            "expected one column for both; leave one of them out."
        )
    return replace(split, person=person)


def _parsed(text: str) -> Split:
    kind, colon, rest = check_text(text, "split", "a text such as '60/20/20'").strip().partition(":")
    if not colon:
        return Split("random", shares=_shares(kind))
    if kind == "by" and rest:
        name, _, tail = rest.rpartition(":")
        is_share = bool(name) and re.fullmatch(r"[\d.]+(/[\d.]+)*", tail) is not None
        return Split("by", name, _shares(tail)) if is_share else Split("by", rest)
    column, _, given = rest.partition(":")
    if kind != "time" or not column or given.count(",") != 1:
        raise InputError(f"{spelled('split')} is {text!r}, expected 60/20/20, time:COLUMN:D1,D2 or by:COLUMN.")
    limits = tuple(limit.strip() for limit in given.split(","))
    numbers = np.isfinite([number_of(limit) for limit in limits]).any()
    one, two = map(number_of if numbers else seconds_of, limits)
    found = f"{spelled('split')} has the times {limits[0]!r} and {limits[1]!r}"
    if np.isinf([one, two]).any():
        raise InputError(f"{found}, expected two ISO dates, or two numbers.")
    if one >= two:
        raise InputError(f"{found}, expected the earlier one first.")
    return Split("time", column, limits=limits)


def _shares(text: str) -> tuple[float, float, float]:
    found = [number_of(part) for part in text.split("/")]
    total = sum(found)
    positive = len(found) in (2, 3) and all(0 < share < np.inf for share in found)
    if not positive or min(abs(total - 100), abs(total - 1)) > 1e-9:
        raise InputError(
            f"{spelled('split')} is {text!r}, expected three shares above 0 that sum to 100, such as 60/20/20, or two, "
            "such as 80/20: train and test."
        )
    scale = 100.0 / total
    return found[0] * scale, found[1] * scale if len(found) == 3 else 0.0, found[-1] * scale


def seats(n: int, shares: tuple[float, ...]) -> NDArray[np.int8]:
    """Return parts for n rows or people in turn, such that every stretch of them has nearly the right shares.

    Part k has its j-th seat at time (j + 1/2) / share_k; seats are taken in the order of time, a stretch at a time.
    """
    found, done, early = np.empty(n, dtype=np.int8), 0, 0.0
    while done < n:
        late = early + STRETCH / sum(shares)
        times = []
        for share in shares:
            if not share:
                times.append(np.zeros(0))
                continue
            places = np.arange(max(0, int(early * share) - 2), int(late * share) + 3, dtype=np.float64)
            due = (places + 0.5) / share
            times.append(due[(due >= early) & (due < late)])
        part = np.repeat(np.arange(len(shares), dtype=np.int8), [len(each) for each in times])
        order = np.argsort(np.concatenate(times), kind="stable")[: n - done]
        found[done : done + len(order)] = part[order]
        done, early = done + len(order), late
    return found
