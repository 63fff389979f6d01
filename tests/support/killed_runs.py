"""Runs that are killed: a process that starts others, which kill themselves in the middle of a trace, and resumes them.

python -m tests.support.killed_runs FOLDER KILLS prints as JSON, for every case, which frontiers came out.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff
from fairfront.problems import EstimatorProblem, LinearProblem
from fairfront.solvers import journal
from tests.support.killed_writers import killed
from tests.support.searches import trace

CASES: dict[str, dict[str, Any]] = {
    "newton": {"n_points": 8},
    "newton where it bends": {"notion": "equalized_odds"},
    "hinge": {"loss": "hinge", "n_points": 3},
    "pb_pdo": {"solver": ff.PBPDO(slide=0.005, polish=True), "preferences": 5},
    "pdo": {"solver": ff.PDO(max_iter=80), "preferences": 2, "random_state": 1},
    "trees": {"estimator": DecisionTreeClassifier(max_depth=4), "max_fits": 5, "cv": 2},
    "trees on their rows": {"estimator": DecisionTreeClassifier(max_depth=3), "max_fits": 5, "cv": "train"},
}


STEPS = ((LinearProblem, "cells"), (LinearProblem, "hessian"), (EstimatorProblem, "fit_and_score"), (os, "fsync"))
"""Evaluating, fitting and forcing something to the disk."""


def rows(n: int = 1500, d: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and three groups."""
    rng = np.random.default_rng(7)
    X, group = rng.normal(size=(n, d)), rng.choice(np.array(["a", "b", "c"]), n, p=[0.5, 0.3, 0.2])
    score = X[:, 0] + 0.8 * (group == "b") * X[:, 1] - 0.6 * (group == "c") + rng.logistic(size=n)
    return X, (score > 0).astype(int), group


def digest_of(front: ff.Frontier, X: np.ndarray) -> str:
    """Return a digest of every bit of a frontier that its user can see."""
    known = (front.objectives, front.signed_gaps, front.gaps, front.kkt, front.certified, front.multipliers, front.ids)
    found = hashlib.sha256(repr([status.name for status in front.status]).encode())
    for array in (*known, front.preferences, front.models.scores(X)):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def digest_of_files(front: ff.Frontier) -> str:
    """Return a digest of every byte of the files that a frontier is saved as."""
    found = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        front.save(Path(folder) / "front")
        for file in sorted(each for each in Path(folder).rglob("*") if each.is_file()):
            found.update(file.read_bytes())
    return found.hexdigest()


def collect_states(monkeypatch: Any) -> list[bytes]:
    """Return a list that fills with the bytes of every checkpoint written, with none left out to save time."""
    states: list[bytes] = []
    write = journal.write_checkpoint

    def spied(path: Path, *content: Any) -> None:
        write(path, *content)
        states.append(path.read_bytes())

    monkeypatch.setattr(journal, "write_checkpoint", spied)
    monkeypatch.setattr(journal, "SHARE", 0.0)
    return states


def traced(case: str, **more: Any) -> str:
    """Trace a case and return the digests of its frontier and of its files."""
    X, y, group = rows()
    front = trace(X, y, sensitive_features=group, progress=False, **CASES[case], **more)
    return digest_of(front, X) + digest_of_files(front)


def attempt(case: str, folder: Path, moment: int) -> bool:
    """Go on with a run in a process of its own and tell whether it lived to its end."""

    def work() -> None:
        journal.SHARE = 0.0
        (folder / "digest").write_text(traced(case, checkpoint=folder / "run.checkpoint", resume=True))

    return not killed(work, moment, STEPS)


def main(case: str, folder: Path, kills: int) -> dict[str, Any]:
    """Kill a run so many times and let it come to its end; say what came out, with and without disturbance."""
    rng = np.random.default_rng(len(case))
    moments = [int(moment) for moment in rng.integers(1, 16 if "estimator" in CASES[case] else 50, kills)]
    lived = [attempt(case, folder, moment) for moment in [*moments, 1_000_000]]
    left = sorted(each.name for each in folder.iterdir())
    kept = traced(case, checkpoint=folder / "unbroken.checkpoint")
    resumed = (folder / "digest").read_text()
    return {"lived": lived, "resumed": resumed, "unbroken": kept, "plain": traced(case), "left": left}


if __name__ == "__main__":
    places = {case: Path(sys.argv[1]) / str(place) for place, case in enumerate(CASES)}
    for place in places.values():
        place.mkdir()
    print(json.dumps({case: main(case, place, int(sys.argv[2])) for case, place in places.items()}))
