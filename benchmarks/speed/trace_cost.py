"""What `fairfront trace` of a file costs beyond its imports, beside a plain scikit-learn fit of the same rows.

python -m benchmarks.speed.trace_cost [CASE ...] prints it; python -m benchmarks trace_cost also writes it to the page.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..report import ROOT, Section, Table, thousands
from .process import apart

PEOPLE = ["--target", "income", "--favourable", "50000+.", "--groups", "race,sex", "--weight", "instance_weight"]
CASES: dict[str, tuple[str, int | None, list[str]]] = {
    "loans": ("the demo's loans", 3, ["--target", "outcome", "--favourable", "repaid", "--groups", "group:ref=A,sex", "--drop", "applied"]),
    "students": ("students of eight races", 8, ["--target", "outcome", "--favourable", "passed", "--groups", "race:ref=White,sex"]),
    "census": ("weighted people of five races", 60, PEOPLE),
    "wide": ("the same people with 33 more columns", None, PEOPLE),
}  # fmt: skip
LEVELS = (9, 17, 3, 7, 24, 15, 10, 3, 6, 8, 6, 6, 51, 38, 8, 10, 9, 10, 3, 4, 5, 43, 43, 43, 5, 3)
"""Levels of the further columns of categories, as many as a census has; seven more are numbers."""


def write_file(name: str, folder: Path) -> Path:
    """Write the rows of a case as CSV."""
    sys.path.insert(0, str(ROOT))
    from fairfront.datasets.cache import csv_path
    from tests.support.trial import census, students, write_csv

    if name == "loans":
        return Path(csv_path("loans"))
    if name == "students":
        return write_csv(students(100_000), folder / "students.csv")
    columns = census(300_000)
    return write_csv(widened(columns) if name == "wide" else columns, folder / f"{name}.csv")


def widened(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Add columns of categories and numbers that know a little of the label."""
    rng, n = np.random.default_rng(7), len(columns["income"])
    rich = columns["income"] == "50000+."
    more = {}
    for j, count in enumerate(LEVELS):
        share = 1.0 / np.arange(1, count + 1) ** 1.3
        level = rng.choice(count, n, p=share / share.sum())
        level = np.where(rng.random(n) < 0.05 * rich, rng.integers(count, size=n), level)
        more[f"category {j}"] = np.array([f"c{k}" for k in range(count)])[level]
    for j in range(7):
        amount = np.where(rng.random(n) < 0.8, 0.0, rng.gamma(2.0, 500.0, n))
        more[f"number {j}"] = np.round(amount * (1.0 + 0.2 * rich))
    return {**more, **columns}


def inside(path: str, warm: str, folder: str, words: list[str]) -> dict[str, Any]:
    """Trace in this process after a small file has brought all imports; return seconds and what was made."""
    import time

    from sklearn.linear_model import LogisticRegression

    from fairfront.cli import app
    from fairfront.runs import load
    from fairfront.runs.attributes import parse_groups
    from fairfront.runs.preparation import prepare
    from fairfront.runs.settings import Settings
    from fairfront.tables import open_source

    def trace(data: str, name: str, options: list[str]) -> float:
        start = time.process_time()
        app(["trace", data, *options, "-o", f"{folder}/{name}"], standalone_mode=False)
        return time.process_time() - start

    trace(warm, "warm", CASES["loans"][2])
    seconds = trace(path, "run", words)
    run = load(f"{folder}/run")
    given = dict(zip(words[::2], words[1::2], strict=True))
    names = parse_groups(given["--groups"]).groups
    asked = {key: given[f"--{key}"] for key in ("target", "favourable", "weight") if f"--{key}" in given}
    drop = (given["--drop"],) if "--drop" in given else ()
    settings = Settings(groups=names, drop=drop, **asked)
    train = prepare(open_source(path), settings, False).part("train")
    start = time.process_time()
    LogisticRegression(max_iter=1000).fit(train.X, train.y, sample_weight=train.weight)
    return {
        "seconds": seconds,
        "fit": time.process_time() - start,
        "columns": int(train.X.shape[1]),
        "points": len(run.frontier),
    }


def measure(name: str, folder: Path, loans: Path) -> list[object]:
    """Return the line of one case."""
    words, most, options = CASES[name]
    path = write_file(name, folder)
    with tempfile.TemporaryDirectory() as runs:
        found = apart(inside, str(path), str(loans), runs, options)
    with path.open(encoding="utf-8") as stream:
        rows = sum(1 for _ in stream) - 1
    return [words, thousands(rows), found["columns"], found["points"], f"{found['seconds']:.1f} s",
            "" if most is None else f"{most} s", f"{found['fit']:.2f} s"]  # fmt: skip


def sections(quick: bool, cases: tuple[str, ...] = ()) -> list[Section]:
    """Measure all cases, or those that are named."""
    with tempfile.TemporaryDirectory() as name:
        loans = write_file("loans", Path(name))
        lines = [measure(case, Path(name), loans) for case in cases or (("loans",) if quick else CASES)]
    text = (
        "Processor seconds of all threads of `fairfront trace`, from reading the file to the saved run, in a process that has "
        "traced another file before, so that nothing is left to import: all points and their figures on validation and "
        "test. Beside it scikit-learn's `LogisticRegression` on the encoded training rows (60 % of the "
        "file). No setting of threads."
    )
    head = ["file", "rows", "columns", "points", "trace", "at most", "plain fit"]
    summary = f"`fairfront trace` of {lines[-1][1]} rows with {lines[-1][2]} columns takes {lines[-1][4]}."
    return [Section("tools", "Tracing a file", [text, Table(head, lines)], summary)]


if __name__ == "__main__":
    print(*sections(quick=False, cases=tuple(sys.argv[1:])))
