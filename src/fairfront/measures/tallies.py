"""Scores counted: the distinct scores of some rows in order, with the weights of the two kinds of labels at each.

Every figure of scores (ranking, calibration, level) is a sum over a tally, so rows are sorted once and not gathered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct scores ``value`` (m,), ascending, and the weights of rows at each.

    ``up`` (m,) are those of rows with the favourable label, ``down`` (m,) of the others; ``size`` is the effective
    number of rows. ``probability`` tells whether scores lie in [0, 1], ``below`` whether low ones are favourable.
    """

    value: Array
    up: Array
    down: Array
    size: float
    probability: bool
    below: bool


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Scores and labels of n rows: one score each, and whether the label is the favourable one."""

    scores: Array
    positive: NDArray[np.bool_]
    weight: Array | None
    probability: bool
    below: bool
    known: dict[Any, Any] = field(default_factory=dict)
    """What was found of all rows together, by how it was drawn."""

    def tally(self, rows: NDArray[np.intp] | None = None, share: Array | None = None) -> Tally:
        """Count some of the rows (all by default), each with a share of membership (whole by default)."""
        if self._keys is not None and share is None:
            return self._unpacked(self._keys if rows is None else self._keys[rows])
        at = slice(None) if rows is None else rows
        scores = self.scores[at]
        weight = np.ones(len(scores)) if self.weight is None else self.weight[at]
        return self._ordered(scores, self.positive[at], weight if share is None else share * weight)

    @cached_property
    def _keys(self) -> NDArray[np.uint64] | None:
        """Return score and label of every row as one number that sorts by score; None where that is not possible.

        Floats from 0 to 1 leave their first two bits free. Sorting such numbers is several times faster than finding
        the order of rows and gathering labels by it.
        """
        if self.weight is not None or not self.probability:
            return None
        bits = (self.scores + 0.0).view(np.uint64) << np.uint64(2)  # adding 0 turns -0 into 0
        return np.asarray(bits | self.positive)

    def _unpacked(self, keys: NDArray[np.uint64]) -> Tally:
        ranked = np.sort(keys)
        up = (ranked & np.uint64(1)).astype(np.float64)
        ranked >>= np.uint64(2)
        return self._by_score(ranked.view(np.float64), up, 1.0 - up, float(len(keys)))

    def _ordered(self, scores: Array, positive: NDArray[np.bool_], weight: Array) -> Tally:
        """Count rows with weights; rows without any are left out."""
        order = np.argsort(scores)
        order = order if weight.all() else order[weight[order] > 0]
        weight, up = weight[order], np.where(positive, weight, 0.0)[order]
        size = weight.sum() ** 2 / (weight @ weight) if len(order) else 0.0
        return self._by_score(scores[order], up, weight - up, float(size))

    def _by_score(self, value: Array, up: Array, down: Array, size: float) -> Tally:
        """Add up rows with equal scores."""
        new = value[1:] != value[:-1]
        if not new.all():
            starts = np.concatenate([[0], np.flatnonzero(new) + 1])
            value, up, down = value[starts], np.add.reduceat(up, starts), np.add.reduceat(down, starts)
        return Tally(value, up, down, size, self.probability, self.below)
