"""What commands print of a run: the notion, the options, a picture, rates per group, what to type next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..frontier import Frontier
from ..frontier.saving_counts import withheld
from ..measures import GroupRates
from ..runs import Run
from ..runs.options import TOLERANCE, main_error, main_gap, plain_id, suggested_id

WIDTH, HEIGHT = 60, 14


def options_json(run: Run) -> dict[str, Any]:
    """Return the options for programs."""
    front = run.frontier
    return {
        "format": "fairfront options",
        "notions": list(front.facts.notions),
        "points": len(front),
        "plain": plain_id(front),
        "suggested": suggested_id(front),
        "sensitive": dict(run.manifest["sensitive"]),
        "options": [
            {"id": o.id, "mark": o.mark, **{k: _or_none(v) for k, v in o.figures.items()}} for o in run.options()
        ],
    }


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None


def print_compared(console: Console, run: Run) -> None:
    """Say what is compared between whom, and where the sensitive attribute was used."""
    facts = run.frontier.facts
    for name, levels in facts.sensitive:
        _say(console, f"Groups of {name}: {', '.join(levels)} (reference: {levels[-1]}).")
    for sentence in facts.sentences:
        _say(console, sentence)
    used = "; ".join(f"{where}: {said}" for where, said in run.manifest["sensitive"].items())
    _say(console, f"Where the sensitive attribute was used: {used}.")


def print_options(console: Console, run: Run) -> None:
    """Print about seven options, one line each."""
    options = run.options()
    front = run.frontier
    caption = (
        f"loss and its gap: training; the rest: validation. at most: upper end at 95 % confidence.\n"
        f"suggested: the least upper end of the gap within {TOLERANCE:g} of the smallest {main_error(front)}"
    )
    table = Table(title=f"{len(options)} options out of {len(front)} points", caption=caption)
    table.add_column("id", justify="right")
    for name in options[0].figures:
        table.add_column(_head(name, main_gap(front)), justify="right")
    table.add_column("")
    for each in options:
        cells = [
            f"{value:.4f}" if name == "loss" or "loss" in name else _digits(value)
            for name, value in each.figures.items()
        ]
        table.add_row(str(each.id), *cells, each.mark, style="bold" if each.mark else None)
    console.print(table)


def _head(name: str, gap: str) -> str:
    return escape("at most" if name == f"{gap} at most" else name.replace("_", " "))


def _digits(value: float) -> str:
    if not np.isfinite(value):
        return "not defined"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"


def print_next(console: Console, run: Run, path: Path) -> None:
    """Say what to type next."""
    gap, error, where = main_gap(run.frontier), main_error(run.frontier), shlex.quote(str(path))
    _say(console, "Next:")
    for line in (
        f"fairfront show {where}",
        f"fairfront report {where} -o report.html",
        f"fairfront select {where} --least-gap {gap.removesuffix('_gap')} --within {error}:{TOLERANCE:g} -o model",
        "fairfront predict model new.csv -o decided.csv",
    ):
        _say(console, f"  {line}")


def print_picture(console: Console, run: Run) -> None:
    """Draw error against the gap with characters: o a point, P plain, S suggested."""
    front = run.frontier
    error, gap = main_error(front), main_gap(front)
    x, y = front.column(gap)[front.solved], front.column(error)[front.solved]
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        return
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    marks = {plain_id(front): "P", suggested_id(front): "S"}
    columns, rows = _steps(x[known], WIDTH), HEIGHT - 1 - _steps(y[known], HEIGHT)
    ids = front.ids[front.solved][known]
    for strong in (False, True):  # marked points are drawn last, on top
        for c, r, id in zip(columns, rows, ids, strict=True):
            if (int(id) in marks) is strong:
                grid[r][c] = marks.get(int(id), "o")
    _say(console, f"{error} (up) against {gap} (across) on validation; P plain, S suggested")
    top, bottom = f"{y[known].max():.3f}", f"{y[known].min():.3f}"
    for i, line in enumerate(grid):
        label = top if i == 0 else bottom if i == HEIGHT - 1 else ""
        _say(console, f"{label:>8} |{''.join(line)}")
    _say(console, f"{'':>8} +{'-' * WIDTH}")
    _say(console, f"{'':>10}{x[known].min():.3f}{x[known].max():>{WIDTH - 5}.3f}")


def _steps(values: Any, cells: int) -> Any:
    span = float(values.max() - values.min())
    scaled = (values - values.min()) / span if span > 0 else np.zeros(len(values))
    return np.rint(scaled * (cells - 1)).astype(int)


def print_rates(console: Console, front: Frontier, ids: list[int], small: int = 10) -> None:
    """Print rates per group on validation of some points side by side; groups of a few people have none."""
    for name, rates in front.evaluations["validation"].groups.items():
        if not isinstance(rates, GroupRates):
            continue
        kept_back = withheld(rates)
        table = Table(title=f"Rates per group of {escape(name)} on validation")
        for head in ("group", "n", *(f"{rate} (id {i})" for rate in ("selection", "tpr", "fpr", "error") for i in ids)):
            table.add_column(head, justify="left" if head == "group" else "right")
        for j, level in enumerate(rates.levels):
            few = rates.n[j] < small or not np.isfinite(rates.n[j])
            cells = [
                _rate(float(rates.rate(rate)[front.place(i), j]), hidden=bool(few or kept_back[j]))
                for rate in ("selection", "tpr", "fpr", "error")
                for i in ids
            ]
            table.add_row(escape(level), f"fewer than {small}" if few else f"{rates.n[j]:.0f}", *cells)
        console.print(table)


def _rate(value: float, hidden: bool) -> str:
    return "hidden" if hidden and not np.isfinite(value) else _digits(value)


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
