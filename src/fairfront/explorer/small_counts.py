"""Small counts in a page: neither counts of 1 to 9 people nor rates of fewer than 10 are written into it.

Worst gaps, their bounds and the names of their groups are. It is a courtesy, not disclosure control: `measures.report`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..measures.report import count_text
from ..objectives import Array
from .details import Details

ENDS = ("change", "lower", "upper")
SIDES = ("gained", "lost")


def shown_counts(counts: Array, hide_below: int) -> list[int | str]:
    """Return counts as the page writes them: whole numbers, or a text such as "<10"."""
    whole = np.rint(counts).astype(int).tolist()
    return [count_text(n, hide_below) if 0 < n < hide_below else n for n in whole]


def shown_rates(rates: Array, people: Array, hide_below: int) -> Array:
    """Return rates (N, c), NaN where fewer people are behind them, (c,) or (N, c)."""
    return np.where(people < hide_below, np.nan, rates)


def shown_details(details: Details, hide_below: int) -> dict[str, Any]:
    """Return the fields of details that a page needs, without changes of few people."""
    fields = {name: value for name, value in vars(details).items() if name not in ("plain", "version")}
    return fields | {"attributes": [_shown_attribute(each, hide_below) for each in details.attributes]}


def _shown_attribute(attribute: Mapping[str, Any], hide_below: int) -> dict[str, Any]:
    calibration = attribute["calibration"]
    if calibration is not None:
        calibration = [[_large_bins(bins, hide_below) for bins in point] for point in calibration]
    return {
        **attribute,
        "n": shown_counts(np.array(attribute["n"]), hide_below),
        "rates": {name: _shown_changes(each, hide_below) for name, each in attribute["rates"].items()},
        "calibration": calibration,
    }


def _shown_changes(changes: Mapping[str, Any], hide_below: int) -> dict[str, Any]:
    """Leave out changes of groups (and last of everyone) with few people, and gaps to a reference of few."""
    *groups, everyone = (rows < hide_below for rows in changes["rows"])
    of_gap = [few or groups[-1] for few in groups[:-1]]
    shown: dict[str, Any] = {end: _without(changes[end], [*groups, everyone]) for end in ENDS}
    shown |= {
        side: [shown_counts(np.array(line), hide_below) for line in changes[side]] for side in SIDES if side in changes
    }
    return shown | {"gap": {end: _without(changes["gap"][end], of_gap) for end in ENDS}}


def _without(lines: Sequence[Sequence[Any]], few: Sequence[bool]) -> list[list[Any]]:
    return [[None if hidden else value for value, hidden in zip(line, few, strict=True)] for line in lines]


def _large_bins(bins: Mapping[str, Any] | None, hide_below: int) -> dict[str, Any] | None:
    """Return the bins of calibration that hold enough people; None where none does."""
    if bins is None:
        return None
    kept = [i for i, n in enumerate(bins["n"]) if n >= hide_below]
    return {name: [values[i] for i in kept] for name, values in bins.items()} if kept else None
