"""What an experiment is, how its results are kept so that a broken run resumes, and the pages drawn from them."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import cache
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
    if not its own; ``beside`` is another experiment whose results its page shows too, under keys with its name before
    them. ``appendix`` marks what the main text does not run.
    """

    name: str
    title: str
    tasks: Callable[[bool], dict[str, Task]]
    page: Callable[[dict[str, Any], Path], str]
    claims: Callable[[dict[str, Any]], list[Claim]] = lambda results: []
    store: str = ""
    beside: Experiment | None = None
    appendix: bool = False

    @property
    def file(self) -> str:
        """Return the name of the file of its results."""
        return f"{self.store or self.name}.json"

    def known(self, folder: Path, quick: bool) -> dict[str, Any] | None:
        """Return all results that its page needs, or None while some are missing."""
        tasks = self.tasks(quick)
        found = Store(folder / self.file).results(tasks)
        if len(found) < len(tasks):
            return None
        if self.beside is None:
            return found
        more = self.beside.known(folder, quick)
        return None if more is None else found | {f"{self.beside.name}: {key}": value for key, value in more.items()}


def run_one(task: Task) -> tuple[dict[str, Any], float]:
    """Run a task with one BLAS thread; return its result and its seconds of one core, whatever else runs."""
    begun = time.process_time()
    with threadpool_limits(1):
        result = task.run(**task.arguments)
    return result, time.process_time() - begun


@cache
def stamp() -> str:
    """Say on which commit, when and on what something is made; the commit is the one that this process began with."""
    return f"commit {report.commit()}, {datetime.now(UTC):%Y-%m-%d}, {report.machine()}"


class Store:
    """Results of one experiment in one JSON file, written after every task; stamps say when and on what each was made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        self.kept: dict[str, Any] = found.get("tasks", {})
        self.stamps: list[str] = found.get("made", [])

    @property
    def made(self) -> str:
        """Say when and on what results were made, and how many tasks of each where they were not made together."""
        counts = Counter(self.stamps[kept["stamp"]] for kept in self.kept.values())
        if len(counts) == 1:
            return next(iter(counts))
        return "; ".join(f"{count} of {counts.total()} tasks: {each}" for each, count in counts.items())

    def has(self, key: str, task: Task) -> bool:
        """Tell whether the result of exactly this task is there."""
        return key in self.kept and self.kept[key]["mark"] == task.mark

    def put(self, key: str, task: Task, result: dict[str, Any], seconds: float) -> None:
        """Keep a result, rounded to seven digits."""
        if stamp() not in self.stamps:
            self.stamps.append(stamp())
        known = {"mark": task.mark, "seconds": round(seconds, 2), "stamp": self.stamps.index(stamp())}
        self.kept[key] = {**known, "result": rounded(result)}
        self._write()

    def prune(self, tasks: dict[str, Task]) -> None:
        """Drop results that are of none of these tasks."""
        known = {key: kept for key, kept in self.kept.items() if key in tasks and self.has(key, tasks[key])}
        if len(known) < len(self.kept):
            self.kept = known
            self._write()

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = {"made": self.stamps, "tasks": self.kept}
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


@dataclass(frozen=True)
class Made:
    """A page that was written: its experiment, the seconds and number of its tasks, and its rows of the summary."""

    experiment: Experiment
    seconds: float
    tasks: int
    claims: list[Claim]


def write_page(experiment: Experiment, body: str, seconds: float, made: str, folder: Path) -> None:
    """Write one experiment's page."""
    command = f"python -m benchmarks.paper {'--appendix ' if experiment.appendix else ''}--only {experiment.name}"
    cost = (
        f"drawn from the results of {experiment.store}"
        if experiment.store
        else f"{seconds / 60:.1f} minutes of one core"
    )
    stamp = f"`{command}`, {cost}; {made}. Seeds are 0, 1, 2, ..., one per split."
    text = f"# {experiment.title}\n\n{stamp}\n\n{body.strip()}\n\n[All experiments](README.md)\n"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{experiment.name}.md").write_text(text)


def write_index(made: list[Made], folder: Path) -> None:
    """Write the index: which claims hold, the choices that the paper leaves open, and all pages with their cost."""
    known = [(row, page.experiment.name) for page in made for row in page.claims]
    claims: list[list[object]] = [[*astuple(row), f"[{name}]({name}.md)"] for row, name in known]
    rows: list[list[object]] = [
        [f"[{page.experiment.title}]({page.experiment.name}.md)", page.tasks, _cost(page)] for page in made
    ]
    totals = [
        sum(page.seconds for page in made if page.experiment.appendix is appendix and not page.experiment.store) / 60
        for appendix in (False, True)
    ]
    text = INDEX.format(
        claims=report.Table(["claim", "paper", "here", "verdict", "page"], claims),
        table=report.Table(["experiment", "tasks", "time on one core"], rows),
        main=totals[0],
        appendix=totals[1],
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(text)


def _cost(page: Made) -> str:
    if page.experiment.store:
        return f"drawn from {page.experiment.store}"
    return f"{page.seconds / 60:.1f} min{', appendix' if page.experiment.appendix else ''}"


INDEX = """# The paper's experiments

Which of the paper's claims hold here. Figures are means over the splits of the page; its sampling error stands there.

{claims}

## What the paper leaves open

Section 5 says "linear SVM" and names equation (4). Three choices that matter are not stated, so all eight combinations were run
for Table 1 and Figures 7 and 8 ([all eight](choices.md)):

| choice | options here |
| --- | --- |
| loss of the linear SVM | hinge, max(0, 1 - u); squared hinge, max(0, 1 - u)^2 |
| phi of the fairness objective | absolute gap, abs(z); squared gap, z^2 / 2 |
| reading of the gradients | raw, as Algorithm 1 shows; normalised to unit length, as the text below equation (5) says |

The main text shows one combination for all data sets, the nearest to the paper by a distance over all printed cells that was
written down before the runs (`benchmarks/paper/choices.py`), and the farthest beside it. Of the eight, six differ: the gradient of
phi(z) is phi'(z) times that of z, so that at unit length Algorithm 1 takes the same steps with either phi.

Not stated either, and the same for every combination unless a page says otherwise:

| setting | here |
| --- | --- |
| regularisation | C = 0.1 in scikit-learn's sense: a ridge of 1 / (C n) on the weights without intercept |
| step and length of runs | eta = 0.05, 0.25, 1 and 2 times 1 / L, T = 5 000; L is the largest curvature of the mean loss (of the hinge, which has none, the largest eigenvalue of X^T X / n) |
| start | random, of lengths 0.1, 1 and 3; with four steps these are 12 runs, chosen among on validation rows |
| inner problem of Algorithm 1 | K = 20 steps of rho = 1 / L_Phi, alpha from uniform weights again at each outer step |
| epsilon_1, epsilon_2 | 1e-2, as the paper says; they compare lengths of raw gradients in both readings |
| columns of Adult | 13 integer-coded ones, sex and race among them, as FERM's published code loads them (without native-country) |
| columns of COMPAS | those of Zafar et al. (age category, race, sex, priors, charge degree), one-hot; tried too: all columns one-hot without the sensitive ones. Pages call the columns of these two rows the paper's |
| peers | GridSearch of 100 (frontiers: 200) as the paper says; ExponentiatedGradient with difference bounds .01 and .05 and fairlearn's 50 rounds; FERM with C = 0.01, 0.1 and 1 |
| how a model is picked | on validation rows: the smallest DEO among candidates that keep 97 % of plain training's accuracy |

## Pages

{table}

The main text takes {main:.0f} minutes of one core, `make paper`; the appendix {appendix:.0f}, `make paper-appendix`. Both are
`python -m benchmarks.paper --fresh`, which makes every page from the raw data (folder `FAIRFRONT_DATA`, or `data` in the
repository). Results are kept in `benchmarks/results/paper/` as JSON: without `--fresh` a broken run resumes where it stopped, and
pages can be drawn again without running anything (`--draw`). `--only NAME` makes one page, `--quick` a small version in
`build/paper-quick/`. Each page says the commit, the date, the versions and the machine it was made with.

## What all pages share

- Models are chosen on validation rows, never on test. Where the test rows were looked at on purpose, the column says so.
- DEO is the difference in true positive rates, group minus reference, in shares of people with the favourable label.
  A *loss gap* is another unit: a difference of mean training losses.
- "As printed" are Algorithms 1 and 2 of the paper. "fairfront" marks this package's default solvers.
- Intervals over splits are 95 % and allow for splits sharing rows (Nadeau and Bengio 2003).
- Reducing a gap on one data set says nothing about other data or other notions, and a small gap on few rows may be chance:
  counts and standard errors stand beside the rates.
- Each page ends with how to read it, or with where it differs from the paper. Where the paper does not say how a figure
  was made, pages say so and do not guess.
"""
