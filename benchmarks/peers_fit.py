"""One peer on one case, every split: fitted, judged, and written to JSON after each split.

python -m benchmarks.peers_fit adult fairlearn_grid_search --splits 10
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from . import judge
from .peers import PEERS
from .peers.base import Candidates, Fitting, exact_plain_weights
from .peers.objectives import Objectives
from .peers_cases import CASES, Split, split_of
from .reference import Reference

RESULTS = Path(__file__).resolve().parent / "results" / "peers"
LADDER = (2, 3, 4, 6, 12, 25)
RESOLVED = 3


def place(variant: str, case: str, peer: str) -> Path:
    """Return the file of results: variant is full or quick, and whether sensitive columns are in X."""
    return RESULTS / variant / case / f"{peer}.json"


def fit_all(case: str, peer: str, splits: int, n_points: int, variant: str) -> None:
    """Fit every split that is not in the file yet."""
    path = place(variant, case, peer)
    record = _known(path, signature(peer))
    record["skipped"] = PEERS[peer].missing()
    data = CASES[case].load()
    for seed in range(splits):
        if record["skipped"] or str(seed) in record["splits"]:
            continue
        split = split_of(data, CASES[case].group, seed, n_points, "sensitive" in variant, "quick" in variant)
        record["skipped"] = PEERS[peer].limits(split.fitting)
        if record["skipped"] is None:
            record["splits"][str(seed)] = judged_fit(peer, split, seed)
        _write(path, record)
    _write(path, record)


def _known(path: Path, signed: str) -> dict[str, Any]:
    """Return earlier results of the same code, or an empty record."""
    if path.exists():
        record: dict[str, Any] = json.loads(path.read_text())
        if record.get("signature") == signed:
            return record
    return {"signature": signed, "splits": {}}


def signature(peer: str) -> str:
    """Return a hash of the code that a method's results rest on: the peer, the judge, and ours for our own."""
    here = Path(__file__).resolve().parent
    names = ("judge.py", "peers_cases.py", "peers_fit.py", "peers/base.py", f"peers/{peer}.py")
    files = [here / name for name in names]
    if peer.startswith("fairfront"):
        parts = ("objectives", "problems", "solvers", "frontier")
        files += sorted(p for part in parts for p in (here.parent / "src" / "fairfront" / part).glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def judged_fit(peer: str, split: Split, seed: int) -> dict[str, Any]:
    """Fit once, with time and memory, then judge."""
    fitting = split.fitting
    before = _start_memory()
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        candidates = PEERS[peer].fit(fitting)
    seconds = time.process_time() - start
    found = {"seconds": round(seconds, 4), "memory": max(_peak_memory() - before, 0.0), "solved": candidates.solved}
    found |= _judged(candidates, split) | {"raised": candidates.raised() if candidates.raised else None}
    if candidates.weights is not None:
        found |= _losses(candidates.weights, fitting, resolve=seed == 0)
    if peer == "fairfront_newton" and seed == 0:
        found["ladder"] = [_rung(peer, fitting, size) for size in LADDER]
    return found


def _judged(candidates: Candidates, split: Split) -> dict[str, Any]:
    train, held, test = split.fitting.train, split.fitting.validation, split.test
    rate = float(train.y.mean())
    found: dict[str, Any] = {
        name: judge.figures(candidates.approve(rows.X, rows.groups), rows).as_lists()
        for name, rows in (("train", train), ("validation", held), ("test", test))
    }
    equal = judge.at_approval(candidates, held, test, rate)
    if equal is not None:
        found["equal_approval"] = [part.as_lists() for part in equal]
    found["unprocessed"] = judge.unprocessed_error(candidates, held, test)
    found["majority"] = float(min(test.y.mean(), 1.0 - test.y.mean()))
    return found


def _losses(W: np.ndarray, fitting: Fitting, resolve: bool) -> dict[str, Any]:
    """Return training losses and gaps, and the excess of some models over SLSQP's optimum at their own gap."""
    objectives = Objectives(fitting.train)
    loss, gap = objectives.losses(W)[0], objectives.worst_gap(W)
    found: dict[str, Any] = {"loss": loss.tolist(), "loss_gap": gap.tolist()}
    if resolve and fitting.n_groups == 2:
        found["excess"] = loss_excess(loss, gap, fitting)
    return found


def loss_excess(loss: np.ndarray, gap: np.ndarray, fitting: Fitting) -> list[float]:
    """Return (loss - independent optimum at the model's own gap) / loss range of the front, for a few models.

    A model with a larger gap than the plain one is measured against the plain one.
    """
    reference = Reference(fitting.train.X, fitting.train.y, fitting.train.groups)
    start = reference.to_whitened(exact_plain_weights(fitting.train))
    L = reference.losses(start)[0]
    widest = abs(L[1] - L[2])
    span = reference.at_gap(0.0, start) - L[0]
    picked = np.unique(np.linspace(0, len(loss) - 1, RESOLVED).astype(int))
    inside = np.flatnonzero(gap < widest)
    if len(inside) >= RESOLVED:
        picked = inside[np.argsort(gap[inside])][np.linspace(0, len(inside) - 1, RESOLVED).astype(int)]
    best = [L[0] if gap[i] >= widest else reference.at_gap(float(gap[i]), start) for i in picked]
    return [float((loss[i] - b) / span) for i, b in zip(picked, best, strict=True)]


def _rung(peer: str, fitting: Fitting, size: int) -> dict[str, Any]:
    """Time the tracer with fewer points, for the time to equal quality."""
    fewer = Fitting(fitting.train, fitting.validation, fitting.columns, size, fitting.seed)
    start = time.process_time()
    W = PEERS[peer].fit(fewer).weights
    assert W is not None
    seconds = time.process_time() - start
    objectives = Objectives(fitting.train)
    return {
        "n_points": size,
        "seconds": seconds,
        "loss": objectives.losses(W)[0].tolist(),
        "gap": objectives.worst_gap(W).tolist(),
    }


def _start_memory() -> float:
    """Forget the peak so far, where the system allows it, and return the memory in use now, in MB."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _peak_memory() -> float:
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _status(name: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def _write(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record))
    part.replace(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=CASES)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--variant", default="full")
    given = parser.parse_args()
    fit_all(given.case, given.peer, given.splits, given.points, given.variant)
