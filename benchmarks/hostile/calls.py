"""Bad calls of every public function and every command: the walkers of the tests, with every bad value."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from .tally import Tally

TESTS = Path(__file__).resolve().parents[2] / "tests"
WALKERS = {"bad calls of functions": "test_bad_calls.py", "bad calls of commands": "test_bad_commands.py"}
COUNTS = """
import sys
import pytest
sys.path.insert(0, {tests!r})
import {walker} as walker
made = [0]
class Counting:
    def pytest_sessionfinish(self):
        sys.stdout.write(f"\\ncalls: {{made[0]}}\\n")
faults = walker.faults
def counted(*args, **kwargs):
    made[0] += 1
    return faults(*args, **kwargs)
walker.faults = counted
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", {file!r}], plugins=[Counting()]))
"""


def run() -> list[Tally]:
    """Run both walkers as `make fuzz` draws them; what a walker calls bad is a failure."""
    return [_walked(fault, TESTS / name) for fault, name in WALKERS.items() if (TESTS / name).exists()]


def _walked(fault: str, file: Path) -> Tally:
    """Run a walker in a process of its own; it counts the calls that it makes by its function ``faults``."""
    tally = Tally(fault)
    code = COUNTS.format(tests=str(TESTS), walker=f"{file.stem.removeprefix('test_')}_for_tests", file=str(file))
    environment = {**os.environ, "FAIRFRONT_DRAWS": "fuzz"}
    asked = [sys.executable, "-c", code]
    said = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False, cwd=TESTS.parent)
    made = re.search(r"^calls: (\d+)", said.stdout, re.MULTILINE)
    tally.tried = tally.survived = int(made[1]) if made else 0
    for line in said.stdout.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            tally.retract(line)
    if said.returncode and not tally.failures:
        tally.failures.append(f"the walker ended with {said.returncode}: {(said.stdout + said.stderr)[-300:]}")
    return tally
