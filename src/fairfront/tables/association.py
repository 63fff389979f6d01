"""Association: how well one column alone predicts classes or a number, judged on rows it did not learn from.

Two classes: the area under the ROC curve, of a number itself or of the rate of the second class in its level or bin.
Several classes: the share of the majority guess's errors that the majority class of each level or interval removes.
A number as target: the absolute correlation with a number itself, or with a category's mean. Rates, majorities and
means of levels come from one random half of the rows and are judged on the other, both ways.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .raw_cells import Array
from .table import Column

Ints = NDArray[np.intp]
Scale = Literal["AUC", "share of errors removed", "correlation"]
LEAST = 10
BINS = 64


def auc(scores: Array, positive: NDArray[np.bool_]) -> float:
    """Return the probability that a positive row scores above a negative one, ties counted half."""
    n_pos = int(positive.sum())
    n_neg = len(positive) - n_pos
    if min(n_pos, n_neg) < LEAST:
        return 0.5
    below = np.sort(scores[~positive])
    won = [int(np.searchsorted(below, scores[positive], side=side).sum()) for side in ("left", "right")]
    return sum(won) / 2 / (n_pos * n_neg)


def class_association(column: Column, codes: Ints, halves: NDArray[np.bool_]) -> tuple[float, Scale]:
    """Return how well a column predicts class codes (-1: left aside), and on which scale.

    Classes with fewer than ten rows are left aside: nothing can be said of them.
    """
    codes = _sizeable(codes)
    known = codes >= 0
    column, codes, halves = column.take(known), codes[known], halves[known]
    n_classes = int(codes.max(initial=-1)) + 1
    if n_classes < 2:
        return 0.0, "AUC"
    if n_classes > 2:
        guess = (
            _majorities(column, codes, n_classes, halves) if column.numbers is None else _cuts(column, codes, halves)
        )
        return _errors_removed(guess, codes), "share of errors removed"
    positive = codes == 1
    strengths = [_folded(auc(_crossed_means(_binned(column), positive.astype(np.float64), halves), positive))]
    present = ~column.absent
    if column.numbers is not None and 2 * present.sum() >= len(present):
        strengths.append(_folded(auc(column.numbers[present], positive[present])))
    return max(strengths), "AUC"


def number_association(column: Column, target: Array, halves: NDArray[np.bool_]) -> tuple[float, Scale]:
    """Return the absolute correlation of a column with a number to be predicted."""
    known = np.isfinite(target)
    if column.numbers is not None:
        known &= ~column.absent
        found = column.numbers[known]
    else:
        found = _crossed_means(_level_codes(column), np.where(known, target, 0.0), halves)[known]
    return _correlation(found, target[known]), "correlation"


def _correlation(one: Array, two: Array) -> float:
    if len(one) < 3 * LEAST or (one == one[0]).all() or (two == two[0]).all():
        return 0.0
    sizes = np.abs(one).max(), np.abs(two).max()  # divided out, so that squares of huge numbers stay finite
    return float(abs(np.corrcoef(one / sizes[0], two / sizes[1])[0, 1]))


def _sizeable(codes: Ints) -> Ints:
    sizes = np.bincount(codes[codes >= 0])
    kept = np.flatnonzero(sizes >= LEAST)
    renumber = np.full(len(sizes) + 1, -1, dtype=np.intp)
    renumber[kept] = np.arange(len(kept))
    return renumber[codes]


def _folded(area: float) -> float:
    return max(area, 1.0 - area)


def _level_codes(column: Column) -> Ints:
    """Return levels counted from 0, missing the last."""
    codes, found = column.distinct()
    return np.where(codes < 0, len(found), codes)


def _binned(column: Column) -> Ints:
    """Return levels, of a number its quantile bins."""
    if column.numbers is None:
        return _level_codes(column)
    present = column.numbers[~column.absent]
    edges = (
        np.unique(np.quantile(present, np.linspace(0, 1, BINS + 1)[1:-1], method="inverted_cdf"))
        if len(present)
        else present
    )
    bins = np.searchsorted(edges, column.numbers, side="right")
    return np.where(column.absent, len(edges) + 1, bins).astype(np.intp)


def _crossed_means(levels: Ints, target: Array, halves: NDArray[np.bool_]) -> Array:
    """Return the mean of the target in each row's level, learnt on the other half; drawn to the overall mean."""
    n_levels = int(levels.max(initial=0)) + 1
    found = np.empty(len(levels))
    for half in (halves, ~halves):
        base = float(target[~half].mean()) if (~half).any() else 0.0
        counts = np.bincount(levels[~half], minlength=n_levels)
        sums = np.bincount(levels[~half], weights=target[~half], minlength=n_levels)
        found[half] = ((sums + 1e-3 * base) / (counts + 1e-3))[levels[half]]
    return found


def _majorities(column: Column, codes: Ints, n_classes: int, halves: NDArray[np.bool_]) -> Ints:
    """Return the majority class of each row's level in the other half."""
    levels, guess = _level_codes(column), np.zeros(len(codes), dtype=np.intp)
    n_levels = int(levels.max(initial=0)) + 1
    for half in (halves, ~halves):
        cells = np.bincount(levels[~half] * n_classes + codes[~half], minlength=n_levels * n_classes)
        table = cells.reshape(n_levels, n_classes)
        most = table.sum(axis=0).argmax()
        guess[half] = np.where(table.any(axis=1), table.argmax(axis=1), most)[levels[half]]
    return guess


def _cuts(column: Column, codes: Ints, halves: NDArray[np.bool_]) -> Ints:
    """Return the class of each row's interval, with cuts learnt on the other half."""
    from sklearn.tree import DecisionTreeClassifier

    guess = np.zeros(len(codes), dtype=np.intp)
    ranks = column.distinct()[0][:, None]  # trees read single precision, which ranks fit in and values may not
    for half in (halves, ~halves):
        if half.any() and (~half).any():
            tree = DecisionTreeClassifier(max_leaf_nodes=BINS, random_state=0)
            guess[half] = tree.fit(ranks[~half], codes[~half]).predict(ranks[half])
    return guess


def _errors_removed(guess: Ints, codes: Ints) -> float:
    wrong = len(codes) - int(np.bincount(codes).max(initial=0))
    return 1.0 - int((guess != codes).sum()) / wrong if wrong else 0.0
