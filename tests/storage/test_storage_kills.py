"""A kill at any moment of writing loses nothing, leaves nothing for good, and readers always find a whole folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.support.killed_writers import ROUNDS
from tests.support.places import environment
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be killed")
WAYS = ["exchanged", "in two steps"]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.support.killed_writers", str(tmp_path_factory.mktemp("killed"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("what", "seen"), [("old", {1, 2}), ("new", {None, 2}), ("file", {1, 2})])
def test_a_kill_at_any_step_loses_nothing_and_leaves_nothing(told, way: str, what: str, seen: set[int | None]) -> None:
    *killed, last = told[way][what]
    assert len(killed) >= 4
    assert {each["seen"] for each in killed} == seen
    assert last["alive"]
    assert last["seen"] == 2
    for each in told[way][what]:
        assert each["next"] == 3
        assert each["left"] == ["a.txt" if what == "file" else "run"]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_readers_always_find_a_whole_folder(told, way: str) -> None:
    seen = told[way]["readers"]
    assert seen == sorted(seen)
    assert seen[-1] == ROUNDS - 1
