"""How sure a sample lets one be of rates and their gaps: intervals, tests and the least gap that sizes support.

Numbers only, vectorised over N models. An absolute gap is never below 0, so its interval would never be
either: intervals are for signed gaps, and a claim about an absolute gap is the upper end, `worst_gap_upper`.
Every interval is approximate and holds for rows drawn independently from the population that is meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import fisher_exact

from ..exceptions import InputError
from ..objectives import Array
from ..validation import check_weights
from .rates import GroupRates, group_rates
from .sums import as_models, membership, ratio, weighted_sums

Interval = tuple[Array, Array]
Sizes = Mapping[str, Array]

DENOMINATORS = {"selection": "weight", "error": "weight", "accuracy": "weight", "tpr": "positives", "fpr": "negatives"}
# Rates as sums over the cells (favourable label, chosen), (favourable, not), (other, chosen), (other, not).
PARTS = {
    "selection": ([1, 0, 1, 0], [1, 1, 1, 1]),
    "error": ([0, 1, 1, 0], [1, 1, 1, 1]),
    "accuracy": ([1, 0, 0, 1], [1, 1, 1, 1]),
    "tpr": ([1, 0, 0, 0], [1, 1, 0, 0]),
    "fpr": ([0, 0, 1, 0], [0, 0, 1, 1]),
}


def wilson(successes: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion; (0, 1) where n is 0.

        (s + z^2/2 -+ z sqrt(s (n - s) / n + z^2/4)) / (n + z^2)

    ``n`` may be effective sizes, so neither count needs to be whole. Shapes broadcast.
    """
    s, size = _counts(successes, n)
    z = _quantile(confidence)
    centre = (s + z**2 / 2) / (size + z**2)
    half = z * np.sqrt(s * (size - s) / np.where(size > 0, size, 1.0) + z**2 / 4) / (size + z**2)
    low, high = np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
    return np.where(s == 0, 0.0, low), np.where(s == size, 1.0, high)


def newcombe(s1: ArrayLike, n1: ArrayLike, s2: ArrayLike, n2: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return Newcombe's interval of s1/n1 - s2/n2 for independent groups; (-1, 1) where either n is 0.

    Statistics in Medicine 17 (1998) 873-890, method 10: the two Wilson intervals, squared and added.
    """
    first, second = wilson(s1, n1, confidence), wilson(s2, n2, confidence)
    low, high = _squared_and_added(_share(s1, n1), first, _share(s2, n2), second)
    unknown = (np.asarray(n1) == 0) | (np.asarray(n2) == 0)
    return np.where(unknown, -1.0, low), np.where(unknown, 1.0, high)


def katz(s1: ArrayLike, n1: ArrayLike, s2: ArrayLike, n2: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return Katz's log interval of the ratio (s1/n1) / (s2/n2); (0, infinity) where either n is 0.

    The variance of the log ratio is 1/s1 - 1/n1 + 1/s2 - 1/n2. Where one of the four counts (successes or
    failures) is 0, half a row is added to each of them. Too short for small groups with rates near 1.
    """
    (a, size1), (b, size2) = _counts(s1, n1), _counts(s2, n2)
    empty = np.minimum(np.minimum(a, size1 - a), np.minimum(b, size2 - b)) < 1e-9
    a, b, size1, size2 = a + 0.5 * empty, b + 0.5 * empty, size1 + empty, size2 + empty
    half = _quantile(confidence) * np.sqrt(1 / a - 1 / size1 + 1 / b - 1 / size2)
    middle = np.log(a / size1) - np.log(b / size2)
    unknown = (np.asarray(n1) == 0) | (np.asarray(n2) == 0)
    return np.where(unknown, 0.0, np.exp(middle - half)), np.where(unknown, np.inf, np.exp(middle + half))


def effective_sizes(
    is_favourable: ArrayLike, codes: ArrayLike, levels: Sequence[str], sample_weight: ArrayLike | None = None
) -> dict[str, Array]:
    """Return Kish's effective number of rows, (sum w)^2 / sum w^2, per rate and group (c,).

    Arguments are those of `group_rates`. With equal weights these are the rows behind each rate.
    """
    member = membership(codes, np.size(is_favourable), len(levels))
    weight = check_weights(sample_weight, len(member))
    weight = np.ones(len(member)) if weight is None else weight
    once = group_rates(is_favourable, is_favourable, member, levels, weight)
    squared = group_rates(is_favourable, is_favourable, member**2, levels, weight**2)
    fields = DENOMINATORS.items()
    return {name: np.nan_to_num(ratio(getattr(once, of) ** 2, getattr(squared, of))) for name, of in fields}


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
    values, size = rates.rate(name), _sizes(rates, name, sizes)
    return _gaps_between(values[:, :-1], size[:-1], values[:, -1:], size[-1:], confidence)


def worst_gap_upper(rates: GroupRates, name: str, confidence: float = 0.95, sizes: Sizes | None = None) -> Array:
    """Return the upper end for the worst absolute gap between any two groups, (N,): what may be claimed.

        max over pairs of max(|low|, |high|), each pair at confidence 1 - (1 - confidence) / pairs

    Bonferroni's correction makes it hold for all pairs (and classes) of one model together; it does not
    correct for choosing among N models. Groups without the rate are left out, as by `worst_gap`; NaN when
    fewer than two have it. ``sizes`` as in `rate_gap_intervals`.
    """
    values, size = rates.rate(name), _sizes(rates, name, sizes)
    one, other = np.triu_indices(len(size), 1)
    pairs = int(np.count_nonzero((size[one] > 0) & (size[other] > 0)))
    level = 1.0 - (1.0 - _checked(confidence)) / max(1, pairs)
    low, high = _gaps_between(values[:, one], size[one], values[:, other], size[other], level)
    largest = np.maximum(np.abs(low), np.abs(high)).reshape(len(values), low[:1].size)
    return np.asarray(np.fmax.reduce(largest, axis=1, initial=np.nan))


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
    z, side, room = _quantile(confidence), np.where(p > 0.5, -1.0, 1.0), np.maximum(p, 1.0 - p)

    def needed(gap: Array) -> Array:
        q = np.clip(p + side * gap, 0.0, 1.0)
        m = (n1 * p + n2 * q) / (n1 + n2)
        chance = z * np.sqrt(m * (1.0 - m) * (1.0 / n1 + 1.0 / n2))
        return np.asarray(chance + ndtri(power) * np.sqrt(p * (1.0 - p) / n1 + q * (1.0 - q) / n2))

    gap = room
    for _ in range(60):  # needed is concave with a slope of at most 1/2 at the root: each round halves the distance
        gap = np.minimum(needed(gap), room)
    return np.where(needed(room) <= room, gap, np.nan)


def smallest_verifiable_gap(n1: ArrayLike, n2: ArrayLike, p: ArrayLike, confidence: float = 0.95) -> Array:
    """Return the least upper end that n1 and n2 rows support: that of an observed gap of exactly 0 at rate p."""
    low, high = newcombe(np.multiply(p, n1), n1, np.multiply(p, n2), n2, confidence)
    return np.maximum(-low, high)


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
    return _percentiles(values[:, :-1] - values[:, -1:], confidence)


def selection_test(rates: GroupRates, sizes: Sizes | None = None) -> tuple[Array, Array]:
    """Test whether selection rates differ from the reference group's: p-values and deviations, each (N, c - 1).

    The p-value is that of Fisher's exact test, two-sided, on counts rounded to whole rows. The second array is
    the difference in standard deviations, (p1 - p2) / sqrt(m (1 - m) (1/n1 + 1/n2)) with m the mean rate.
    NaN where a group has no rows. ``sizes`` as in `rate_gap_intervals`; one call of SciPy per model and group.
    """
    size = np.rint(_sizes(rates, "selection", sizes))
    chosen = np.rint(np.nan_to_num(rates.selection) * size)
    s1, n1, s2, n2 = np.broadcast_arrays(chosen[:, :-1], size[:-1], chosen[:, -1:], size[-1:])
    known, mean = (n1 > 0) & (n2 > 0), _share(s1 + s2, n1 + n2)
    spread = np.sqrt(mean * (1.0 - mean) * (_share(1.0, n1) + _share(1.0, n2)))
    deviations = np.nan_to_num(ratio(_share(s1, n1) - _share(s2, n2), spread))
    exact = np.vectorize(lambda a, n, b, m: fisher_exact([[a, n - a], [b, m - b]])[1], otypes=[np.float64])
    return np.where(known, exact(s1, n1, s2, n2), np.nan), np.where(known, deviations, np.nan)


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


def _percentiles(values: Array, confidence: float) -> Interval:
    """Return the central quantiles of each column, leaving NaN out; NaN for columns with nothing else."""
    tail = (1.0 - _checked(confidence)) / 2.0
    some = ~np.isnan(values).all(axis=0)
    ends = np.full((2, values.shape[1]), np.nan)
    ends[:, some] = np.nanquantile(values[:, some], [tail, 1.0 - tail], axis=0)
    return ends[0], ends[1]


def _sizes(rates: GroupRates, name: str, sizes: Sizes | None) -> Array:
    if sizes is not None and name in sizes:
        return np.asarray(sizes[name], dtype=np.float64)
    field = DENOMINATORS.get(name, "class_weight")
    if not hasattr(rates, field):
        raise InputError(f"{name} is not a share of rows, expected one of {', '.join(DENOMINATORS)}, recall.")
    weight = np.asarray(getattr(rates, field))
    per_weight = np.nan_to_num(ratio(rates.n, rates.weight))
    return np.asarray(weight * per_weight.reshape(-1, *[1] * (weight.ndim - 1)))


def _share(s: ArrayLike, n: ArrayLike) -> Array:
    return np.asarray(np.asarray(s) / np.where(np.asarray(n) > 0, n, 1.0))


def _quantile(confidence: float) -> float:
    return float(ndtri(0.5 + _checked(confidence) / 2.0))


def _checked(confidence: float) -> float:
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence!r}, expected a number between 0 and 1, such as 0.95.")
    return confidence


def _counts(successes: ArrayLike, n: ArrayLike) -> tuple[Array, Array]:
    s, size = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if ((s < 0) | (s > size * (1 + 1e-9))).any():
        raise InputError(f"successes run from {s.min():g} to {s.max():g}, expected 0 to n ({size.min():g} or more).")
    return np.minimum(s, size), size
