"""Data frames of pandas, polars or pyarrow as a source: typed columns become numbers or text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..validation import is_missing
from .source import ROWS, Chunk, Source, check_names

TIMES = (nw.Date, nw.Datetime, nw.Time)
TEXTS = (nw.String, nw.Categorical, nw.Enum)


class FrameSource(Source):
    """A data frame in memory."""

    typed = True
    title = "the data frame"

    def __init__(self, frame: Any, missing: tuple[str, ...]) -> None:
        self.frame, self.missing = as_frame(frame), missing
        self.size = len(self.frame)
        self.names = check_names([str(name) for name in self.frame.columns], self.title)
        if not self.names or not self.size:
            raise InputError(f"{self.title} has shape {self.frame.shape}, expected one row per person and columns.")

    def sha256(self) -> None:
        """Return None: a frame in memory has no bytes of its own."""
        return

    def chunks(self, columns: Iterable[str] | None = None, rows: int = ROWS) -> Iterator[Chunk]:
        """Yield typed cells, a chunk of rows at a time."""
        asked = self.chosen(columns)
        places = [self.places[name] for name in asked]
        for first in range(0, self.size, rows):
            part = self.frame[first : first + rows]
            cells = {name: typed_cells(part[:, place], name) for name, place in zip(asked, places, strict=True)}
            yield Chunk(cells, first, min(first + rows, self.size))


def as_frame(frame: Any) -> Any:
    """Return a data frame in the form that all libraries share."""
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            f"the data have the type {type(frame).__name__}, expected a path or a data frame of pandas, polars or "
            "pyarrow; collect a lazy frame first."
        ) from None
    except ValueError as error:
        raise InputError(f"the data frame cannot be used, expected different column names ({error}).") from error


def typed_cells(series: Any, name: str) -> NDArray[Any]:
    """Return numbers as an int or float array, all else as texts with None for missing ones."""
    dtype = series.dtype
    if dtype.is_integer() and not series.null_count():
        return np.asarray(series.to_numpy())
    if dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if series.null_count() == len(series):
        return np.full(len(series), None, dtype=object)
    if dtype == nw.String:
        texts = series.to_list()
        return np.array(
            [v if isinstance(v, str) else None for v in texts] if series.null_count() else texts, dtype=object
        )
    if dtype == nw.Boolean and not series.null_count():
        return np.where(series.to_numpy(), "true", "false").astype(object)
    if dtype == nw.Boolean or dtype in TEXTS or dtype in TIMES or dtype == nw.Object:
        return _objects([_text(value, name) for value in series.to_list()])
    raise InputError(
        f"column {name!r} has the type {dtype}, expected numbers, text, true and false, or dates; convert or drop it."
    )


def _objects(values: list[Any]) -> NDArray[Any]:
    """Return texts, or numbers where a column of mixed objects holds nothing else."""
    known = [value for value in values if value is not None]
    if known and not any(isinstance(value, str) for value in known):
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.array([None if value is None else str(value) for value in values], dtype=object)


def _text(value: Any, name: str) -> Any:
    """Return one cell as text, as a number where it is one, or None."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (int, float, np.number)):
        return value
    raise InputError(
        f"column {name!r} has a cell of the type {type(value).__name__}, expected a number, text, true or false, or a "
        "date; convert or drop the column."
    )
