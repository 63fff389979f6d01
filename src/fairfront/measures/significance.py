"""Tests of differences between two groups, and the least gap that so many rows would find."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import fisher_exact

from ..objectives import Array
from .counts import ratio
from .proportions import normal_quantile, share

Ends = tuple[Array, Array]
JUMPS = 0.05
"""More than the share by which tables within a range have been found beyond those at its ends."""


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


def two_by_two_ends(p1: Ends, n1: Ends, p2: Ends, n2: Ends) -> tuple[Ends, Ends]:
    """Return the ends of `two_by_two` where rates and numbers of rows are known up to theirs: p-values and deviations.

    Standard deviations rise with the first rate and fall with the second, and away from 0 with either number of rows.
    Fisher's p falls as they do but for single rows, so that those next to the ends are looked at as well, and its ends
    are moved outward by `JUMPS` of them; where the rates may be equal it may be 1.
    """
    apart = [
        deviations(one * size1, size1, other * size2, size2)
        for one, other, (size1, size2) in product(p1, p2, zip(n1, n2, strict=True))
    ]
    above = p1[0] > p2[1]
    near = np.where(above, p1[0], p1[1]), np.where(above, p2[1], p2[0])
    least = [_beside(one, n1[1], other, n2[1]) for one, other in ((p1[1], p2[0]), (p1[0], p2[1]))]
    most = np.fmin((1.0 + JUMPS) * np.fmax.reduce(_beside(near[0], n1[0], near[1], n2[0])), 1.0)
    most = np.where((p1[0] <= p2[1]) & (p2[0] <= p1[1]), 1.0, most)
    found = np.fmin.reduce(np.concatenate(least)) / (1.0 + JUMPS), most
    return found, (np.fmin.reduce(apart), np.fmax.reduce(apart))


def _beside(p1: Array, n1: Array, p2: Array, n2: Array) -> Array:
    """Return Fisher's p of the counts of two rates, and of one row more or less in either, (9, ...)."""
    known = ~np.isnan(p1 * n1 + p2 * n2)
    p1, n1, p2, n2 = (np.where(known, each, 0.0) for each in (p1, n1, p2, n2))
    rows = np.rint(n1), np.rint(n2)
    found = []
    for moved in product((-1.0, 0.0, 1.0), repeat=2):
        one, other = (np.clip(np.rint(p * n) + by, 0.0, n) for p, n, by in zip((p1, p2), rows, moved, strict=True))
        found.append(np.where(known, two_by_two(one, rows[0], other, rows[1])[0], np.nan))
    return np.array(found)


@lru_cache(maxsize=4096)  # the same counts come again and again, as exact and as published
def _fisher(s1: float, n1: float, s2: float, n2: float) -> float:
    return float(fisher_exact([[s1, n1 - s1], [s2, n2 - s2]])[1])
