"""Sums over sets of people, which meet where the rows of one person lie in several parts.

Everybody is in one set, the same in every part, and sets are drawn by chance. Their sums are independent as those of
single people are, so that their covariance is the same on average, and of 1 000 sets known within some 3 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from ..records import Record


@dataclass(frozen=True, eq=False, repr=False)
class SetSums(Record):
    """Weights a (G, sets) of groups, and sums u (G, sets, N) of the values of N models, times weights."""

    own: Array
    first: Array

    @classmethod
    def of(cls, values: Array, weight: Array | None, place: NDArray[np.intp], sets: int) -> SetSums:
        """Sum values (N, n) of one group over the sets that rows are in."""
        w, first = np.ones(len(place)) if weight is None else weight, np.zeros((sets, len(values)))
        order = np.argsort(place, kind="stable")
        there, starts = np.unique(place[order], return_index=True)
        if len(place):
            first[there] = np.add.reduceat((values * w)[:, order], starts, axis=1).T
        return cls(np.bincount(place, w, minlength=sets).astype(np.float64), first)

    def __add__(self, other: SetSums) -> SetSums:
        return SetSums(self.own + other.own, self.first + other.first)

    @property
    def moments(self) -> tuple[Array, ...]:
        """Return the sums that `Moments` has, each set as one person."""
        a, u = self.own, self.first
        return a.sum(axis=1), (a * a).sum(axis=1), u.sum(axis=1), (a[:, None] @ u)[:, 0], u.swapaxes(1, 2) @ u
