"""Columns of gaps and ratios pooled over levels of control features.

A gap between all rows of two groups can come from different shares of levels (departments, products); pooled ones
compare within levels only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .counts import ratio
from .disclosure import FEW, Cell
from .level_shifts import gap_ends, ratio_ends
from .mantel_haenszel import Pooled, pooled_gap, pooled_ratio
from .proportions import Interval
from .rate_ranges import count_ranges, rate_ranges
from .rates import shares_of
from .spans import Range, each_end, plain_number, stacked

if TYPE_CHECKING:
    from .group_table import GroupTable

BEHIND = {"selection": "n", "tpr": "positives", "fpr": "negatives", "error": "n"}
"""Figures that are pooled, and the rows that each is a share of."""
NO_LEVEL = Cell(reason="no level has both groups")
NO_VALUE = Cell(reason=f"nobody of the reference group has it, or {FEW} are compared")


def pooled_columns(
    whole: GroupTable, levels: Sequence[GroupTable], good: int, confidence: float
) -> dict[str, list[Any]]:
    """Return the gaps of every group from the reference, and the ratio of selection rates, pooled over ``levels``."""
    lines = levels[0].lines
    r, columns = lines.reference, {"group": list[Any](lines.names[: lines.reference])}
    if not levels[0].shares:  # regression
        return columns
    found = [_of_level(table, good) for table in levels]
    counts = [_counted(table, good) for table in (whole, *levels)]
    every, groups, reference = slice(None), slice(0, r), [r]
    for name in BEHIND:
        rate, size = (stacked(0, *(each[name][k] for each in found)) for k in range(2))
        p1, n1, p0, n0 = (each.at(every, place) for place in (groups, reference) for each in (rate, size))
        ends: tuple[Interval | None, Interval | None] = None, None
        if all(counts):
            s, f = (stacked(0, *(each[name][k] for each in counts[1:])) for k in range(2))
            inner = s.at(every, groups), f.at(every, groups), s.at(every, reference), f.at(every, reference)
            s, f = counts[0][name]
            total = s.at(groups), f.at(groups), s.at(reference), f.at(reference)
            ends = gap_ends(inner, total), ratio_ends(inner, total)
        columns |= _told(f"{name}_gap", pooled_gap(p1, n1, p0, n0, confidence, ends[0]))
        if name == "selection":
            columns |= _told("selection_over_reference", pooled_ratio(p1, n1, p0, n0, confidence, ends[1]))
    return columns


def _of_level(table: GroupTable, good: int) -> dict[str, tuple[Range, Range]]:
    """Return the ranges of shares in one level, of a few people too, and of effective rows behind them, (lines,)."""
    counts, known = table.behind.counts, table.behind.ranges
    shares = {name: share for name, share in shares_of(counts, good).items() if name in BEHIND}
    if known is None:
        return {k: (Range.exactly(np.nan_to_num(s.value)), Range.exactly(s.size)) for k, s in shares.items()}
    spans, rows = rate_ranges(counts.changed(lambda cells: cells[None]), known, good), count_ranges(known, good)
    found = {}
    for name, share in shares.items():
        span, behind = spans[name], rows[BEHIND[name]]
        each = np.nan_to_num(ratio(share.size, share.people), nan=1.0)
        rate = Range(*(np.nan_to_num(end) for end in (share.value, span.low[0], span.high[0])))
        found[name] = rate, Range(share.size, behind.low * each, behind.high * each)
    return found


def _counted(table: GroupTable, good: int) -> dict[str, tuple[Range, Range]]:
    """Return the ranges of people with and without what figures count, (lines,); none of weights or exact counts."""
    counts, known = table.behind.counts, table.behind.ranges
    if known is None or counts.weight is not counts.rows:
        return {}
    own = np.arange(counts.rows.shape[1]) == good
    chosen, right = np.broadcast_to(own, (len(own), len(own))), np.eye(len(own), dtype=bool)
    parts = {
        "selection": (chosen, ~chosen),
        "tpr": (chosen & own[:, None], ~chosen & own[:, None]),
        "fpr": (chosen & ~own[:, None], ~chosen & ~own[:, None]),
        "error": (~right, right),
    }
    cells = known.cells.at(0)

    def of(mask: Any) -> Range:
        return each_end(lambda end: np.asarray((end * mask).sum(axis=(1, 2))), cells)

    return {name: (of(part), of(rest)) for name, (part, rest) in parts.items()}


def _told(name: str, pooled: Pooled) -> dict[str, list[Any]]:
    """Return columns of plain values; where there is none, words that say whether any level may have both groups."""
    value, (low, high) = pooled
    columns = {name: value.shown, f"{name}_lower": low, f"{name}_upper": high}
    if (ends := value.notable_ends()) is not None:
        for key, end in (("least", ends[:, 0]), ("most", ends[:, 1])):
            columns[f"{name}_{key}"] = np.where(np.isnan(end), value.shown, end)
    words = [
        (NO_LEVEL if most != most else NO_VALUE).plain if v != v else ""
        for v, most in zip(value.shown, value.high, strict=True)
    ]
    return {
        key: [word or plain_number(float(v)) for v, word in zip(values, words, strict=True)]
        for key, values in columns.items()
    }
