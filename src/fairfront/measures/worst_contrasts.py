"""The worst contrasts of one attribute: the largest gap of every figure between any two groups, and the ratio of rates.

Whoever the reference is. An upper bound holds for all pairs of groups at once, and the pair that reaches it need not be
the one with the largest gap: both are named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .figures import RATIOS, Column, Figure, figure_of, not_defined
from .intervals import bonferroni, gap_interval, ratio_interval
from .lines import COMPARED, REFERENCE, TOO_FEW, Lines
from .proportions import Interval, normal_quantile
from .rates import Share
from .table_columns import Settings


@dataclass(frozen=True)
class Worst:
    """One notion's worst contrast; NaN where fewer than two groups have the figure.

    Attributes
    ----------
    figure, notion, unit : str
    value : float
        The largest absolute gap between two groups, or the lowest rate over the highest.
    lower, upper : float
        The lower end is that of pairs whose intervals hold at once (Bonferroni); the upper one fails only if that of
        the worst pair does (intersection-union), so it is not corrected.
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
    upper_between : tuple of str
        The two groups whose interval reaches farthest, which need not be those of the largest gap.
    of : str
        Of a contrast of several figures, the one that it is the gap of, such as ``fpr`` or ``recall[a]``.
    """

    figure: str
    notion: str
    unit: str
    value: float = np.nan
    lower: float = np.nan
    upper: float = np.nan
    between: tuple[str, str] = ("", "")
    people: tuple[float, float] = (np.nan, np.nan)
    not_compared: tuple[str, ...] = ()
    groups: int = 0
    floor: float = np.nan
    pair_lower: float = np.nan
    upper_between: tuple[str, str] = ("", "")
    of: str = ""

    @property
    def plain(self) -> dict[str, Any]:
        record: dict[str, Any] = {"figure": self.figure, "notion": self.notion, "unit": self.unit}
        record["not_compared"] = list(self.not_compared)
        if self.value != self.value:
            return {**record, "value": not_defined(self.figure)}
        names = ("value", "lower", "upper", "pair_lower" if self.figure in RATIOS else "floor")
        record |= {name: getattr(self, name) for name in names} | {"between": list(self.between)}
        record |= {"upper_between": list(self.upper_between)} if self.upper_between[0] else {}
        record |= {"of": self.of} if self.of else {}
        return record | ({"people": list(self.people)} if self.people[0] == self.people[0] else {})


def worst_shares(shares: dict[str, Share], lines: Lines, confidence: float) -> tuple[Worst, ...]:
    """Return the worst gap of every share, the worse of several where a notion has several, and the ratio."""

    def worst(name: str, level: float) -> Worst:
        share = shares[name]

        def ends(one: NDArray[np.intp], other: NDArray[np.intp], together: bool) -> Interval:
            sure = bonferroni(level, len(one)) if together else confidence
            low, high = gap_interval(share.rates, one, other, sure, claimed=not together)
            return low[0], high[0]

        return _worst_gap(name, share, ends, lines)

    found = [worst(name, confidence) for name in shares]
    several = {("odds_gap", "equalized odds"): ["tpr", "fpr"]}
    if recalls := [name for name in shares if name.startswith("recall[")]:
        several["recall_gap", ""] = recalls
    for (figure, notion), names in several.items():  # ends that hold for all of them; NaN where one has no value
        each = [worst(name, bonferroni(confidence, len(names))) for name in names]
        ends = ("value", "lower", "upper", "floor")
        most: dict[str, Any] = {end: float(np.max([getattr(w, end) for w in each])) for end in ends}
        worse: Any = next((w for w in each if w.value == most["value"]), each[0])
        farthest = next((w for w in each if w.upper == most["upper"]), each[0])
        most |= {"upper_between": farthest.upper_between, "of": Column.of(worse.figure).name_of_rate}
        left_out = tuple(dict.fromkeys(name for w in each for name in w.not_compared))
        unit = "share of people with the same label"
        found.append(replace(worse, figure=figure, notion=notion, unit=unit, not_compared=left_out, **most))
    return (*found, worst_ratio("selection", shares["selection"], lines, confidence))


def worst_means(name: str, value: Array, error: Array, lines: Lines, settings: Settings) -> Worst:
    def ends(one: NDArray[np.intp], other: NDArray[np.intp], together: bool) -> Interval:
        z = normal_quantile(settings.of_pair(lines) if together else settings.confidence)
        half, gap = z * np.sqrt(error[one] ** 2 + error[other] ** 2), value[one] - value[other]
        return gap - half, gap + half

    return _worst_gap(name, Share(value, error, np.full(len(value), np.nan)), ends, lines)


def _lowest_and_highest(value: Array, known: NDArray[np.intp]) -> tuple[int, int]:
    low, high = int(known[np.argmin(value[known])]), int(known[np.argmax(value[known])])
    return (int(known[0]), int(known[-1])) if low == high else (low, high)  # where all are equal


def _without_value(name: str, figure: Figure, value: Array, lines: Lines) -> tuple[Worst, NDArray[np.intp]]:
    """Return a contrast that has no value yet, and the lines of groups that are compared and have the figure."""
    groups = [i for i, kind in enumerate(lines.status) if kind in (REFERENCE, COMPARED, TOO_FEW)]
    known = np.flatnonzero([kind in (REFERENCE, COMPARED) for kind in lines.status] & ~np.isnan(value))
    left_out = tuple(lines.names[i] for i in groups if i not in known)
    found = Worst(name, figure.notion, figure.unit, not_compared=left_out, groups=len(groups))
    return found, known


def _worst_gap(name: str, share: Share, ends: Callable[[Any, Any, bool], Interval], lines: Lines) -> Worst:
    """Return the largest absolute gap of pairs; its lower end is 0 unless one pair's interval leaves 0 out.

    That is looked for among all pairs, whose intervals have to hold together; the upper end fails only if that of the
    worst pair does, so each pair has its own.
    """
    value, people = share.value, share.people
    found, known = _without_value(f"{name}_gap", figure_of(name), value, lines)
    if len(known) < 2:
        return found
    i, j = _lowest_and_highest(value, known)
    one, other = (known[places] for places in np.triu_indices(len(known), 1))
    (low, high), (least, most) = ends(one, other, False), ends(one, other, True)
    reach = np.maximum(np.abs(low), np.abs(high))
    far = int(np.argmax(reach))
    return replace(
        found,
        value=float(value[j] - value[i]),
        lower=float(np.maximum(np.maximum(least, -most), 0.0).max()),
        upper=float(reach.max()),
        upper_between=(lines.names[one[far]], lines.names[other[far]]),
        between=(lines.names[i], lines.names[j]),
        people=(float(people[i]), float(people[j])),
        floor=float((high - low).max() / 2.0),
    )


def worst_ratio(of: str, share: Share, lines: Lines, confidence: float) -> Worst:
    found, there = _without_value(f"{of}_ratio", RATIOS[f"{of}_ratio"], share.value, lines)
    rate = share.value[there]
    if len(there) < 2 or not rate.any():
        return found
    low, high = _lowest_and_highest(share.value, there)
    compared = share.rates.among(there)
    (lower,), (upper,) = ratio_interval(compared, confidence)
    return replace(
        found,
        value=float(rate.min() / rate.max()),
        lower=float(lower),
        upper=float(upper),
        between=(lines.names[low], lines.names[high]),
        people=(float(share.people[low]), float(share.people[high])),
        pair_lower=float(ratio_interval(compared, confidence, together=False)[0][0]),
    )
