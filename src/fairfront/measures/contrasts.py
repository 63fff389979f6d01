"""Contrasts between groups that people compare: signed gaps, the worst gap, and the lowest rate over the highest."""

from __future__ import annotations

import numpy as np

from ..objectives import Array
from .counts import ratio
from .rates import PerGroup


def gaps(rates: PerGroup, name: str) -> Array:
    """Return signed gaps, group minus reference: (N, c - 1), or (N, c - 1, classes); NaN where either rate is."""
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


def selection_ratio(rates: PerGroup, name: str = "selection") -> Array:
    """Return the lowest rate of favourable decisions over the highest, (N,), or that of another rate.

        min over groups g of P(favourable decision | g)  /  max over groups h of P(favourable decision | h)

    This is the adverse impact ratio. Groups without rows are left out; NaN where no group receives a favourable
    decision or fewer than two have rows.
    """
    selection = rates.rate(name)
    found = ratio(np.fmin.reduce(selection, axis=1), np.fmax.reduce(selection, axis=1))
    return np.asarray(np.where((~np.isnan(selection)).sum(axis=1) > 1, found, np.nan))
