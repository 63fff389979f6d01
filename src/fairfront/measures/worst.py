"""The worst gap between any two groups, and the lowest rate over the highest, with what these rows support."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .figures import RATIOS, figure_of
from .intervals import Interval, newcombe, ratio_interval
from .lines import COMPARED, REFERENCE, TOO_FEW, Lines, Share


@dataclass(frozen=True)
class Worst:
    """One notion's worst contrast.

    Attributes
    ----------
    figure, notion, unit : str
    value : float
        The largest absolute gap between two groups, or the lowest rate over the highest.
    lower, upper : float
        Ends that hold for all pairs of groups at once (Bonferroni).
    between : tuple of str
        The two groups, that of the lower rate first.
    people : tuple of float
        The rows of each of them that the figure is about; NaN for figures of scores.
    not_compared : tuple of str
        Groups that are not in it, because they have too few rows or none that the figure is about.
    groups : int
        How many groups there are, these among them.
    floor : float
        The smallest gap that so many rows could demonstrate at such rates, never above ``upper``; NaN for a ratio.
    pair_lower : float
        Of a ratio, the least lower end of all pairs, each on its own: what may be claimed of it.

    NaN where fewer than two groups have the figure.
    """

    figure: str
    notion: str
    value: float
    lower: float
    upper: float
    between: tuple[str, str]
    unit: str
    people: tuple[float, float] = (np.nan, np.nan)
    not_compared: tuple[str, ...] = ()
    groups: int = 0
    floor: float = np.nan
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
    return _of_pairs(name, share.value, share.people, interval, lines)


def worst_means(name: str, value: Array, error: Array, lines: Lines, z: float) -> Worst:
    """Return the worst gap of a mean from standard errors; z is the quantile for all pairs at once."""
    one, other = _pairs(value, lines)
    gap, half = value[one] - value[other], z * np.sqrt(error[one] ** 2 + error[other] ** 2)
    return _of_pairs(name, value, np.full(len(value), np.nan), (gap - half, gap + half), lines)


def _of_pairs(name: str, value: Array, people: Array, interval: Interval, lines: Lines) -> Worst:
    """Return the largest absolute gap of pairs; its lower end is 0 unless one pair's interval leaves 0 out."""
    figure, (low, high) = figure_of(name), interval
    found = Worst(f"{name}_gap", figure.notion, np.nan, np.nan, np.nan, ("", ""), figure.unit)
    found = _with_groups(found, value, lines)
    one, other = _pairs(value, lines)
    if not len(one):
        return found
    gap = np.abs(value[one] - value[other])
    place = int(np.argmax(gap))
    i, j = sorted((int(one[place]), int(other[place])), key=lambda k: float(value[k]))
    return replace(
        found,
        value=float(gap[place]),
        lower=float(np.maximum(np.maximum(low, -high), 0.0).max()),
        upper=float(np.maximum(np.abs(low), np.abs(high)).max()),
        between=(lines.names[i], lines.names[j]),
        people=(float(people[i]), float(people[j])),
        floor=float((high - low).max() / 2.0),
    )


def _with_groups(found: Worst, value: Array, lines: Lines) -> Worst:
    """Say how many groups there are and which of them are not compared."""
    groups = [i for i, kind in enumerate(lines.status) if kind in (REFERENCE, COMPARED, TOO_FEW)]
    there = set(_known(value, lines).tolist())
    return replace(found, groups=len(groups), not_compared=tuple(lines.names[i] for i in groups if i not in there))


def _of_several(
    figure: str, notion: str, names: tuple[str, ...], shares: dict[str, Share], lines: Lines, confidence: float
) -> Worst:
    """Return the worst of the gaps of several shares, with ends that hold for all; NaN where one has no value."""
    level = 1.0 - (1.0 - confidence) / len(names)
    found = [_gap(name, shares[name], lines, level) for name in names]
    value, lower, upper = (float(np.max([getattr(w, end) for w in found])) for end in ("value", "lower", "upper"))
    worse = next((w for w in found if w.value == value), found[0])
    return replace(
        worse,
        figure=figure,
        notion=notion,
        value=value,
        lower=lower,
        upper=upper,
        unit="share of people with the same label",
        not_compared=tuple(dict.fromkeys(name for w in found for name in w.not_compared)),
        floor=float(np.max([w.floor for w in found])),
    )


def worst_ratio(share: Share, lines: Lines, confidence: float) -> Worst:
    """Return the lowest selection rate over the highest, with the two groups and its ends."""
    figure = RATIOS["selection_ratio"]
    there = _known(share.value, lines)
    rate, size = share.value[there], share.size[there]
    found = Worst(figure.name, figure.notion, np.nan, np.nan, np.nan, ("", ""), figure.unit)
    found = _with_groups(found, share.value, lines)
    if len(there) < 2 or not rate.any():
        return found
    low, high = int(there[np.argmin(rate)]), int(there[np.argmax(rate)])
    if low == high:  # all rates are equal
        low, high = int(there[0]), int(there[-1])
    lower, upper = ratio_interval(rate[None], size, confidence)
    return replace(
        found,
        value=float(rate.min() / rate.max()),
        lower=float(lower[0]),
        upper=float(upper[0]),
        between=(lines.names[low], lines.names[high]),
        people=(float(share.people[low]), float(share.people[high])),
        pair_lower=float(ratio_interval(rate[None], size, confidence, together=False)[0][0]),
    )


def _pairs(value: Array, lines: Lines) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return all pairs of groups that are compared and have the figure."""
    known = _known(value, lines)
    one, other = np.triu_indices(len(known), 1)
    return known[one], known[other]


def _known(value: Array, lines: Lines) -> NDArray[np.intp]:
    """Return the lines of groups that are compared and have the figure."""
    there = lines.compared | (np.array(lines.status) == REFERENCE)
    return np.flatnonzero(there & ~np.isnan(value))
