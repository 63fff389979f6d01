"""Times: ISO dates and times of day as seconds, so that they can be compared."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from .cells import to_texts
from .source import Chunk

MONTH = re.compile(r"\d{4}-\d{2}")


def seconds_of(text: str) -> float | None:
    """Return the seconds since 1970 (UTC where no zone is given) of an ISO date, month or time; None where none."""
    plain = text.strip()
    try:
        found = datetime.fromisoformat(f"{plain}-01" if MONTH.fullmatch(plain) else plain)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def to_seconds(chunk: Chunk, name: str, missing: frozenset[str]) -> NDArray[np.float64]:
    """Return the times of a column in a chunk; numbers are taken as they are."""
    cells = chunk[name]
    if cells.dtype.kind in "iuf":
        return cells.astype(np.float64)
    texts = to_texts(cells)
    known: dict[Any, float] = {text: _known(text, missing) for text in set(texts)}
    values = np.fromiter(map(known.__getitem__, texts), dtype=np.float64, count=len(texts))
    wrong = np.flatnonzero(np.isinf(values))
    if len(wrong):
        raise InputError(
            f"column {name!r} has {texts[int(wrong[0])]!r} in {chunk.place(int(wrong[0]))}, expected an ISO date such "
            "as 2024-01-31; write it that way, or name it with --missing."
        )
    return values


def _known(text: str | None, missing: frozenset[str]) -> float:
    if text is None or text.strip() in missing:
        return np.nan
    found = seconds_of(text)
    return np.inf if found is None else found
