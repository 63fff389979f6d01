"""Write the counts of JSON files into the table of docs/reliability.md: python -m benchmarks.hostile.page FILE ...

Of a fault that several files hold, the last counts.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from ..report import Table
from .tally import words_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
HEAD = ["fault", "tried", "survived", "of them", "command", "commit, date"]


def row(about: dict[str, Any], lane: dict[str, Any]) -> list[object]:
    """Return the row of one fault."""
    command = f"`python -m benchmarks.hostile {' '.join(about['words'])}`"
    made = f"{about['commit']}, {about['date']}"
    return [lane["fault"], lane["tried"], lane["survived"], words_of(lane["counts"]), command, made]


def main(files: list[str]) -> None:
    """Replace the table."""
    rows: dict[str, list[object]] = {}
    for file in files:
        about = json.loads(Path(file).read_text())
        rows.update({lane["fault"]: row(about, lane) for lane in about["lanes"]})
    text = f"<!-- hostile:begin -->\n{Table(HEAD, list(rows.values()))}\n<!-- hostile:end -->"
    pattern = re.compile(r"<!-- hostile:begin -->.*<!-- hostile:end -->", re.DOTALL)
    PAGE.write_text(pattern.sub(lambda _: text, PAGE.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
