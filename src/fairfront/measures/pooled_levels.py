"""Columns of gaps and ratios pooled over levels of control features.

A gap between all rows of two groups can come from different shares of levels (departments, products); pooled ones
compare within levels only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..objectives import Array
from .mantel_haenszel import mantel_haenszel_gap, mantel_haenszel_ratio
from .proportions import Interval
from .rates import shares_of
from .table_columns import Cell, plain_number

if TYPE_CHECKING:
    from .group_table import GroupTable

POOLED = ("selection", "tpr", "fpr", "error")
NO_LEVEL = Cell(reason="no level has both groups")
NO_VALUE = Cell(reason="nobody of the reference group has it")


def pooled_columns(levels: Sequence[GroupTable], good: int, confidence: float) -> dict[str, list[Any]]:
    """Return the gaps of every group from the reference, and the ratio of selection rates, pooled over ``levels``."""
    lines = levels[0].lines
    r, columns = lines.reference, {"group": list[Any](lines.names[: lines.reference])}
    if not levels[0].shares:  # regression
        return columns
    shares = [shares_of(table.counts, good) for table in levels]
    for name in POOLED:
        rate = np.stack([np.nan_to_num(each[name].value) for each in shares])  # (levels, lines)
        size = np.stack([each[name].size for each in shares])
        chosen = rate * size
        counts = chosen[:, :r], size[:, :r], chosen[:, [r]], size[:, [r]]
        gap, (low, high) = mantel_haenszel_gap(*counts, confidence)
        ends = np.maximum(low, -1.0), np.minimum(high, 1.0)
        columns |= _told(f"{name}_gap", gap, ends, [NO_LEVEL] * r)
        if name == "selection":
            ratio, ends = mantel_haenszel_ratio(*counts, confidence)
            why = [NO_LEVEL if missing else NO_VALUE for missing in np.isnan(gap)]
            columns |= _told("selection_over_reference", ratio, ends, why)
    return columns


def _told(name: str, value: Array, ends: Interval, why: Sequence[Cell]) -> dict[str, list[Any]]:
    """Return columns of plain values; where there is none, the reason."""
    columns = {name: value, f"{name}_lower": ends[0], f"{name}_upper": ends[1]}
    words = [cell.plain if np.isnan(v) else "" for v, cell in zip(value, why, strict=True)]
    return {
        key: [word or plain_number(float(v)) for v, word in zip(values, words, strict=True)]
        for key, values in columns.items()
    }
