"""Bad calls of every public function and every command: the walkers of the tests, with more draws."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from .tally import Tally

TESTS = Path(__file__).resolve().parents[2] / "tests"
WALKERS = {"bad calls of functions": "test_bad_calls.py", "bad calls of commands": "test_bad_commands.py"}


def run(count: int) -> list[Tally]:
    """Run the walkers that there are."""
    return [_walked(fault, TESTS / name) for fault, name in WALKERS.items() if (TESTS / name).exists()]


def _walked(fault: str, file: Path) -> Tally:
    tally = Tally(fault)
    environment = {**os.environ, "FAIRFRONT_DRAWS": "fuzz"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=TESTS.parent)
    passed = re.search(r"(\d+) passed", said.stdout)
    tally.tried = tally.survived = int(passed[1]) if passed else 0
    for line in said.stdout.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            tally.note(line)
    return tally
