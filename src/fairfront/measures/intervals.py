"""How sure a sample lets one be of rates, their gaps and their ratio: intervals and tests.

Numbers only, vectorised over N models. An absolute gap is never below 0, so its interval would never be either:
intervals are for signed gaps, and a claim about an absolute gap is the upper end, `worst_gap_upper`. Every interval is
approximate and holds for rows drawn independently from the population that is meant. A test says whether chance alone
could have made a gap, not whether the gap matters: read it with the gap itself.

The selection ratio of c groups is the least over all pairs of groups of the lower rate over the higher, min(r, 1/r)
with r the ratio of the pair's two rates. A claim that the worst gap is at most so much, or the ratio at least, is one
that every pair has to hold, so each pair is judged at its own end and nothing is corrected: the intersection-union test
(Berger 1982, Technometrics 24, 295-300). Signed gaps shown together hold for all pairs at once (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array
from ..validation import check_confidence
from .counts import ratio
from .proportions import (
    Interval,
    claimed_gap,
    claimed_ratio,
    katz,
    newcombe,
    normal_quantile,
    outer,
    share,
    wilson,
)
from .rates import DENOMINATORS, GroupRates
from .spans import RateRange

Sizes = Mapping[str, Array]
SURE = 0.95  # confidence of ends that are kept
SKEW = "_skew"  # what the skewness of a mean is called beside its standard error


def bonferroni(confidence: float, m: int) -> float:
    """Return the confidence of each of m intervals (at least 1) such that all of them hold together."""
    return 1.0 - (1.0 - check_confidence(confidence)) / max(1, m)


def share_interval(span: RateRange, confidence: float = 0.95) -> Interval:
    """Return Wilson's interval of rates, the extremes over their ranges."""
    low, high = (np.nan_to_num(end) * span.least for end in (span.low, span.high))
    return wilson(low, span.least, confidence)[0], wilson(high, span.least, confidence)[1]


def rows_behind(rates: GroupRates, name: str, sizes: Sizes | None) -> Array:
    """Return the rows behind a rate in each group, (c,) or (c, classes): ``sizes`` where given, else scaled weights.

    Scaled to a group's number of rows, weights are right where they are equal and too sure where they are not.
    """
    if sizes is not None and name in sizes:
        return np.asarray(sizes[name], dtype=np.float64)
    field = DENOMINATORS.get(name, "class_weight")
    if not hasattr(rates, field):
        raise InputError(f"{name} is not a share of rows, expected one of {', '.join(DENOMINATORS)}, recall.")
    weight = np.asarray(getattr(rates, field))
    per_weight = np.nan_to_num(ratio(rates.n, rates.weight))
    return np.asarray(weight * per_weight.reshape(-1, *[1] * (weight.ndim - 1)))


def worst_gap_upper(
    rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None, span: RateRange | None = None
) -> Array:
    """Return the upper end for the worst absolute gap between any two groups, (N,): what may be claimed.

        max over pairs of max(|low|, |high|), each pair at this confidence

    It fails only if the end of the pair that is truly worst does, so nothing is corrected for pairs (or classes); it
    holds for one model, not for a choice among N. Groups without the rate are left out, as by `worst_gap`; NaN when
    fewer than two have it. ``sizes`` are `effective_sizes`, to be given with unequal sample weights; ``span`` is what
    exact rates can be where counts are rounded, over all of which the end is the largest.
    """
    low, high = _all_pairs(rates, name, confidence, sizes, span, together=False)
    return np.asarray(np.fmax.reduce(np.maximum(np.abs(low), np.abs(high)), axis=1, initial=np.nan))


def worst_gap_lower(
    rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None, span: RateRange | None = None
) -> Array:
    """Return the lower end for the worst absolute gap, (N,): the largest max(low, -high, 0) of its pairs' intervals.

    Any pair may raise it, so the intervals hold for all pairs together (Bonferroni).
    """
    low, high = _all_pairs(rates, name, confidence, sizes, span)
    return np.asarray(np.fmax.reduce(np.maximum(np.maximum(low, -high), 0.0), axis=1, initial=np.nan))


def worst_gap_floor(
    rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None, span: RateRange | None = None
) -> Array:
    """Return the smallest gap that could be demonstrated at such rates, (N,): half the width of the widest interval.

        max over pairs of (high - low) / 2, each pair as in `worst_gap_upper`

    An interval of this width reaches at least so far from 0, wherever it lies: no upper end is below it, and that of an
    observed gap of 0 is about as large. It shrinks with more rows, and with rates near 0 or 1.
    """
    span = None if name in (*DENOMINATORS, "recall") else span
    low, high = _all_pairs(rates, name, confidence, sizes, span, together=False)
    return np.asarray(np.fmax.reduce((high - low) / 2.0, axis=1, initial=np.nan))


def worst_gap_place(
    rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None, span: RateRange | None = None
) -> Array:
    """Return which pair of groups reaches the upper end, (N,): its place in ``np.triu_indices(c, 1)``; NaN for none."""
    low, high = _all_pairs(rates, name, confidence, sizes, span, together=False)
    reach = np.maximum(np.abs(low), np.abs(high))
    pairs = len(rates.levels) * (len(rates.levels) - 1) // 2
    place = np.argmax(np.nan_to_num(reach, nan=-1.0), axis=1) // max(1, reach.shape[1] // max(1, pairs))
    return np.where(np.isnan(reach).all(axis=1), np.nan, place)


def span_of(value: Array, size: Array) -> RateRange:
    """Return rates that are exact as ranges."""
    return RateRange(value, value, size)


def means_gap_upper(span: RateRange, reach: Array) -> Array:
    """Return the upper end for the worst absolute gap of means (N, c), each of which reaches so far, as for shares."""
    one, other = np.triu_indices(reach.shape[1], 1)
    far = np.fmax(span.high[:, one] - span.low[:, other], span.high[:, other] - span.low[:, one])
    return np.asarray(np.fmax.reduce(far + np.hypot(reach[:, one], reach[:, other]), axis=1, initial=np.nan))


def mean_reach(errors: Mapping[str, Array], mean: str, confidence: float = 0.95) -> Array:
    """Return how far a mean of groups can be from the truth, (N, c), on the side where its tail is longer.

    ``errors`` has standard errors and, if known, skewness. By Hall's transformation (1992, Journal of the Royal
    Statistical Society B 54, 221-228) of a mean with skewness g it is the standard error times
    3 (1 - cbrt(1 - g (z + g / 6))) / g, which is z where there is none.
    """
    z, error, skew = normal_quantile(confidence), errors[mean], errors.get(f"{mean}{SKEW}")
    if skew is None:
        return np.asarray(z * error)
    g = np.maximum(np.abs(np.nan_to_num(skew)), 1e-6)
    return np.asarray(error * np.maximum(z, 3.0 * (1.0 - np.cbrt(1.0 - g * (z + g / 6.0))) / g))


def _all_pairs(
    rates: GroupRates,
    name: str,
    confidence: float,
    sizes: Sizes | None,
    span: RateRange | None,
    *,
    together: bool = True,
) -> Interval:
    """Return intervals of the gaps of all pairs of groups (and classes), (N, pairs) each; they may hold together."""
    span = span or span_of(rates.rate(name), rows_behind(rates, name, sizes))
    there = np.asarray(~np.isnan(span.low).all(axis=0))
    one, other = np.triu_indices(len(there), 1)
    level = bonferroni(confidence, int(np.count_nonzero(there[one] & there[other]))) if together else confidence
    low, high = gap_interval(span, one, other, level, claimed=not together)
    shape = len(low), low[:1].size
    return low.reshape(shape), high.reshape(shape)


def gap_interval(
    span: RateRange, one: NDArray[np.intp], other: NDArray[np.intp], confidence: float, *, claimed: bool = False
) -> Interval:
    """Return Newcombe's interval of rates of some groups less those of others, the extremes over their ranges.

    Or ends each of which may be ``claimed`` alone, see `proportions`.
    """
    if claimed:
        return _claimed(claimed_gap, (-1.0, 1.0), span, one, other, confidence)
    size = np.broadcast_to(span.least, span.low.shape)
    low, high = np.nan_to_num(span.low) * size, np.nan_to_num(span.high) * size
    down = newcombe(low[:, one], size[:, one], high[:, other], size[:, other], confidence)[0]
    up = newcombe(high[:, one], size[:, one], low[:, other], size[:, other], confidence)[1]
    unknown = np.isnan(span.low[:, one] - span.low[:, other])
    return np.where(unknown, np.nan, down), np.where(unknown, np.nan, up)


def ratio_ends(span: RateRange, one: NDArray[np.intp], other: NDArray[np.intp], confidence: float) -> Interval:
    """Return ends of rates of some groups over those of others, each of which may be claimed alone."""
    return _claimed(claimed_ratio, (0.0, np.inf), span, one, other, confidence)


def _claimed(
    ends: Callable[[Array, Interval, Array, Interval], Interval],
    widest: tuple[float, float],
    span: RateRange,
    one: NDArray[np.intp],
    other: NDArray[np.intp],
    confidence: float,
) -> Interval:
    """Return ends of two rates, the extremes over their ranges; the ``widest`` of rates that no rows are behind."""
    size = np.broadcast_to(span.least, span.low.shape)
    low, high = np.nan_to_num(span.low), np.nan_to_num(span.high)
    lowest = outer(low * size, size, confidence)
    highest = lowest if np.array_equal(low, high) else outer(high * size, size, confidence)
    lower, upper = ((each[0][:, some], each[1][:, some]) for each, some in ((lowest, one), (highest, other)))
    down = ends(low[:, one], lower, high[:, other], upper)[0]
    lower, upper = ((each[0][:, some], each[1][:, some]) for each, some in ((highest, one), (lowest, other)))
    up = ends(high[:, one], lower, low[:, other], upper)[1]
    unknown = np.isnan(span.low[:, one] - span.low[:, other])
    nobody = (size[:, one] == 0) | (size[:, other] == 0)
    found = (np.where(nobody, none, end) for none, end in zip(widest, (down, up), strict=True))
    return np.where(unknown, np.nan, next(found)), np.where(unknown, np.nan, next(found))


def katz_span(span: RateRange, one: NDArray[np.intp], other: NDArray[np.intp], confidence: float) -> Interval:
    """Return `katz` of rates of some groups over those of others, no narrower than for any rates in their ranges.

    The ratio lies between its least and its most, and its variance is that of the least rates, with and without half a
    row where a count may be 0.
    """
    n, low, high = span.least, np.nan_to_num(span.low), np.nan_to_num(span.high)
    exact = katz(low[:, one] * n[one], n[one], low[:, other] * n[other], n[other], confidence)
    fixed = (low == high)[:, one] & (low == high)[:, other]
    z, ends = normal_quantile(confidence), []
    for more in (0.0, 0.5):
        least = np.minimum(low, share(low * n + more, n + 2 * more))
        most = np.maximum(high, share(high * n + more, n + 2 * more))
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = 1.0 / (low * n + more) - 1.0 / (n + 2 * more)
            half = z * np.sqrt(np.maximum(spread[:, one] + spread[:, other], 0.0))
            down = np.log(least[:, one]) - np.log(most[:, other]) - half
            up = np.log(most[:, one]) - np.log(least[:, other]) + half
        ends.append((np.exp(np.nan_to_num(down, nan=-np.inf)), np.exp(np.minimum(np.nan_to_num(up, nan=700.0), 700.0))))
    none, nothing = low[:, one] * n[one] < 1e-9, low[:, other] * n[other] < 1e-9
    wide = np.where(none | nothing, 0.0, np.minimum(ends[0][0], ends[1][0])), np.maximum(ends[0][1], ends[1][1])
    wide = wide[0], np.where(none | nothing, np.inf, wide[1])
    unknown = np.isnan(span.low[:, one] - span.low[:, other])
    found = (np.where(unknown, np.nan, np.where(fixed, sure, end)) for sure, end in zip(exact, wide, strict=True))
    return next(found), next(found)


def ratio_interval(span: RateRange, confidence: float = 0.95, *, together: bool = True) -> Interval:
    """Return the least ends of the lower rate over the higher of all pairs, from rates (N, c): (N,) each.

    They are those of the ratio of two rates, folded at 1, and hold for all pairs ``together``, or each on its own.
    Groups without a rate (NaN) are left out; NaN where fewer than two have one, or none a favourable decision.
    """
    one, other = np.triu_indices(span.low.shape[1], 1)
    known = ~np.isnan(span.low[:, one] + span.low[:, other])
    level = bonferroni(confidence, int(np.count_nonzero(known.any(axis=0)))) if together else confidence
    low, high = ratio_ends(span, one, other, level)
    with np.errstate(divide="ignore"):
        ends = np.minimum(low, 1.0 / high), np.minimum(1.0, np.minimum(high, 1.0 / low))
    known &= (np.fmax.reduce(span.high, axis=1, initial=0.0) > 0)[:, None]
    low, high = (np.fmin.reduce(np.where(known, end, np.nan), axis=1, initial=np.nan) for end in ends)
    return low, high


def selection_ratio_lower(
    rates: GroupRates,
    confidence: float = 0.95,
    sizes: Sizes | None = None,
    span: RateRange | None = None,
    name: str = "selection",
) -> Array:
    """Return the least lower end of all pairs, each on its own: what may be claimed of a ratio of rates, (N,)."""
    span = span or span_of(rates.rate(name), rows_behind(rates, name, sizes))
    return ratio_interval(span, confidence, together=False)[0]
