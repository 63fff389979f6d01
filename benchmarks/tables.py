"""A CSV of a million rows through the command line: time and peak memory of trace and predict.

python -m benchmarks.tables
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from fairfront.datasets import load_loans

from .report import table, write_section

COMMAND = [sys.executable, "-c", "from fairfront.cli import main; main()"]
WATCH = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
sys.stderr.write(done.stderr)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
sys.exit(done.returncode)
"""
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


def watched(*words: str) -> tuple[float, float]:
    """Run the command in a process of its own; return CPU seconds and peak memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", WATCH, *COMMAND, *words], capture_output=True, text=True, check=False, env=os.environ
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), float(peak)


def measure(rows: int, folder: Path) -> list[list[object]]:
    """Return the lines of the table for one size."""
    data, run, model = folder / f"{rows}.csv", folder / f"run-{rows}", folder / f"model-{rows}"
    write_csv(data, rows)
    size = data.stat().st_size
    steps = [
        ("trace", ["trace", str(data), "--target", "outcome", "--favourable", "repaid", "--groups", "group:ref=A",
                   "--drop", "applied", "-o", str(run)]),
        ("select", ["select", str(run), "--least-gap", "tpr", "--within", "error:0.005", "-o", str(model)]),
        ("predict", ["predict", str(model), str(data), "-o", str(folder / f"out-{rows}.csv")]),
    ]  # fmt: skip
    lines = []
    for name, words in steps:
        seconds, peak = watched(*words)
        lines.append([f"{rows:,}".replace(",", " "), f"{size / 1e6:.0f} MB", name, f"{seconds:.1f} s",
                      f"{1e6 * seconds / rows:.1f} us", f"{peak / 1e6:.0f} MB", f"{peak / size:.2f}"])  # fmt: skip
    return lines


def main() -> None:
    """Measure two sizes and write the section."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    sizes = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        lines = [line for rows in sizes for line in measure(rows, Path(name))]
    body = (
        "Synthetic loans with 15 columns as CSV. Peak memory is the whole process's, the interpreter and its libraries "
        "(about 150 MB) included. `predict` reads in chunks, so its memory does not grow with the file. Times are CPU seconds, with one BLAS thread.\n\n"
    ) + table(["rows", "file", "command", "CPU time", "CPU time per row", "peak memory", "peak memory / file"], lines)
    write_section("tools", "From a CSV file to predictions", "python -m benchmarks.tables", body)


if __name__ == "__main__":
    main()
