"""The linear SVM: 12 points solved for the hinge itself, against LIBLINEAR's plain fit and another fairfront.

The other one is the package that the interpreter in FAIRFRONT_OTHER imports; without it these
columns are empty.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

import fairfront as ff

from ..cases import Rows
from ..report import Section, Table
from .newton import settings

POINTS = 12
MOST_SECONDS = 120
"""After which the other package is stopped."""
UNIT_SCALE = ", columns at unit scale"
TRACED = {
    "Adult one-hot, sex, columns at unit scale": ("equal_opportunity",),
    "Adult one-hot, sex": ("equal_opportunity", "demographic_parity"),
    "Adult one-hot, race (5 groups)": ("equal_opportunity", "demographic_parity"),
    "COMPAS, race": ("equal_opportunity", "demographic_parity"),
    "COMPAS, sex": ("equal_opportunity",),
    "German credit, age": ("equal_opportunity", "demographic_parity"),
}
LEFT_OUT = ("Adult one-hot, sex", "COMPAS, race", "German credit, age")
OTHER = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
import fairfront as ff
data, options = np.load(sys.argv[1]), json.loads(sys.argv[2])
groups = ff.Groups(min_size=1)
known = {"groups": groups, "loss": "hinge", "progress": False, "held_out": False}
few = np.random.default_rng(0).normal(size=(60, 2))  # what is imported on first use is not timed
ff.trace(few, few[:, 0] > 0.1, sensitive_features=np.arange(60) % 2, n_points=2, ridge=0.1, **known)
start = time.process_time()
front = ff.trace(data["X"], data["y"], sensitive_features=data["groups"], **known, **options)
seconds = time.process_time() - start
solved = sum(status.solved for status in front.status)
print(json.dumps({"solved": solved, "points": len(front), "certified": int(front.certified.sum()),
                  "seconds": seconds, "loss": front.loss[0], "kkt": float(np.nanmax(front.kkt))}))
"""


@dataclass(frozen=True)
class Measured:
    """What a trace found, and the processor seconds it took."""

    solved: int
    points: int
    certified: int
    seconds: float
    loss: float
    kkt: float


def measured(interpreter: str, data: Rows, **options: Any) -> Measured | None:
    """Trace in a process of its own, by the package that an interpreter imports; None if it takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.npz"
        X = np.asarray(data.X, dtype=np.float64)
        np.savez(rows, X=X, y=np.asarray(data.y), groups=np.asarray(data.groups).astype(str))
        command = [interpreter, "-c", OTHER, str(rows), json.dumps(options)]
        environment = dict(os.environ)
        if interpreter != sys.executable:
            environment.pop("PYTHONPATH", None)
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=True,
                timeout=MOST_SECONDS,
                env=environment,
                cwd=folder,
            )
        except subprocess.TimeoutExpired:
            return None
    return Measured(**json.loads(done.stdout))


def rows_of(name: str) -> Rows:
    """Return the rows of a data set, maybe with columns at unit scale: then rare ones are hardly penalised."""
    data = settings()[name.removesuffix(UNIT_SCALE)][0]
    if not name.endswith(UNIT_SCALE):
        return data
    X = np.asarray(data.X, dtype=np.float64)
    X = X[:, X.std(axis=0) > 0.0]
    return Rows((X - X.mean(axis=0)) / X.std(axis=0), data.y, data.groups)


def paths(quick: bool) -> Section:
    """Trace every data set and notion, by this package and by the other one."""
    rows = []
    other = os.environ.get("FAIRFRONT_OTHER")
    for name, notions in list(TRACED.items())[-1 if quick else 0 :]:
        data = rows_of(name)
        for notion in notions:
            options = {"n_points": POINTS, "notion": notion}
            ours = measured(sys.executable, data, **options)
            assert ours is not None
            theirs = measured(other, data, **options) if other else None
            n, d = data.X.shape
            rows.append([name, f"{n} x {d}", notion.replace("_", " "), f"{ours.solved} / {ours.certified}",
                         f"{ours.kkt:.0e}", f"{ours.seconds:.2f} s", *_compared(ours, theirs, bool(other))])  # fmt: skip
    text = (
        f"{POINTS} points of the linear SVM at ridge 1 / n, processor seconds of the whole trace, on one thread. Every "
        "point is solved for the hinge itself ([how](../method.md#losses-with-a-kink)). Under demographic parity the "
        "gaps are between losses as if everyone were favourable, which the training loss does not count, so that no "
        "point with a cap is certified, and further starts are tried. The other package is fairfront 0.2.0."
    )
    head = ["data", "rows x columns", "notion", "solved / certified", "largest KKT", "time"]
    return Section(
        "solvers",
        "Hinge: every point solved",
        [text, Table([*head, "0.2.0: solved", "time", "share"], rows)],
    )


def _compared(ours: Measured, theirs: Measured | None, asked: bool) -> list[str]:
    if theirs is None:
        return ["", f"over {MOST_SECONDS} s" if asked else "", ""]
    solved = f"{theirs.solved} of {theirs.points}"
    return [solved, f"{theirs.seconds:.2f} s", f"{ours.seconds / theirs.seconds:.3f}"]


def plain(quick: bool) -> Section:
    """Compare unconstrained training with LIBLINEAR, and the cost of five folds with that of the trace."""
    known, rows = settings(), []
    few = np.random.default_rng(0).normal(size=(60, 2))
    unused = Rows(few, (few[:, 0] > 0.1).astype(int), np.arange(60) % 2)
    _seconds_of(unused, True)  # what is imported on first use is not timed
    for name in LEFT_OUT[-1 if quick else 0 :]:
        data = known[name][0]
        traced, judged = _seconds_of(data, False), _seconds_of(data, True)
        start = time.process_time()
        model = LinearSVC(loss="hinge", tol=1e-6, max_iter=1000).fit(data.X, data.y)
        fit = time.process_time() - start
        sign = 2 * (np.asarray(data.y) == model.classes_[1]) - 1
        hinge = np.maximum(0.0, 1.0 - sign * model.decision_function(data.X)).mean()
        loss = hinge + (model.coef_**2).sum() / (2 * len(data.y))
        rows.append([name, f"{traced.loss:.6f}", f"{loss:.6f}", f"{fit:.2f} s", f"{traced.seconds:.2f} s",
                     f"{judged.seconds - traced.seconds:.2f} s", f"{judged.seconds / traced.seconds - 1.0:.1f}"])  # fmt: skip
    text = (
        "Unconstrained training against LIBLINEAR (scikit-learn's LinearSVC at C = 1, tolerance 1e-6, at most 1000 "
        "epochs; it penalises the intercept as well), and what held-out scores cost: equal opportunity, five folds whose "
        f"points are solved again from those of all rows, against the trace of {POINTS} points."
    )
    head = [
        "data",
        "plain loss",
        "LIBLINEAR's",
        "LIBLINEAR",
        "trace",
        "five folds",
        "folds / trace",
    ]
    return Section("solvers", "Hinge: plain training and held-out scores", [text, Table(head, rows)])


@dataclass(frozen=True)
class Traced:
    """The plain loss of a trace, and its processor seconds."""

    loss: float
    seconds: float


def _seconds_of(data: Rows, held_out: bool) -> Traced:
    asked = {
        "groups": ff.Groups(min_size=1),
        "loss": "hinge",
        "n_points": POINTS,
        "progress": False,
    }
    start = time.process_time()
    front = ff.trace(data.X, data.y, sensitive_features=data.groups, held_out=held_out, **asked)
    return Traced(float(front.loss[0]), time.process_time() - start)


def sections(quick: bool) -> list[Section]:
    """Return both tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [paths(quick), plain(quick)]
