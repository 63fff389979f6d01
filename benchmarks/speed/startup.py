"""How long the import and the command's answers take, in fresh interpreters."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

from ..report import Section, Table

REPEATS = 11
PEER = "import sklearn.linear_model"
IMPORTS = (PEER, "import fairfront", "from fairfront import trace", "from fairfront import *")
COMMANDS = (
    "--version",
    "--help",
    "trace --help",
    "audit --help",
    "data fetch --help",
    "trace",
    "trace rows.csv --target y",
)


def run(words: list[str]) -> tuple[float, float]:
    """Return the seconds of processor time and the seconds that passed until a fresh interpreter ended."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime, time.perf_counter() - start


def sections(quick: bool) -> list[Section]:
    """Measure; jobs take turns, the first turn writes bytecode and is not counted."""
    imports = {code: ["-c", code] for code in IMPORTS}
    jobs = {**imports, **{f"fairfront {words}": ["-m", "fairfront", *words.split()] for words in COMMANDS}}
    turns = [{name: run(words) for name, words in jobs.items()} for _ in range(2 if quick else REPEATS + 1)][1:]
    found = {name: [statistics.median(turn[name][i] for turn in turns) for i in (0, 1)] for name in jobs}
    peer = found[PEER][0]
    rows = [
        [f"`{name}`", f"{used:.2f} s", f"{used / peer:.2f}" if name in imports else "", f"{passed:.2f} s"]
        for name, (used, passed) in found.items()
    ]
    text = (
        f"Medians of {len(turns)} fresh interpreters each, in turns, bytecode written before; machine shared (load "
        f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores). Bounds: `import fairfront` at most 1.2 times `{PEER}`, help "
        "and version within 0.5 s. A room is imported when a name of it is first used: `from fairfront import trace` is "
        "what the first trace pays, `from fairfront import *` all names at once. The last two commands lack options, "
        "which is said before any room is imported."
    )
    summary = f"`import fairfront` takes {rows[1][1]}, help {found['fairfront --help'][0]:.2f} s."
    return [
        Section(
            "tools",
            "Start-up",
            [text, Table(["what", "processor time", "ratio to the first line", "until it ends"], rows)],
            summary,
        )
    ]
