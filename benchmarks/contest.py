"""Contests: methods fitted on every split of some cases, judged, and kept as JSON after each split.

python -m benchmarks.contest peers adult fairlearn_grid_search   fits one method on one case
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from . import cases, judge, optimum, report
from .cases import Rows, Split
from .peers import base
from .peers.base import Candidates, Fitting, Peer, exact_plain_weights

LADDER = (2, 3, 4, 6, 12, 25)
"""Numbers of points that the tracer is timed with, for the time to equal quality."""
RESOLVED = 3
JOB_LIMIT = 1500
"""Seconds that one method may take on one case; finished splits are kept."""
QUICK_ROWS, QUICK_SPLITS, QUICK_POINTS = 2000, 2, 8


@dataclass(frozen=True)
class Contest:
    """Methods on cases: ``reference`` is what others are compared with at ``caps`` on the gap.

    ``ladder`` is the tracer whose time is the unit, and which is timed with fewer points too.
    ``relative`` caps are shares of the gap of the method "plain" on validation rows. ``sensitive_in`` puts the column
    of groups into X. ``first`` is the first split.
    """

    name: str
    peers: dict[str, Peer]
    cases: tuple[str, ...]
    reference: str
    caps: tuple[float, ...] = (0.02, 0.05)
    splits: int = 10
    points: int = 50
    relative: bool = False
    sensitive_in: bool = False
    ladder: str = ""
    first: int = 0

    def place(self, case: str, peer: str, quick: bool) -> Path:
        """Return the file of a method's results on a case."""
        home = report.ROOT / "build" / "benchmarks-quick" if quick else report.RESULTS
        return home / self.name / case / f"{peer}.json"

    def split(self, case: str, seed: int, quick: bool) -> Split:
        """Return one split of a case."""
        return cases.split_of(case, seed, self.sensitive_in, QUICK_ROWS if quick else None)

    def fitting(self, split: Split, seed: int, quick: bool) -> Fitting:
        """Return what methods may see of a split."""
        points = min(self.points, QUICK_POINTS) if quick else self.points
        return Fitting(split.train, split.validation, split.columns, points, seed, quick)

    def run(self, quick: bool, workers: int = 2) -> None:
        """Fit what is missing, every method on every case (quickly: the first) in a process of its own."""
        jobs = [(case, peer) for case in self.cases[: 1 if quick else None] for peer in self.peers]
        with ThreadPoolExecutor(workers) as pool:
            for said in pool.map(lambda job: self._job(*job, quick), jobs):
                print(said, flush=True)

    def _job(self, case: str, peer: str, quick: bool) -> str:
        alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.contest", self.name, case, peer, *["--quick"][: int(quick)]]
        begun, said = time.perf_counter(), ""
        try:
            done = subprocess.run(
                command, env={**os.environ, **alone}, capture_output=True, text=True, timeout=JOB_LIMIT, check=False
            )
            said = f" FAILED: {done.stderr.strip().splitlines()[-1]}" if done.returncode else ""
        except subprocess.TimeoutExpired:
            said = f" stopped after {JOB_LIMIT} s; finished splits are kept"
        return f"{self.name}, {case}, {peer}: {time.perf_counter() - begun:.0f} s{said}"

    def fit(self, case: str, name: str, quick: bool) -> None:
        """Fit every split that the method's file does not hold yet."""
        peer, path = self.peers[name], self.place(case, name, quick)
        record = _known(path, signature(name, peer))
        record["skipped"] = peer.missing()
        many = min(QUICK_SPLITS if quick else self.splits, peer.most_splits)
        for seed in range(self.first, self.first + many):
            if record["skipped"] or str(seed) in record["splits"]:
                continue
            split = self.split(case, seed, quick)
            fitting = self.fitting(split, seed, quick)
            record["skipped"] = peer.limits(fitting)
            if record["skipped"] is None:
                record["splits"][str(seed)] = self._judged(peer, fitting, split.test, name == self.ladder)
            _write(path, record)
        _write(path, record)

    def _judged(self, peer: Peer, fitting: Fitting, test: Rows, climbs: bool) -> dict[str, Any]:
        """Fit once, with time and memory, then judge; the first split also against independent optima."""
        before, start = _memory("VmRSS"), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            candidates = peer.fit(fitting)
        seconds = time.process_time() - start
        found = {"seconds": round(seconds, 4), "memory": max(_memory("VmHWM") - before, 0.0)}
        found |= {"solved": candidates.solved, "raised": candidates.raised() if candidates.raised else None}
        found |= judged(candidates, fitting, test)
        if candidates.labels is None and fitting.n_groups == 2:
            both = Rows(*(np.concatenate(pair) for pair in _columns(fitting.validation, test)), test.favourable)
            rows = {"train": fitting.train, "held": both, "validation": fitting.validation, "test": test}
            found["signed"] = {name: judge.signed(candidates, part) for name, part in rows.items()}
        if candidates.weights is not None and not test.is_regression:
            found |= _losses(candidates.weights, fitting, resolve=fitting.seed == 0)
        if climbs and fitting.seed == 0:
            found["ladder"] = [_rung(peer, fitting, size) for size in LADDER]
        return found


def _columns(one: Rows, other: Rows) -> Any:
    return zip((one.X, one.y, one.groups), (other.X, other.y, other.groups), strict=True)


def judged(candidates: Candidates, fitting: Fitting, test: Rows) -> dict[str, Any]:
    """Judge candidates on validation and test rows, at one approval rate, and unprocessed."""
    held = fitting.validation
    found: dict[str, Any] = {
        name: judge.judged(candidates, rows).as_lists() for name, rows in (("validation", held), ("test", test))
    }
    if test.is_regression or candidates.labels is not None:
        return found
    equal = judge.at_approval(candidates, held, test, float(fitting.train.good.mean()))
    if equal is not None:
        found["equal_approval"] = [part.as_lists() for part in equal]
    found["unprocessed"] = judge.unprocessed_error(candidates, held, test)
    found["majority"] = float(min(test.good.mean(), 1.0 - test.good.mean()))
    return found


def signature(name: str, peer: Peer) -> str:
    """Return a hash of the code that a method's results rest on: the method, the judge, and ours for our own."""
    files = [inspect.getsourcefile(part) for part in (judge, cases, base, peer.fit)]
    paths = [Path(file) for file in files if file]
    if "fairfront" in name or name == "trees_rates":
        rooms = ("objectives", "problems", "solvers", "frontier")
        paths += sorted(path for room in rooms for path in (report.ROOT / "src" / "fairfront" / room).rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def _known(path: Path, signed: str) -> dict[str, Any]:
    """Return earlier results of the same code, or an empty record."""
    if path.exists():
        record: dict[str, Any] = json.loads(path.read_text())
        if record.get("signature") == signed:
            return record
    return {"signature": signed, "commit": report.commit(), "splits": {}}


def _losses(W: np.ndarray, fitting: Fitting, resolve: bool) -> dict[str, Any]:
    """Return training losses and gaps, and the excess of some models over SLSQP's optimum at their own gap."""
    logistic = optimum.Logistic(fitting.train)
    loss, gap = logistic.losses(W)[0], logistic.worst_gap(W)
    found: dict[str, Any] = {"loss": loss.tolist(), "loss_gap": gap.tolist()}
    if resolve and fitting.n_groups == 2:
        found["excess"] = loss_excess(logistic, loss, gap, exact_plain_weights(fitting.train))
    return found


def loss_excess(logistic: optimum.Logistic, loss: np.ndarray, gap: np.ndarray, plain: np.ndarray) -> list[float]:
    """Return (loss - independent optimum at the model's own gap) / loss range of the front, for a few models.

    A model with a larger gap than the plain one is measured against the plain one.
    """
    start = logistic.whitened(plain)
    least, first, second = logistic(start)[0]
    span, widest = logistic.at_gap(0.0, start).fun - least, abs(first - second)
    picked = np.unique(np.linspace(0, len(loss) - 1, RESOLVED).astype(int))
    inside = np.flatnonzero(gap < widest)
    if len(inside) >= RESOLVED:
        picked = inside[np.argsort(gap[inside])][np.linspace(0, len(inside) - 1, RESOLVED).astype(int)]
    best = [least if gap[i] >= widest else logistic.at_gap(float(gap[i]), start).fun for i in picked]
    return [float((loss[i] - b) / span) for i, b in zip(picked, best, strict=True)]


def _rung(peer: Peer, fitting: Fitting, size: int) -> dict[str, Any]:
    """Time the tracer with fewer points."""
    start = time.process_time()
    W = peer.fit(replace(fitting, n_points=size)).weights
    seconds = time.process_time() - start
    assert W is not None
    logistic = optimum.Logistic(fitting.train)
    loss, gap = logistic.losses(W)[0], logistic.worst_gap(W)
    return {"n_points": size, "seconds": seconds, "loss": loss.tolist(), "gap": gap.tolist()}


def _memory(name: str) -> float:
    """Return memory in use (VmRSS, after which the peak is counted anew) or its peak (VmHWM) in MB, where known."""
    try:
        if name == "VmRSS":
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(name))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _write(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record))
    part.replace(path)


if __name__ == "__main__":
    from .contests import CONTESTS

    parser = argparse.ArgumentParser(prog="python -m benchmarks.contest")
    parser.add_argument("contest", choices=CONTESTS)
    parser.add_argument("case", choices=cases.CASES)
    parser.add_argument("peer")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    CONTESTS[given.contest].fit(given.case, given.peer, given.quick)
