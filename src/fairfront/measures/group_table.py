"""The table of one attribute: every figure of every line, its interval, and its gap to the reference group.

Columns are arrays with one entry per line. A figure ``f`` comes with ``f_lower``, ``f_upper``, ``f_gap`` (group minus
reference), ``f_gap_lower`` and ``f_gap_upper``; NaN where there is no value, with the reason in `why`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..objectives import Array, Task
from .figures import figure_of
from .intervals import Interval, katz, newcombe, normal_quantile, wilson
from .lines import COMPARED, Counts, Lines
from .significance import percentiles, smallest_detectable_gap, two_by_two
from .sums import ratio

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


@dataclass(frozen=True, eq=False)
class Share:
    """A share of rows per line: its value, the effective number of rows behind it, and their number, (lines,)."""

    value: Array
    size: Array
    people: Array


def shares_of(counts: Counts, task: Task) -> dict[str, Share]:
    """Return every share that labels and decisions allow; per class too where there are several."""
    good = task.favourable
    found = _against_the_rest(counts, good)
    wrong = counts.weight.sum(axis=(1, 2)) - np.trace(counts.weight, axis1=1, axis2=2)
    found["error"] = replace(found["selection"], value=_clip(ratio(wrong, counts.weight.sum(axis=(1, 2)))))
    if task.kind == "multiclass":
        for k, label in enumerate(task.classes):
            of_class = _against_the_rest(counts, k)
            named = {"selection": "selection", "tpr": "recall", "fpr": "fpr", "precision": "precision"}
            found |= {f"{name}[{label}]": of_class[of] for of, name in named.items()}
    return found


def _against_the_rest(counts: Counts, k: int) -> dict[str, Share]:
    """Return the shares of class k against all others."""
    hit, positive, chosen, total = _margins(counts.weight, k)
    _, squared_p, squared_c, squared_n = _margins(counts.squared, k)
    everyone, of_positive, of_chosen = _kish(total, squared_n), _kish(positive, squared_p), _kish(chosen, squared_c)
    of_negative = _kish(total - positive, squared_n - squared_p)
    _, labelled, decided, people = _margins(counts.rows, k)
    tpr = _clip(ratio(hit, positive))
    return {
        "selection": Share(_clip(ratio(chosen, total)), everyone, people),
        "tpr": Share(tpr, of_positive, labelled),
        "fpr": Share(_clip(ratio(chosen - hit, total - positive)), of_negative, people - labelled),
        "fnr": Share(1.0 - tpr, of_positive, labelled),
        "precision": Share(_clip(ratio(hit, chosen)), of_chosen, decided),
    }


def _margins(cells: Array, k: int) -> tuple[Array, Array, Array, Array]:
    """Return, per line, hits, rows with label k, rows decided k, and all rows."""
    return cells[:, k, k], cells[:, k].sum(axis=1), cells[:, :, k].sum(axis=1), cells.sum(axis=(1, 2))


def _kish(total: Array, squared: Array) -> Array:
    return np.nan_to_num(ratio(total**2, squared))


def _clip(values: Array) -> Array:
    return np.clip(values, 0.0, 1.0)


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
