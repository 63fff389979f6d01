"""Cells of CSV files that spreadsheets show and do not execute; the explorer's script uses the same pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

FORMULA = (
    r"^(?![+\-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+\-]?\d+)?$)"  # numbers, which may begin with a sign
    r"(?:\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|[\t\r\n])"
)
"""What a spreadsheet would read as a formula, in the words that Python and JavaScript share."""
_formula = re.compile(FORMULA)
_apart = re.compile(r"[\s\x00-\x1f\x7f\"'`,;|]+")


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
