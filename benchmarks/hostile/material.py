"""What the lanes of files work on: a small table, runs, models and frontiers made from it once."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff

from .children import command, end_of

HIDDEN = (".lock",)


def rows(n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and two groups."""
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, 3)), rng.choice(np.array(["A", "B"]), n, p=[0.6, 0.4])
    score = X[:, 0] + 0.8 * (group == "B") * X[:, 1] - 0.6 * (group == "B") + rng.logistic(size=n)
    return X, np.where(score > 0, "yes", "no"), group


@dataclass(frozen=True)
class Material:
    """A folder with the table, a run with two decisions, and a model of it."""

    folder: Path

    @property
    def table(self) -> Path:
        """Return the CSV file."""
        return self.folder / "rows.csv"

    @property
    def run(self) -> Path:
        """Return the run."""
        return self.folder / "run"

    @property
    def model(self) -> Path:
        """Return the model that the second decision wrote."""
        return self.folder / "model"

    def trace(self, output: Path, *more: object) -> Any:
        """Return the job that traces the table."""
        asked = ("--target", "y", "--favourable", "yes", "--groups", "g", "--points", 4)
        return command("trace", self.table, *asked, "-o", output, *more)

    def select(self, run: Path, output: Path, *more: object) -> Any:
        """Return the job that chooses a model."""
        return command("select", run, "--id", 1, "-o", output, "--reason", "tried", "--by", "lane", *more)


def make(folder: Path) -> Material:
    """Write the table, trace it and choose twice."""
    material, (X, y, group) = Material(folder), rows()
    lines = [",".join(["x1", "x2", "x3", "g", "y"])]
    lines += [f"{a:.6f},{b:.6f},{c:.6f},{g},{label}" for (a, b, c), g, label in zip(X, group, y, strict=True)]
    material.table.write_text("\n".join(lines) + "\n")
    first = material.select(material.run, folder / "first")
    second = material.select(material.run, material.model)
    for job in (material.trace(material.run), first, second):
        ended = end_of(job)
        if ended.code:
            raise RuntimeError(ended.said)
    shutil.rmtree(folder / "first")
    return material


def frontier(seed: int = 0, **asked: Any) -> ff.Frontier:
    """Return a small frontier, with its figures on the same rows."""
    X, y, group = rows(seed=seed)
    front = ff.trace(X, y, sensitive_features=group, favourable="yes", progress=False, **({"n_points": 4} | asked))
    return front.evaluate(X, y, sensitive_features=group)


def trees(**kept: Any) -> ff.Frontier:
    """Return a frontier of decision trees."""
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    return frontier(n_points=None, estimator=tree, solver=ff.Weighting(max_fits=6, cv=2), random_state=0, **kept)


def digest(folder: Path) -> str:
    """Return the digest of all names and bytes of a folder."""
    found = hashlib.sha256()
    for each in sorted(folder.rglob("*")):
        found.update(str(each.relative_to(folder)).encode() + b"\0" + (each.read_bytes() if each.is_file() else b""))
    return found.hexdigest()


def leftovers(folder: Path) -> list[str]:
    """Return hidden names in a folder: what writers leave when they are stopped."""
    return sorted(each.name for each in folder.rglob(".*"))
