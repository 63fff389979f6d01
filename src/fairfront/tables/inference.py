"""Inference of the kind of each column: one pass, and another over columns with codes, amounts or dates."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .notation import (
    AMOUNTS,
    DATES,
    PERCENT,
    PLAIN,
    Decimal,
    Notation,
    check_form,
    has_decimal_points,
    has_leading_zeros,
    looks_written,
    number_of,
    unit_of,
)
from .schema import ColumnSchema, Schema, passed
from .source import Source
from .statistics import Tally, hash_texts
from .table import Chunk, CodeBook, Kind, to_numbers

NEARLY = 0.97
EXAMPLES = 3
SHORT = 30
SAMPLED, MOST = 50, 0.5
"""Texts by which notations that read fewer than half of them are found without another pass."""


def infer(
    source: Source,
    *,
    text: Collection[str] = (),
    numbers: Collection[str] = (),
    dates: Mapping[str, str] | None = None,
    decimal: Decimal | None = None,
    notations: Mapping[str, Notation] | None = None,
    columns: Iterable[str] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Schema:
    """Find the kinds of columns, in constant memory; ``on_progress`` gets units of ``source.size``.

    Columns in ``text`` and ``numbers`` are read as such, whatever they look like, and those in ``dates`` by their
    format. Another is a number where every cell that is not missing is a finite one, written in one notation; digits
    with leading zeros are codes. A column that is mostly numbers with some words is refused: it is a slip, or a
    category that only looks like a number, and only a person knows which. ``decimal`` is the mark of numbers that can
    be read in two ways (1,234); by default that of the other columns, where they have one. ``notations`` are those of
    columns of numbers that are known from another file.
    """
    asked, forms = source.chosen(columns), dict(dates or {})
    for what, named in (("text", text), ("numbers", numbers), ("dates", forms)):
        for name in named:
            source.check_column(name, what)
    for name in asked:
        if (name in text) + (name in numbers) + (name in forms) > 1:
            raise InputError(f"column {name!r} is named in two of text, numbers and dates, expected one of them.")
    kinds: dict[str, Kind] = {**dict.fromkeys((*text, *forms), "category"), **dict.fromkeys(numbers, "number")}
    usual = Notation("comma") if decimal == "comma" else PLAIN
    fixed = {name: each for name, each in (notations or {}).items() if name in numbers}
    tallies = [_CellTally(source, name, kinds.get(name), fixed.get(name, usual)) for name in asked]
    n = 0
    for chunk in passed(source, asked, on_progress):
        for tally in tallies:
            tally.add_cells(chunk)
        n += chunk.n
    trials = {tally.name: [] if tally.name in fixed else tally.trials(source, forms) for tally in tallies}
    again = [name for name, candidates in trials.items() if candidates]
    for chunk in passed(source, again, None) if again else ():
        for name in again:
            for candidate in trials[name]:
                candidate.add_cells(chunk)
    marks = {_mark(tally, _amounts(trials[tally.name])) for tally in tallies} - {None}
    mark = decimal or (marks.pop() if len(marks) == 1 else None)
    decided = [_decided(tally, trials[tally.name], mark, guessed=decimal is None) for tally in tallies]
    _refuse_mixed([tally for tally in decided if tally.mixed])
    return Schema(n, tuple(tally.result() for tally in decided), tuple(source.missing))


class _CellTally(Tally):
    """What has been seen of the raw cells of one column so far, read in one notation.

    ``n_likely`` of ``n_levels`` texts may be numbers or dates in some notation, and ``unlike`` says that one of them is
    not a plain number. ``examples`` are the first texts that could not be read, with their places. ``points`` says that
    a text has a point, and ``decimals`` that one of them cannot separate thousands; ``otherwise`` is the decimal mark
    with which numbers would be others.
    """

    def __init__(self, source: Source, name: str, forced: Kind | None, notation: Notation) -> None:
        super().__init__()
        self.name, self.forced, self.typed, self.notation = name, forced, source.typed, notation
        self.missing, self.n_missing, self.n_numbers = frozenset(source.missing), 0, 0
        self.numeric, self.zeros, self.unlike = False, False, False
        self.points = self.decimals = False
        self.otherwise = ""
        self.n_levels = self.n_likely = 0
        self.examples: list[tuple[str, str]] = []
        self.units: set[str] = set()
        self.sample: list[str] = []

    def add_cells(self, chunk: Chunk) -> None:
        cells = chunk[self.name]
        is_text = cells.dtype == object
        self.numeric |= not is_text
        if is_text and not self.typed and self.forced != "category" and self.notation == PLAIN:
            lines = "\n" + "\n".join(text for text in cells.tolist() if text is not None)
            self.zeros = self.zeros or (self.forced is None and has_leading_zeros(lines))
            self.points = self.points or "." in lines
            self.decimals = self.decimals or ("." in lines and has_decimal_points(lines))
        if self._tries(is_text):
            values, words = to_numbers(cells, self.missing, self.notation.read)
            known = values[np.isfinite(values)]
            self.n_numbers += len(known)
            if is_text and self.notation.kind in ("point", "comma"):
                texts = set(cells[np.isfinite(values) & (values != 0)].tolist())
                self.units |= {unit_of(text) for text in texts}
                self.unlike = self.unlike or any(np.isinf(number_of(text)) for text in texts)
            if not len(words):
                self.n_missing += len(values) - len(known)
                self.add_numbers(known)
                return
            self._remember(chunk, cells, words)
        book = CodeBook(self.missing)
        present = int((book.codes(cells) >= 0).sum())
        self.n_missing += len(cells) - present
        self.add_levels(hash_texts(book.levels), present)
        likely = [text for text in book.levels if looks_written(text)]
        self.n_levels, self.n_likely = self.n_levels + len(book.levels), self.n_likely + len(likely)
        self.unlike = self.unlike or any(np.isinf(number_of(text)) for text in likely)
        self.sample = self.sample or likely[:SAMPLED]

    def _tries(self, is_text: bool) -> bool:
        if self.forced == "category" and not self.notation.is_date:
            return False
        names = self.n_numbers == 0 and self.full  # many words, never a number: no need to try each
        return bool(self.forced or not is_text or not (self.typed or names))

    def _remember(self, chunk: Chunk, cells: NDArray[np.object_], words: NDArray[np.intp]) -> None:
        for row in words[: EXAMPLES - len(self.examples)].tolist():
            self.examples.append((str(cells[row]).strip(), chunk.places(np.array([row]))))

    @property
    def n_words(self) -> int:
        """Return the number of rows that have a value which is not a number, or was not tried."""
        return self.present - self.n_numbers

    @property
    def plain(self) -> bool:
        """Tell whether every text is a number as Python writes it."""
        return self.notation == PLAIN and not (self.zeros or self.n_words or self.forced == "category")

    @property
    def doubtful(self) -> bool:
        """Tell whether the points of plain numbers may all separate thousands: 194.832 and 917."""
        return self.plain and self.points and not self.decimals

    @property
    def mixed(self) -> bool:
        """Tell whether numbers and words are in one column: words in one of numbers, or in one that is mostly so."""
        if self.forced == "number":
            return self.n_words > 0
        if self.notation.kind in ("code", "amounts", "dates"):
            return False
        return self.forced is None and 0 < self.n_words < self.n_numbers

    def trials(self, source: Source, forms: Mapping[str, str]) -> list[_CellTally]:
        """Return tallies for a second pass: of the codes in a column, or of every notation that its texts may be in."""
        if self.name in forms:
            notation = Notation("date", form=check_form(forms[self.name], self.name))
            return [_CellTally(source, self.name, "category", notation)]
        if self.zeros:
            return [_CellTally(source, self.name, "category", Notation("code"))]
        if self.doubtful:
            return [_CellTally(source, self.name, "number", each) for each in AMOUNTS]
        comma = self.notation.kind == "comma" and not self.typed
        whole = comma and self.n_numbers > 0 and self.n_words == 0
        doubtful = whole or (2 * self.n_likely > self.n_levels and (self.unlike or comma))
        if self.forced == "number":
            return [_CellTally(source, self.name, "number", each) for each in AMOUNTS if self.n_words or comma]
        if self.forced or not doubtful:
            return []
        fitting = [
            each
            for each in (AMOUNTS if whole else (*AMOUNTS, *DATES))
            if whole or np.mean([np.isfinite(each.read(text)) for text in self.sample]) > MOST
        ]
        return [_CellTally(source, self.name, "category" if each.is_date else "number", each) for each in fitting]

    def result(self) -> ColumnSchema:
        number = self.n_words == 0 and bool(self.n_numbers or self.numeric)
        kind: Kind = self.forced or ("number" if number else "category")
        count, exact, present = self.n_distinct, self.exact, self.present
        integers = kind == "number" and present > 0 and self.integers
        alike = count == present if exact else count >= NEARLY * present
        unique = alike and present > 1 and (integers or kind == "category")
        seen = (self.n_missing, count, exact, integers, count <= 1, unique)
        return ColumnSchema(self.name, kind, *seen, self.notation, self.otherwise)


def _amounts(trials: list[_CellTally]) -> list[_CellTally]:
    """Return the tallies of notations of numbers in which every text can be read."""
    return [trial for trial in trials if trial.notation in AMOUNTS and not trial.examples and trial.present]


def _mark(first: _CellTally, fitting: list[_CellTally]) -> Decimal | None:
    """Return the decimal mark that a column shows by itself."""
    if not fitting:
        return "point" if first.plain and first.decimals else None
    if len(fitting) > 1 and (_alike(fitting) or fitting[0].units <= {"", PERCENT}):
        return None
    return "comma" if _largest(fitting).notation.kind == "comma" else "point"


def _largest(fitting: list[_CellTally]) -> _CellTally:
    """Return the reading with the largest number: money has no three decimals."""
    return max(fitting, key=lambda trial: trial.high)


def _decided(first: _CellTally, trials: list[_CellTally], decimal: Decimal | None, *, guessed: bool) -> _CellTally:
    """Return the tally of the one notation that a column can be read in; else the first one, with what is unclear."""
    if trials and (first.zeros or first.forced == "category"):
        for text, place in trials[0].examples[:1]:
            raise InputError(
                f"column {first.name!r} has {text!r} in {place}, expected {trials[0].notation.expected}, "
                "or name it with --missing."
            )
        return trials[0]
    if amounts := _amounts(trials):
        return _amount(first, amounts, decimal, guessed)
    if fitting := [trial for trial in trials if not trial.examples and trial.present]:
        first.notation = fitting[0].notation if _alike(fitting) else Notation("dates")
        first.forced = "category"
    elif trials:
        best = min(trials, key=lambda trial: trial.n_words)
        if first.forced == "number" or best.n_words < best.n_numbers:  # a slip, or marks of missing values
            best.forced = first.forced
            return best
    return first


def _amount(first: _CellTally, fitting: list[_CellTally], decimal: Decimal | None, guessed: bool) -> _CellTally:
    units, same = sorted(fitting[0].units - {""}), _alike(fitting)
    several = len(units) > 1 or fitting[0].units == {"", PERCENT}
    preferred = [trial for trial in fitting if trial.notation.kind == decimal]
    money = units not in ([], [PERCENT])
    if first.doubtful and decimal != "comma":
        first.otherwise = "" if decimal else "comma"
        return first
    if several or not (same or preferred or money):
        first.notation = Notation("amounts", unit=" and ".join(units) if several else "")
        if first.forced == "number":
            raise InputError(f"column {first.name!r} {first.notation.expected}.")
        first.forced = "category"
        return first
    found = preferred[0] if preferred else fitting[0] if same else _largest(fitting)
    if guessed and len(fitting) > 1 and not (same or money):
        found.otherwise = "point" if found.notation.kind == "comma" else "comma"
    plain = not first.unlike and (same or found.notation.kind == "point")
    found.notation = PLAIN if plain else replace(found.notation, unit=units[0] if units else "")
    return found


def _alike(tallies: list[_CellTally]) -> bool:
    """Tell whether all notations read the same values."""
    return all(
        tally.n_distinct == tallies[0].n_distinct and np.array_equal(tally.smallest, tallies[0].smallest)
        for tally in tallies
    )


def _refuse_mixed(mixed: list[_CellTally]) -> None:
    if not mixed:
        return
    one, others = mixed[0], [tally.name for tally in mixed[1:]]
    also = f" (the same holds for {', '.join(others)})" if others else ""
    shown = [(text if len(text) <= SHORT else text[:SHORT] + "...", place) for text, place in one.examples]
    found = ", ".join(f"{text!r} in {place}" for text, place in shown)
    wanted, second = "one kind", f"--text {shlex.quote(one.name)} if it is a category"
    if one.forced is not None:
        wanted, second = "a number in each", "fix them"
    if not one.n_numbers:
        raise InputError(
            f"column {one.name!r} has words (such as {shown[0][0]!r} in {shown[0][1]}) and no number, expected a "
            f"number in each row{also}; name another column, or read it as words."
        )
    what = "dates" if one.notation.is_date else "numbers"
    raise InputError(
        f"column {one.name!r} has {what} in {one.n_numbers} rows and words in {one.n_words} (such as {found}), "
        f"expected {wanted}{also}; give --missing {shown[0][0]!r} if it stands for a missing value, or {second}."
    )
