"""Columns of a CSV file for the command line: text as it stands, numbers where asked, empty cells missing."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})


def read_columns(path: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the named columns of a file with a header line."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file)
            header = next(rows, None)
            places = _places(path, header, names)
            found = _cells(path, rows, places, len(header or ()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path} cannot be read ({error}), expected a CSV file in UTF-8 with a header line."
        ) from error
    return dict(zip(dict.fromkeys(names), found, strict=True))


def _places(path: Path, header: list[str] | None, names: Sequence[str]) -> list[int]:
    if not header:
        raise InputError(f"{path} is empty, expected a header line and one row per person.")
    for name in names:
        if header.count(name) != 1:
            found = "no column" if name not in header else f"{header.count(name)} columns"
            raise InputError(f"{path} has {found} {name!r}, expected one of {', '.join(header)}.")
    return [header.index(name) for name in dict.fromkeys(names)]


def _cells(path: Path, rows: Any, places: list[int], width: int) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in places]
    for row in rows:
        if not row:
            continue
        if len(row) != width:
            raise InputError(f"{path} line {rows.line_num} has {len(row)} cells, expected {width}, as in the header.")
        for cells, place in zip(found, places, strict=True):
            cells.append(row[place].strip())
    if not found[0]:
        raise InputError(f"{path} has no rows, expected one per person below the header.")
    return found


def as_groups(cells: list[str]) -> NDArray[Any]:
    """Return text with None for missing cells."""
    return np.array([None if cell.lower() in MISSING else cell for cell in cells], dtype=object)


def as_number_column(cells: list[str], name: str) -> NDArray[np.float64]:
    """Return numbers, or say which line has none (the header is line 1)."""
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        for line, cell in enumerate(cells, start=2):
            try:
                float(cell)
            except ValueError:
                raise InputError(f"column {name!r} has {cell!r} in line {line}, expected a number.") from None
        raise


def as_labels(cells: list[str], name: str) -> NDArray[Any]:
    """Return whole numbers where all cells are, other numbers where all are, else text; none may be missing."""
    missing = [line for line, cell in enumerate(cells, start=2) if cell.lower() in MISSING]
    if missing:
        raise InputError(
            f"column {name!r} is missing in {len(missing)} rows (first in line {missing[0]}), expected none."
        )
    try:
        numbers = np.array(cells, dtype=np.float64)
    except ValueError:
        return np.array(cells, dtype=object)
    whole = np.isfinite(numbers).all() and np.array_equal(numbers, np.rint(numbers))
    return numbers.astype(np.int64) if whole else numbers


def as_label(text: str, labels: NDArray[Any]) -> Any:
    """Return a label typed on the command line in the type of the column."""
    if labels.dtype == object:
        return text
    try:
        return int(text) if labels.dtype.kind == "i" else float(text)
    except ValueError:
        return text
