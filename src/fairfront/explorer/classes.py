"""Several classes on a page: which recalls are hidden, which classes leave the worst recall gap.

The recall of a class rests on the people of a group with that label. A reader knows a group's size, its error and the
rate of the favourable class; so where one class is hidden, others are hidden with it until those hidden have no small
count together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import ClassRates, worst_gap, worst_gap_upper
from ..measures.intervals import rows_behind
from ..objectives import Array, Task
from .packing import HIDDEN, packed, rounded

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Recalls:
    """What a page shows of the classes of one attribute: labels (c, K), hidden recalls (N, c, K), classes out (K,)."""

    labels: Array
    hidden: Mask
    out: Mask


def small(counts: Array, limit: int) -> Mask:
    """Return where a count is neither 0 nor large enough to be shown."""
    return np.asarray((counts > 0) & (counts < limit))


def other_classes(rates: ClassRates) -> Array:
    """Return right and wrong decisions among the people with another label than the favourable one, (N, c, 2)."""
    n = np.round(rates.n)
    right = np.round(np.nan_to_num(1.0 - rates.error) * n) - np.round(np.nan_to_num(rates.tpr * rates.positives))
    others = n - np.round(np.nan_to_num(rows_behind(rates, "tpr", None)))
    return np.stack([right, others - right], axis=-1)


def recalls_of(rates: ClassRates, task: Task, full: Mask, gone: Mask, limit: int, rarely: float) -> Recalls:
    """Find which recalls to hide where ``full`` (N, c) hides whole groups and ``gone`` (c,) left the gap.

    A class that is hidden in a group of the gap at a larger share of the points than ``rarely`` leaves the gap.
    """
    labels: Array = np.round(np.nan_to_num(rows_behind(rates, "recall", None)), 0).astype(np.float64)
    hidden = np.repeat(full[:, :, None], labels.shape[1], axis=2)
    if limit > 1:
        right = np.round(np.nan_to_num(rates.recall) * labels)
        hidden = _joined(hidden, full, labels, right, task.favourable, limit)
    often = hidden[:, ~gone].mean(axis=0) > rarely
    return Recalls(labels, hidden, np.asarray(often.any(axis=0)))


def _joined(hidden: Mask, full: Mask, labels: Array, right: Array, favourable: int, limit: int) -> Mask:
    """Hide classes with a small count, then further ones, the smallest first, until none can be had by subtraction."""
    every = np.broadcast_to(labels, right.shape)
    found = hidden | small(every, limit) | small(right, limit) | small(every - right, limit)
    for _ in range(labels.shape[1]):
        sums = [np.where(found, counts, 0.0).sum(axis=2) for counts in (every, right, every - right)]
        known = np.any([small(total, limit) for total in sums], axis=0) | (found.sum(axis=2) == 1)
        free = ~found & (np.arange(labels.shape[1]) != favourable)
        more = known & ~full & found.any(axis=2) & free.any(axis=2)
        next_one = np.where(free, every, np.inf).argmin(axis=2)
        points, groups = np.nonzero(more)
        found[points, groups, next_one[points, groups]] = True
    return np.asarray(found)


def worst_recall(rates: ClassRates, recalls: Recalls, gone: Mask, confidence: float) -> tuple[Array, Array]:
    """Return the worst recall gap between the groups and classes that stay, and its upper end, (N,) each."""
    stay = ~recalls.out
    if not stay.any():
        nothing = np.full(len(rates.recall), HIDDEN)
        return nothing, nothing
    kept = replace(rates, recall=rates.recall[:, :, stay], class_weight=rates.class_weight[:, stay])
    away = recalls.hidden[:, ~gone][:, :, stay].any(axis=(1, 2))
    ends = worst_gap_upper(kept, "recall", confidence)
    return np.where(away, HIDDEN, worst_gap(kept, "recall")), np.where(away, HIDDEN, ends)


def class_record(rates: ClassRates, task: Task, recalls: Recalls) -> dict[str, Any]:
    """Return names, rows and recalls of the classes as the page reads them, recalls as rates ``recall:k``."""
    never = ~recalls.hidden.any(axis=0)
    rows = np.where(never, recalls.labels, np.nan)
    behind = np.where(never, rows_behind(rates, "recall", None), np.nan)
    shown = np.where(recalls.hidden, HIDDEN, rates.recall)
    every = range(len(task.classes))
    return {
        "classes": [str(label) for label in task.classes],
        "classes_out": np.flatnonzero(recalls.out).tolist(),
        "rows": {f"recall:{k}": rounded(rows[:, k], 0) for k in every},
        "behind": {f"recall:{k}": rounded(behind[:, k], 3) for k in every},
        "rates": {f"recall:{k}": packed(shown[:, :, k], "f4") for k in every},
    }
