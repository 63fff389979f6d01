"""Runs killed with SIGKILL at random moments and resumed: is the frontier that of an unbroken run, byte for byte?

python -m benchmarks.kills [KILLS]
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff

from .report import table, write_section

SOLVERS: dict[str, dict[str, Any]] = {
    "Newton": {"notion": "equalized_odds"},
    "PB-PDO": {"solver": ff.PBPDO(slide=0.005), "preferences": 12},
}
ROWS, COLUMNS = 20_000, 25


@dataclass
class Tally:
    """What happened to the runs of one solver."""

    kills: int = 0
    ended: int = 0
    equal: int = 0
    torn: int = 0


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and three groups."""
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(ROWS, COLUMNS)), rng.choice(np.array(["A", "B", "C"]), ROWS, p=[0.6, 0.3, 0.1])
    score = X[:, 0] + 0.6 * (group == "B") * X[:, 1] - 0.8 * (group == "C") + rng.logistic(size=ROWS)
    return X, (score > 0).astype(int), group


def start(data: Any, settings: dict[str, Any], folder: Path, checkpoint: Path | None) -> int:
    """Start a process that traces, from the checkpoint if there is one, and saves the frontier."""
    shutil.rmtree(folder / "front", ignore_errors=True)
    child = os.fork()
    if not child:
        X, y, group = data
        kept = {"checkpoint": checkpoint, "resume": checkpoint is not None}
        front = ff.trace(X, y, sensitive_features=group, progress=False, **kept, **settings)
        front.save(folder / "front", overwrite=True)
        os._exit(0)
    return child


def ended_by(child: int, moment: float) -> bool:
    """Kill a process at a moment, unless it has ended before; tell whether it has."""
    until, found, status = time.monotonic() + moment, 0, 0
    while not found and time.monotonic() < until:
        time.sleep(0.002)
        found, status = os.waitpid(child, os.WNOHANG)
    if not found:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if status not in (0, signal.SIGKILL):
        raise RuntimeError(f"a run ended by itself with status {status}")
    return status == 0


def digest(folder: Path) -> str:
    """Return the digest of all files of a saved frontier."""
    found = hashlib.sha256()
    for each in sorted(folder.rglob("*")):
        found.update(each.name.encode() + (each.read_bytes() if each.is_file() else b""))
    return found.hexdigest()


def unbroken(data: Any, settings: dict[str, Any], folder: Path, checkpoint: Path | None) -> tuple[str, float]:
    """Return the digest of a run that nobody disturbs, and its seconds."""
    begun = time.monotonic()
    os.waitpid(start(data, settings, folder, checkpoint), 0)
    return digest(folder / "front"), time.monotonic() - begun


def measure(data: Any, settings: dict[str, Any], kills: int, seed: int) -> tuple[Tally, float, int]:
    """Kill and resume until there were enough kills, beginning anew whenever a run has come to its end."""
    with tempfile.TemporaryDirectory() as name:
        folder, checkpoint, tally = Path(name), Path(name) / "run.checkpoint", Tally()
        whole, seconds = unbroken(data, settings, folder, checkpoint)
        size = checkpoint.stat().st_size
        checkpoint.unlink()
        rng = np.random.default_rng(seed)
        while tally.kills < kills or checkpoint.exists():
            moment = rng.uniform(0.0, seconds) if tally.kills < kills else 3600.0
            child = start(data, settings, folder, checkpoint)
            if ended_by(child, moment):
                tally.ended += 1
                tally.equal += digest(folder / "front") == whole
                checkpoint.unlink()
            else:
                tally.kills += 1
                tally.torn += any(folder.glob(f".run.checkpoint.partial-{child}*"))
        return tally, seconds, size


def main(kills: int = 100) -> None:
    """Measure both solvers and write the section."""
    data, lines = rows(), []
    for seed, (name, settings) in enumerate(SOLVERS.items()):
        tally, seconds, size = measure(data, settings, kills, seed)
        counts = [tally.kills, tally.torn, tally.ended, tally.equal]
        lines.append([name, *counts, f"{seconds:.1f} s", f"{size / 1000:.0f} kB"])
    head = ["solver", "kills", "of them while the file was written", "runs that ended", "equal byte for byte",
            "unbroken run", "checkpoint"]  # fmt: skip
    body = (
        f"SIGKILL at moments drawn evenly over the time of an unbroken run ({ROWS} rows x {COLUMNS}, three groups); "
        "every killed run is resumed, and may be killed again, until it ends; then its saved folder is compared with "
        "that of the unbroken run with a checkpoint.\n\n" + table(head, lines)
    )
    write_section("studies", "Checkpoints: killed runs", "python -m benchmarks.kills", body)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
