"""Values per group of many models, and the contrasts between groups that people compare.

Everything here is on decisions or predictions: rates, means, never training losses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from .sums import ratio


@dataclass(frozen=True, eq=False)
class PerGroup:
    """Base of the records that hold values per group for one attribute.

    ``levels`` name the c groups, the reference last; ``n`` (c,) are their rows (expected rows where
    membership is given by shares) and ``weight`` (c,) their weights. ``names`` list the fields of shape
    (N, c) or (N, c, classes) that `rate` returns and `gaps` compares.
    """

    names: ClassVar[tuple[str, ...]] = ()

    levels: tuple[str, ...]
    n: Array
    weight: Array

    @property
    def reference(self) -> str:
        """Return the reference group's name."""
        return self.levels[-1]

    def rate(self, name: str) -> Array:
        """Return one quantity of all models by its name."""
        if name not in self.names:
            raise InputError(f"unknown rate {name!r}, expected one of {', '.join(self.names)}.")
        return np.asarray(getattr(self, name))


def gaps(rates: PerGroup, name: str) -> Array:
    """Return signed gaps, group minus reference: (N, c - 1), or (N, c - 1, classes) for rates per class.

    A gap is NaN where either rate is: a group without the rows that the rate is about.
    """
    values = rates.rate(name)
    return np.asarray(values[:, :-1] - values[:, -1:])


def worst_gap(rates: PerGroup, name: str) -> Array:
    """Return the largest absolute difference between any two groups, (N,), over classes too if there are any.

    Groups without the rate are left out; NaN when fewer than two groups have it. A worst gap of 0 on a
    sample says little about small groups: read it with their sizes.
    """
    values = rates.rate(name)
    spread = np.fmax.reduce(values, axis=1) - np.fmin.reduce(values, axis=1)
    spread = np.where((~np.isnan(values)).sum(axis=1) > 1, spread, np.nan)
    return np.asarray(spread if spread.ndim == 1 else np.fmax.reduce(spread, axis=1))


def selection_ratio(rates: PerGroup) -> Array:
    """Return the lowest rate of favourable decisions over the highest, (N,).

        min over groups g of P(favourable decision | g)  /  max over groups h of P(favourable decision | h)

    This is the adverse impact ratio, never above 1. Groups without rows are left out; NaN where no group receives a
    favourable decision or fewer than two have rows.
    """
    selection = rates.rate("selection")
    found = ratio(np.fmin.reduce(selection, axis=1), np.fmax.reduce(selection, axis=1))
    return np.asarray(np.where((~np.isnan(selection)).sum(axis=1) > 1, found, np.nan))
