"""Accuracy, true and false positive rate of many linear models, per group and in total."""

from __future__ import annotations

import numpy as np

from fairfront.measures import group_rates

from .data import Part

FIGURES = ("accuracy", "tpr", "fpr")


def rates(W: np.ndarray, part: Part, groups: int, chunk: int = 200) -> np.ndarray:
    """Return (N, 3, groups + 1) for weights (N, d + 1), the intercept last; the last column is the total."""
    found = [_rates(W[i : i + chunk], part, groups) for i in range(0, len(W), chunk)]
    return np.concatenate(found)


def _rates(W: np.ndarray, part: Part, groups: int) -> np.ndarray:
    decided = part.X @ W[:, :-1].T + W[:, -1] > 0
    decided = np.ascontiguousarray(decided.T)
    by_group = group_rates(decided, part.y, part.codes, [str(g) for g in range(groups)])
    per = [1.0 - by_group.rate("error"), by_group.rate("tpr"), by_group.rate("fpr")]
    total = [
        (decided == part.y).mean(axis=1),
        decided[:, part.y].mean(axis=1),
        decided[:, ~part.y].mean(axis=1),
    ]
    return np.stack([np.column_stack([p, t]) for p, t in zip(per, total, strict=True)], axis=1)


def deo(found: np.ndarray, counted: np.ndarray | None = None) -> np.ndarray:
    """Return the difference in true positive rates, (N,): signed (first minus reference) for two groups.

    For more groups it is the largest difference of any two; ``counted`` (groups,) says which groups take part.
    """
    tpr = found[:, 1, :-1]
    if tpr.shape[1] == 2:
        return tpr[:, 0] - tpr[:, 1]
    tpr = tpr if counted is None else tpr[:, counted]
    return tpr.max(axis=1) - tpr.min(axis=1)


def error(found: np.ndarray) -> np.ndarray:
    """Return the error of all rows, (N,)."""
    return 1.0 - found[:, 0, -1]
