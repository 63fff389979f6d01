"""How sure the selection ratio is: the lowest rate of favourable decisions over the highest, never above 1.

The ratio of c groups is the least over all pairs of groups of the lower rate over the higher, min(r, 1/r) with r the
ratio of the pair's two rates. Ends that are shown hold for all pairs at once (Bonferroni). A claim that the ratio is at
least so much is one that every pair has to hold, so each pair is judged at its own end and nothing is corrected: the
intersection-union test (Berger 1982, Technometrics 24, 295-300).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..objectives import Array
from ..validation import check_confidence
from .intervals import Interval, Sizes, katz, rows_behind
from .rates import GroupRates


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
