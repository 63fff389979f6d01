"""Findings about columns that should not be learnt from, each named with its reason before anything is trained.

How well a column alone predicts classes or a number is judged on rows it did not learn from. Two classes: the area
under the ROC curve, of a number itself or of the rate of the second class in its level or bin. Several classes: the
share of the majority guess's errors that the majority class of each level or interval removes. A number as target: the
absolute correlation with a number itself, or with a category's mean. Rates, majorities and means of levels come from
one random half of the rows and are judged on the other, both ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import auc
from ..objectives.groups import rounded_part
from ..validation.data import factorize
from .statistics import ColumnTally, TrainingRows
from .table import Array, Column

Ints = NDArray[np.intp]
Scale = Literal["AUC", "share of errors removed", "correlation"]
MAX_LEVELS = 1_000
FEW_LEVELS = 20
LEVELS_PER_ROW = 0.1
LIMITS: dict[Scale, float] = {"AUC": 0.99, "share of errors removed": 0.98, "correlation": 0.999}
NEARLY_ALL, MOST = 0.95, 0.5
"""Share of rows with a value of their own from which a column is an identifier, and one that is called so."""
DENSE = 2.5
"""Range of whole numbers over their count below which they are running numbers: amounts leave larger holes."""
ENOUGH = 20
BINS = 64
LEAST = 10
"""Rows below which nothing can be said of a class, and missing ones have no column of their own."""
PRIOR = 1e-3
"""Rows of the overall mean that are added to each level, for levels that the other half does not have."""
WHOLE = 2**53
"""From here on every float is whole."""
ID_WORDS = frozenset({"id", "ids", "uuid", "guid", "key", "identifier", "index", "rowid"})


@dataclass(frozen=True)
class Finding:
    """One thing noticed about a column.

    ``kind`` is "refused" (training must not go on with it), "dropped" (left out by itself), "flagged" (kept), or
    "noted" (about all columns, and ``column`` is empty).
    """

    column: str
    kind: Literal["refused", "dropped", "flagged", "noted"]
    sentence: str


def screen(
    rows: TrainingRows,
    labels: NDArray[Any],
    groups: Mapping[str, NDArray[Any]],
    *,
    regression: bool = False,
    allow: Collection[str] = (),
) -> tuple[Finding, ...]:
    """Look at every column for what should not be learnt from.

    ``labels`` and ``groups`` (None where missing) are those of the sampled rows, ``rows.drawn``, on which relations are
    judged. Columns in ``allow`` are flagged where they would be refused.

    Dropped: constant columns and identifiers. Refused: a column that predicts the target alone (AUC of at least
    0.99; 98 % of the majority guess's errors removed for several classes; absolute correlation of at least 0.999
    for regression), and a category with more than 1 000 levels or more than one level per ten rows. Flagged: a
    column that tells a group as surely, because the model then knows the group although it was left out.
    """
    if len(labels) != len(rows.drawn):
        raise InputError(f"labels have {len(labels)} rows, expected {len(rows.drawn)}, as many as were drawn.")
    target: NDArray[Any] = labels.astype(np.float64) if regression else factorize(labels)[0]
    compared = {name: factorize(values)[0] for name, values in groups.items()}
    found: list[Finding] = []
    for name, tally in rows.columns.items():
        useless = _unusable(name, tally, rows.n)
        if useless is not None:
            found.append(useless)
            if useless.kind != "flagged":
                continue
        sample = tally.sample()
        strength, scale = (_tells_number if regression else _tells_class)(sample, target, rows.halves)
        if strength >= LIMITS[scale]:
            sentence = (
                f"{name!r} alone predicts the target ({scale} {strength:.3f}, limit {LIMITS[scale]}): it is probably "
                f"known only after the outcome; leave it out with --drop {name}, or keep it with --allow {name}."
            )
            found.append(Finding(name, "refused", sentence))
        for group, codes in compared.items():
            strength, scale = _tells_class(sample, codes, rows.halves) if name != group else (0.0, scale)
            if strength >= LIMITS[scale]:
                sentence = (
                    f"{name!r} alone tells {group!r} ({scale} {strength:.3f}): a model that reads it knows the group; "
                    f"consider --drop {name}."
                )
                found.append(Finding(name, "flagged", sentence))
    return tuple(replace(f, kind="flagged") if f.column in allow and f.kind == "refused" else f for f in found)


def _unusable(name: str, tally: ColumnTally, n: int) -> Finding | None:
    """What counts leave of n rows does not tell a small count."""
    count, present = tally.n_distinct, tally.present
    if count == 0 or (count == 1 and n - present < LEAST):
        return Finding(name, "dropped", f"Dropped {name!r}: {'one' if count else 'no'} value in all rows.")
    shown = f"{'' if tally.exact else 'about '}{rounded_part(count, n)}"
    # texts or whole numbers that differ in nearly every row, or in most rows of a column that is called an identifier
    called = not ID_WORDS.isdisjoint(re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower().replace("_", " ").split())
    if present >= ENOUGH and count / present >= (MOST if called else NEARLY_ALL):
        how = f"{shown} distinct values in {rounded_part(present, n)} rows"
        running = called or tally.high - tally.low <= DENSE * count
        whole = tally.integers and max(-tally.low, tally.high) < WHOLE
        if tally.kind == "category" or (whole and running):
            return Finding(name, "dropped", f"Dropped {name!r}: looks like an identifier ({how}).")
        if whole:
            sentence = f"{name!r} has {how}: if it is an identifier, leave it out with --drop {name}."
            return Finding(name, "flagged", sentence)
    limit = min(MAX_LEVELS, max(FEW_LEVELS, int(LEVELS_PER_ROW * n)))
    if tally.kind == "number" or count <= limit:
        return None
    sentence = (
        f"{name!r} is a category with {shown} values in {n} rows, expected at most {limit}: group its values in the "
        f"file, or leave it out with --drop {name}."
    )
    return Finding(name, "refused", sentence)


def _tells_class(column: Column, codes: Ints, halves: NDArray[np.bool_]) -> tuple[float, Scale]:
    """Return how well a column predicts class codes (-1: left aside), and on which scale.

    Classes with fewer than ten rows are left aside: nothing can be said of them.
    """
    sizes = np.append(np.bincount(codes[codes >= 0]) >= LEAST, False)
    codes = np.where(sizes, np.cumsum(sizes) - 1, -1)[codes]
    known = codes >= 0
    column, codes, halves = column.take(known), codes[known], halves[known]
    n_classes = int(codes.max(initial=-1)) + 1
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


def _tells_number(column: Column, target: Array, halves: NDArray[np.bool_]) -> tuple[float, Scale]:
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
