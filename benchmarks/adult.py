"""Adult with the paper's split, in the two encodings that the benchmarks use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairfront.datasets import load_adult, paper_matrix


@dataclass(frozen=True)
class Split:
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    groups_test: np.ndarray


def folder() -> Path:
    """Return the folder of raw data: FAIRFRONT_DATA, or ../shared/data beside the repository."""
    given = os.environ.get("FAIRFRONT_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"


def adult(attribute: str, encoding: str = "one_hot") -> Split:
    """Load Adult: ``one_hot`` leaves sex and race out of X, ``paper`` is the 13 integer-coded columns."""
    data = load_adult(folder())
    assert data.split is not None
    train, test = data.split
    X = data.matrix("one_hot", fit_on=train)[0] if encoding == "one_hot" else np.asarray(_paper(data))
    y, group = data.y, data.columns[attribute]
    return Split(X[train], y[train], group[train], X[test], y[test], group[test])


def _paper(data: object) -> np.ndarray:
    made = paper_matrix(data)  # type: ignore[arg-type]
    return made[0] if isinstance(made, tuple) else made
