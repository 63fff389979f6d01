"""Intervals of one proportion, and of the difference and the ratio of two.

Wilson's interval and those made of it hold well on both sides together. A *claim* is one-sided, and there they can be
short: where a small group has a rate near 0 or 1, Newcombe's end of a gap to a large one fails in up to 11 % of samples
in the place of 2.5, and Katz's of a ratio in up to 18 %. So ends that are claimed are made of `outer`, which fails in
at most 5 % on one side whatever the rate, and in at most 4 % of differences and ratios of 12 to 4 000 rows
(`tests/measures/test_claimed_ends.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri

from ..exceptions import InputError
from ..objectives import Array
from ..validation import check_confidence

Interval = tuple[Array, Array]
NEARER = 0.1
"""How far quantiles of a beta distribution are moved from exact ends towards those that are right on average."""


def normal_quantile(confidence: float) -> float:
    """Return z with P(|normal| < z) = confidence."""
    return float(ndtri(0.5 + check_confidence(confidence) / 2.0))


def wilson(successes: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion; (0, 1) where n is 0.

        (s + z^2/2 -+ z sqrt(s (n - s) / n + z^2/4)) / (n + z^2)

    ``n`` may be effective sizes, so neither count needs to be whole. Shapes broadcast.
    """
    s, size = _counts(successes, n)
    z = normal_quantile(confidence)
    centre = (s + z**2 / 2) / (size + z**2)
    half = z * np.sqrt(s * (size - s) / np.where(size > 0, size, 1.0) + z**2 / 4) / (size + z**2)
    low, high = np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    return np.where(s == 0, 0.0, low), np.where(s == size, 1.0, high)


def newcombe(s1: ArrayLike, n1: ArrayLike, s2: ArrayLike, n2: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return Newcombe's interval of s1/n1 - s2/n2 for independent groups; (-1, 1) where either n is 0.

    Statistics in Medicine 17 (1998) 873-890, method 10: the two Wilson intervals, squared and added.
    """
    (low1, high1), (low2, high2) = wilson(s1, n1, confidence), wilson(s2, n2, confidence)
    p1, p2 = share(s1, n1), share(s2, n2)
    low = p1 - p2 - np.sqrt((p1 - low1) ** 2 + (high2 - p2) ** 2)
    high = p1 - p2 + np.sqrt((high1 - p1) ** 2 + (p2 - low2) ** 2)
    unknown = (np.asarray(n1) == 0) | (np.asarray(n2) == 0)
    return np.where(unknown, -1.0, np.maximum(low, -1.0)), np.where(unknown, 1.0, np.minimum(high, 1.0))


def katz(s1: ArrayLike, n1: ArrayLike, s2: ArrayLike, n2: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return Katz's log interval of the ratio (s1/n1) / (s2/n2); (0, infinity) where either n is 0.

    The variance of the log ratio is 1/s1 - 1/n1 + 1/s2 - 1/n2. Where one of the four counts (successes or
    failures) is 0, half a row is added to each of them; the lower end is 0 where s1 is, and the upper end infinity
    where s2 is 0. Too short for small groups with rates near 1.
    """
    (a, size1), (b, size2) = _counts(s1, n1), _counts(s2, n2)
    none, nothing = a < 1e-9, b < 1e-9
    empty = np.minimum(np.minimum(a, size1 - a), np.minimum(b, size2 - b)) < 1e-9
    a, b, size1, size2 = a + 0.5 * empty, b + 0.5 * empty, size1 + empty, size2 + empty
    half = normal_quantile(confidence) * np.sqrt(1 / a - 1 / size1 + 1 / b - 1 / size2)
    middle = np.log(a / size1) - np.log(b / size2)
    unknown = (np.asarray(n1) == 0) | (np.asarray(n2) == 0)
    low, high = np.exp(middle - half), np.exp(middle + half)
    return np.where(unknown | none, 0.0, low), np.where(unknown | nothing, np.inf, high)


def _counts(successes: ArrayLike, n: ArrayLike) -> tuple[Array, Array]:
    s, size = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if ((s < 0) | (s > size * (1 + 1e-9))).any():
        raise InputError(f"successes run from {s.min():g} to {s.max():g}, expected 0 to n ({size.min():g} or more).")
    return np.minimum(s, size), size


def share(s: ArrayLike, n: ArrayLike) -> Array:
    return np.asarray(np.asarray(s) / np.where(np.asarray(n) > 0, n, 1.0))


def outer(successes: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the wider ends of Wilson's interval and of the quantiles of Beta(s + 0.1, n - s + 0.9); (0, 1) for n = 0.

    Quantiles of Beta(s, n - s + 1), and by symmetry on the other side, never fail in more samples than they say
    (Clopper and Pearson 1934), those of Beta(s + 1/2, n - s + 1/2) in four times as many of few successes. At `NEARER`
    it is at most twice as many on one side, whatever the rate.
    """
    s, size = _counts(successes, n)
    low, high = wilson(s, size, confidence)
    alpha = float(ndtr(-normal_quantile(confidence)))
    return np.minimum(low, _quantile(s, size, alpha)), np.maximum(high, 1.0 - _quantile(size - s, size, alpha))


def _quantile(s: Array, n: Array, alpha: float) -> Array:
    found = betaincinv(np.where(s > 0, s, 1.0) + NEARER, np.maximum(n - s, 0.0) + 1.0 - NEARER, alpha)
    return np.where(s > 0, found, 0.0)


def claimed_gap(p1: Array, one: Interval, p2: Array, other: Interval) -> Interval:
    """Return ends of p1 - p2, each of which may be claimed, from `outer` ends of the two, as Newcombe adds them."""
    (low1, high1), (low2, high2) = one, other
    low, high = p1 - p2 - np.hypot(p1 - low1, high2 - p2), p1 - p2 + np.hypot(high1 - p1, p2 - low2)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def claimed_ratio(p1: Array, one: Interval, p2: Array, other: Interval) -> Interval:
    """Return ends of p1 / p2, each of which may be claimed, from `outer` ends of the two.

    Distances of their logarithms are squared and added (Donner and Zou 2012, Statistical Methods in Medical Research
    21, 347-359). Where a rate is 0, the ends of the two are divided.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        (low1, high1), (low2, high2) = np.log(one), np.log(other)
        a, b = np.log(p1), np.log(p2)
        none = ~np.isfinite(a - b)
        low = np.where(none, low1 - high2, a - b - np.hypot(a - low1, high2 - b))
        high = np.where(none, high1 - low2, a - b + np.hypot(high1 - a, b - low2))
        return np.exp(np.nan_to_num(low, nan=-np.inf)), np.exp(np.where(high > 700.0, np.inf, high))
