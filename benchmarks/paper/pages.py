"""The pages in docs/paper: one per experiment with its stamp, and the index."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from ..report import Table
from .experiment import Experiment

PACKAGES = ("fairfront", "numpy", "scipy", "scikit-learn", "fairlearn", "matplotlib")


def machine() -> str:
    """Say in words what the figures were made on."""
    packages = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    system, cores = platform.system(), os.cpu_count()
    return (
        f"Python {platform.python_version()}, {packages}; {system}, {platform.machine()}, {cores} cores, 1 BLAS thread"
    )


def _version(name: str) -> str:
    if name == "fairfront":
        import fairfront

        return fairfront.__version__
    return version(name)


def write_page(experiment: Experiment, body: str, seconds: float, made_on: str, folder: Path) -> None:
    """Write one experiment's page."""
    command = f"python -m benchmarks.paper --only {experiment.name}"
    stamp = f"`{command}`, {seconds / 60:.1f} minutes of one core; {made_on}. Seeds are 0, 1, 2, ..., one per split."
    text = f"# {experiment.title}\n\n{stamp}\n\n{body.strip()}\n\n[All experiments](README.md)\n"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{experiment.name}.md").write_text(text)


def write_index(made: list[tuple[Experiment, float, int]], folder: Path) -> None:
    """Write the index of all pages with their cost."""
    rows: list[list[object]] = [
        [f"[{e.title}]({e.name}.md)", tasks, f"{seconds / 60:.1f} min"] for e, seconds, tasks in made
    ]
    total = sum(seconds for _, seconds, _ in made) / 60
    text = INDEX.format(table=Table(["experiment", "tasks", "time on one core"], rows), total=total)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(text)


INDEX = """# The paper's experiments

`make paper`, which is `python -m benchmarks.paper`, makes every page here from the raw data (folder `FAIRFRONT_DATA`, or
`../shared/data` beside the repository). Results are kept in `benchmarks/results/paper/` as JSON, so that a broken run
resumes where it stopped and pages can be drawn again without running anything (`--draw`). `--only NAME` makes one page,
`--quick` a small version in `build/paper-quick/`.

{table}

{total:.0f} minutes of one core in total. Each page says the versions and the machine it was made with.

## What all pages share

- Models are chosen on validation rows, never on test. Where the test rows were looked at on purpose, the column says so.
- DEO is the difference in true positive rates, group minus reference, in shares of people with the favourable label.
  A *loss gap* is another unit: a difference of mean training losses.
- "As printed" are Algorithms 1 and 2 of the paper. *Raw gradients* is what the algorithms show, *normalised gradients* what
  the text below equation (5) says. "fairfront" marks this package's default solvers.
- Reducing a gap on one data set says nothing about other data or other notions, and a small gap on few rows may be chance:
  counts and standard errors stand beside the rates.
- Each page ends with how to read it, or with where it differs from the paper and why, as far as we know.
"""
