"""Gaps and ratios of rates pooled over levels with the weights of Mantel and Haenszel, n1 n0 / (n1 + n0).

Where counts are rounded, ends hold for all exact counts that may stand behind them: with rates p1 and p0, the share
r = n1 / (n1 + n0) and the weight w of every level, each of them anywhere in its range,

    gap = sum w (p1 - p0) / W,               W = sum w
    its variance (Sato) = sum w v / W^2,     v = gap (r (p0 - 1/2) - (1 - r) (p1 - 1/2)) + (p1 + p0 - 2 p1 p0) / 2
    ratio = R / S,                           R = sum w p1,  S = sum w p0
    variance of its logarithm = M / S + m / R, the means of r (1 - p0) by w p1 and of (1 - r) (1 - p1) by w p0

A ratio of two sums with weights in ranges is largest with the most weight where it is large and the least elsewhere; v
is linear in each of its four letters, so that it is largest at ends of their ranges.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ..objectives import Array
from .counts import ratio
from .proportions import Interval, normal_quantile
from .spans import Range

Pooled = tuple[Range, Interval]
"""A contrast with what it can be, and the ends of its interval, (groups,) each."""


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


def pooled_gap(
    p1: Range,
    n1: Range,
    p0: Range,
    n0: Range,
    confidence: float = 0.95,
    known: Interval | None = None,
) -> Pooled:
    """Return `mantel_haenszel_gap` of rates and rows in ranges (S, groups), over all of which ends are the farthest.

    ``known`` is what the gap can be at the most, by counts that add up.
    """
    weight, part = weights(n1, n0)
    shown = ratio((weight.shown * (p1.shown - p0.shown)).sum(axis=0), weight.shown.sum(axis=0))
    one = np.ones(weight.low.shape)
    most = largest(p1.high - p0.low, one, weight)
    least = -largest(p0.high - p1.low, one, weight)
    if known is not None:
        least, most = np.fmax(least, known[0]), np.fmin(most, known[1])
    spread = np.max(
        [
            gap * (r * (b - 0.5) - (1.0 - r) * (a - 0.5)) + (a + b) / 2.0 - a * b
            for gap, r, a, b in product((least, most), (part.low, part.high), (p1.low, p1.high), (p0.low, p0.high))
        ],
        axis=0,
    )
    whole = weight.low.sum(axis=0)
    var = np.where(whole > 0, ratio(np.maximum(largest(spread, one, weight), 0.0), whole), np.inf)
    half = normal_quantile(confidence) * np.sqrt(var)
    return Range(shown, least, most), (np.maximum(least - half, -1.0), np.minimum(most + half, 1.0))


def pooled_ratio(
    p1: Range,
    n1: Range,
    p0: Range,
    n0: Range,
    confidence: float = 0.95,
    known: Interval | None = None,
) -> Pooled:
    """Return `mantel_haenszel_ratio` of rates and rows in ranges (S, groups), as `pooled_gap` does the gap."""
    weight, part = weights(n1, n0)
    R, S = ((weight.shown * each.shown).sum(axis=0) for each in (p1, p0))
    most, under = largest(p1.high, p0.low, weight), largest(p0.high, p1.low, weight)
    least = np.where(under > 0, 1.0 / np.where(under > 0, under, 1.0), 0.0)
    if known is not None:
        least, most = np.fmax(least, known[0]), np.fmin(most, known[1])
    parts = []
    for mean, by, other in ((part.high * (1.0 - p0.low), p1, p0), ((1.0 - part.low) * (1.0 - p1.low), p0, p1)):
        among = Range(mean, weight.low * by.low, weight.high * by.high)
        whole = (weight.low * other.low).sum(axis=0)
        parts.append(np.where(whole > 0, ratio(largest(mean, np.ones(mean.shape), among), whole), np.inf))
    half = normal_quantile(confidence) * np.sqrt(sum(parts))
    sure = np.isfinite(half)
    wide = np.exp(np.where(sure, half, 0.0))
    ends = np.where(sure, least / wide, 0.0), np.where(sure, most * wide, np.inf)
    return Range(ratio(R, S), least, most), ends


def weights(n1: Range, n0: Range) -> tuple[Range, Range]:
    """Return the weights of levels and the shares that the first group has of their rows."""

    def weight(one: Array, other: Array) -> Array:
        return np.nan_to_num(ratio(one * other, one + other))

    def part(one: Array, other: Array) -> Array:
        return np.nan_to_num(ratio(one + 0.0 * other, one + other))

    ends = ((n1.shown, n0.shown), (n1.low, n0.low), (n1.high, n0.high))
    crossed = ((n1.shown, n0.shown), (n1.low, n0.high), (n1.high, n0.low))
    return Range(*(weight(*each) for each in ends)), Range(*(part(*each) for each in crossed))


def largest(top: Array, bottom: Array, weight: Range) -> Array:
    """Return the most that sum(weight top) / sum(weight bottom) over levels can be, (groups,); NaN without weight."""
    value = np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.where(top > 0, np.inf, -np.inf))
    order = np.argsort(-value, axis=0, kind="stable")
    top, bottom, low, high = (
        np.take_along_axis(each, order, axis=0) for each in (top, bottom, weight.low, weight.high)
    )
    above, below = (
        np.cumsum(high * each, axis=0) + (low * each).sum(axis=0) - np.cumsum(low * each, axis=0)
        for each in (top, bottom)
    )
    tried = np.where(below > 0, above / np.where(below > 0, below, 1.0), np.where(above > 0, np.inf, np.nan))
    return np.asarray(np.fmax.reduce(tried, axis=0))
