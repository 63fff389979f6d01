"""The schema of a table, found in one pass: what kind each column is and how full, without a value from any cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives.small_counts import FEWER, FEWEST, rounded_count
from .raw_cells import Kind, to_numbers, to_texts
from .source import PASS_ROWS, Chunk, Source
from .statistics import FactTally, hash_texts

NEARLY = 0.97
EXAMPLES = 3


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


def _hidden(count: int) -> int | str:
    return FEWER if 0 < count < FEWEST else count


def infer(
    source: Source,
    *,
    text: Collection[str] = (),
    numbers: Collection[str] = (),
    columns: Iterable[str] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Schema:
    """Find the kinds of columns in one pass, in constant memory.

    Parameters
    ----------
    source : Source
    text, numbers : names of columns
        Read as categories or as numbers, whatever they look like.
    columns : names, optional
        Columns to look at; default: all.
    on_progress : function, optional
        Called with the amount read so far, in units of ``source.size``.

    Notes
    -----
    A column is a number where every cell that is not missing is a finite one. A column that is mostly numbers with some
    words is refused: it is a slip, or a category that only looks like a number, and only a person knows which.
    """
    asked = source.chosen(columns)
    for what, named in (("text", text), ("numbers", numbers)):
        for name in named:
            source.check_column(name, what)
    tallies = {name: _Tally(source, name, _forced(name, text, numbers)) for name in asked}
    n = 0
    for chunk in source.chunks(asked, PASS_ROWS):
        for tally in tallies.values():
            tally.add(chunk)
        n += chunk.n
        if on_progress is not None:
            on_progress(chunk.done)
    _check_mixed(list(tallies.values()))
    return Schema(n, tuple(tally.result() for tally in tallies.values()), tuple(source.missing))


def _forced(name: str, text: Collection[str], numbers: Collection[str]) -> Kind | None:
    if name in text and name in numbers:
        raise InputError(f"column {name!r} is named in text and in numbers, expected one of them.")
    return "category" if name in text else "number" if name in numbers else None


class _Tally:
    """What has been seen of the raw cells of one column so far."""

    def __init__(self, source: Source, name: str, forced: Kind | None) -> None:
        self.name, self.forced, self.typed = name, forced, source.typed
        self.missing = frozenset(source.missing)
        self.facts = FactTally()
        self.n_missing = self.n_numbers = 0
        self.numeric = False
        self.example, self.places = "", ""

    def add(self, chunk: Chunk) -> None:
        cells = chunk[self.name]
        is_text = cells.dtype == object
        self.numeric |= not is_text
        names = self.n_numbers == 0 and self.facts.distinct.full  # many words, never a number: no need to try each
        if self.forced == "category" or (self.forced is None and is_text and (self.typed or names)):
            self._add_texts(cells)
        else:
            self._add_numbers(cells, chunk)

    def _add_texts(self, cells: NDArray[Any]) -> None:
        texts = to_texts(cells)
        distinct = set(texts)
        absent = {text for text in distinct if text is None or text.strip() in self.missing}
        n_missing = sum(map(absent.__contains__, texts)) if absent else 0
        self.n_missing += n_missing
        self.facts.add_levels(hash_texts({str(text).strip() for text in distinct - absent}), len(texts) - n_missing)

    def _add_numbers(self, cells: NDArray[Any], chunk: Chunk) -> None:
        values, words = to_numbers(cells, self.missing)
        known = values[np.isfinite(values)]
        self.n_numbers += len(known)
        if not len(words):
            self.n_missing += len(values) - len(known)
            self.facts.add_numbers(known)
            return
        if not self.places:
            self.example = str(cells[words[0]]).strip()
            self.places = chunk.places(words[:EXAMPLES].tolist())
        self._add_texts(cells)

    @property
    def n_words(self) -> int:
        """Return the number of rows that have a value which is not a number, or was not tried."""
        return self.facts.present - self.n_numbers

    @property
    def mixed(self) -> bool:
        """Tell whether numbers and words are in one column: words in one of numbers, or in one that is mostly so."""
        if self.forced == "number":
            return self.n_words > 0
        return self.forced is None and 0 < self.n_words < self.n_numbers

    @property
    def kind(self) -> Kind:
        if self.forced is not None:
            return self.forced
        return "number" if self.n_words == 0 and (self.n_numbers or self.numeric) else "category"

    def result(self) -> ColumnSchema:
        facts = self.facts.result(self.kind)
        count, present = facts.n_distinct, facts.present
        alike = count == present if facts.exact else count >= NEARLY * present
        unique = alike and present > 1 and (facts.integers or facts.kind == "category")
        return ColumnSchema(
            self.name, facts.kind, self.n_missing, count, facts.exact, facts.integers, count <= 1, unique
        )


def _check_mixed(tallies: list[_Tally]) -> None:
    mixed = [tally for tally in tallies if tally.mixed]
    if not mixed:
        return
    one, others = mixed[0], [tally.name for tally in mixed[1:]]
    also = f" (the same holds for {', '.join(others)})" if others else ""
    word = one.example if len(one.example) <= 30 else one.example[:30] + "..."
    wanted = "one kind" if one.forced is None else "a number in each"
    second = f"--text {one.name} if it is a category" if one.forced is None else "mend them"
    raise InputError(
        f"column {one.name!r} has numbers in {one.n_numbers} rows and words in {one.n_words} (first in {one.places}, "
        f"such as {word!r}), expected {wanted}{also}; give --missing {word!r} if it stands for a missing value, "
        f"or {second}."
    )
