"""What an experiment is, how its results are kept so that a broken run resumes, and the pages drawn from them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .. import report

Function = Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Task:
    """One piece of an experiment: a module-level function and arguments that JSON can hold."""

    run: Function
    arguments: dict[str, Any]

    @property
    def mark(self) -> str:
        """Return what identifies the result: function and arguments."""
        return json.dumps([self.run.__name__, self.arguments], sort_keys=True)


@dataclass(frozen=True)
class Claim:
    """A row of the summary: what the paper claims, its figure, the figure here, and whether the claim holds."""

    claim: str
    paper: str
    here: str
    verdict: str


@dataclass(frozen=True)
class Experiment:
    """A name, a title, its tasks (given whether to be quick), and its page (given results, folder for figures).

    ``claims`` are its rows of the summary, given results. ``store`` names the experiment whose results it is drawn from,
    if not its own; ``appendix`` marks what the main text does not need.
    """

    name: str
    title: str
    tasks: Callable[[bool], dict[str, Task]]
    page: Callable[[dict[str, Any], Path], str]
    claims: Callable[[dict[str, Any]], list[Claim]] = lambda results: []
    store: str = ""
    appendix: bool = False

    @property
    def file(self) -> str:
        """Return the name of the file of its results."""
        return f"{self.store or self.name}.json"


def run_one(task: Task) -> tuple[dict[str, Any], float]:
    """Run a task with one BLAS thread; return its result and its seconds of one core, whatever else runs."""
    begun = time.process_time()
    with threadpool_limits(1):
        result = task.run(**task.arguments)
    return result, time.process_time() - begun


class Store:
    """Results of one experiment in one JSON file, written after every task; ``made`` says when and on what."""

    def __init__(self, path: Path) -> None:
        self.path = path
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        self.kept: dict[str, Any] = found.get("tasks", {})
        self.made: str = found.get("made", "")

    def has(self, key: str, task: Task) -> bool:
        """Tell whether the result of exactly this task is there."""
        return key in self.kept and self.kept[key]["mark"] == task.mark

    def put(self, key: str, task: Task, result: dict[str, Any], seconds: float) -> None:
        """Keep a result, rounded to seven digits."""
        self.kept[key] = {"mark": task.mark, "seconds": round(seconds, 2), "result": rounded(result)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.made = f"commit {report.commit()}, {datetime.now(UTC):%Y-%m-%d}, {report.machine()}"
        whole = {"made": self.made, "tasks": self.kept}
        self.path.write_text(json.dumps(whole, separators=(",", ":")) + "\n")

    def results(self, tasks: dict[str, Task]) -> dict[str, Any]:
        """Return the results of the tasks that are there."""
        return {key: self.kept[key]["result"] for key, task in tasks.items() if self.has(key, task)}

    def seconds(self, tasks: dict[str, Task]) -> float:
        """Return what the tasks took together."""
        return sum(self.kept[key]["seconds"] for key, task in tasks.items() if self.has(key, task))


def rounded(value: Any) -> Any:
    """Return numbers with seven significant digits, so that files stay small."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, (float, np.floating)):
        return float(f"{float(value):.7g}")
    return value.item() if isinstance(value, np.generic) else value


def run_all(tasks: dict[str, Task], store: Store, jobs: int, say: Callable[[str], None]) -> None:
    """Run the tasks whose results are missing, in this process or in a pool."""
    missing = {key: task for key, task in tasks.items() if not store.has(key, task)}
    done = len(tasks) - len(missing)
    say(f"{done} of {len(tasks)} done")

    def keep(key: str, result: dict[str, Any], seconds: float) -> None:
        nonlocal done
        done += 1
        store.put(key, tasks[key], result, seconds)
        say(f"{done} of {len(tasks)} done: {key}, {seconds:.1f} s")

    if jobs == 1 or len(missing) < 2:
        for key, task in missing.items():
            keep(key, *run_one(task))
        return
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        waiting = {pool.submit(run_one, task): key for key, task in missing.items()}
        for future in as_completed(waiting):
            keep(waiting[future], *future.result())


def write_page(experiment: Experiment, body: str, seconds: float, made: str, folder: Path) -> None:
    """Write one experiment's page."""
    command = f"python -m benchmarks.paper --only {experiment.name}"
    stamp = f"`{command}`, {seconds / 60:.1f} minutes of one core; {made}. Seeds are 0, 1, 2, ..., one per split."
    text = f"# {experiment.title}\n\n{stamp}\n\n{body.strip()}\n\n[All experiments](README.md)\n"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{experiment.name}.md").write_text(text)


def write_index(made: list[tuple[Experiment, float, int]], folder: Path) -> None:
    """Write the index of all pages with their cost."""
    rows: list[list[object]] = [
        [f"[{e.title}]({e.name}.md)", tasks, f"{seconds / 60:.1f} min"] for e, seconds, tasks in made
    ]
    total = sum(seconds for _, seconds, _ in made) / 60
    text = INDEX.format(table=report.Table(["experiment", "tasks", "time on one core"], rows), total=total)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(text)


INDEX = """# The paper's experiments

`make paper`, which is `python -m benchmarks.paper`, makes every page here from the raw data (folder `FAIRFRONT_DATA`, or
`../shared/data` beside the repository). Results are kept in `benchmarks/results/paper/` as JSON, so that a broken run
resumes where it stopped and pages can be drawn again without running anything (`--draw`). `--only NAME` makes one page,
`--quick` a small version in `build/paper-quick/`.

{table}

{total:.0f} minutes of one core in total. Each page says the commit, the date, the versions and the machine it was made with.

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
