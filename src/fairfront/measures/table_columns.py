"""Columns of one attribute's table: every figure of every line, its interval, and its gap to the reference group.

Columns are arrays with one entry per line. A figure ``f`` comes with ``f_lower``, ``f_upper``, ``f_gap`` (group minus
reference), ``f_gap_lower`` and ``f_gap_upper``; NaN where there is no value, with the reason in `why`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..objectives import Array
from .counts import ratio
from .disclosure import Cell, in_units, publish_weights
from .figures import Column, figure_of
from .intervals import (
    Interval,
    katz,
    mantel_haenszel_gap,
    mantel_haenszel_ratio,
    newcombe,
    normal_quantile,
    percentiles,
    smallest_detectable_gap,
    two_by_two,
    wilson,
)
from .lines import COMPARED, Lines, Share
from .worst import Worst, worst_means

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
class Sureness:
    """How sure intervals are to be: ``each`` of a figure, ``gap`` of one of several gaps."""

    each: float
    gap: float

    def of_pairs(self, c: int) -> float:
        """Return the confidence of one pair's gap such that those of all pairs of c groups hold together."""
        return 1.0 - (1.0 - self.each) / max(1, c * (c - 1) // 2)


def share_columns(name: str, share: Share, lines: Lines, sure: Sureness) -> dict[str, Array]:
    """Return a share with Wilson's interval and its gap with Newcombe's."""
    known = np.nan_to_num(share.value) * share.size
    low, high = _where(~np.isnan(share.value), wilson(known, share.size, sure.each))
    r = lines.reference
    gap_low, gap_high = newcombe(known, share.size, known[r], share.size[r], sure.gap)
    return with_gaps(name, share.value, (low, high), (gap_low, gap_high), lines)


def with_gaps(name: str, value: Array, interval: Interval, gap_interval: Interval, lines: Lines) -> dict[str, Array]:
    """Name a figure's columns; gaps are there for compared groups only."""
    gap = value - value[lines.reference]
    there = lines.compared & ~np.isnan(gap)
    low, high = _where(there, gap_interval)
    return {
        name: value,
        f"{name}_lower": interval[0],
        f"{name}_upper": interval[1],
        f"{name}_gap": np.where(there, gap, np.nan),
        f"{name}_gap_lower": low,
        f"{name}_gap_upper": high,
    }


def _where(there: Any, interval: Interval) -> Interval:
    return np.where(there, interval[0], np.nan), np.where(there, interval[1], np.nan)


def selection_columns(share: Share, n: Array, lines: Lines, sure: Sureness) -> dict[str, Array]:
    """Return the ratio to the reference, the shortfall, Fisher's exact test and the least gap these sizes can show.

    The shortfall is the number of favourable decisions, in rows of ``n``, that the group would have more of at the
    reference group's rate.
    """
    r, there = lines.reference, lines.compared
    chosen = np.nan_to_num(share.value) * share.size
    relative = ratio(share.value, np.full(len(n), share.value[r]))
    there_too = there & ~np.isnan(relative)
    low, high = _where(there_too, katz(chosen, share.size, chosen[r], share.size[r], sure.gap))
    p_value, deviations = two_by_two(chosen, share.size, chosen[r], share.size[r])
    detectable = smallest_detectable_gap(share.size[r], share.size, np.nan_to_num(share.value[r]), sure.each)
    columns = {
        "shortfall": n * (share.value[r] - share.value),
        "p_value": p_value,
        "deviations": deviations,
        "detectable_gap": detectable,
    }
    return {
        "selection_over_reference": np.where(there, relative, np.nan),
        "selection_over_reference_lower": low,
        "selection_over_reference_upper": high,
        **{name: np.where(there, values, np.nan) for name, values in columns.items()},
    }


def drawn_columns(name: str, value: Array, draws: Array, lines: Lines, sure: Sureness) -> dict[str, Array]:
    """Return a figure of scores with percentile intervals from draws (R, lines)."""
    gaps = draws - draws[:, [lines.reference]]
    return with_gaps(name, value, percentiles(draws, sure.each), percentiles(gaps, sure.gap), lines)


def normal_columns(name: str, value: Array, error: Array, lines: Lines, sure: Sureness) -> dict[str, Array]:
    """Return a figure with normal intervals from standard errors (lines,)."""
    both = np.sqrt(error**2 + error[lines.reference] ** 2)
    gap = value - value[lines.reference]
    half, wide = normal_quantile(sure.each) * error, normal_quantile(sure.gap) * both
    return with_gaps(name, value, (value - half, value + half), (gap - wide, gap + wide), lines)


def why(name: str, line: int, lines: Lines, columns: dict[str, Any]) -> Cell:
    """Return the entry of a column without a value in a line."""
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


def value_columns(
    truth: Array,
    predicted: Array,
    row_weight: Array | None,
    lines: Lines,
    sure: Sureness,
    shown: Array | None = None,
    known: bool = True,
) -> tuple[dict[str, Any], tuple[Worst, ...]]:
    """Return rows, weights and means with normal intervals, and the worst gaps.

    ``shown`` are published numbers of rows, beside which weights and means are given in units of what one row adds;
    those of all rows are not where their number is ``known``.
    """
    nothing = np.zeros(len(truth), dtype=np.intp)
    counts = lines.counts(nothing[None], nothing, 1, row_weight).of_model(0)
    weight = counts.weight[:, 0, 0]
    size = np.nan_to_num(ratio(weight**2, counts.squared[:, 0, 0]))
    n = counts.rows[:, 0, 0]
    columns: dict[str, Any] = {"n": lines.whole(n if shown is None else shown), "weight": weight}
    if shown is not None:
        mean_weight = float(weight[-1] / n[-1])
        columns["weight"] = np.append(publish_weights(weight[:-1], n[:-1], shown[:-1], mean_weight), weight[-1])
    residual = truth - predicted
    z = normal_quantile(sure.of_pairs(lines.c))
    worst = []
    for name, values in {"prediction": predicted, "residual": residual, "mse": residual**2}.items():
        mean, error = _means(lines, values, row_weight, weight, size)
        if shown is not None:
            one = np.nan_to_num(error * np.sqrt(size)) / np.where(shown > 0, shown, 1.0)
            mean = in_units(mean, np.append(one[:-1], 0.0 if known else one[-1]))
        columns |= normal_columns(name, mean, error, lines, sure)
        worst.append(worst_means(name, mean, error, lines, z))
    return columns, tuple(worst)


def _means(lines: Lines, values: Array, row_weight: Array | None, weight: Array, size: Array) -> tuple[Array, Array]:
    """Return the mean of every line and its standard error."""
    shift = float(values.mean())
    first, second = (_sums(lines, (values - shift) ** k, row_weight) for k in (1, 2))
    mean = ratio(first, weight)
    spread = np.maximum(ratio(second, weight) - mean**2, 0.0)
    return mean + shift, np.sqrt(ratio(spread, np.where(size > 1, size - 1.0, np.nan)))


def _sums(lines: Lines, values: Array, row_weight: Array | None) -> Array:
    weighted = values if row_weight is None else values * row_weight
    if lines.shares is not None:
        return np.append(weighted @ lines.shares, weighted.sum())
    assert lines.codes is not None
    total = np.bincount(lines.codes, weighted, minlength=len(lines.names) - 1)
    return np.append(total, weighted.sum())


NO_LEVEL = Cell(reason="no level has both groups")
WITHIN = ("selection", "tpr", "fpr", "error")


def pooled_columns(levels: Sequence[Mapping[str, Share]], lines: Lines, confidence: float) -> dict[str, list[Any]]:
    """Return gaps and the ratio to the reference group of every other group, pooled over levels of control features.

    A gap between all rows of two groups can come from different shares of levels (departments, products). Mantel and
    Haenszel's pooled gap compares within levels only, weighting each by n1 n0 / (n1 + n0).
    """
    columns: dict[str, list[Any]] = {"group": list(lines.names[: lines.reference])}
    for name in WITHIN:
        strata = [shares[name] for shares in levels if name in shares]
        if strata:
            columns |= _named(f"{name}_gap", *mantel_haenszel_gap(*_counts(strata, lines.reference), confidence))
        if strata and name == "selection":
            found = mantel_haenszel_ratio(*_counts(strata, lines.reference), confidence)
            columns |= _named("selection_over_reference", *found)
    return columns


def _named(name: str, value: Array, interval: Interval) -> dict[str, list[Any]]:
    def worded(values: Array) -> list[Any]:
        return [NO_LEVEL.plain if v != v else float(v) for v in values]

    return {name: worded(value), f"{name}_lower": worded(interval[0]), f"{name}_upper": worded(interval[1])}


def _counts(strata: list[Share], r: int) -> tuple[Array, Array, Array, Array]:
    """Return successes and sizes (levels, groups) of the groups and (levels, 1) of the reference."""
    value, size = (np.stack([getattr(share, part) for share in strata]) for part in ("value", "size"))
    chosen = np.nan_to_num(value) * size
    return chosen[:, :r], size[:, :r], chosen[:, [r]], size[:, [r]]
