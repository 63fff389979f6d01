"""Inferring: one pass over a source that finds what kind each column is, and refuses columns that are two kinds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .cells import to_numbers, to_texts
from .distinct import DistinctCount, hash_numbers, hash_texts
from .schema import ColumnSchema, Kind, Schema
from .source import PASS_ROWS, Chunk, Source

NEARLY = 0.97
EXAMPLES = 3


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
    tallies = {name: Tally(source, name, _forced(name, text, numbers)) for name in asked}
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


class Tally:
    """What has been seen of one column so far."""

    def __init__(self, source: Source, name: str, forced: Kind | None) -> None:
        self.name, self.forced, self.typed = name, forced, source.typed
        self.missing = frozenset(source.missing)
        self.distinct = DistinctCount()
        self.n_missing = self.n_numbers = self.n_words = 0
        self.integers, self.numeric = True, False
        self.example, self.places = "", ""

    def add(self, chunk: Chunk) -> None:
        """Take note of one chunk."""
        cells = chunk[self.name]
        is_text = cells.dtype == object
        self.numeric |= not is_text
        names = self.n_numbers == 0 and self.distinct.full  # many words, never a number: no need to try each
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
        self.n_words += len(texts) - n_missing
        self.distinct.add(hash_texts({str(text).strip() for text in distinct - absent}))

    def _add_numbers(self, cells: NDArray[Any], chunk: Chunk) -> None:
        values, words = to_numbers(cells, self.missing)
        known = values[np.isfinite(values)]
        self.n_numbers += len(known)
        self.integers = self.integers and bool((known == np.rint(known)).all())
        if not len(words):
            self.n_missing += len(values) - len(known)
            self.distinct.add(hash_numbers(known))
            return
        if not self.places:
            self.example = str(cells[words[0]]).strip()
            self.places = chunk.places(words[:EXAMPLES].tolist())
        self._add_texts(cells)
        self.n_words -= len(known)

    @property
    def mixed(self) -> bool:
        """Tell whether numbers and words are in one column: words in one of numbers, or in one that is mostly so."""
        if self.forced == "number":
            return self.n_words > 0
        return self.forced is None and 0 < self.n_words < self.n_numbers

    @property
    def kind(self) -> Kind:
        """Return the kind of the column."""
        if self.forced is not None:
            return self.forced
        return "number" if self.n_words == 0 and (self.n_numbers or self.numeric) else "category"

    def result(self) -> ColumnSchema:
        """Return what is known at the end."""
        count, present = self.distinct.count, self.n_numbers + self.n_words
        if not self.distinct.exact:
            count = min(count, present)
        integers = self.kind == "number" and self.integers and present > 0
        alike = count == present if self.distinct.exact else count >= NEARLY * present
        unique = alike and present > 1 and (integers or self.kind == "category")
        return ColumnSchema(
            self.name, self.kind, self.n_missing, count, self.distinct.exact, integers, count <= 1, unique
        )


def _check_mixed(tallies: list[Tally]) -> None:
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
