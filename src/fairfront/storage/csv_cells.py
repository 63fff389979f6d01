"""Cells of CSV files that spreadsheets show and do not execute; the explorer's script uses the same pattern."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import IO, Any

FORMULA = (
    r"^(?![+\-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+\-]?\d+)?$)"  # numbers, which may begin with a sign
    r"(?:\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|[\t\r\n])"
)
"""What a spreadsheet would read as a formula, in the words that Python and JavaScript share."""
BOTH = "\r\n"
_formula = re.compile(FORMULA)
_apart = re.compile(r"[\s\x00-\x1f\x7f\"'`,;|]+")


class CsvWriter:
    """Writes rows with safe cells, one line each, to a text file.

    Lines end with a line feed. Python's own writer leaves a carriage return inside a cell unquoted then, and readers
    would begin a new row there; so it writes both, and the first is taken off.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream, self._rows = stream, csv.writer(self, lineterminator=BOTH)

    def write_rows(self, rows: Iterable[Iterable[Any]]) -> None:
        """Write rows of text and numbers."""
        self._rows.writerows([safe_cell(value) for value in row] for row in rows)

    def write(self, line: str) -> None:
        """Take one line from Python's writer."""
        self._stream.write(line.removesuffix(BOTH) + "\n")


def safe_cell(value: Any) -> Any:
    """Return a cell for a CSV file: text that a spreadsheet would execute gets a quote in front."""
    return f"'{value}" if isinstance(value, str) and _formula.match(value) else value


def column_names(start: str, labels: Iterable[Any]) -> list[str]:
    """Return a name for the column of each label, without blanks, quotes and delimiters, none of them twice."""
    names: list[str] = []
    for label in labels:
        name = plain = start + _apart.sub("_", str(label))
        number = 2
        while name in names:
            name, number = f"{plain}_{number}", number + 1
        names.append(name)
    return names
