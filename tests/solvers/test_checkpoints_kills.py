"""Runs that kill themselves with SIGKILL in the middle end, when resumed, with the frontier of an unbroken run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.extras import need
from tests.support.killed_runs import CASES
from tests.support.places import environment

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Kill every case a few times, in processes of their own, and return what came of it."""
    need("skops")
    found = subprocess.run(
        [sys.executable, "-m", "tests.support.killed_runs", str(tmp_path_factory.mktemp("kills")), "6"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert found.returncode == 0, found.stderr
    return dict(json.loads(found.stdout))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_killed_runs_end_as_unbroken_ones(ended: dict[str, Any], case: str) -> None:
    found = ended[case]
    assert not all(found["lived"]), "nothing was killed"
    assert found["lived"][-1]
    assert found["resumed"] == found["unbroken"]


@pytest.mark.slow
@pytest.mark.parametrize("case", [name for name in CASES if name != "pb_pdo"])
def test_a_checkpoint_changes_nothing_in_the_frontier(ended: dict[str, Any], case: str) -> None:
    assert ended[case]["unbroken"] == ended[case]["plain"]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_nothing_half_written_is_left(ended: dict[str, Any], case: str) -> None:
    assert ended[case]["left"] == ["digest", "run.checkpoint"]
