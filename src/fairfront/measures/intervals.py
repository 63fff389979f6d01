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
    newcombe,
    normal_quantile,
    outer,
    wilson,
)
from .rates import DENOMINATORS, GroupRates, SampleRates

Sizes = Mapping[str, Array]
SURE = 0.95  # confidence of ends that are kept
SKEW = "_skew"  # what the skewness of a mean is called beside its standard error


def bonferroni(confidence: float, m: int) -> float:
    """Return the confidence of each of m intervals (at least 1) such that all of them hold together."""
    return 1.0 - (1.0 - check_confidence(confidence)) / max(1, m)


def share_interval(rates: SampleRates, confidence: float = 0.95) -> Interval:
    """Return Wilson's interval of rates."""
    return wilson(np.nan_to_num(rates.value) * rates.size, rates.size, confidence)


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


def sample_rates(rates: GroupRates, name: str, sizes: Sizes | None = None) -> SampleRates:
    """Return a rate of every group with the rows behind it, see `rows_behind`."""
    return SampleRates(rates.rate(name), rows_behind(rates, name, sizes))


def worst_gap_upper(rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None) -> Array:
    """Return the upper end for the worst absolute gap between any two groups, (N,): what may be claimed.

        max over pairs of max(|low|, |high|), each pair at this confidence

    It fails only if the end of the pair that is truly worst does, so nothing is corrected for pairs (or classes); it
    holds for one model, not for a choice among N. Groups without the rate are left out, as by `worst_gap`; NaN when
    fewer than two have it. ``sizes`` are `effective_sizes`, to be given with unequal sample weights.
    """
    low, high = _all_pairs(rates, name, confidence, sizes, together=False)
    return np.asarray(np.fmax.reduce(np.maximum(np.abs(low), np.abs(high)), axis=1, initial=np.nan))


def worst_gap_lower(rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None) -> Array:
    """Return the lower end for the worst absolute gap, (N,): the largest max(low, -high, 0) of its pairs' intervals.

    Any pair may raise it, so the intervals hold for all pairs together (Bonferroni).
    """
    low, high = _all_pairs(rates, name, confidence, sizes)
    return np.asarray(np.fmax.reduce(np.maximum(np.maximum(low, -high), 0.0), axis=1, initial=np.nan))


def worst_gap_floor(rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None) -> Array:
    """Return the smallest gap that could be demonstrated at such rates, (N,): half the width of the widest interval.

        max over pairs of (high - low) / 2, each pair as in `worst_gap_upper`

    An interval of this width reaches at least so far from 0, wherever it lies: no upper end is below it, and that of an
    observed gap of 0 is about as large. It shrinks with more rows, and with rates near 0 or 1.
    """
    low, high = _all_pairs(rates, name, confidence, sizes, together=False)
    return np.asarray(np.fmax.reduce((high - low) / 2.0, axis=1, initial=np.nan))


def worst_gap_place(rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None) -> Array:
    """Return which pair of groups reaches the upper end, (N,): its place in ``np.triu_indices(c, 1)``; NaN for none."""
    low, high = _all_pairs(rates, name, confidence, sizes, together=False)
    reach = np.maximum(np.abs(low), np.abs(high))
    pairs = len(rates.levels) * (len(rates.levels) - 1) // 2
    place = np.argmax(np.nan_to_num(reach, nan=-1.0), axis=1) // max(1, reach.shape[1] // max(1, pairs))
    return np.where(np.isnan(reach).all(axis=1), np.nan, place)


def means_gap_upper(mean: Array, reach: Array) -> Array:
    """Return the upper end for the worst absolute gap of means (N, c), each of which reaches so far, as for shares."""
    one, other = np.triu_indices(reach.shape[1], 1)
    far = np.abs(mean[:, one] - mean[:, other])
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
    rates: GroupRates, name: str, confidence: float, sizes: Sizes | None, *, together: bool = True
) -> Interval:
    """Return intervals of the gaps of all pairs of groups (and classes), (N, pairs) each; they may hold together."""
    sample = sample_rates(rates, name, sizes)
    there = np.asarray(~np.isnan(sample.value).all(axis=0))
    one, other = np.triu_indices(len(there), 1)
    level = bonferroni(confidence, int(np.count_nonzero(there[one] & there[other]))) if together else confidence
    low, high = gap_interval(sample, one, other, level, claimed=not together)
    shape = len(low), low[:1].size
    return low.reshape(shape), high.reshape(shape)


def gap_interval(
    rates: SampleRates, one: NDArray[np.intp], other: NDArray[np.intp], confidence: float, *, claimed: bool = False
) -> Interval:
    """Return Newcombe's interval of rates of some groups less those of others.

    Or ends each of which may be ``claimed`` alone, see `proportions`.
    """
    if claimed:
        return _claimed(claimed_gap, (-1.0, 1.0), rates, one, other, confidence)
    size = np.broadcast_to(rates.size, rates.value.shape)
    count = np.nan_to_num(rates.value) * size
    low, high = newcombe(count[:, one], size[:, one], count[:, other], size[:, other], confidence)
    unknown = np.isnan(rates.value[:, one] - rates.value[:, other])
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def ratio_ends(rates: SampleRates, one: NDArray[np.intp], other: NDArray[np.intp], confidence: float) -> Interval:
    """Return ends of rates of some groups over those of others, each of which may be claimed alone."""
    return _claimed(claimed_ratio, (0.0, np.inf), rates, one, other, confidence)


def _claimed(
    ends: Callable[[Array, Interval, Array, Interval], Interval],
    widest: tuple[float, float],
    rates: SampleRates,
    one: NDArray[np.intp],
    other: NDArray[np.intp],
    confidence: float,
) -> Interval:
    """Return ends of two rates; the ``widest`` of rates that no rows are behind."""
    size, value = np.broadcast_to(rates.size, rates.value.shape), np.nan_to_num(rates.value)
    low, high = outer(value * size, size, confidence)
    first, second = (low[:, one], high[:, one]), (low[:, other], high[:, other])
    unknown = np.isnan(rates.value[:, one] - rates.value[:, other])
    nobody = (size[:, one] == 0) | (size[:, other] == 0)
    lower, upper = ends(value[:, one], first, value[:, other], second)
    lower, upper = np.where(nobody, widest[0], lower), np.where(nobody, widest[1], upper)
    return np.where(unknown, np.nan, lower), np.where(unknown, np.nan, upper)


def ratio_interval(rates: SampleRates, confidence: float = 0.95, *, together: bool = True) -> Interval:
    """Return the least ends of the lower rate over the higher of all pairs, from rates (N, c): (N,) each.

    They are those of the ratio of two rates, folded at 1, and hold for all pairs ``together``, or each on its own.
    Groups without a rate (NaN) are left out; NaN where fewer than two have one, or none a favourable decision.
    """
    one, other = np.triu_indices(rates.value.shape[1], 1)
    known = ~np.isnan(rates.value[:, one] + rates.value[:, other])
    level = bonferroni(confidence, int(np.count_nonzero(known.any(axis=0)))) if together else confidence
    low, high = ratio_ends(rates, one, other, level)
    with np.errstate(divide="ignore"):
        ends = np.minimum(low, 1.0 / high), np.minimum(1.0, np.minimum(high, 1.0 / low))
    known &= (np.fmax.reduce(rates.value, axis=1, initial=0.0) > 0)[:, None]
    low, high = (np.fmin.reduce(np.where(known, end, np.nan), axis=1, initial=np.nan) for end in ends)
    return low, high


def selection_ratio_lower(
    rates: GroupRates, confidence: float = 0.95, sizes: Sizes | None = None, name: str = "selection"
) -> Array:
    """Return the least lower end of all pairs, each on its own: what may be claimed of a ratio of rates, (N,)."""
    return ratio_interval(sample_rates(rates, name, sizes), confidence, together=False)[0]
