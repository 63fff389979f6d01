"""The worst gap between any two groups, and the lowest rate over the highest, with what these rows support."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .figures import RATIOS, figure_of
from .group_table import Share
from .intervals import Interval, newcombe
from .lines import REFERENCE, Lines
from .ratios import ratio_interval, ratio_lower


@dataclass(frozen=True)
class Worst:
    """One notion's worst contrast.

    ``value`` is the largest absolute gap between two groups (for a ratio, the lowest rate over the highest);
    ``lower`` and ``upper`` hold for all pairs of groups at once (Bonferroni). ``between`` names the two groups, the
    lower rate first for a ratio, and ``unit`` the unit. ``pair_lower`` is a ratio's least lower end of all pairs, each
    on its own: what may be claimed of it. NaN where fewer than two groups have the figure.
    """

    figure: str
    notion: str
    value: float
    lower: float
    upper: float
    between: tuple[str, str]
    unit: str
    pair_lower: float = np.nan


def worst_shares(shares: dict[str, Share], lines: Lines, confidence: float) -> tuple[Worst, ...]:
    """Return the worst gap of every share, the worse of several where a notion has several, and the ratio."""
    gaps = [_gap(name, shares[name], lines, confidence) for name in shares]
    several = [_of_several("odds_gap", "equalized odds", ("tpr", "fpr"), shares, lines, confidence)]
    recalls = tuple(name for name in shares if name.startswith("recall["))
    if recalls:
        several.append(_of_several("recall_gap", "", recalls, shares, lines, confidence))
    return (*gaps, *several, worst_ratio(shares["selection"], lines, confidence))


def _gap(name: str, share: Share, lines: Lines, confidence: float) -> Worst:
    one, other = _pairs(share.value, lines)
    value, size = np.nan_to_num(share.value), share.size
    level = 1.0 - (1.0 - confidence) / max(1, len(one))
    interval = newcombe(value[one] * size[one], size[one], value[other] * size[other], size[other], level)
    return worst_gap_of(name, value[one] - value[other], interval, (one, other), lines)


def worst_means(name: str, value: Array, error: Array, lines: Lines, z: float) -> Worst:
    """Return the worst gap of a mean from standard errors; z is the quantile for all pairs at once."""
    one, other = _pairs(value, lines)
    gap, half = value[one] - value[other], z * np.sqrt(error[one] ** 2 + error[other] ** 2)
    return worst_gap_of(name, gap, (gap - half, gap + half), (one, other), lines)


def worst_gap_of(
    name: str, gap: Array, interval: Interval, pairs: tuple[NDArray[np.intp], NDArray[np.intp]], lines: Lines
) -> Worst:
    """Return the largest absolute gap of pairs; its lower end is 0 unless one pair's interval leaves 0 out."""
    figure = figure_of(name)
    if not len(gap):
        return Worst(f"{name}_gap", figure.notion, np.nan, np.nan, np.nan, ("", ""), figure.unit)
    low, high = interval
    place = int(np.argmax(np.abs(gap)))
    between = lines.names[int(pairs[0][place])], lines.names[int(pairs[1][place])]
    lower = float(np.maximum(np.maximum(low, -high), 0.0).max())
    upper = float(np.maximum(np.abs(low), np.abs(high)).max())
    return Worst(f"{name}_gap", figure.notion, float(np.abs(gap[place])), lower, upper, between, figure.unit)


def _of_several(
    figure: str, notion: str, names: tuple[str, ...], shares: dict[str, Share], lines: Lines, confidence: float
) -> Worst:
    """Return the worst of the gaps of several shares, with ends that hold for all; NaN where one has no value."""
    level = 1.0 - (1.0 - confidence) / len(names)
    found = [_gap(name, shares[name], lines, level) for name in names]
    value, lower, upper = (float(np.max([getattr(w, end) for w in found])) for end in ("value", "lower", "upper"))
    worse = next((w for w in found if w.value == value), found[0])
    return Worst(figure, notion, value, lower, upper, worse.between, "share of people with the same label")


def worst_ratio(share: Share, lines: Lines, confidence: float) -> Worst:
    """Return the lowest selection rate over the highest, with the two groups and its ends."""
    figure = RATIOS["selection_ratio"]
    there = _known(share.value, lines)
    rate, size = share.value[there], share.size[there]
    if len(there) < 2 or not rate.any():
        return Worst(figure.name, figure.notion, np.nan, np.nan, np.nan, ("", ""), figure.unit)
    low, high = int(there[np.argmin(rate)]), int(there[np.argmax(rate)])
    if low == high:  # all rates are equal
        low, high = int(there[0]), int(there[-1])
    lower, upper = ratio_interval(rate[None], size, confidence)
    own = float(ratio_lower(rate[None], size, confidence)[0])
    value, between = float(rate.min() / rate.max()), (lines.names[low], lines.names[high])
    return Worst(figure.name, figure.notion, value, float(lower[0]), float(upper[0]), between, figure.unit, own)


def _pairs(value: Array, lines: Lines) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return all pairs of groups that are compared and have the figure."""
    known = _known(value, lines)
    one, other = np.triu_indices(len(known), 1)
    return known[one], known[other]


def _known(value: Array, lines: Lines) -> NDArray[np.intp]:
    """Return the lines of groups that are compared and have the figure."""
    there = lines.compared | (np.array(lines.status) == REFERENCE)
    return np.flatnonzero(there & ~np.isnan(value))
