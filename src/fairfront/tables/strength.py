"""Strength of columns, alone or together, in telling classes or a number, judged on rows they did not learn from.

Two classes: the area under the ROC curve, of a number itself or of the rate of the second class in its level or bin.
Several classes: the share of the majority guess's errors that the majority class of each level or interval removes. A
number as target: the absolute correlation with a number itself, or with a category's mean. Rates, majorities and means
of levels come from one random half of the rows and are judged on the other, both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..measures import auc
from .table import Array, Column

Ints = NDArray[np.intp]
Scale = Literal["AUC", "share of errors removed", "correlation"]
BINS = 64
LEAST = 10
"""Rows below which nothing can be said of a class, and missing ones have no column of their own."""
TOGETHER: dict[Scale, float] = {"AUC": 0.9, "share of errors removed": 0.6}
"""From here on columns together tell a group so well that people should know."""
MOST_ROWS, MOST_COLUMNS, MOST_LEVELS, NAMED = 20_000, 100, 200, 3
PRIOR = 1e-3
"""Rows of the overall mean that are added to each level, for levels that the other half does not have."""


def tells_class(column: Column, codes: Ints, halves: NDArray[np.bool_]) -> tuple[float, Scale]:
    """Return how well a column predicts class codes (-1: left aside), and on which scale."""
    codes, n_classes = _usable(codes)
    known = codes >= 0
    column, codes, halves = column.take(known), codes[known], halves[known]
    if n_classes < 2:
        return 0.0, "AUC"
    if n_classes > 2:
        learnt = partial(_majority, _binned(column), codes)
        if column.numbers is not None:
            learnt = partial(_interval, column.distinct()[0], codes)
        guess, wrong = _crossed(halves, learnt), len(codes) - int(np.bincount(codes).max())
        return 1.0 - int((guess != codes).sum()) / wrong, "share of errors removed"
    positive = codes == 1
    strengths = [_area(_crossed(halves, partial(_mean, _binned(column), positive.astype(np.float64))), positive)]
    present = ~column.absent
    if column.numbers is not None and 2 * present.sum() >= len(present):
        strengths.append(_area(column.numbers[present], positive[present]))
    return max(strengths), "AUC"


def _usable(codes: Ints) -> tuple[Ints, int]:
    """Return codes without classes of fewer than ten rows, of which nothing can be said, and how many are left."""
    sizes = np.append(np.bincount(codes[codes >= 0], minlength=1) >= LEAST, False)
    return np.where(sizes, np.cumsum(sizes) - 1, -1)[codes], int(sizes.sum())


def tells_together(
    columns: Mapping[str, Column], codes: Ints, halves: NDArray[np.bool_]
) -> tuple[float, Scale, list[str]]:
    """Return how well boosted trees on all columns predict class codes, on which scale, and by which columns most.

    At most `MOST_ROWS` rows and `MOST_COLUMNS` columns are taken. A column counts by what is lost where its values are
    shuffled among the judged rows.
    """
    codes, n_classes = _usable(codes)
    known = np.flatnonzero(codes >= 0)
    known = known[:: len(known) // MOST_ROWS + 1]
    names = list(columns)[:MOST_COLUMNS]
    codes, halves = codes[known], halves[known]
    if n_classes < 2 or len(names) < 2 or halves.all() or not halves.any():
        return 0.0, "AUC", []
    X = np.column_stack([_ordinal(columns[name].take(known)) for name in names])
    texts = [columns[name].numbers is None for name in names]
    scale: Scale = "AUC" if n_classes == 2 else "share of errors removed"
    models = {half: _boosted(X[halves == half], codes[halves == half], texts) for half in (False, True)}

    def strength(matrix: Array, half: bool) -> float:
        rows = halves == half
        guess = models[not half].predict_proba(matrix[rows])
        if n_classes == 2:
            return _area(guess[:, -1], codes[rows] == 1)
        wrong = int(rows.sum()) - int(np.bincount(codes[rows]).max())
        missed = int((models[not half].classes_[guess.argmax(axis=1)] != codes[rows]).sum())
        return 1.0 - missed / max(wrong, 1)

    found = (strength(X, False) + strength(X, True)) / 2
    if found < TOGETHER[scale]:
        return found, scale, []
    rng, lost = np.random.default_rng(0), {}
    for j, name in enumerate(names):
        shuffled = X.copy()
        shuffled[halves, j] = rng.permutation(X[halves, j])
        lost[name] = strength(X, True) - strength(shuffled, True)
    return found, scale, [name for name in sorted(names, key=lambda name: -lost[name]) if lost[name] > 0][:NAMED]


def _ordinal(column: Column) -> Array:
    """Return numbers as they are, and levels numbered from the most frequent; rare ones are one; NaN for missing."""
    if column.numbers is not None:
        return column.numbers
    codes, found = column.distinct()
    order = np.argsort(-np.bincount(codes[codes >= 0], minlength=len(found)), kind="stable")
    ranks = np.empty(len(found) + 1)
    ranks[order], ranks[-1] = np.minimum(np.arange(len(found)), MOST_LEVELS), np.nan
    return ranks[codes]


def _boosted(X: Array, codes: Ints, texts: list[bool]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    size: dict[str, Any] = {"max_iter": 40, "max_leaf_nodes": 15, "learning_rate": 0.2, "early_stopping": False}
    return HistGradientBoostingClassifier(**size, random_state=0, categorical_features=texts).fit(X, codes)


def tells_number(column: Column, target: Array, halves: NDArray[np.bool_]) -> tuple[float, Scale]:
    """Return the absolute correlation of a column with a number to be predicted."""
    known = np.isfinite(target)
    if column.numbers is not None:
        known &= ~column.absent
        one, two = column.numbers[known], target[known]
    else:
        means = _crossed(halves, partial(_mean, _binned(column), np.where(known, target, 0.0)))
        one, two = means[known], target[known]
    if len(one) < 3 * LEAST or (one == one[0]).all() or (two == two[0]).all():
        return 0.0, "correlation"
    sizes = np.abs(one).max(), np.abs(two).max()  # divided out, so that squares of huge numbers stay finite
    return float(abs(np.corrcoef(one / sizes[0], two / sizes[1])[0, 1])), "correlation"


def _area(scores: Array, positive: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve of scores or of their negatives, whichever is larger."""
    few = min(positive.sum(), (~positive).sum()) < LEAST
    area = 0.5 if few else float(auc(scores, positive)[0])
    return max(area, 1.0 - area)


def _binned(column: Column) -> Ints:
    """Return levels counted from 0, of a number its quantile bins; missing is the last."""
    if column.numbers is None:
        codes, found = column.distinct()
        return np.where(codes < 0, len(found), codes)
    present = column.numbers[~column.absent]
    shares = np.linspace(0, 1, BINS + 1)[1:-1]
    edges = np.unique(np.quantile(present, shares, method="inverted_cdf")) if len(present) else present
    bins = np.searchsorted(edges, column.numbers, side="right")
    return np.where(column.absent, len(edges) + 1, bins).astype(np.intp)


def _crossed(halves: NDArray[np.bool_], learnt: Callable[[NDArray[np.bool_], NDArray[np.bool_]], Any]) -> Array:
    """Return what is learnt for the rows of each half from those of the other."""
    found = np.zeros(len(halves))
    for half in (halves, ~halves):
        if half.any() and not half.all():
            found[half] = learnt(~half, half)
    return found


def _mean(levels: Ints, target: Array, known: NDArray[np.bool_], asked: NDArray[np.bool_]) -> Array:
    """Return the mean of the target in each row's level; drawn to the overall mean."""
    n_levels = int(levels.max(initial=0)) + 1
    counts = np.bincount(levels[known], minlength=n_levels)
    sums = np.bincount(levels[known], weights=target[known], minlength=n_levels)
    found: Array = ((sums + PRIOR * target[known].mean()) / (counts + PRIOR))[levels[asked]]
    return found


def _majority(levels: Ints, codes: Ints, known: NDArray[np.bool_], asked: NDArray[np.bool_]) -> Ints:
    """Return the majority class of each row's level."""
    shape = int(levels.max(initial=0)) + 1, int(codes.max()) + 1
    table = np.bincount(levels[known] * shape[1] + codes[known], minlength=shape[0] * shape[1]).reshape(shape)
    found: Ints = np.where(table.any(axis=1), table.argmax(axis=1), table.sum(axis=0).argmax())[levels[asked]]
    return found


def _interval(ranks: Ints, codes: Ints, known: NDArray[np.bool_], asked: NDArray[np.bool_]) -> Any:
    """Return the class of each row's interval; trees read single precision, which ranks fit in and values may not."""
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_leaf_nodes=BINS, random_state=0)
    return tree.fit(ranks[known, None], codes[known]).predict(ranks[asked, None])
