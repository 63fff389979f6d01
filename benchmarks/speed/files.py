"""A CSV of a million rows through the command line: time and peak memory of trace and predict."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

from fairfront.datasets import load_loans

from ..report import Section, Table, thousands

BLOCK = 50_000


def write_csv(path: Path, rows: int) -> None:
    """Write loans of several seeds below each other, with noise columns so that there are 15 columns."""
    with path.open("w", encoding="utf-8") as stream:
        for start in range(0, rows, BLOCK):
            data = load_loans(n=min(BLOCK, rows - start), seed=start)
            rng = np.random.default_rng(start)
            columns = {name: np.where(values == None, "", values) for name, values in data.columns.items()}  # noqa: E711
            columns |= {f"noise_{j}": np.round(rng.normal(size=len(data.y)), 4) for j in range(5)}
            if start == 0:
                stream.write(",".join(columns) + "\n")
            for row in zip(*(values.tolist() for values in columns.values()), strict=True):
                stream.write(",".join(map(str, row)) + "\n")


def watched(*words: str) -> tuple[float, int]:
    """Run the command in a process of its own; return CPU seconds and peak memory in bytes."""
    with tempfile.TemporaryFile() as said:
        child = os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "fairfront", *words],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, said.fileno(), stream) for stream in (1, 2)],
        )
        _, status, used = os.wait4(child, 0)
        if status:
            said.seek(0)
            raise SystemExit(said.read().decode())
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def measure(rows: int, folder: Path) -> list[list[object]]:
    """Return the lines of the table for one size."""
    data, run, model = folder / f"{rows}.csv", folder / f"run-{rows}", folder / f"model-{rows}"
    write_csv(data, rows)
    size = data.stat().st_size
    steps = {
        "trace": [str(data), "--target", "outcome", "--favourable", "repaid", "--groups", "group:ref=A",
                  "--drop", "applied", "-o", str(run)],
        "select": [str(run), "--least-gap", "tpr", "--within", "error:0.005", "-o", str(model)],
        "predict": [str(model), str(data), "-o", str(folder / f"out-{rows}.csv")],
    }  # fmt: skip
    lines: list[list[object]] = []
    for name, words in steps.items():
        seconds, peak = watched(name, *words)
        lines.append([thousands(rows), f"{size / 1e6:.0f} MB", name, f"{seconds:.1f} s", f"{1e6 * seconds / rows:.1f} us",
                      f"{peak / 1e6:.0f} MB", f"{peak / size:.2f}"])  # fmt: skip
    return lines


def sections(quick: bool) -> list[Section]:
    """Measure two sizes."""
    with tempfile.TemporaryDirectory() as name:
        sizes = (2_000, 5_000) if quick else (100_000, 1_000_000)
        lines = [line for rows in sizes for line in measure(rows, Path(name))]
    text = (
        "Synthetic loans with 15 columns as CSV. Peak memory is the whole process's, the interpreter and its libraries "
        "(about 150 MB) included. `predict` reads in chunks, so its memory does not grow with the file. Times are CPU "
        "seconds, with one BLAS thread."
    )
    head = ["rows", "file", "command", "CPU time", "CPU time per row", "peak memory", "peak memory / file"]
    last = lines[-3]
    summary = f"A CSV file of {last[0]} rows is traced in {last[3]} of CPU time and {last[5]}."
    return [Section("tools", "From a CSV file to predictions", [text, Table(head, lines)], summary)]
