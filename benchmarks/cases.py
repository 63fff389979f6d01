"""Data of all benchmarks: loaded once, encoded on training rows only, and split the same way for everybody."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from fairfront.datasets import (
    load_adult,
    load_communities_crime,
    load_compas,
    load_german_credit,
    load_oulad,
    paper_matrix,
)


@dataclass(frozen=True)
class Rows:
    """Features, labels and groups as integers; of two labels, or of several, ``favourable`` is the favourable one.

    Labels of a regression are floats, and none of them is favourable.
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    favourable: int = 1

    def take(self, kept: np.ndarray) -> Rows:
        """Return some of the rows."""
        return Rows(self.X[kept], self.y[kept], self.groups[kept], self.favourable)

    @property
    def good(self) -> np.ndarray:
        """Mark the rows with the favourable label."""
        return np.asarray(self.y == self.favourable)

    @property
    def is_regression(self) -> bool:
        """Tell whether labels are amounts."""
        return bool(self.y.dtype.kind == "f")


@dataclass(frozen=True)
class Split:
    """Rows to fit on, to choose on and to judge on; names of the columns of X and of the groups."""

    train: Rows
    validation: Rows
    test: Rows
    columns: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()

    def names(self, rows: Rows) -> np.ndarray:
        """Return the group of every row as text."""
        return np.array(self.levels)[rows.groups]


@dataclass(frozen=True)
class Case:
    """One data set, the column of groups, and how it is read."""

    title: str
    load: Callable[[Path], Any]
    group: str


CASES = {
    "adult": Case("Adult, sex", load_adult, "sex"),
    "compas": Case("COMPAS, race", load_compas, "race"),
    "german": Case("German credit, age", load_german_credit, "age_group"),
    "oulad": Case("OULAD (passed or not), disability", lambda path: load_oulad(path, binary=True), "disability"),
    "adult_race": Case("Adult, race (5 groups)", load_adult, "race"),
    "oulad_outcomes": Case("OULAD (4 outcomes), disability", load_oulad, "disability"),
    "communities": Case("Communities and Crime (regression)", load_communities_crime, "black_share"),
}
TWO_GROUPS = ("adult", "compas", "german", "oulad")


def folder() -> Path:
    """Return the folder of raw data: FAIRFRONT_DATA, or `data` in the repository."""
    given = os.environ.get("FAIRFRONT_DATA")
    return Path(given) if given else Path(__file__).resolve().parents[1] / "data"


@cache
def loaded(case: str) -> Any:
    """Read the data of a case once per process."""
    return CASES[case].load(folder())


def split_of(case: str, seed: int, sensitive_in: bool = False, most: int | None = None) -> Split:
    """Split 60 : 20 : 20, people with several rows on one side; scaling is fitted on the training rows.

    ``most`` keeps only so many rows, drawn at random.
    """
    data, group = loaded(case), CASES[case].group
    if most is not None:
        data = data.subset(np.random.default_rng(seed).permutation(len(data))[:most])
    train, rest = two_parts(np.arange(len(data)), data.split_ids, 0.4, seed)
    held, test = two_parts(rest, None if data.split_ids is None else data.split_ids[rest], 0.5, seed)
    X, columns = data.matrix("one_hot", include=(group,) if sensitive_in else (), fit_on=train)
    y, favourable = labels_of(data)
    levels, groups = np.unique(np.asarray(data.columns[group]).astype(str), return_inverse=True)
    whole = Rows(X, y, groups.astype(np.intp), favourable)
    return Split(*(whole.take(part) for part in (train, held, test)), tuple(columns), tuple(levels.tolist()))


def labels_of(data: Any) -> tuple[np.ndarray, int]:
    """Return labels as codes and the favourable code: 1 of two labels, its place among several."""
    if data.favourable is None:
        return np.asarray(data.y, dtype=np.float64), 1
    names, codes = np.unique(data.y, return_inverse=True)
    if len(names) == 2:
        return (data.y == data.favourable).astype(np.intp), 1
    return codes.astype(np.intp), names.tolist().index(data.favourable)


def two_parts(rows: np.ndarray, people: Any, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split rows in two; rows of the same person stay together."""
    if people is None:
        first, second = train_test_split(rows, test_size=share, random_state=seed)
        return np.sort(first), np.sort(second)
    first, second = next(GroupShuffleSplit(1, test_size=share, random_state=seed).split(rows, groups=people))
    return rows[first], rows[second]


def adult(attribute: str, encoding: str = "one_hot") -> Rows:
    """Return Adult's training rows in the paper's split, groups by name.

    ``one_hot`` leaves sex and race out of X, ``paper`` is the 13 integer-coded columns.
    """
    data = loaded("adult")
    train = data.split[0]
    X = data.matrix("one_hot", fit_on=train)[0] if encoding == "one_hot" else paper_matrix(data)[0]
    return Rows(X[train], labels_of(data)[0][train], data.columns[attribute][train])


def synthetic(rows: int, columns: int, groups: int = 2, classes: int = 2, seed: int = 0) -> Rows:
    """Draw rows whose features depend on the group and whose labels depend on the features."""
    rng = np.random.default_rng(seed)
    group = (rng.random(rows) < 0.3).astype(np.intp) if groups == 2 else rng.integers(0, groups, rows)
    X = rng.normal(size=(rows, columns))
    X[:, :5] -= 0.6 * group[:, None] / (groups - 1)
    if classes > 2:
        return Rows(X, np.argmax(X[:, :classes] + rng.gumbel(size=(rows, classes)), axis=1), group, 0)
    return Rows(X, (0.5 * X[:, :10].sum(axis=1) + rng.logistic(size=rows) > 0).astype(np.intp), group)
