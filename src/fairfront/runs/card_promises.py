"""The card's table of a choice: what was asked for, what was promised, and what the test part shows, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..measures.figures import Column, larger_is_better
from .card_blocks import Section, Table, number
from .options import in_words

SAID = (
    "Expected: what other rows of the same population would show of the figure as the rows of the choice know it. "
    "Promised: holds with the confidence given for people drawn like those rows, not for a later time, another place "
    "or rows of one person that nobody declared. It is the cap where the rule kept one; upper bounds of tables that "
    "list several models hold for all of them at once and are larger, those of one model alone are smaller. Noise "
    "alone: the mean gap that a model with equal rates shows on as many test rows."
)


def promises_section(card: Mapping[str, Any]) -> Section:
    rows = []
    for each in card["decision"]["promises"]:
        bound = "at most" if each["most"] else "at least"
        asked = "" if each["asked"] is None else f"{bound} {number(each['asked'])}"
        promised = f"{bound} {_number(each['promised'])} ({each['confidence']:.0%})"
        seen = f"{_number(each['observed'])} on {each['on']} ({each['rows']} rows)"
        known = (in_words(each["figure"]), asked, seen, _number(each["expected"]), promised)
        rows.append((*known, _number(_measured(card, each["figure"])), _number(each.get("noise"))))
    heads = ("figure", "asked", "observed", "expected", "promised", "on test", "noise alone on test")
    return Section("Asked, promised and measured", (Table(heads, tuple(rows)), SAID) if rows else ())


def _number(value: Any) -> str:
    return "" if not isinstance(value, (int, float)) else number(value)


def _measured(card: Mapping[str, Any], figure: str) -> Any:
    """Return the figure on test: of several attributes the worst, None where it is not known."""
    test, column = card["parts"].get("test"), Column.of(figure)
    if test is None:
        return None
    if figure in test["figures"]:
        return test["figures"][figure]["chosen"][0]
    found = [
        each["value"]
        for each in test["worst"]
        if each["figure"] == column.kind
        and column.attribute in ("", each["attribute"])
        and isinstance(each["value"], (int, float))
    ]
    return (min if larger_is_better(figure) else max)(found, default=None)
