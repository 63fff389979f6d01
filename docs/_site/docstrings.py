"""Docstrings on the pages of the reference: columns that are aligned by spaces stay aligned, and bars are bars."""

from __future__ import annotations

import re
from typing import Any

ALIGNED = re.compile(r"\S.*\S {2,}\S")
BARS = re.compile(r"(?<![`\\])\|(?=\S)([^|`\n]*\S)\|(?!`)")
REQUESTS = re.compile(r"set_\w+_request|get_metadata_routing")


def readable(lines: list[str]) -> list[str]:
    """Return a docstring in which paragraphs that are set in columns are literal blocks."""
    found: list[str] = []
    paragraph: list[str] = []
    for line in (*lines, ""):
        if line.strip():
            paragraph.append(line)
            continue
        if paragraph and ALIGNED.match(paragraph[0]) and not paragraph[0].startswith((">>>", "..", " ")):
            paragraph = ["::", "", *(f"    {each}" for each in paragraph)]
        else:
            paragraph = [BARS.sub(r"\\|\1\\|", each) for each in paragraph]
        found += [*paragraph, ""]
        paragraph = []
    return found


def setup(app: Any) -> dict[str, bool]:
    """Read docstrings so; leave out what scikit-learn adds to every estimator for its routing."""

    def read(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
        lines[:] = readable(lines)

    def skip(app: Any, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
        return True if REQUESTS.fullmatch(name.rpartition(".")[2]) else None

    app.connect("autodoc-process-docstring", read, priority=100)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
