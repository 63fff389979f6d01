"""Commands in README and guides run as they stand, and what is printed beneath them is what they print."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.waiting import PATIENCE

PAGES = [ROOT / "README.md", ROOT / "docs" / "command-line.md", ROOT / "docs" / "cut-off.md"]


def sessions(page: Path) -> list[str]:
    return re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def steps(session: str) -> list[tuple[str, str]]:
    """Return each command with the output that stands beneath it."""
    found: list[tuple[str, str]] = []
    for line in session.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found[-1][0].endswith("\\"):
            found[-1] = (f"{found[-1][0][:-1]} {line.strip()}", "")
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def plain(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    command = tmp_path / "bin" / "fairfront"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from fairfront.cli import main; main()' \"$@\"\n")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    home = tmp_path / "home"
    home.mkdir()
    known = {"PATH": f"{command.parent}:{os.environ['PATH']}", "COLUMNS": "100", "FAIRFRONT_CACHE": str(tmp_path / "c")}
    environment = {**os.environ, **known}
    environment.pop("FAIRFRONT_DATA", None)
    asked = [step for session in sessions(page) for step in steps(session)]
    assert asked, page
    for words, shown in asked:
        done = subprocess.run(
            ["sh", "-c", words],
            cwd=home,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert plain(done.stdout) == plain(shown), f"$ {words}\n{done.stdout}"
