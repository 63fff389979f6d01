"""Columns of one attribute's table and its worst contrasts: every figure, its interval, and its gaps.

Columns are arrays with one entry per line. A figure ``f`` comes with ``f_lower``, ``f_upper``, ``f_gap`` (group minus
reference), ``f_gap_lower`` and ``f_gap_upper``; NaN where there is no value, with the reason in `why`. The worst gap is
the largest between any two groups, whoever the reference is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .counts import ratio
from .disclosure import NOTABLE, Cell
from .figures import RATIOS, Column, Figure, figure_of, not_defined
from .intervals import (
    Interval,
    bonferroni,
    gap_interval,
    katz_span,
    normal_quantile,
    percentiles,
    ratio_interval,
    share_interval,
)
from .lines import COMPARED, REFERENCE, TOO_FEW, Lines
from .ranges import Range
from .rates import Share
from .significance import smallest_detectable_gap, two_by_two

BEHIND = {
    "selection_over_reference": "selection",
    "shortfall": "selection",
    "p_value": "selection",
    "deviations": "selection",
    "smd": "mean_score",
}
"""The figure behind each contrast that is not a plain gap."""
DETECTABLE = Column("detectable", gap=True)


@dataclass(frozen=True)
class Settings:
    """How sure intervals are to be, and how often figures of scores are drawn again (0: never, so without intervals).

    ``simultaneous`` makes the gaps of an attribute hold together; ``more`` figures of `figures.MORE` are given.
    """

    confidence: float = 0.95
    simultaneous: bool = False
    n_resamples: int = 500
    random_state: int | None = 0
    more: tuple[str, ...] = ()

    def of_gap(self, lines: Lines) -> float:
        return bonferroni(self.confidence, int(lines.compared.sum()) if self.simultaneous else 1)

    def of_pair(self, lines: Lines) -> float:
        """Return the confidence of each pair's gap such that those of all pairs of groups hold together."""
        return bonferroni(self.confidence, lines.c * (lines.c - 1) // 2)


def with_gaps(name: str, value: Array, interval: Interval, gap_interval: Interval, lines: Lines) -> dict[str, Array]:
    """Gaps are there for compared groups only."""
    gap = value - value[lines.reference]
    there = lines.compared & ~np.isnan(gap)
    columns = {"": value, "_lower": interval[0], "_upper": interval[1]}
    gaps = {"_gap": gap, "_gap_lower": gap_interval[0], "_gap_upper": gap_interval[1]}
    columns |= {end: np.where(there, values, np.nan) for end, values in gaps.items()}
    return {name + end: values for end, values in columns.items()}


def share_columns(name: str, share: Share, lines: Lines, settings: Settings) -> dict[str, Array]:
    span, r, line = share.span, lines.reference, np.arange(len(share.value))
    lower, upper = (
        np.where(np.isnan(share.value), np.nan, end[0]) for end in share_interval(span, settings.confidence)
    )
    gaps = gap_interval(span, line, np.full(len(line), r), settings.of_gap(lines))
    columns = with_gaps(name, share.value, (lower, upper), (gaps[0][0], gaps[1][0]), lines)
    if share.known is not None:
        off = Range(share.value, span.low[0], span.high[0]).width
        far = {f"{name}_rounding": off, f"{name}_gap_rounding": np.where(lines.compared, off + off[r], np.nan)}
        columns |= {key: values for key, values in far.items() if (values > NOTABLE).any()}
    return columns


def selection_columns(share: Share, n: Array, lines: Lines, settings: Settings) -> dict[str, Array]:
    """The shortfall: how many more favourable decisions, in rows of ``n``, the reference's rate would give a group."""
    r, size, line = lines.reference, share.size, np.arange(len(n))
    chosen = np.nan_to_num(share.value) * size
    relative = ratio(share.value, np.full(len(n), share.value[r]))
    low, high = (
        np.where(np.isnan(relative), np.nan, end[0])
        for end in katz_span(share.span, line, np.full(len(n), r), settings.of_gap(lines))
    )
    p_value, deviations = two_by_two(chosen, size, chosen[r], size[r])
    columns = {
        "selection_over_reference": relative,
        "selection_over_reference_lower": low,
        "selection_over_reference_upper": high,
        "shortfall": n * (share.value[r] - share.value),
        "p_value": p_value,
        "deviations": deviations,
        "detectable_gap": smallest_detectable_gap(size[r], size, np.nan_to_num(share.value[r]), settings.confidence),
    }
    return {name: np.where(lines.compared, values, np.nan) for name, values in columns.items()}


def drawn_columns(name: str, value: Array, draws: Array, lines: Lines, settings: Settings) -> dict[str, Array]:
    ends = percentiles(draws, settings.confidence)
    return with_gaps(name, value, ends, percentiles(draws - draws[:, [lines.reference]], settings.of_gap(lines)), lines)


def normal_columns(name: str, value: Array, error: Array, lines: Lines, settings: Settings) -> dict[str, Array]:
    both = np.sqrt(error**2 + error[lines.reference] ** 2)
    gap = value - value[lines.reference]
    half, wide = normal_quantile(settings.confidence) * error, normal_quantile(settings.of_gap(lines)) * both
    return with_gaps(name, value, (value - half, value + half), (gap - wide, gap + wide), lines)


def why(name: str, line: int, lines: Lines, columns: dict[str, Any]) -> Cell:
    kind, column = lines.status[line], replace(Column.of(name), end="")
    if (column.gap or column.figure in BEHIND) and kind != COMPARED:
        few = f"not compared: fewer than {lines.min_size} rows in the group or in the reference"
        said = {"reference": "reference group", "too few": few, "all": "all rows"}
        return Cell(reason=said.get(kind, "not compared: no group"), meant=False)
    if column == DETECTABLE:
        return Cell(reason="no gap is large enough to be found with these rows")
    base = Column(BEHIND.get(column.figure, column.figure), label=column.label)
    unknown, gap_unknown = (bool(np.isnan(columns[str(each)][line])) for each in (base, replace(base, gap=True)))
    if column.figure == "selection_over_reference" and not unknown:
        return Cell(reason=figure_of("selection_over_reference").missing)
    if column.figure == "smd" and not gap_unknown:
        return Cell(reason="all scores are equal")
    if not unknown and (base == column or not gap_unknown):
        return Cell(reason="too few rows for an interval")
    return Cell(reason=figure_of(str(base)).missing + ("" if unknown else " in the reference group"))


@dataclass(frozen=True)
class Worst:
    """One notion's worst contrast; NaN where fewer than two groups have the figure.

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
    rounding : float
        How far the exact value can be from this one where counts are rounded; ends include it.
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
    rounding: float = 0.0

    @property
    def plain(self) -> dict[str, Any]:
        record: dict[str, Any] = {"figure": self.figure, "notion": self.notion, "unit": self.unit}
        record["not_compared"] = list(self.not_compared)
        if self.value != self.value:
            return {**record, "value": not_defined(self.figure)}
        names = ("value", "lower", "upper", "pair_lower" if self.figure in RATIOS else "floor")
        record |= {name: getattr(self, name) for name in names} | {"between": list(self.between)}
        record |= {"rounding": self.rounding} if self.rounding > NOTABLE else {}
        return record | ({"people": list(self.people)} if self.people[0] == self.people[0] else {})


def worst_shares(shares: dict[str, Share], lines: Lines, confidence: float) -> tuple[Worst, ...]:
    """Return the worst gap of every share, the worse of several where a notion has several, and the ratio."""

    def worst(name: str, level: float) -> Worst:
        share = shares[name]

        def ends(one: NDArray[np.intp], other: NDArray[np.intp]) -> Interval:
            low, high = gap_interval(share.span, one, other, bonferroni(level, len(one)))
            return low[0], high[0]

        return _worst_gap(name, share, ends, lines)

    found = [worst(name, confidence) for name in shares]
    several = {("odds_gap", "equalized odds"): ["tpr", "fpr"]}
    if recalls := [name for name in shares if name.startswith("recall[")]:
        several["recall_gap", ""] = recalls
    for (figure, notion), names in several.items():  # ends that hold for all of them; NaN where one has no value
        each = [worst(name, bonferroni(confidence, len(names))) for name in names]
        ends = ("value", "rounding", "lower", "upper", "floor")
        most = {end: float(np.max([getattr(w, end) for w in each])) for end in ends}
        worse: Any = next((w for w in each if w.value == most["value"]), each[0])
        left_out = tuple(dict.fromkeys(name for w in each for name in w.not_compared))
        unit = "share of people with the same label"
        found.append(replace(worse, figure=figure, notion=notion, unit=unit, not_compared=left_out, **most))
    return (*found, worst_ratio("selection", shares["selection"], lines, confidence))


def worst_means(name: str, value: Array, error: Array, lines: Lines, settings: Settings) -> Worst:
    z = normal_quantile(settings.of_pair(lines))

    def ends(one: NDArray[np.intp], other: NDArray[np.intp]) -> Interval:
        gap, half = value[one] - value[other], z * np.sqrt(error[one] ** 2 + error[other] ** 2)
        return gap - half, gap + half

    return _worst_gap(name, Share(value, error, np.full(len(value), np.nan)), ends, lines)


def _with_value(value: Array, lines: Lines) -> NDArray[np.intp]:
    """Return the lines of groups that are compared and have a value."""
    return np.flatnonzero([kind in (REFERENCE, COMPARED) for kind in lines.status] & ~np.isnan(value))


def _farthest(value: float, ends: tuple[Array, Array]) -> float:
    return float(max(ends[1][0] - value, value - ends[0][0]))


def _lowest_and_highest(value: Array, known: NDArray[np.intp]) -> tuple[int, int]:
    low, high = int(known[np.argmin(value[known])]), int(known[np.argmax(value[known])])
    return (int(known[0]), int(known[-1])) if low == high else (low, high)  # where all are equal


def _without_value(name: str, figure: Figure, value: Array, lines: Lines) -> tuple[Worst, NDArray[np.intp]]:
    """Return a contrast that has no value yet, and the lines of groups that are compared and have the figure."""
    groups = [i for i, kind in enumerate(lines.status) if kind in (REFERENCE, COMPARED, TOO_FEW)]
    known = _with_value(value, lines)
    left_out = tuple(lines.names[i] for i in groups if i not in known)
    found = Worst(name, figure.notion, figure.unit, not_compared=left_out, groups=len(groups))
    return found, known


def _worst_gap(name: str, share: Share, ends: Callable[[Any, Any], Interval], lines: Lines) -> Worst:
    """Return the largest absolute gap of pairs; its lower end is 0 unless one pair's interval leaves 0 out."""
    value, people, span = share.value, share.people, share.known
    found, known = _without_value(f"{name}_gap", figure_of(name), value, lines)
    if len(known) < 2:
        return found
    maybe, off = known, 0.0
    if span is not None:  # groups that may have the figure have a range without a value
        maybe = _with_value(span.low[0], lines)
        off = _farthest(float(np.ptp(value[known])), span.at(maybe).gap)
    low, high = ends(*(maybe[places] for places in np.triu_indices(len(maybe), 1)))
    i, j = _lowest_and_highest(value, known)
    return replace(
        found,
        value=float(value[j] - value[i]),
        rounding=off,
        lower=float(np.maximum(np.maximum(low, -high), 0.0).max()),
        upper=float(np.maximum(np.abs(low), np.abs(high)).max()),
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
    span, value = share.span.at(_with_value(share.span.low[0], lines)), float(rate.min() / rate.max())
    (lower,), (upper,) = ratio_interval(span, confidence)
    return replace(
        found,
        value=value,
        rounding=0.0 if share.known is None else _farthest(value, span.ratio),
        lower=float(lower),
        upper=float(upper),
        between=(lines.names[low], lines.names[high]),
        people=(float(share.people[low]), float(share.people[high])),
        pair_lower=float(ratio_interval(span, confidence, together=False)[0][0]),
    )
