"""Tests of gaps between groups, resampling, and the least gap that sizes support.

A test says whether chance alone could have made a gap, not whether the gap matters: read it with the gap itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import fisher_exact

from ..exceptions import InputError
from ..objectives import Array
from ..validation import check_confidence
from .counts import ratio
from .intervals import Interval, Sizes, newcombe, normal_quantile, rows_behind, share_of
from .rates import GroupRates, group_rates

# Rates as sums over the cells (favourable label, chosen), (favourable, not), (other, chosen), (other, not).
PARTS = {
    "selection": ([1, 0, 1, 0], [1, 1, 1, 1]),
    "error": ([0, 1, 1, 0], [1, 1, 1, 1]),
    "accuracy": ([1, 0, 0, 1], [1, 1, 1, 1]),
    "tpr": ([1, 0, 0, 0], [1, 1, 0, 0]),
    "fpr": ([0, 0, 1, 0], [0, 0, 1, 1]),
}


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


def smallest_verifiable_gap(n1: ArrayLike, n2: ArrayLike, p: ArrayLike, confidence: float = 0.95) -> Array:
    """Return the smallest gap that n1 and n2 rows could demonstrate at rate p, as `worst_gap_floor` for one pair."""
    low, high = newcombe(np.multiply(p, n1), n1, np.multiply(p, n2), n2, confidence)
    return np.asarray((high - low) / 2.0)


def bootstrap_gap(
    decided_favourable: ArrayLike,
    is_favourable: ArrayLike,
    codes: ArrayLike,
    levels: Sequence[str],
    name: str,
    n_resamples: int = 1000,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Return bootstrap percentile intervals of one model's signed gaps, group minus reference, each (c - 1,).

    Drawing n rows with replacement is drawing the counts of (group, label, decision) once from a multinomial,
    so a resample costs as much as there are cells, not rows. Arguments as in `group_rates`, of one model and
    without weights; rows without a group are left out. Resamples without the rate in a group do not count.
    """
    rates = group_rates(decided_favourable, is_favourable, codes, levels)
    rates.rate(name)
    if len(rates.tpr) != 1 or np.ndim(codes) != 1 or n_resamples < 1 or not rates.n.any():
        found = f"{len(rates.tpr)} models, codes {np.shape(codes)}, {rates.n.sum():g} rows, {n_resamples} resamples"
        raise InputError(f"bootstrap_gap got {found}; expected one model, codes (n,), and 1 or more of the others.")
    hits, alarms = np.nan_to_num(rates.tpr[0]) * rates.positives, np.nan_to_num(rates.fpr[0]) * rates.negatives
    cells = np.rint(np.column_stack([hits, rates.positives - hits, alarms, rates.negatives - alarms]))
    random = np.random.default_rng(random_state)
    draws = random.multinomial(int(cells.sum()), cells.ravel() / cells.sum(), size=n_resamples)
    parts = draws.reshape(-1, *cells.shape) @ np.array(PARTS[name], dtype=np.float64).T
    values = ratio(parts[..., 0], parts[..., 1])
    return percentiles(values[:, :-1] - values[:, -1:], confidence)


def selection_test(rates: GroupRates, sizes: Sizes | None = None) -> tuple[Array, Array]:
    """Test whether selection rates differ from the reference group's: p-values and deviations, each (N, c - 1).

    `two_by_two` for every group and model. ``sizes`` as in `rate_gap_intervals`.
    """
    size = rows_behind(rates, "selection", sizes)
    chosen = np.nan_to_num(rates.selection) * np.rint(size)
    return two_by_two(chosen[:, :-1], size[:-1], chosen[:, -1:], size[-1:])


def two_by_two(s1: ArrayLike, n1: ArrayLike, s2: ArrayLike, n2: ArrayLike) -> tuple[Array, Array]:
    """Test whether s1/n1 and s2/n2 differ: p-values and deviations; shapes broadcast.

    The p-value is that of Fisher's exact test, two-sided, on counts rounded to whole rows. The second array is
    the difference in standard deviations, (p1 - p2) / sqrt(m (1 - m) (1/n1 + 1/n2)) with m the mean rate.
    NaN where a group has no rows; one call of SciPy per pair.
    """
    s1, n1, s2, n2 = np.broadcast_arrays(*(np.rint(np.asarray(v, dtype=np.float64)) for v in (s1, n1, s2, n2)))
    known, mean = (n1 > 0) & (n2 > 0), share_of(s1 + s2, n1 + n2)
    spread = np.sqrt(mean * (1.0 - mean) * (share_of(1.0, n1) + share_of(1.0, n2)))
    deviations = np.nan_to_num(ratio(share_of(s1, n1) - share_of(s2, n2), spread))
    exact = np.vectorize(_fisher, otypes=[np.float64])
    return np.where(known, exact(s1, n1, s2, n2), np.nan), np.where(known, deviations, np.nan)


@lru_cache(maxsize=4096)
def _fisher(s1: float, n1: float, s2: float, n2: float) -> float:
    """Return the p-value of Fisher's exact test; the same counts come again and again, as exact and as published."""
    return float(fisher_exact([[s1, n1 - s1], [s2, n2 - s2]])[1])


def percentiles(values: Array, confidence: float) -> Interval:
    """Return the central quantiles of each column, leaving NaN out; NaN for columns with nothing else."""
    tail = (1.0 - check_confidence(confidence)) / 2.0
    some = ~np.isnan(values).all(axis=0)
    ends = np.full((2, values.shape[1]), np.nan)
    if some.any():
        quantile = np.nanquantile if np.isnan(values[:, some]).any() else np.quantile  # many times faster, and the same
        ends[:, some] = quantile(values[:, some], [tail, 1.0 - tail], axis=0)
    return ends[0], ends[1]


def mantel_haenszel_gap(s1: Array, n1: Array, s0: Array, n0: Array, confidence: float = 0.95) -> tuple[Array, Interval]:
    """Return the pooled difference of rates over strata (axis 0) with Sato's interval.

    Biometrics 45 (1989) 1323-1324: consistent for few large strata and for many small ones.
    """
    total = np.where(n1 + n0 > 0, n1 + n0, 1.0)
    weight = (n1 * n0 / total).sum(axis=0)
    gap = ratio(((s1 * n0 - s0 * n1) / total).sum(axis=0), weight)
    P = ((n1**2 * s0 - n0**2 * s1 + n1 * n0 * (n0 - n1) / 2.0) / total**2).sum(axis=0)
    Q = ((s1 * (n0 - s0) + s0 * (n1 - s1)) / (2.0 * total)).sum(axis=0)
    half = normal_quantile(confidence) * np.sqrt(np.maximum(ratio(gap * P + Q, weight**2), 0.0))
    return gap, (gap - half, gap + half)


def mantel_haenszel_ratio(
    s1: Array, n1: Array, s0: Array, n0: Array, confidence: float = 0.95
) -> tuple[Array, Interval]:
    """Return the pooled ratio of rates over strata (axis 0) with Greenland and Robins' interval.

    Biometrics 41 (1985) 55-68, the variance of the log of the ratio.
    """
    total = np.where(n1 + n0 > 0, n1 + n0, 1.0)
    R, S = (s1 * n0 / total).sum(axis=0), (s0 * n1 / total).sum(axis=0)
    spread = ((n1 * n0 * (s1 + s0) - s1 * s0 * total) / total**2).sum(axis=0)
    half = normal_quantile(confidence) * np.sqrt(ratio(spread, R * S))
    pooled = ratio(R, S)
    return pooled, (pooled * np.exp(-half), pooled * np.exp(half))
