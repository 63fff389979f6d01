"""The installed command, run as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fairfront as ff
from fairfront.datasets import load_loans
from tests.support.extras import need
from tests.support.pages import record_of
from tests.support.waiting import PATIENCE

RUN = [sys.executable, "-c", "from fairfront.cli import main; main()"]


def fairfront(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*RUN, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_version_and_help() -> None:
    assert fairfront("--version").stdout.strip() == f"fairfront {ff.__version__}"
    assert "demo" in fairfront("--help").stdout


@pytest.mark.slow
def test_demo_shows_the_frontier_and_draws_it(tmp_path: Path) -> None:
    need("matplotlib")
    folder = tmp_path / "[a]:id:b"
    done = fairfront("demo", "--rows", "1500", "--output", str(folder))
    assert done.returncode == 0, done.stderr
    assert f"Picture: {folder / 'frontier.png'}" in done.stdout
    for words in ("among people labelled 'repaid', the share", "unconstrained", "chosen", "TPR gap", "On test: share"):
        assert words in done.stdout
    assert (folder / "frontier.png").read_bytes().startswith(b"\x89PNG")
    page = (folder / "report.html").read_text()
    assert "Content-Security-Policy" in page
    assert set(record_of(folder / "report.html")["moved"]["names"]) <= set(load_loans(n=600).matrix("one_hot")[1])


@pytest.mark.slow
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = fairfront("demo", "--rows", "1500", "--output", str(blocked / "inside"))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.strip().startswith(f"fairfront: {blocked} is not a folder, expected one to write 'inside' into")
    assert fairfront("demo", "--rows", "10").returncode == 2
    assert fairfront("nonsense").returncode == 2
