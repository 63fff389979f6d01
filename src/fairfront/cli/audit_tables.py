"""Tables of ``fairfront audit`` for the screen: what `Audit.to_dict` shows, a line per group."""

from __future__ import annotations

import os
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..measures.figures import figure_of
from .screen import screen

Columns = dict[str, list[Any]]

TESTS = {"p_value": "Fisher p", "deviations": "SDs", "detectable_gap": "detectable"}
RIGHT = ("tpr", "fpr", "precision", "error", "auc", "slope")
LEGEND = (
    "rate: share with the favourable decision; ratio: over the reference group's rate, with its interval; Fisher p: of "
    "Fisher's exact test of equal rates; SDs: the difference of rates in standard deviations; detectable: the "
    "smallest gap of rates that a test on this many rows would find 4 times out of 5. Intervals "
    "and gaps of TPR, FPR, precision, error, AUC and slope are in --json."
)
CHANGED = ("selection", "selection_over_reference")
NEW, ABSENT = "new group", "not in the baseline"
MOST = 1e300
"""Numbers of a baseline from here on are not figures that an audit wrote."""
WIDTH = 110


def console_for_output() -> Console:
    """Return a console as wide as the terminal; files and pipes get lines that hold a table."""
    console = screen(highlight=False)
    return console if console.is_terminal or "COLUMNS" in os.environ else screen(width=WIDTH, highlight=False)


def rate_table(name: str, columns: Columns, before: Columns | None) -> Table:
    """Return one line per group: size, rate, ratio with interval, tests, change against the baseline."""
    heads = ["n", "rate", "ratio (interval)", *TESTS.values()]
    changes = {} if before is None else changes_of(columns, before)
    table = _empty(name, [*heads, *(["rate change", "ratio change"] if changes else [])])
    for i in range(len(columns["group"])):
        cells = [
            _number(columns["n"][i], "{:.0f}"),
            _number(columns["selection"][i]),
            _with_ends(columns, "selection_over_reference", i),
            *(_number(columns[key][i], form) for key, form in zip(TESTS, ("p", "{:+.1f}", "{:.3f}"), strict=True)),
        ]
        changed = [changes[key][i] for key in CHANGED if changes]
        cells += [each if each in (NEW, ABSENT) else _number(each, "{:+.3f}") for each in changed]
        table.add_row(_group(columns, i), *cells)
    return table


def changes_of(columns: Columns, before: Columns) -> Columns:
    """Return the change of every figure since the baseline, a line per group, or why there is none."""
    keys = (*CHANGED, *(key for key in RIGHT if key in columns))
    lines = range(len(columns["group"]))
    return {"group": columns["group"], **{key: [_change(columns, before, key, i) for i in lines] for key in keys}}


def baseline_lines(shown: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    """Say what changes are, and that decisions were made otherwise in the baseline where they were."""
    if before is None:
        return []
    said = ["rate change, ratio change: the figure here less the baseline's; those of other figures are in --json."]
    if any(before.get(key) != shown[key] for key in ("rule", "cutoff")):
        said.append(f"Cut-offs differ, which is part of the changes: in the baseline {before.get('rule')}.")
    return said


def right_table(name: str, columns: Columns) -> Table:
    """Return one line per group: how right decisions and scores are."""
    shown = [key for key in RIGHT if key in columns]
    table = _empty(name, [figure_of(key).heading for key in shown])
    for i in range(len(columns["group"])):
        table.add_row(_group(columns, i), *(_number(columns[key][i]) for key in shown))
    return table


def ranking_lines(columns: Columns) -> list[str]:
    """Say how well scores rank all rows, whatever the cut-off, where these are numbers."""
    names = [name for name in ("auc", "ks", "gini") if isinstance(columns.get(name, [None])[-1], float)]
    said = ", ".join(f"{figure_of(name).heading} {_number(columns[name][-1])}" for name in names)
    return [f"All rows, whatever the cut-off: {said} (Gini is 2 AUC - 1)."] if said else []


def missing_lines(name: str, columns: Columns) -> list[str]:
    """Say why figures of the tables have no value, a line for each group that lacks some."""
    keys = ("selection", "selection_over_reference", *(key for key in RIGHT if key in columns))
    found = []
    for i, group in enumerate(columns["group"]):
        reasons: dict[str, list[str]] = {}
        for key in keys:
            if str(columns[key][i]).startswith("not defined"):
                reasons.setdefault(columns[key][i], []).append(figure_of(key).heading)
        found += [f"{name}, {group}: {', '.join(names)} {reason}." for reason, names in reasons.items()]
    return found


def _empty(name: str, heads: list[str]) -> Table:
    table = Table(title=escape(name), title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("group", overflow="fold", min_width=10)
    for head in heads:
        keep = head.startswith("ratio (") and "ratio change" not in heads
        table.add_column(head, justify="right", overflow="fold", no_wrap=keep)
    return table


def _group(columns: Columns, i: int) -> str:
    group, status = columns["group"][i], columns["status"][i]
    return escape(f"{group} ({status})" if status in ("reference", "too few") else str(group))


def _number(value: Any, form: str = "{:.3f}") -> str:
    """Return a number, that it is not defined, or nothing where no comparison was meant."""
    if isinstance(value, str):
        return "not defined" if value.startswith("not defined") else ""
    if form == "p":
        return "<0.0001" if value < 0.0001 else f"{value:.4f}"
    return form.format(value)


def _with_ends(columns: Columns, key: str, i: int) -> str:
    value, low, high = (columns[key + end][i] for end in ("", "_lower", "_upper"))
    return _number(value) if isinstance(value, str) else f"{value:.3f} ({low:.3f} to {high:.3f})"


def _change(columns: Columns, before: Columns, key: str, i: int) -> Any:
    """Return the change of a figure since the baseline, or why there is none."""
    group, value = columns["group"][i], columns[key][i]
    if group not in before.get("group", ()):
        return NEW
    old = before.get(key, [None] * len(before["group"]))[before["group"].index(group)]
    if isinstance(value, str):
        return value
    return value - old if isinstance(old, (int, float)) and abs(old) < MOST else ABSENT
