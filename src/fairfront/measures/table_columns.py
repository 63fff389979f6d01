"""Columns of one attribute's table: every figure of every line, its interval, and its gap to the reference group.

Columns are arrays with one entry per line. A figure ``f`` comes with ``f_lower``, ``f_upper``, ``f_gap`` (group minus
reference), ``f_gap_lower`` and ``f_gap_upper``; NaN where there is no value, with the reason in `why`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..objectives import Array
from .counts import ratio
from .disclosure import in_units, publish_weights
from .figures import figure_of
from .intervals import Interval, katz, newcombe, normal_quantile, wilson
from .lines import COMPARED, Lines, Share
from .significance import percentiles, smallest_detectable_gap, two_by_two
from .worst import Worst, worst_means

BEHIND = {
    "selection_over_reference": "selection",
    "shortfall": "selection",
    "p_value": "selection",
    "deviations": "selection",
    "smd": "mean_score",
}
"""The figure behind each contrast that is not a plain gap."""


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


def why(column: str, line: int, lines: Lines, columns: dict[str, Any]) -> str:
    """Say why a column has no value in a line."""
    kind = lines.status[line]
    name = column.removesuffix("_lower").removesuffix("_upper")
    plain, bracket, label = name.partition("[")
    of_class = bracket + label.removesuffix("_gap")
    contrast = name.endswith("_gap") or plain in BEHIND
    if contrast and kind != COMPARED:
        few = f"not compared: fewer than {lines.min_size} rows in the group or in the reference"
        return {"reference": "reference group", "too few": few, "all": "all rows"}.get(kind, "not compared: no group")
    if name == "detectable_gap":
        return "not defined: no gap is large enough to be found with these rows"
    base = BEHIND.get(plain, plain.removesuffix("_gap")) + of_class
    here = _unknown(columns, base, line)
    if name == "selection_over_reference" and not here:
        return f"not defined: {figure_of(name).missing}"
    if plain == "smd" and not _unknown(columns, f"{base}_gap", line):
        return "not defined: all scores are equal"
    if not here and (base == name or not _unknown(columns, f"{base}_gap", line)):
        return "not defined: too few rows for an interval"
    return f"not defined: {figure_of(base).missing}" + ("" if here else " in the reference group")


def _unknown(columns: dict[str, Any], name: str, line: int) -> bool:
    return bool(np.isnan(columns[name][line]))


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
