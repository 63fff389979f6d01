"""The worst gap between any two groups, and the worst ratio to the reference, with what these rows can vouch for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .figures import SHARES, figure_of
from .group_table import Share
from .intervals import Interval, katz, newcombe
from .lines import REFERENCE, Lines


@dataclass(frozen=True)
class Worst:
    """One notion's worst contrast.

    ``value`` is the largest absolute gap between two groups (the smallest ratio to the reference group);
    ``lower`` and ``upper`` hold for all pairs of groups at once (Bonferroni). ``between`` names the two groups and
    ``unit`` the unit. NaN where fewer than two groups have the figure.
    """

    figure: str
    notion: str
    value: float
    lower: float
    upper: float
    between: tuple[str, str]
    unit: str


def worst_shares(shares: dict[str, Share], lines: Lines, confidence: float) -> tuple[Worst, ...]:
    """Return the worst gap of every share and the worst selection ratio."""
    names = [name for name in shares if name != "fnr"]
    gaps = [_gap(name, shares[name], lines, confidence) for name in names]
    half = 1.0 - (1.0 - confidence) / 2.0
    odds = _equalized_odds(*(_gap(name, shares[name], lines, half) for name in ("tpr", "fpr")))
    return (*gaps, odds, worst_ratio(shares["selection"], lines, confidence))


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


def _equalized_odds(tpr: Worst, fpr: Worst) -> Worst:
    """Return the worse of the gaps of true and false positive rates; NaN where either has no value."""
    worse = tpr if tpr.value >= fpr.value or np.isnan(tpr.value) else fpr
    value = float(np.maximum(tpr.value, fpr.value))
    ends = float(np.maximum(tpr.lower, fpr.lower)), float(np.maximum(tpr.upper, fpr.upper))
    unit = "share of people with the same label"
    return Worst("odds_gap", "equalized odds", value, *ends, worse.between, unit)


def worst_ratio(share: Share, lines: Lines, confidence: float) -> Worst:
    """Return the smallest selection ratio to the reference group, with Katz's ends for all groups at once."""
    r, notion, unit = lines.reference, SHARES["selection"].notion, "ratio to the reference group"
    others = np.flatnonzero(lines.compared & (share.size > 0))
    if not len(others) or not share.size[r] or not share.value[r]:
        return Worst("selection_ratio", notion, np.nan, np.nan, np.nan, ("", lines.names[r]), unit)
    value, size = share.value[others], share.size[others]
    level = 1.0 - (1.0 - confidence) / len(others)
    low, high = katz(value * size, size, share.value[r] * share.size[r], share.size[r], level)
    relative = value / share.value[r]
    place = int(np.argmin(relative))
    between = lines.names[int(others[place])], lines.names[r]
    return Worst("selection_ratio", notion, float(relative[place]), float(low.min()), float(high.min()), between, unit)


def _pairs(value: Array, lines: Lines) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return all pairs of groups that are compared and have the figure."""
    there = lines.compared | (np.array(lines.status) == REFERENCE)
    known = np.flatnonzero(there & ~np.isnan(value))
    one, other = np.triu_indices(len(known), 1)
    return known[one], known[other]
