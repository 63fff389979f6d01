"""From raw cells to numbers, times, texts and codes; what is not a number is found and placed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kind = Literal["number", "category"]
ABSENT: Any = float("nan")
NOWHERE = np.empty(0, dtype=np.intp)
MONTH = re.compile(r"\d{4}-\d{2}")


def to_numbers(cells: NDArray[Any], missing: frozenset[str]) -> tuple[Array, NDArray[np.intp]]:
    """Return numbers (NaN where missing) and the rows whose cell is neither a finite number nor missing.

    Texts are numbers as Python's ``float`` reads them, without underscores, NaN and infinity: those are words.
    """
    if cells.dtype.kind in "iuf":
        values = cells.astype(np.float64)
        return values, np.flatnonzero(np.isinf(values))
    texts = cells.tolist()
    quick = _plain(texts)
    if quick is None:
        quick = _plain([ABSENT if text is None or text in missing else text for text in texts])
    return (quick, NOWHERE) if quick is not None else _careful(texts, missing)


def _plain(texts: list[Any]) -> Array | None:
    """Convert all texts at once; None where one of them is no finite number, save those that are known absent."""
    try:
        values = np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    except (TypeError, ValueError):
        return None
    absent = texts.count(ABSENT)
    if np.count_nonzero(np.isfinite(values)) != len(texts) - absent:
        return None
    written = "".join(texts if not absent else [text for text in texts if text is not ABSENT])
    return None if "_" in written else values


def _careful(texts: list[Any], missing: frozenset[str]) -> tuple[Array, NDArray[np.intp]]:
    """Convert the distinct texts one by one, which is quick for categories."""
    known: dict[Any, float] = {}
    words: set[Any] = set()
    for text in set(texts):
        known[text] = number_of(text, missing)
        if known[text] == np.inf:
            known[text] = np.nan
            words.add(text)
    values = np.fromiter(map(known.__getitem__, texts), dtype=np.float64, count=len(texts))
    if not words:
        return values, NOWHERE
    return values, np.flatnonzero(np.fromiter(map(words.__contains__, texts), dtype=bool, count=len(texts)))


def number_of(text: str | None, missing: frozenset[str]) -> float:
    """Return the number that a text stands for, NaN for a missing one, infinity for a word."""
    if text is None or (bare := text.strip()) in missing:
        return np.nan
    try:
        value = float(bare)
    except ValueError:
        return np.inf
    return value if np.isfinite(value) and "_" not in bare else np.inf


def seconds_of(text: str) -> float | None:
    """Return the seconds since 1970 (UTC where no zone is given) of an ISO date, month or time; None where none."""
    plain = text.strip()
    try:
        found = datetime.fromisoformat(f"{plain}-01" if MONTH.fullmatch(plain) else plain)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def to_seconds(cells: NDArray[Any], missing: frozenset[str]) -> tuple[Array, NDArray[np.intp]]:
    """Return times (NaN where missing) and the rows whose cell is neither an ISO date nor missing.

    Numbers are taken as they are.
    """
    if cells.dtype.kind in "iuf":
        return cells.astype(np.float64), NOWHERE
    known: dict[Any, float] = {}
    for text in set(cells.tolist()):
        found = np.nan if text is None or text.strip() in missing else seconds_of(text)
        known[text] = np.inf if found is None else found
    values = np.fromiter(map(known.__getitem__, cells.tolist()), dtype=np.float64, count=len(cells))
    return values, np.flatnonzero(np.isinf(values))


def number_text(value: float) -> str | None:
    """Write a number as people do: 3 rather than 3.0; None for NaN."""
    if value != value:
        return None
    return str(int(value)) if value == np.rint(value) and abs(value) < 2**53 else repr(value)


def to_texts(cells: NDArray[Any]) -> list[str | None]:
    """Return cells as texts, numbers written out."""
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
        """Return the codes of raw cells."""
        texts = to_texts(cells)
        return np.fromiter(map(self.__getitem__, texts), dtype=np.int32, count=len(texts))
