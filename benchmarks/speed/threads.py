"""Settings of threads in one table: nothing set against every setting, on an idle machine and beside other work.

Every setting has a process of its own, all alive at once; they take turns, one case at a time, and the shortest turn of
a case counts. Frontiers must be the same bytes in all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from multiprocessing import get_context
from typing import Any

import numpy as np

from ..cases import adult, synthetic
from ..report import Section, Table

SETTINGS: dict[str, dict[str, str]] = {
    "nothing set": {},
    "OMP_NUM_THREADS=1": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    "OMP_NUM_THREADS=2": {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
}
DEFAULT, ONE = "nothing set", "OMP_NUM_THREADS=1"
PLAIN, MANY = "plain fit", "200 000 x 102, 12 points"
TURNS = 3
Case = Callable[[], Any]
Found = dict[str, dict[str, dict[str, Any]]]
"""Per case and setting: seconds, processor seconds and the digest of the frontier."""


def cases(share: int) -> dict[str, Case]:
    """Return what is measured, on one of so many rows."""
    from sklearn.linear_model import LogisticRegression

    import fairfront as ff

    sex, race = adult("sex"), adult("race")
    X, y = sex.X[::share], sex.y[::share]
    many, nine = synthetic(200_000 // share, 101), synthetic(20_000 // share, 20, classes=9, seed=1)

    def traced(X: Any, y: Any, groups: Any, **options: Any) -> Case:
        return lambda: ff.trace(X, y, sensitive_features=groups, held_out=False, progress=False, **options)

    plain = LogisticRegression(solver="newton-cholesky", tol=1e-8)
    return {
        PLAIN: lambda: plain.fit(X, y),
        "Adult by sex, 12 points": traced(X, y, sex.groups[::share], n_points=12),
        "Adult by race, 12 points": traced(X, y, race.groups[::share], n_points=12),
        "Adult by sex, PB-PDO, 6 preferences": traced(
            X, y, sex.groups[::share], solver="pb_pdo", preferences=6, random_state=0
        ),
        "nine classes, 20 000 x 20, 12 points": traced(nine.X, nine.y, nine.groups, favourable=0, n_points=12),
        MANY: traced(many.X, many.y, many.groups, n_points=12),
    }


def digest(found: Any) -> str:
    """Return a digest of a frontier's models and objectives; a plain fit has none to compare."""
    if not hasattr(found, "objectives"):
        return ""
    arrays = (found.models.coef, found.models.intercept, found.objectives, found.signed_gaps)
    return sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in arrays)).hexdigest()


def work(share: int) -> None:
    """Measure the case named by each line that comes in."""
    warnings.simplefilter("ignore")  # groups that are small where rows are few
    known = cases(share)
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        start, used = time.perf_counter(), time.process_time()
        found = known[line.strip()]()
        seconds, processor = time.perf_counter() - start, time.process_time() - used
        print(json.dumps({"seconds": seconds, "processor": processor, "digest": digest(found)}), flush=True)


class Worker:
    """A process with one setting."""

    def __init__(self, setting: dict[str, str], share: int) -> None:
        bare = {key: value for key, value in os.environ.items() if not key.endswith("_THREADS")}
        command = [sys.executable, "-m", __name__, str(share)]
        self.process = subprocess.Popen(
            command, env=bare | setting, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.cases: list[str] = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def measure(self, case: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{case}\n")
        self.process.stdin.flush()
        return dict(self._answer())

    def end(self) -> None:
        self.process.communicate()


def measured(workers: dict[str, Worker]) -> Found:
    """Let all settings take turns at every case; the shortest turn counts. The plain fit has the setting of the unit."""
    found: Found = {}
    for case in workers[DEFAULT].cases:
        asked = [ONE] if case == PLAIN else list(workers)
        rounds = [{name: workers[name].measure(case) for name in asked} for _ in range(TURNS)]
        if len({each[name]["digest"] for each in rounds for name in asked}) > 1:
            raise RuntimeError(f"{case}: settings of threads gave different frontiers")
        found[case] = {name: min((each[name] for each in rounds), key=lambda f: float(f["seconds"])) for name in asked}
    return found


def _spin(parent: int) -> None:
    while os.getppid() == parent:  # ends with the benchmark, however that ends
        pass


@contextmanager
def busy() -> Iterator[None]:
    """Keep all cores busy."""
    jobs = [
        get_context("spawn").Process(target=_spin, args=(os.getpid(),), daemon=True) for _ in range(os.cpu_count() or 1)
    ]
    for job in jobs:
        job.start()
    try:
        yield
    finally:
        for job in jobs:
            job.terminate()


def shown(found: Found) -> Table:
    """Return seconds and plain fits of every setting, and how nothing set compares."""
    unit, lines = found[PLAIN][ONE]["seconds"], []
    for case, by in found.items():
        if case == PLAIN:
            continue
        seconds = {name: by[name]["seconds"] for name in by}
        cells = [f"{each:.2f} s ({each / unit:.1f})" for each in seconds.values()]
        mine = seconds[DEFAULT]
        ratios = [mine / seconds[ONE], mine / min(seconds.values())]
        used = by[DEFAULT]["processor"] / by[ONE]["processor"]
        lines.append([case, *cells, *(f"{ratio:.2f}" for ratio in ratios), f"{used:.2f}"])
    against = ["nothing set / one thread", "/ best setting", "processor time / one thread"]
    return Table(["case", *SETTINGS, *against], lines)


def sections(quick: bool) -> list[Section]:
    """Measure idle and busy."""
    load = os.getloadavg()[0]
    workers = {name: Worker(setting, 10 if quick else 1) for name, setting in SETTINGS.items()}
    idle = measured(workers)
    with busy():
        beside = measured(workers)
    for worker in workers.values():
        worker.end()
    faster = idle[MANY][ONE]["seconds"] / idle[MANY][DEFAULT]["seconds"]
    unit = {name: found[PLAIN][ONE]["seconds"] for name, found in (("idle", idle), ("busy", beside))}
    text = (
        f"Seconds of every setting, and in brackets in plain fits: `LogisticRegression(solver='newton-cholesky', tol=1e-8)` on the "
        f"rows of Adult with `OMP_NUM_THREADS=1`, {unit['idle']:.2f} s alone and {unit['busy']:.2f} s beside other work. All "
        f"settings in one run, in turns, the shortest of {TURNS}; load of the machine before it began: {load:.1f}. All frontiers of "
        f"a case are the same bytes. With nothing set, 200 000 rows are **{faster:.2f} times** as fast as with one thread (bar: "
        f"1.5 on two free cores); no case may be slower than one thread by more than 5 %."
    )
    parts = [text, "### As the machine is", shown(idle), "### Beside a job that keeps all cores busy", shown(beside)]
    summary = f"With nothing set, 200 000 rows are traced {faster:.2f} times as fast as with one thread."
    return [Section("tools", "Threads", parts, summary)]


if __name__ == "__main__":
    work(int(sys.argv[-1]))
