"""What a lane tried and what survived: one record for the table, the JSON and the page.

python -m benchmarks.hostile.tally FILE ... writes the counts of JSON files into the table of docs/reliability.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..report import DOCS, Table

PAGE = DOCS / "reliability.md"
HEAD = ["fault", "tried", "survived", "of them", "command", "commit, date"]


@dataclass
class Tally:
    """Counts of one kind of fault; ``failures`` say how to repeat each that did not survive."""

    fault: str
    tried: int = 0
    survived: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def note(self, failure: str | None, **counted: int) -> None:
        """Count one try; ``failure`` says what went wrong, None that nothing did."""
        self.tried += 1
        self.survived += failure is None
        self.counts.update(counted)
        if failure is not None:
            self.failures.append(failure)

    def retract(self, failure: str) -> None:
        """Count what was tried last as not survived after all."""
        self.survived -= 1
        self.failures.append(failure)

    @property
    def passed(self) -> bool:
        """Tell whether something was tried and all of it survived."""
        return self.tried > 0 and not self.failures

    def record(self) -> dict[str, Any]:
        """Return the record as JSON has it."""
        known = {"fault": self.fault, "tried": self.tried, "survived": self.survived}
        return {**known, "counts": dict(self.counts), "failures": self.failures}


def shown(tallies: list[Tally]) -> str:
    """Return the table of lanes, and the first failures of each."""
    rows = [[each.fault, each.tried, each.survived, words_of(each.counts)] for each in tallies]
    failures = [f"- {each.fault}: {line}" for each in tallies for line in each.failures[:50]]
    return "\n".join([str(Table(["fault", "tried", "survived", "of them"], rows)), *failures])


def words_of(counts: Mapping[str, int]) -> str:
    """Say what was counted."""
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items())


def write_json(path: Path, tallies: list[Tally], **about: Any) -> None:
    """Write all records and what they are about."""
    path.write_text(json.dumps({**about, "lanes": [each.record() for each in tallies]}, indent=1) + "\n")


def _row(about: dict[str, Any], lane: dict[str, Any]) -> list[object]:
    """Return the row of one fault."""
    command = f"`python -m benchmarks.hostile {' '.join(about['words'])}`"
    made = f"{about['commit']}, {about['date']}"
    return [lane["fault"], lane["tried"], lane["survived"], words_of(lane["counts"]), command, made]


def write_page(files: list[str]) -> None:
    """Replace the table of docs/reliability.md by the counts of JSON files; of a fault in several files the last counts."""
    rows: dict[str, list[object]] = {}
    for file in files:
        about = json.loads(Path(file).read_text())
        rows.update({lane["fault"]: _row(about, lane) for lane in about["lanes"]})
    text = f"<!-- hostile:begin -->\n{Table(HEAD, list(rows.values()))}\n<!-- hostile:end -->"
    pattern = re.compile(r"<!-- hostile:begin -->.*<!-- hostile:end -->", re.DOTALL)
    PAGE.write_text(pattern.sub(lambda _: text, PAGE.read_text()))


if __name__ == "__main__":
    write_page(sys.argv[1:])
