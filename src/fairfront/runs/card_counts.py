"""Small counts on a card: its record is exact, and what is drawn from it has no count of 1 to 9 and no rate of so few.

Worst gaps, their bounds and the names of their groups stay. It is a courtesy, not disclosure control:
`measures.report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..measures.lines import ALL
from ..measures.report import HIDDEN_RATE, HIDE_BELOW, count_text
from .parts import CALIBRATION, RATES

DECIDED = {"precision": ("selection", False), "npv": ("selection", True), "favourable_errors": ("error", False)}
"""Figures of people with one decision, or wrong ones: which rate gives their share, and whether of the others."""


def without_small_counts(card: Mapping[str, Any], hide_below: int = HIDE_BELOW) -> dict[str, Any]:
    """Return the record of a card with texts in the place of small counts and of rates of few people."""
    data = card["data"]
    shown = {
        "rows_without_target": _count(data["rows_without_target"], hide_below),
        "treatments": [
            {**each, "missing_cells": _count(each["missing_cells"], hide_below)} for each in data["treatments"]
        ],
    }
    parts = {name: _part(part, hide_below) for name, part in card["parts"].items()}
    return {**card, "data": {**data, **shown}, "parts": parts}


def _count(n: Any, hide_below: int) -> Any:
    return count_text(n, hide_below) if isinstance(n, (int, float)) and 0 < n < hide_below else n


def _part(part: Mapping[str, Any], hide_below: int) -> dict[str, Any]:
    shown: dict[str, Any] = {
        of: {name: [_line(line, hide_below) for line in lines] for name, lines in part[of].items()}
        for of in ("groups", "unconstrained")
    }
    shown["moves"] = {
        name: [{key: _count(value, hide_below) for key, value in each.items()} for each in lines]
        for name, lines in part["moves"].items()
    }
    shown["worst"] = [{**each, "people": [_count(n, hide_below) for n in each["people"]]} for each in part["worst"]]
    return {**part, **shown}


def _line(line: Mapping[str, Any], hide_below: int) -> dict[str, Any]:
    """Return the line of a group; that of all rows has no small group to spare."""
    if line["status"] == ALL:
        return dict(line)
    shown = {name: _count(line[name], hide_below) for name in ("rows", "labelled_favourable") if name in line}
    for name in ("base_rate", *RATES, *CALIBRATION):
        if name in line and not isinstance(line[name], str) and _people(line, name) < hide_below:
            shown[name] = HIDDEN_RATE
    if isinstance(shown.get("labelled_favourable"), str):  # times the rows it would give the count back
        shown["base_rate"] = HIDDEN_RATE
    return {**line, **shown}


def _people(line: Mapping[str, Any], name: str) -> float:
    """Return how many people a figure of a group is about."""
    rows, good = float(line["rows"]), line.get("labelled_favourable")
    if name in ("tpr", "fpr") and good is not None:
        return float(good if name == "tpr" else rows - good)
    if name in DECIDED and isinstance(line.get(DECIDED[name][0]), list):
        of, others = DECIDED[name]
        share = line[of][0]
        return float(rows * (1.0 - share if others else share))
    return rows
