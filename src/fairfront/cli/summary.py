"""What commands print of a run: the notion, the options, a picture, rates per group, what to type next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..frontier import Frontier
from ..frontier.cutoffs import operating_words
from ..measures import GroupRates
from ..measures.disclosure import EXACT, ROUNDED
from ..runs import Run
from ..runs.options import (
    has_intervals,
    leading_gap,
    main_error,
    main_gap,
    mark_words,
    pair_sentences,
    plain_id,
    suggested_id,
    tolerance_of,
)
from ..storage.packages import SUFFIX, untrusted_types
from ..validation import counted
from .screen import say

WIDTH, HEIGHT = 60, 14
HEADS = {"approval_rate": "approved", "auc": "AUC", "selection_ratio": "ratio"}
"""Headings that leave room for the others on a narrow screen; the lines below say more."""
ANOTHER = "--approval-rate RATE, --cutoff CUTOFF or --costs FALSE_POSITIVE,FALSE_NEGATIVE"
RATES = ("selection", "tpr", "fpr", "error")
VALUES = ("prediction", "residual", "mse")


def options_json(run: Run) -> dict[str, Any]:
    """Return the options for programs."""
    front = run.frontier
    return {
        "format": "fairfront options",
        "notions": list(front.facts.notions),
        "points": len(front),
        "plain": plain_id(front),
        "suggested": suggested_id(front),
        "operating_point": _operating_json(front),
        "sensitive": dict(run.manifest["sensitive"]),
        "notes": list(front.sentences[len(front.facts.notions) :]),
        "options": [
            {"id": o.id, "mark": o.mark, **{k: _or_none(v) for k, v in o.figures.items()}} for o in run.options()
        ],
    }


def _operating_json(front: Frontier) -> dict[str, Any] | None:
    """Return the rule and the cut-off of every point by id, None where no operating point was given."""
    point = front.operating()
    if point is None:
        return None
    cutoffs = {str(id): float(cutoff) for id, cutoff in zip(front.ids.tolist(), point.cutoffs, strict=True)}
    return {"rule": point.rule.words, "placed_on": point.placed_on, "cutoffs": cutoffs}


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None


def print_compared(console: Console, run: Run) -> None:
    """Say what is compared between whom, and where the sensitive attribute was used."""
    facts = run.frontier.facts
    for name, levels in facts.sensitive:
        say(console, f"Groups of {name}: {', '.join(levels)} (reference: {run.reference(name)}).")
    for sentence in run.frontier.sentences:
        say(console, sentence)
    used = "; ".join(f"{where}: {said}" for where, said in run.manifest["sensitive"].items())
    say(console, f"Where the sensitive attribute was used: {used}.")


def print_options(console: Console, run: Run) -> None:
    """Print about seven options, one line each."""
    options = run.options()
    front = run.frontier
    table = Table(
        title=f"{counted(len(options), 'option')} out of {counted(len(front), 'point')}",
        box=SIMPLE_HEAD,
        padding=(0, 0),
    )
    table.add_column("id", justify="right")
    names = [name for name in options[0].figures if _fits(name, main_gap(front))]
    for name in names:
        table.add_column(_head(name), justify="right")
    table.add_column("")
    for each in options:
        cells = [f"{each.figures[name]:.4f}" if "loss" in name else _digits(each.figures[name]) for name in names]
        table.add_row(str(each.id), *cells, each.mark, style="bold" if each.mark else None)
    console.print(table)
    pairs = pair_sentences(front, [each.id for each in options])
    for line in (*mark_words(front, options), *_legend(front), *pairs):
        say(console, line)


def _legend(front: Frontier) -> list[str]:
    """Say where the figures of the options are from, what they leave out, and which point is suggested."""
    names = [name for name, _ in front.facts.sensitive]
    gap, training = main_gap(front).replace("_", " "), front.facts.gap_column.replace("_", " ")
    sure = has_intervals(front)
    lines = [f"loss and {training}: {front.facts.measured_on}; the other figures: validation."]
    if front.facts.task.classes:
        lines[0] += " approved: share of favourable decisions; ratio: lowest share of a group over the highest."
    operating = operating_words(front.record(), front.facts)
    if sure:
        lines[0] += f" at most: upper end of the {gap} at 95 % confidence."
    if len(names) > 1:
        lines.append(f"Gaps are the largest over {' and '.join(names)}; ratios the smallest.")
    record = front.evaluations["validation"]
    if record.weighted:
        lines.append("Rates are weighted by the sample weights; counts are rows.")
    lines.append(ROUNDED if record.small else EXACT)
    if operating:
        lines.append(f"{operating} Another needs the rows: fairfront trace ... {ANOTHER}.")
    if suggested_id(front) is None:
        return [*lines, "suggested: none, because no point decides better than without looking at people."]
    lead = leading_gap(front).replace("_", " ")
    what = f"upper end of the {gap}" if sure and lead == gap else f"{lead} as observed"
    return [*lines, f"suggested: the least {what} within {tolerance_of(front):g} of the smallest {main_error(front)}."]


def _fits(name: str, gap: str) -> bool:
    """Tell whether a figure is shown in the terminal: of several gaps, the first has its upper end beside it."""
    return not name.endswith(" at most") or name == f"{gap} at most"


def _head(name: str) -> str:
    return escape("at most" if name.endswith(" at most") else HEADS.get(name, name.replace("_", " ")))


def _digits(value: float) -> str:
    if not np.isfinite(value):
        return "not defined"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"


def print_next(console: Console, run: Run, path: Path) -> None:
    """Say what to type next."""
    front, where, trust = run.frontier, shlex.quote(str(path)), _trust(path)
    gap, within = leading_gap(front).removesuffix("_gap"), f"{main_error(front)}={tolerance_of(front):g}"
    say(console, "Next:")
    for line in (
        f"fairfront show {where}{trust}",
        f"fairfront report {where} -o report.html{trust}",
        f"fairfront select {where} --least-gap {gap} --within {within} -o model{trust}",
        f"fairfront predict model new.csv -o decided.csv{trust}",
    ):
        say(console, f"  {line}")


def _trust(path: Path) -> str:
    """Return the options that confirm types of estimators in a run's files; our own models need none."""
    if not any(path.rglob(f"*{SUFFIX}")):
        return ""
    return "".join(f" --trust {shlex.quote(name)}" for name in untrusted_types(path))


def print_picture(console: Console, run: Run) -> None:
    """Draw error against the gap with characters: o a point, P plain, S suggested."""
    front = run.frontier
    error, gap = main_error(front), main_gap(front)
    x, y = front.column(gap)[front.solved], front.column(error)[front.solved]
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        return
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    suggested = suggested_id(front)
    marks = {plain_id(front): "P"} | ({} if suggested is None else {suggested: "S"})
    columns, rows = _steps(x[known], WIDTH), HEIGHT - 1 - _steps(y[known], HEIGHT)
    ids = front.ids[front.solved][known]
    for strong in (False, True):  # marked points are drawn last, on top
        for c, r, id in zip(columns, rows, ids, strict=True):
            if (int(id) in marks) is strong:
                grid[r][c] = marks.get(int(id), "o")
    say(console, f"{error} (up) against {gap} (across) on validation; P plain, S suggested")
    top, bottom = f"{y[known].max():.3f}", f"{y[known].min():.3f}"
    for i, line in enumerate(grid):
        label = top if i == 0 else bottom if i == HEIGHT - 1 else ""
        say(console, f"{label:>8} |{''.join(line)}")
    say(console, f"{'':>8} +{'-' * WIDTH}")
    say(console, f"{'':>10}{x[known].min():.3f}{x[known].max():>{WIDTH - 5}.3f}")


def _steps(values: Any, cells: int) -> Any:
    span = float(values.max() - values.min())
    scaled = (values - values.min()) / span if span > 0 else np.zeros(len(values))
    return np.rint(scaled * (cells - 1)).astype(int)


def print_rates(console: Console, front: Frontier, ids: list[int]) -> None:
    """Print rates per group on validation of some points, one line each; groups of a few people have none."""
    for name, rates in front.evaluations["validation"].groups.items():
        shown = RATES if isinstance(rates, GroupRates) else VALUES
        what = "Rates" if shown is RATES else "Means"
        table = Table(title=f"{what} per group of {escape(name)} on validation")
        for head in ("group", "n", "id", *shown):
            table.add_column(head, justify="left" if head == "group" else "right", overflow="fold")
        for j, level in enumerate(rates.levels):
            for place in map(front.place, ids):
                about = (escape(level), f"{rates.n[j]:.0f}") if place == front.place(ids[0]) else ("", "")
                cells = [_digits(float(rates.rate(rate)[place, j])) for rate in shown]
                table.add_row(*about, str(front.ids[place]), *cells, end_section=place == front.place(ids[-1]))
        console.print(table)
