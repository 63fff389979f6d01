"""The data that peers are compared on: loaded, encoded on training rows only, and split the same way for everybody."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from fairfront.datasets import load_adult, load_compas, load_german_credit, load_oulad

from .adult import folder
from .peers.base import Fitting, Rows


@dataclass(frozen=True)
class Case:
    """One data set, the column of groups, and how it is read."""

    title: str
    load: Callable[[], Any]
    group: str


CASES = {
    "adult": Case("Adult, sex", lambda: load_adult(folder()), "sex"),
    "compas": Case("COMPAS, race", lambda: load_compas(folder()), "race"),
    "german": Case("German credit, age", lambda: load_german_credit(folder()), "age_group"),
    "oulad": Case("OULAD (passed or not), disability", lambda: load_oulad(folder(), binary=True), "disability"),
}
QUICK_ROWS = 4000


@dataclass(frozen=True)
class Split:
    """One split of a case: what peers see, and the test rows, which only the judge sees."""

    fitting: Fitting
    test: Rows


def split_of(data: Any, group: str, seed: int, n_points: int, sensitive_in: bool = False, quick: bool = False) -> Split:
    """Split 60 : 20 : 20, people with several rows on one side; scaling is fitted on the training rows."""
    if quick:
        data = data.subset(np.random.default_rng(seed).permutation(len(data))[:QUICK_ROWS])
    train, rest = parts_of(np.arange(len(data)), data.split_ids, 0.4, seed)
    held, test = parts_of(rest, None if data.split_ids is None else data.split_ids[rest], 0.5, seed)
    X, names = data.matrix("one_hot", include=(group,) if sensitive_in else (), fit_on=train)
    y = (data.y == data.favourable).astype(np.intp)
    groups = np.unique(data.columns[group], return_inverse=True)[1].astype(np.intp)
    train_rows, held_rows, test_rows = (Rows(X[r], y[r], groups[r]) for r in (train, held, test))
    return Split(Fitting(train_rows, held_rows, tuple(names), n_points, seed), test_rows)


def parts_of(rows: np.ndarray, people: Any, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Split rows in two; rows of the same person stay together."""
    if people is None:
        first, second = train_test_split(rows, test_size=share, random_state=seed)
        return np.sort(first), np.sort(second)
    made = GroupShuffleSplit(1, test_size=share, random_state=seed)
    first, second = next(made.split(rows, groups=people))
    return rows[first], rows[second]
