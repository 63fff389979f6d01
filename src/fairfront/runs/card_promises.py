"""The card's table of a choice: what was asked for, what was promised, and what the test part shows, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..measures.figures import Column, larger_is_better
from .card_blocks import Section, Table, written
from .options import in_words

SAID = (
    "Expected: what other rows of the same population would show of the figure as the rows of the choice know it. "
    "Promised: holds with the confidence given for people drawn like those rows, not for a later time, another place "
    "or rows of one person that nobody declared. Noise alone: the mean gap that a model with equal rates shows on as "
    "many test rows. The bounds of one figure on this card differ, because each is of something else: the promised one "
    "holds for the model that was taken (a cap that was asked for: models are tested along the frontier up to the "
    "first that breaks it, in a fixed sequence; otherwise that of all models), the one under Alternatives considered "
    "for all models at once (max-t), and the ends of worst gaps and ratios for this model alone, on the rows named."
)


def promises_section(card: Mapping[str, Any]) -> Section:
    rows = []
    for each in card["decision"]["promises"]:
        bound = "at most" if each["most"] else "at least"
        figure = each["figure"]
        asked, mean, promised, noise = (
            _told(figure, each.get(key)) for key in ("asked", "expected", "promised", "noise")
        )
        rows.append(
            (
                in_words(figure),
                f"{bound} {asked}" if asked else "",
                f"{_told(figure, each['observed'])} on {each['on']} ({each['rows']} rows)",
                mean,
                f"{bound} {promised} ({each['confidence']:.0%})",
                *_held(each, any("held_out" in one for one in card["decision"]["promises"])),
                _told(figure, _measured(card, figure)),
                noise,
            )
        )
    heads: tuple[str, ...] = ("figure", "asked", "observed", "expected", "promised", "on test", "noise alone on test")
    if any(len(row) > len(heads) for row in rows):
        heads = (*heads[:5], "on training rows, each judged without itself", *heads[5:])
    return Section("Asked, promised and measured", (Table(heads, tuple(rows)), SAID) if rows else ())


def _held(told: Mapping[str, Any], shown: bool) -> tuple[str, ...]:
    """Write what held-out rows show that the choice did not read, in a column of its own where there is one."""
    other = told.get("held_out")
    said = other and _told(told["figure"], other["observed"])
    return (f"{said} ({other['rows']} rows)" if other and said else "",) if shown else ()


def _told(figure: str, value: Any) -> str:
    """Write a number of a figure; nothing where it is not known."""
    return written(value, Column.of(figure).figure) if isinstance(value, (int, float)) else ""


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
    worst = min if larger_is_better(figure) else max
    return worst(found, default=None)
