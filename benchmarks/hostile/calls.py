"""Bad calls of every public function and every command: the walkers of the tests, with every bad value."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from . import counting
from .tally import Tally

TESTS = Path(__file__).resolve().parents[2] / "tests"
WALKERS = {"bad calls of functions": "core/test_bad_calls.py", "bad calls of commands": "cli/test_bad_commands.py"}

WALK = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
"""Not ``python -m pytest``: commands name themselves as they were started."""


def run() -> list[Tally]:
    """Run both walkers with all that `make fuzz` draws."""
    return [walked(fault, TESTS / name) for fault, name in WALKERS.items()]


def walked(fault: str, file: Path) -> Tally:
    """Run a walker in a process of its own; every test of it that fails is a failure."""
    tally = Tally(fault)
    asked = [sys.executable, "-c", WALK, "-q", "-p", "no:cacheprovider", "-p", counting.__name__, str(file)]
    environment = {**os.environ, "FAIRFRONT_DRAWS": "fuzz"}
    said = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False, cwd=TESTS.parent)
    made = re.search(rf"^{counting.SAID}(\d+)", said.stdout, re.MULTILINE)
    tally.tried = tally.survived = int(made[1]) if made else 0
    for line in said.stdout.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            tally.retract(line)
    if said.returncode and not tally.failures:
        tally.failures.append(f"the walker ended with {said.returncode}: {(said.stdout + said.stderr)[-300:]}")
    return tally
