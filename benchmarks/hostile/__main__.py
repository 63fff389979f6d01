"""Try faults on purpose and count what survives.

python -m benchmarks.hostile [LANE ...] [--full] [--count N] [--log FILE] [--minutes M] [--json FILE]

Without --full (or FAIRFRONT_HOSTILE=full) the counts are moderate: minutes instead of hours.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..report import commit
from . import calls, certificates, disk, edits, kills, packages, writers
from .material import Material, make
from .tally import Tally, shown, write_json

LANES = ("certificates", "kills", "edits", "packages", "disk", "writers", "calls")


@dataclass(frozen=True)
class Lane:
    """One kind of fault: how many are tried, moderately and in full, and how."""

    moderate: int
    full: int
    run: Callable[[int, Any], list[Tally]]


def lanes(asked: argparse.Namespace, folder: Path, made: Callable[[], Material]) -> dict[str, Lane]:
    """Return all lanes; each works in a folder of its own."""

    def own(name: str) -> Path:
        (folder / name).mkdir()
        return folder / name

    return {
        "certificates": Lane(300, 10_000, lambda n, _: certificates.run(n, asked.log, asked.minutes)),
        "kills": Lane(40, 200, lambda n, name: kills.run(n, made(), own(name))),
        "edits": Lane(60, 500, lambda n, name: edits.run(n, made(), own(name))),
        "packages": Lane(0, 0, lambda _, name: packages.run(made(), own(name))),
        "disk": Lane(24, 72, lambda n, name: disk.run(n, made(), own(name))),
        "writers": Lane(16, 80, lambda n, name: writers.run(n, made(), own(name))),
        "calls": Lane(0, 0, lambda *_: calls.run()),
    }


def _repeatable(words: list[str]) -> list[str]:
    """Return the words that matter to whoever repeats it: not where files of this time went."""
    told = zip(["", *words], words, strict=False)
    return [word for before, word in told if before not in ("--json", "--log") and word not in ("--json", "--log")]


def main(words: list[str]) -> int:
    """Run the lanes that are asked for, or all, and return 1 if something did not survive."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile", description="Try faults on purpose.")
    parser.add_argument("lanes", nargs="*", help=f"{', '.join(LANES)}; by default all")
    parser.add_argument("--full", action="store_true", default=os.environ.get("FAIRFRONT_HOSTILE") == "full")
    parser.add_argument("--count", type=int, help="faults per lane, instead of the lane's own number")
    parser.add_argument("--log", type=Path, help="file of certificates that were judged: go on from there")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="most minutes of certificates")
    parser.add_argument("--json", type=Path, help="write the counts as JSON")
    asked = parser.parse_args(words)
    tallies: list[Tally] = []
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        folder, ready = Path(name), []

        def made() -> Material:
            if not ready:
                (folder / "material").mkdir()
                ready.append(make(folder / "material"))
            return ready[0]

        known = lanes(asked, folder, made)
        for lane in asked.lanes or known:
            count = asked.count or (known[lane].full if asked.full else known[lane].moderate)
            found = known[lane].run(count, lane)
            print(shown(found), flush=True)
            tallies += found
    if asked.json:
        about = {"commit": commit(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
        write_json(asked.json, tallies, **about, words=_repeatable(words))
    return int(not all(tally.passed for tally in tallies))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
