"""How sure a sample lets one be of rates, their gaps and their ratio: intervals.

Numbers only, vectorised over N models. An absolute gap is never below 0, so its interval would never be either:
intervals are for signed gaps, and a claim about an absolute gap is the upper end, `worst_gap_upper`. Every interval is
approximate and holds for rows drawn independently from the population that is meant.

The selection ratio of c groups is the least over all pairs of groups of the lower rate over the higher, min(r, 1/r)
with r the ratio of the pair's two rates. Ends that are shown hold for all pairs at once (Bonferroni). A claim that the
ratio is at least so much is one that every pair has to hold, so each pair is judged at its own end and nothing is
corrected: the intersection-union test (Berger 1982, Technometrics 24, 295-300).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ..exceptions import InputError
from ..objectives import Array
from ..validation import check_confidence, check_weights
from .counts import Counts, as_flags, as_models, count, ratio, weighted_sums
from .rates import GroupRates, RateSums, rate_sums

Interval = tuple[Array, Array]
Sizes = Mapping[str, Array]

DENOMINATORS = {"selection": "weight", "error": "weight", "accuracy": "weight", "tpr": "positives", "fpr": "negatives"}


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
    first, second = wilson(s1, n1, confidence), wilson(s2, n2, confidence)
    low, high = _squared_and_added(share_of(s1, n1), first, share_of(s2, n2), second)
    unknown = (np.asarray(n1) == 0) | (np.asarray(n2) == 0)
    return np.where(unknown, -1.0, low), np.where(unknown, 1.0, high)


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
    return np.where(unknown | none, 0.0, np.exp(middle - half)), np.where(
        unknown | nothing, np.inf, np.exp(middle + half)
    )


def effective_sizes(
    is_favourable: ArrayLike, codes: ArrayLike, levels: Sequence[str], sample_weight: ArrayLike | None = None
) -> dict[str, Array]:
    """Return Kish's effective number of rows, (sum w)^2 / sum w^2, per rate and group (c,).

    Arguments are those of `group_rates`. With equal weights these are the rows behind each rate.
    """
    label = as_flags(is_favourable, "is_favourable").astype(np.intp)
    return sizes_of(count(label[None], label, 2, codes, len(levels), check_weights(sample_weight, len(label))), 1)


def sizes_of(counts: Counts, good: int) -> dict[str, Array]:
    """Return effective numbers of rows of counts whose last group are rows without one."""
    return effective_sizes_of(*(rate_sums(each[:, :-1], good) for each in (counts.weight, counts.squared)))


def effective_sizes_of(once: RateSums, squared: RateSums) -> dict[str, Array]:
    """Return effective numbers of rows from sums of weights and of squared weights."""
    known = DENOMINATORS | ({"recall": "labels"} if once.labels.shape[1] > 2 else {})
    return {name: np.nan_to_num(ratio(getattr(once, of) ** 2, getattr(squared, of))) for name, of in known.items()}


def rate_gap_intervals(rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None) -> Interval:
    """Return `newcombe` intervals of the signed gaps, group minus reference, each (N, c - 1).

    Parameters
    ----------
    rates : GroupRates
    name : str
        selection, error or accuracy (of all rows of a group), tpr (of rows with the favourable label), fpr (of
        the others), or recall of a `ClassRates` (of rows with the class; adds an axis for classes).
    confidence : float
        Of each interval on its own.
    sizes : mapping of rate name to array (c,), optional
        `effective_sizes`, to be given with unequal sample weights. Without, weights count as rows after scaling
        a group's total to its number of rows: right for equal weights, too sure for unequal ones.

    Notes
    -----
    NaN where the gap is: a group without the rows that the rate is about.
    """
    values, size = rates.rate(name), rows_behind(rates, name, sizes)
    return _gaps_between(values[:, :-1], size[:-1], values[:, -1:], size[-1:], confidence)


def worst_gap_upper(rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None) -> Array:
    """Return the upper end for the worst absolute gap between any two groups, (N,): what may be claimed.

        max over pairs of max(|low|, |high|), each pair at confidence 1 - (1 - confidence) / pairs

    Bonferroni's correction makes it hold for all pairs (and classes) of one model together; it does not
    correct for choosing among N models. Groups without the rate are left out, as by `worst_gap`; NaN when
    fewer than two have it. ``sizes`` as in `rate_gap_intervals`.
    """
    low, high = _all_pairs(rates, name, confidence, sizes)
    return np.asarray(np.fmax.reduce(np.maximum(np.abs(low), np.abs(high)), axis=1, initial=np.nan))


def worst_gap_floor(rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None) -> Array:
    """Return the smallest gap that could be demonstrated at such rates, (N,): half the width of the widest interval.

        max over pairs of (high - low) / 2, each pair as in `worst_gap_upper`

    An interval of this width reaches at least so far from 0, wherever it lies: no upper end is below it, and that of an
    observed gap of 0 is about as large. It shrinks with more rows, and with rates near 0 or 1.
    """
    low, high = _all_pairs(rates, name, confidence, sizes)
    return np.asarray(np.fmax.reduce((high - low) / 2.0, axis=1, initial=np.nan))


def error_interval(error: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return Wilson's interval of an error rate, or of any other share, measured on n rows."""
    return wilson(np.multiply(error, n), n, confidence)


def paired_difference(a_correct: ArrayLike, b_correct: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the interval of error of a minus error of b, two models judged on the same rows, (N,).

    Newcombe's method 10 for paired data, Statistics in Medicine 17 (1998) 2635-2650: the two Wilson
    intervals squared and added, less what the correlation phi of the errors takes away.

    ``a_correct`` (N, n) or (n,) and ``b_correct`` (n,) are bool: whether a model decides a row as its label says.
    """
    right_b = np.asarray(b_correct)
    n = len(right_b)
    right_a = as_models(a_correct, n, "a_correct")
    if n == 0 or right_a.dtype != np.bool_ or right_b.dtype != np.bool_:
        found = f"types {right_a.dtype} and {right_b.dtype} on {n} rows"
        raise InputError(f"a_correct and b_correct have {found}, expected bool on at least one; compare with labels.")
    of_a, both = weighted_sums(~right_a, np.column_stack([np.ones(n), ~right_b])).T
    of_b = np.full(len(of_a), float(n - right_b.sum()))
    first, second = wilson(of_a, n, confidence), wilson(of_b, n, confidence)
    return _squared_and_added(of_a / n, first, of_b / n, second, _correlation(of_a, of_b, both, n))


def _all_pairs(rates: GroupRates, name: str, confidence: float, sizes: Sizes | None) -> Interval:
    """Return intervals of the gaps of all pairs of groups (and classes) that hold together, (N, pairs) each."""
    values, size = rates.rate(name), rows_behind(rates, name, sizes)
    one, other = np.triu_indices(len(size), 1)
    pairs = int(np.count_nonzero((size[one] > 0) & (size[other] > 0)))
    level = 1.0 - (1.0 - check_confidence(confidence)) / max(1, pairs)
    low, high = _gaps_between(values[:, one], size[one], values[:, other], size[other], level)
    shape = len(values), low[:1].size
    return low.reshape(shape), high.reshape(shape)


def _gaps_between(p1: Array, n1: Array, p2: Array, n2: Array, confidence: float) -> Interval:
    low, high = newcombe(np.nan_to_num(p1) * n1, n1, np.nan_to_num(p2) * n2, n2, confidence)
    unknown = np.isnan(p1 - p2)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def _squared_and_added(p1: Array, first: Interval, p2: Array, second: Interval, phi: Array | float = 0.0) -> Interval:
    def joined(a: Array, b: Array) -> Array:
        return np.asarray(np.sqrt(np.maximum(a**2 - 2.0 * phi * a * b + b**2, 0.0)))

    low = p1 - p2 - joined(p1 - first[0], second[1] - p2)
    high = p1 - p2 + joined(first[1] - p1, p2 - second[0])
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def _correlation(of_a: Array, of_b: Array, both: Array, n: int) -> Array:
    """Return phi of two kinds of errors from their counts, drawn towards 0 by n/2 where positive (method 10)."""
    product = both * (n - of_a - of_b + both) - (of_a - both) * (of_b - both)
    product = np.where(product > 0, np.maximum(product - n / 2, 0.0), product)
    return np.nan_to_num(ratio(product, np.sqrt(of_a * (n - of_a) * of_b * (n - of_b))))


def rows_behind(rates: GroupRates, name: str, sizes: Sizes | None) -> Array:
    """Return the rows behind a rate in each group, (c,) or (c, classes): ``sizes`` where given, else scaled weights."""
    if sizes is not None and name in sizes:
        return np.asarray(sizes[name], dtype=np.float64)
    field = DENOMINATORS.get(name, "class_weight")
    if not hasattr(rates, field):
        raise InputError(f"{name} is not a share of rows, expected one of {', '.join(DENOMINATORS)}, recall.")
    weight = np.asarray(getattr(rates, field))
    per_weight = np.nan_to_num(ratio(rates.n, rates.weight))
    return np.asarray(weight * per_weight.reshape(-1, *[1] * (weight.ndim - 1)))


def share_of(s: ArrayLike, n: ArrayLike) -> Array:
    """Return s / n, and s where n is 0."""
    return np.asarray(np.asarray(s) / np.where(np.asarray(n) > 0, n, 1.0))


def normal_quantile(confidence: float) -> float:
    """Return z with P(|normal| < z) = confidence."""
    return float(ndtri(0.5 + check_confidence(confidence) / 2.0))


def _counts(successes: ArrayLike, n: ArrayLike) -> tuple[Array, Array]:
    s, size = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if ((s < 0) | (s > size * (1 + 1e-9))).any():
        raise InputError(f"successes run from {s.min():g} to {s.max():g}, expected 0 to n ({size.min():g} or more).")
    return np.minimum(s, size), size


def lower_over_higher(s1: ArrayLike, n1: ArrayLike, s2: ArrayLike, n2: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the interval of the lower of s1/n1 and s2/n2 over the higher: Katz's of their ratio, folded at 1."""
    low, high = katz(s1, n1, s2, n2, confidence)
    with np.errstate(divide="ignore"):
        return np.minimum(low, 1.0 / high), np.minimum(1.0, np.minimum(high, 1.0 / low))


def ratio_interval(rate: Array, size: Array, confidence: float = 0.95) -> Interval:
    """Return ends of the lowest rate over the highest that hold for all pairs at once, from rates (N, c): (N,) each.

    ``size`` (c,) are the effective rows behind the rates. Groups without a rate (NaN) are left out; NaN where no group
    has a favourable decision or fewer than two have a rate.
    """
    pairs = int(np.count_nonzero(_known(rate).any(axis=0)))
    level = 1.0 - (1.0 - check_confidence(confidence)) / max(1, pairs)
    return _least_of_pairs(rate, size, level)


def ratio_lower(rate: Array, size: Array, confidence: float = 0.95) -> Array:
    """Return the least lower end of all pairs, each on its own: what may be claimed of the ratio, (N,)."""
    return _least_of_pairs(rate, size, check_confidence(confidence))[0]


def selection_ratio_lower(rates: GroupRates, confidence: float = 0.95, sizes: Sizes | None = None) -> Array:
    """Return `ratio_lower` of the selection rates of N models; ``sizes`` as in `rate_gap_intervals`."""
    return ratio_lower(rates.selection, rows_behind(rates, "selection", sizes), confidence)


def _known(rate: Array) -> Array:
    one, other = np.triu_indices(rate.shape[1], 1)
    return np.asarray(~np.isnan(rate[:, one] + rate[:, other]))


def _least_of_pairs(rate: Array, size: Array, confidence: float) -> Interval:
    """Return the least lower and the least upper end of all pairs, with the observed ratio between them."""
    one, other = np.triu_indices(rate.shape[1], 1)
    chosen = np.nan_to_num(rate) * size
    found = lower_over_higher(chosen[:, one], size[one], chosen[:, other], size[other], confidence)
    known = _known(rate) & (np.fmax.reduce(rate, axis=1, initial=0.0) > 0)[:, None]
    low, high = (np.fmin.reduce(np.where(known, end, np.nan), axis=1, initial=np.nan) for end in found)
    return low, high
