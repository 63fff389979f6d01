"""What gaps and ratios pooled over levels can be where counts are rounded, and those of levels add up to all rows.

What is more in one level is less in another. By the mean value theorem a contrast differs from that in the middle of
all ranges by its slopes times deviations of counts; slopes are somewhere between their ends over the ranges, and the
deviations of each count have a sum over levels that is known.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from ..objectives import Array
from .mantel_haenszel import largest, mantel_haenszel_gap, mantel_haenszel_ratio, weights
from .proportions import Interval
from .spans import Range

Cells = tuple[Range, Range, Range, Range]
"""People with and without what is counted, of groups and of the reference, (S, groups) each; or those of all levels."""
Slopes = tuple[Interval, Interval, Interval, Interval]


@np.errstate(divide="ignore", invalid="ignore")
def gap_ends(cells: Cells, totals: Cells) -> Interval:
    """Return the least and the most that pooled gaps can be, (groups,).

    With m = r p1 + (1 - r) p0, one more with and without in the group changes it by (1 - r) (1 - m - (1 - r) gap) / W
    and - (1 - r) (m + (1 - r) gap) / W, in the reference by - r (1 - m + r gap) / W and r (m - r gap) / W.
    """
    p1, p0, part, weight = _ranges(cells)
    r, c = (part.low, part.high), (1.0 - part.high, 1.0 - part.low)
    one = np.ones(weight.low.shape)
    gap = -largest(p0.high - p1.low, one, weight), largest(p1.high - p0.low, one, weight)
    mixed = [share * a + (1.0 - share) * b for share, a, b in product(r, (p1.low, p1.high), (p0.low, p0.high))]
    m = np.minimum.reduce(mixed), np.maximum.reduce(mixed)
    rest, each = (1.0 - m[1], 1.0 - m[0]), _inverse((weight.low.sum(axis=0), weight.high.sum(axis=0)))
    near, far = _product(c, gap), _product(r, gap)
    slopes = (
        _product(c, _sum(rest, _minus(near)), each),
        _product(c, _minus(_sum(m, near)), each),
        _product(r, _minus(_sum(rest, far)), each),
        _product(r, _sum(m, _minus(far)), each),
    )

    def value(s1: Array, f1: Array, s0: Array, f0: Array) -> Array:
        return mantel_haenszel_gap(s1, s1 + f1, s0, s0 + f0)[0]

    return _shifted(value, slopes, cells, totals)


@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def ratio_ends(cells: Cells, totals: Cells) -> Interval:
    """Return the least and the most that pooled ratios can be, (groups,), by the slopes of their logarithms.

    These are (1 - r) (1 - r p1) / R - (1 - r)^2 p0 / S and - (1 - r) r p1 / R - (1 - r)^2 p0 / S in the group, and
    r^2 p1 / R - r (1 - (1 - r) p0) / S and r^2 p1 / R + r (1 - r) p0 / S in the reference.
    """
    p1, p0, part, weight = _ranges(cells)
    r, c = (part.low, part.high), (1.0 - part.high, 1.0 - part.low)
    a, b = (p1.low, p1.high), (p0.low, p0.high)
    R, S = (_inverse(((weight.low * low).sum(axis=0), (weight.high * high).sum(axis=0))) for low, high in (a, b))
    ra, cb = _product(r, a), _product(c, b)
    rest_a, rest_b = (1.0 - ra[1], 1.0 - ra[0]), (1.0 - cb[1], 1.0 - cb[0])
    ccb, rra = _product(c, cb, S), _product(r, ra, R)
    slopes = (
        _sum(_product(c, rest_a, R), _minus(ccb)),
        _minus(_sum(_product(c, ra, R), ccb)),
        _sum(rra, _minus(_product(r, rest_b, S))),
        _sum(rra, _product(r, cb, S)),
    )

    def value(s1: Array, f1: Array, s0: Array, f0: Array) -> Array:
        return np.asarray(np.log(mantel_haenszel_ratio(s1, s1 + f1, s0, s0 + f0)[0]))

    least, most = _shifted(value, slopes, cells, totals)
    return np.exp(least), np.exp(most)


def _ranges(cells: Cells) -> tuple[Range, Range, Range, Range]:
    """Return the ranges of both rates, of the share of the group and of the weight of every level."""
    s1, f1, s0, f0 = cells
    rows = [Range(s.shown + f.shown, s.low + f.low, s.high + f.high) for s, f in ((s1, f1), (s0, f0))]
    weight, part = weights(*rows)
    return _rate(s1, f1), _rate(s0, f0), part, weight


def _rate(some: Range, rest: Range) -> Range:
    """A rate that nobody may have is anything."""
    low, high = some.low / np.maximum(some.low + rest.high, 1e-9), some.high / np.maximum(some.high + rest.low, 1e-9)
    open_ = some.low + rest.low <= 0.0
    return Range(low, np.where(open_, 0.0, low), np.where(open_, 1.0, high))


def _shifted(value: Callable[..., Array], slopes: Slopes, cells: Cells, totals: Cells) -> Interval:
    """Return the ends of a contrast by its value in the middle of all ranges; NaN where nothing is known of it."""
    middle = [(each.low + each.high) / 2.0 for each in cells]
    at = value(*np.broadcast_arrays(*middle))
    ends = [at, at]
    for (low, high), cell, total, own in zip(slopes, cells, totals, middle, strict=True):
        slope, off = (low + high) / 2.0, ((high - low) / 2.0 * (cell.high - cell.low) / 2.0).sum(axis=0)
        least, most = (np.broadcast_to(end - own, slope.shape) for end in (cell.low, cell.high))
        known = total.low - own.sum(axis=0), total.high - own.sum(axis=0)
        ends[0] = ends[0] - _most_moved(-slope, least, most, *known) - off
        ends[1] = ends[1] + _most_moved(slope, least, most, *known) + off
    found = (np.where(np.isfinite(end), end, np.nan) for end in ends)
    return next(found), next(found)


def _most_moved(slope: Array, low: Array, high: Array, least: Array, most: Array) -> Array:
    """Return the most that sum(slope x) can be, with x between low and high and their sum between least and most."""
    order = np.argsort(-slope, axis=0, kind="stable")
    slope, low, high = (np.take_along_axis(each, order, axis=0) for each in (slope, low, high))
    room = high - low
    before = np.cumsum(room, axis=0) - room + low.sum(axis=0)
    return np.asarray((slope * (low + np.clip(np.where(slope > 0, most, least) - before, 0.0, room))).sum(axis=0))


def _product(first: Interval, *others: Interval) -> Interval:
    for other in others:
        ends = [a * b for a, b in product(first, other)]
        first = np.minimum.reduce(ends), np.maximum.reduce(ends)
    return first


def _sum(one: Interval, other: Interval) -> Interval:
    return one[0] + other[0], one[1] + other[1]


def _minus(one: Interval) -> Interval:
    return -one[1], -one[0]


def _inverse(one: Interval) -> Interval:
    return 1.0 / one[1], 1.0 / one[0]
