"""Columns of one attribute's table: every figure, its interval, and its gaps.

Columns are arrays with one entry per line. A figure ``f`` comes with ``f_lower``, ``f_upper``, ``f_gap`` (group minus
reference), ``f_gap_lower`` and ``f_gap_upper``; NaN where there is no value, with the reason in `why`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..objectives import Array
from ..validation import check_confidence
from .counts import ratio
from .figures import Column, figure_of
from .intervals import bonferroni, gap_interval, share_interval
from .lines import COMPARED, Lines
from .proportions import Interval, katz, newcombe, normal_quantile
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
APART = ("ks_higher", "ks_higher_rows", "ks_lower_share", "ks_lower_rows")
"""The two shares that KS is the difference of, and the effective rows behind each."""
DETECTABLE = Column("detectable", gap=True)
NO_BOUND = "no bound: nobody of the other group may have it"


@dataclass(frozen=True)
class Cell:
    """An entry of a table: a value, or the reason why there is none.

    ``meant`` is false where no comparison was meant: for the reference, for all rows, for groups that are too small.
    """

    value: Any = None
    reason: str = ""
    meant: bool = True

    @property
    def plain(self) -> Any:
        if not self.reason:
            return plain_number(self.value)
        return f"not defined: {self.reason}" if self.meant else self.reason


def plain_number(value: Any) -> Any:
    """Return a value for JSON, which has no word for infinity."""
    return NO_BOUND if isinstance(value, float) and math.isinf(value) else value


@dataclass(frozen=True)
class Settings:
    """How sure intervals are to be, and how often figures of scores are drawn again (0: never, so without intervals).

    ``simultaneous`` makes the gaps of an attribute hold together; ``more`` figures of `figures.MORE` are given;
    ``tests`` of equal approval rates are made.
    """

    confidence: float = 0.95
    simultaneous: bool = False
    n_resamples: int = 500
    random_state: int | None = 0
    more: tuple[str, ...] = ()
    tests: bool = True

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
    line = np.arange(len(share.value))
    lower, upper = (
        np.where(np.isnan(share.value), np.nan, end[0]) for end in share_interval(share.rates, settings.confidence)
    )
    gaps = gap_interval(share.rates, line, np.full(len(line), lines.reference), settings.of_gap(lines))
    return with_gaps(name, share.value, (lower, upper), (gaps[0][0], gaps[1][0]), lines)


def selection_columns(share: Share, n: Array, lines: Lines, settings: Settings) -> dict[str, Array]:
    """The shortfall: how many more favourable decisions, in rows of ``n``, the reference's rate would give a group."""
    r, size = lines.reference, share.size
    chosen = np.nan_to_num(share.value) * size
    relative = ratio(share.value, np.full(len(n), share.value[r]))
    low, high = (
        np.where(np.isnan(relative), np.nan, end)
        for end in katz(chosen, size, chosen[r], size[r], settings.of_gap(lines))
    )
    columns = {
        "selection_over_reference": relative,
        "selection_over_reference_lower": low,
        "selection_over_reference_upper": high,
        "shortfall": n * (share.value[r] - share.value),
    }
    if settings.tests:
        rate, rows = np.nan_to_num(share.value[r]), np.where(lines.compared, size, 0.0)  # tests of others are not told
        tests = two_by_two(np.where(lines.compared, chosen, 0.0), rows, chosen[r], size[r])
        columns |= dict(zip(("p_value", "deviations"), tests, strict=True))
        columns["detectable_gap"] = smallest_detectable_gap(size[r], size, rate, settings.confidence)
    return {name: np.where(lines.compared, values, np.nan) for name, values in columns.items()}


def percentiles(values: Array, confidence: float) -> Interval:
    """Return the central quantiles of each column, leaving NaN out; NaN for columns with nothing else."""
    tail = (1.0 - check_confidence(confidence)) / 2.0
    some = ~np.isnan(values).all(axis=0)
    ends = np.full((2, values.shape[1]), np.nan)
    if some.any():
        quantile = np.nanquantile if np.isnan(values[:, some]).any() else np.quantile  # many times faster, and the same
        ends[:, some] = quantile(values[:, some], [tail, 1.0 - tail], axis=0)
    return ends[0], ends[1]


def drawn_error(draws: Array) -> Array:
    """Return the standard deviation of each column, leaving NaN out; NaN for columns with nothing else."""
    known = ~np.isnan(draws)
    count = np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    mean = np.where(known, draws, 0.0).sum(axis=0) / count
    return np.asarray(np.sqrt(np.where(known, (draws - mean) ** 2, 0.0).sum(axis=0) / count))


def drawn_columns(name: str, value: Array, draws: Array, lines: Lines, settings: Settings) -> dict[str, Array]:
    ends = percentiles(draws, settings.confidence)
    return with_gaps(name, value, ends, percentiles(draws - draws[:, [lines.reference]], settings.of_gap(lines)), lines)


def distance_columns(
    name: str, value: Mapping[str, Array], draws: Array, lines: Lines, settings: Settings
) -> dict[str, Array]:
    """Of KS, from its two shares; gaps have the sides of both intervals, squared and added, as Newcombe's do."""
    ks, r, (low, high) = value["ks"], lines.reference, distance_ends(value, draws, settings.of_gap(lines))
    gap, down = ks - ks[r], np.hypot(ks - low, high[r] - ks[r])
    sides = gap - down, gap + np.hypot(high - ks, ks[r] - low[r])
    return with_gaps(name, ks, distance_ends(value, draws, settings.confidence), sides, lines)


def distance_interval(
    higher: Array, n1: Array, lower: Array, n2: Array, bias: Array, confidence: float = 0.95
) -> Interval:
    """Return an interval of KS, the largest difference of two shares: of ``higher`` in n1 rows and ``lower`` in n2.

    Newcombe's at the cut-off where the sample reaches it, which for so many rows is as variable as KS itself. A maximum
    is biased upward, so the lower end is moved by the ``bias`` that the bootstrap finds, and the upper one stays.
    """
    low, high = newcombe(higher * n1, n1, lower * n2, n2, confidence)
    return np.maximum(low - np.maximum(bias, 0.0), 0.0), high


def distance_ends(value: Mapping[str, Array], draws: Array, confidence: float) -> Interval:
    """Return the ends of KS, by line; NaN where it is not given or was not drawn, (R, lines)."""
    higher, n1, lower, n2 = (value[name] for name in APART)
    mean = np.nan_to_num(draws - value["ks"]).sum(axis=0) / max(1, len(draws))
    bias = np.where(np.isnan(draws).all(axis=0), np.nan, mean)
    known = ~np.isnan(value["ks"] + bias)
    one, n1, other, n2 = (np.where(known, each, 0.0) for each in (higher, n1, lower, n2))
    low, high = distance_interval(one, n1, other, n2, np.nan_to_num(bias), confidence)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


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
