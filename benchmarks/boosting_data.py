"""Data of the boosting benchmarks: two classes, sensitive columns out of X, three parts per seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from fairfront.datasets import load_adult, load_compas, load_german_credit, load_oulad

from .adult import folder

SETTINGS = {
    "Adult, sex": (lambda: load_adult(folder()), "sex"),
    "COMPAS, race": (lambda: load_compas(folder()), "race"),
    "German credit, age": (lambda: load_german_credit(folder()), "age_group"),
    "OULAD, disability": (lambda: load_oulad(folder(), binary=True), "disability"),
    "Adult, race (5 groups)": (lambda: load_adult(folder()), "race"),
}
RACE = "Adult, race (5 groups)"


@dataclass(frozen=True)
class Part:
    """Rows of one part: features, labels (1 is favourable), groups."""

    X: np.ndarray
    y: np.ndarray
    group: np.ndarray


@dataclass(frozen=True)
class Split:
    train: Part
    validation: Part
    test: Part


def split(name: str, seed: int, most: int | None = None) -> Split:
    """Return 60, 20 and 20 % of the rows, whole persons where the data name them, encoded on the training rows."""
    load, attribute = SETTINGS[name]
    data: Any = load()
    rng = np.random.default_rng(seed)
    ids = data.split_ids if data.split_ids is not None else np.arange(len(data))
    people = rng.permutation(np.unique(ids))[: most or None]
    first, rest = train_test_split(people, test_size=0.4, random_state=seed)
    second, third = train_test_split(rest, test_size=0.5, random_state=seed)
    rows = [np.flatnonzero(np.isin(ids, part)) for part in (first, second, third)]
    X, _ = data.matrix("one_hot", fit_on=rows[0])
    y = (data.y == data.favourable).astype(int)
    group = np.asarray(data.columns[attribute]).astype(str)
    return Split(*(Part(X[r], y[r], group[r]) for r in rows))


def figures(shares: np.ndarray, part: Part) -> np.ndarray:
    """Return (error, worst difference in true positive rates) of every row of shares decided favourable, (N, 2)."""
    found = []
    for share in shares:
        good = part.y == 1
        rates = [
            share[good & (part.group == g)].mean() for g in np.unique(part.group) if (good & (part.group == g)).any()
        ]
        found.append([np.abs(part.y - share).mean(), max(rates) - min(rates)])
    return np.array(found)
