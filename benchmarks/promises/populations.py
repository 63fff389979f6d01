"""Populations whose truth is known, and samples of them.

The rows of a data set are the population; the label of a row is drawn anew each time, with the chance that boosted
trees give it that were fitted on other people and see the group, as many trees as foretell real labels best. True rates of any model follow from chances without
noise. Of made-up loans, 600 000 rows with their labels are the population, and every sample is drawn from the generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from fairfront.datasets import load_loans

from ..cases import CASES, Rows, labels_of, loaded

SHARE = 0.8
"""Rows of a sample to fit and judge on, as a share of the population's; the rest of a split would be for testing."""
TREES: dict[str, Any] = {"max_iter": 240, "learning_rate": 0.08, "max_leaf_nodes": 16, "early_stopping": False}
LOANS, TRUTH, BLOCK = 8_000, 600_000, 1 << 14
LEVELS, NUMBERS = ("A", "B", "C"), ("income", "debt_ratio", "years_employed", "past_defaults", "loan_amount")
DATA = ("compas", "german", "loans", "adult", "oulad")
TITLES = {"loans": "Loans (made up), 3 groups"} | {case: CASES[case].title for case in DATA if case in CASES}


@dataclass(frozen=True)
class Population:
    """Features, groups and the chance of the favourable label of every row, and how a sample is drawn."""

    X: np.ndarray
    groups: np.ndarray
    chance: np.ndarray
    sample: Callable[[int], Rows]

    def truth(self, decide: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return true positive rates (N, groups) and errors (N,) of what decides about rows and their groups.

        Decisions (N, rows), or chances of them, are taken in blocks of rows, which stay in the processor's cache.
        """
        total: np.ndarray | float = 0.0
        for start in range(0, len(self.X), BLOCK):
            at = slice(start, start + BLOCK)
            total = total + (decide(self.X[at], self.groups[at]) @ self.weights[at]).astype(np.float64)
        assert isinstance(total, np.ndarray)
        return total[:, :-1], total[:, -1] + self.chance.mean(dtype=np.float64)

    @cached_property
    def weights(self) -> np.ndarray:
        """Return what each row counts in the rate of each group, and in the error as the last, (n, groups + 1)."""
        good = np.where(self.groups[:, None] == np.arange(int(self.groups.max()) + 1), self.chance[:, None], 0.0)
        error = (1.0 - 2.0 * self.chance) / len(self.chance)
        return np.column_stack([good / good.sum(axis=0, dtype=np.float64), error])


@cache
def population_of(case: str) -> Population:
    """Make the population of a case once per process."""
    return _loans() if case == "loans" else redrawn(case)


@dataclass(frozen=True)
class Chances:
    """Chances of the favourable label, how many trees gave them, and how well these foretell real labels."""

    value: np.ndarray
    trees: int
    loss: float


def chances_of(case: str, trees: int | None = None, **how: Any) -> Chances:
    """Cross-fit boosted trees in five shuffled folds that keep people together; take the number of least log loss."""
    data, y = loaded(case), labels_of(loaded(case))[0]
    X = np.column_stack([data.matrix("one_hot", fit_on=np.arange(len(data)))[0], groups_of(case)])
    folds = (StratifiedKFold if data.split_ids is None else StratifiedGroupKFold)(5, shuffle=True, random_state=0)
    model = HistGradientBoostingClassifier(**TREES | how, random_state=0)
    found = np.empty((model.max_iter, len(y)))
    for rest, fold in folds.split(X, y, data.split_ids):
        for k, chance in enumerate(model.fit(X[rest], y[rest]).staged_predict_proba(X[fold])):
            found[k, fold] = chance[:, 1]
    losses = [float(log_loss(y, each)) for each in found]
    best = int(np.argmin(losses)) if trees is None else trees - 1
    return Chances(found[best], best + 1, losses[best])


def groups_of(case: str) -> np.ndarray:
    column = np.asarray(loaded(case).columns[CASES[case].group]).astype(str)
    return np.unique(column, return_inverse=True)[1].astype(np.intp)


def redrawn(case: str, rows: int | None = None, **trees: Any) -> Population:
    """Make the population of a data set, for samples of so many rows, by trees with other settings than usual."""
    data, groups, chance = loaded(case), groups_of(case), chances_of(case, **trees).value
    X, n = data.matrix("one_hot", fit_on=np.arange(len(data)))[0], len(data)

    def sample(seed: int) -> Rows:
        rng = np.random.default_rng([20, seed])
        some = rng.integers(n, size=int(SHARE * n) if rows is None else rows)
        return Rows(X[some], (rng.random(len(some)) < chance[some]).astype(np.intp), groups[some])

    return Population(X, groups, chance, sample)


def _loans() -> Population:
    """Rows without a group are left out; columns are scaled as in the population."""

    def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        columns = (data := load_loans(n, seed=seed)).columns
        group, regions = (np.asarray(columns[name]).astype(str) for name in ("group", "region"))
        known, numbers = np.isin(group, LEVELS), [np.asarray(columns[name], dtype=np.float64) for name in NUMBERS]
        X = np.column_stack([*numbers, *((regions == level) * 1.0 for level in ("east", "south", "west"))])
        return X[known], labels_of(data)[0][known], np.searchsorted(LEVELS, group[known])

    X, y, groups = drawn(TRUTH, 1_000_000)
    centre, width = X.mean(axis=0), X.std(axis=0)

    def sample(seed: int) -> Rows:
        raw, labels, codes = drawn(LOANS, seed)
        return Rows((raw - centre) / width, labels, codes)

    return Population(((X - centre) / width).astype(np.float32), groups, y.astype(np.float32), sample)
