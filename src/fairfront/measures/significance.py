"""Tests of differences between two groups, and the least gap that so many rows would find."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import fisher_exact

from ..objectives import Array
from .counts import ratio
from .proportions import normal_quantile, share


def smallest_detectable_gap(
    n1: ArrayLike, n2: ArrayLike, p: ArrayLike, confidence: float = 0.95, power: float = 0.8
) -> Array:
    """Return the least gap between two groups that a two-sided test on n1 and n2 rows finds with this power.

        gap = z sqrt(m (1 - m) (1/n1 + 1/n2)) + z' sqrt(p (1 - p) / n1 + q (1 - q) / n2)

    The normal approximation: the first group has rate p, the second q, farther by the gap on the side of 1/2,
    where rates are less sure; m is their mean over all rows. NaN where even the largest gap is too small.
    """
    p, n1, n2 = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (p, n1, n2)))
    n1, n2 = np.where(n1 > 0, n1, np.nan), np.where(n2 > 0, n2, np.nan)
    z, side, room = normal_quantile(confidence), np.where(p > 0.5, -1.0, 1.0), np.maximum(p, 1.0 - p)

    def needed(gap: Array) -> Array:
        q = np.clip(p + side * gap, 0.0, 1.0)
        m = (n1 * p + n2 * q) / (n1 + n2)
        chance = z * np.sqrt(m * (1.0 - m) * (1.0 / n1 + 1.0 / n2))
        return np.asarray(chance + ndtri(power) * np.sqrt(p * (1.0 - p) / n1 + q * (1.0 - q) / n2))

    gap = room
    for _ in range(60):  # needed is concave with a slope of at most 1/2 at the root: each round halves the distance
        last, gap = gap, np.minimum(needed(gap), room)
        if np.array_equal(last, gap, equal_nan=True):
            break
    return np.where(needed(room) <= room, gap, np.nan)


def two_by_two(s1: ArrayLike, n1: ArrayLike, s2: ArrayLike, n2: ArrayLike) -> tuple[Array, Array]:
    """Test whether s1/n1 and s2/n2 differ: p-values and deviations; shapes broadcast.

    The p-value is that of Fisher's exact test, two-sided, on counts rounded to whole rows. The second array is
    the difference in standard deviations, (p1 - p2) / sqrt(m (1 - m) (1/n1 + 1/n2)) with m the mean rate.
    NaN where a group has no rows; one call of SciPy per pair.
    """
    s1, n1, s2, n2 = np.broadcast_arrays(*(np.rint(np.asarray(v, dtype=np.float64)) for v in (s1, n1, s2, n2)))
    exact = np.vectorize(_fisher, otypes=[np.float64])
    return np.where((n1 > 0) & (n2 > 0), exact(s1, n1, s2, n2), np.nan), deviations(s1, n1, s2, n2)


def deviations(s1: Array, n1: Array, s2: Array, n2: Array) -> Array:
    mean = share(s1 + s2, n1 + n2)
    spread = np.sqrt(mean * (1.0 - mean) * (share(1.0, n1) + share(1.0, n2)))
    return np.where((n1 > 0) & (n2 > 0), np.nan_to_num(ratio(share(s1, n1) - share(s2, n2), spread)), np.nan)


@lru_cache(maxsize=4096)  # the same counts come again and again
def _fisher(s1: float, n1: float, s2: float, n2: float) -> float:
    return float(fisher_exact([[s1, n1 - s1], [s2, n2 - s2]])[1])
