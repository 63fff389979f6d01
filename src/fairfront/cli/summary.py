"""What commands print of a run: what is compared, candidate models, a picture, rates per group, what to type next."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from ..frontier import Frontier
from ..frontier.cautions import notes_of
from ..frontier.held_out import HELD_OUT
from ..frontier.judgement import operating_words
from ..measures import GroupRates
from ..measures.figures import VALUES, Column
from ..measures.promises import has_ends
from ..runs import Run
from ..runs.card_blocks import significant
from ..runs.external import own_frontier
from ..runs.options import (
    Option,
    in_words,
    indistinct_words,
    leading_gap,
    main_error,
    main_gap,
    mark_words,
    options_of,
    pair_sentences,
    plain_id,
    suggested_id,
    tolerance_of,
)
from ..storage.foreign import SUFFIX, untrusted_types
from ..validation import counted
from .screen import print_table, say, table_of, tell

WIDTH, HEIGHT = 60, 14
HEADS = {"approval_rate": "approved", "selection_ratio": "ratio"}
"""Headings that leave room for the others on a narrow screen; the lines below say more."""
ANOTHER = "--approval-rate RATE, --cutoff CUTOFF or --costs FALSE_POSITIVE,FALSE_NEGATIVE"
RATES = ("selection", "tpr", "fpr", "error")
NOISE = 1e-9
"""Of the largest figure in a column: what is smaller is 0 but for arithmetic."""


def options_json(run: Run) -> dict[str, Any]:
    front, point = run.frontier, run.frontier.operating()
    operating = None
    if point is not None:
        cutoffs = {str(id): float(cutoff) for id, cutoff in zip(front.ids.tolist(), point.cutoffs, strict=True)}
        operating = {"rule": point.rule.words, "placed_on": point.placed_on, "cutoffs": cutoffs}
    return {
        "format": "fairfront options",
        "on": front.record().name,
        "evaluations": evaluations_json(run),
        "notions": list(front.facts.notions),
        "points": len(front),
        "plain": plain_id(front),
        "suggested": suggested_id(front),
        "operating_point": operating,
        "sensitive": dict(run.manifest["sensitive"]),
        "notes": list(notes_of(front)),
        "options": [each.to_json() for each in run.options()],
    }


def evaluations_json(run: Run) -> list[dict[str, Any]]:
    """Say what is known of external evaluations without the figures of single points."""
    about = ("file", "sha256", "at", "notes")
    return [{"name": name, **{key: getattr(each, key) for key in about}} for name, each in run.external.items()]


def seen_on(run: Run, on: str | None) -> Run:
    """Return a run that has one evaluation, by default those of its own rows: all figures are then of these."""
    if on is None:
        return replace(run, frontier=own_frontier(run.frontier, run.external))
    return replace(run, frontier=replace(run.frontier, evaluations={on: run.frontier.record(on)}))


def print_evaluations(console: Console, run: Run, ids: list[int]) -> None:
    """Print figures of some models held out, on validation and on external rows, and where those are from."""
    if not run.external:
        return
    usual = (plain_id(run.frontier), suggested_id(run.frontier))
    shown = list(dict.fromkeys(each for each in (*usual, *ids) if each is not None))
    heads, rows = ["on", "rows", "id"], []
    own = [name for name in (HELD_OUT, "validation") if name in run.frontier.evaluations]
    for name in (*own, *run.external):
        front = seen_on(run, name).frontier
        for option in options_of(front, shown):
            names = [each for each in option.figures if each not in ("loss", front.facts.gap_column)]
            about = (name, str(front.record().n)) if option.id == shown[0] else ("", "")
            rows.append([*about, str(option.id), *(_written(option, each, _is_value(front)) for each in names)])
    heads += [HEADS.get(each, "upper" if Column.of(each).end else in_words(each)) for each in names]
    point = run.frontier.operating()
    at = "" if point is None else f", at the cut-offs of {point.placed_on}"
    table = table_of(f"On other rows{at}", heads, left=["on"], pad=0)
    for row in rows:
        table.add_row(*map(escape, row), end_section=row[2] == str(shown[-1]))
    print_table(console, table)
    if made := [run.frontier.record(name).made for name in own if run.frontier.record(name).made]:
        tell(console, f"{HELD_OUT}: the training rows, each judged without itself ({made[0]}).")
    for name, each in run.external.items():
        known = f", sha256 {each.sha256[:12]}" if each.sha256 else ""
        tell(console, f"{name}: {each.file}{known}, judged at {each.at}.", *(f"{name}: {said}" for said in each.notes))


def print_compared(console: Console, run: Run) -> None:
    for name, levels in run.frontier.facts.sensitive:
        say(console, f"Groups of {name}: {', '.join(levels)} (reference: {run.reference(name)}).")
    used = "; ".join(f"{where}: {said}" for where, said in run.manifest["sensitive"].items())
    tell(console, *run.frontier.sentences, f"Where the sensitive attribute was used: {used}.")


def print_options(console: Console, front: Frontier, options: list[Option]) -> None:
    """Print a line for each option; of several gaps, the first has its upper bound beside it."""
    first = f"{main_gap(front)}_upper"
    names = [name for name in options[0].figures if name == first or Column.of(name).end != "upper"]
    heads = [{**HEADS, first: "upper"}.get(name, in_words(name)) for name in names]
    title = f"{len(options)} of {counted(len(front), 'candidate model')}"
    table, values = table_of(title, ["id", *heads, ""], pad=0), _is_value(front)
    for each in _without_noise(options) if values else options:
        cells = [
            _loss(each.figures[name], values) if "loss" in name else _written(each, name, values) for name in names
        ]
        table.add_row(str(each.id), *cells, each.mark, style="bold" if each.mark else None)
    print_table(console, table)
    pairs, unsure = pair_sentences(front, [each.id for each in options]), indistinct_words(front, main_gap(front))
    tell(console, *mark_words(front, options), *_legend(front), *pairs, *filter(None, [unsure]))


def _legend(front: Frontier) -> list[str]:
    facts, record, sure = front.facts, front.record(), has_ends(front.record(), main_gap(front))
    names = [name for name, _ in facts.sensitive]
    gap, lead = in_words(main_gap(front)), in_words(leading_gap(front))
    loss = "loss" if facts.loss_name == "loss" else f"loss (here the {facts.loss_name})"
    lines = [f"{loss} and {in_words(facts.gap_column)}: on {facts.measured_on}; all other figures: on {record.name}."]
    if facts.task.classes:
        lines.append(
            "approved: share of favourable decisions. ratio: lowest share of any group divided by the highest."
        )
    if sure:
        lines.append(f"upper: {gap}, 95 % upper bound, which holds for all models and pairs of groups at once.")
    if record.made:
        lines.append(f"{record.name}: the training rows, each judged without itself ({record.made}).")
    if len(names) > 1:
        lines.append(f"Gaps are the largest over {' and '.join(names)}; ratios the smallest.")
    if record.weighted:
        lines.append("Figures are weighted by the sample weights; counts are rows.")
    operating = operating_words(front.record(), facts)
    if operating:
        lines.append(f"{operating} To use another, trace again with {ANOTHER}.")
    if suggested_id(front) is None:
        none = (
            "suggested: none, because every model gives nearly everyone the same decision or is no better than chance."
        )
        return [*lines, none]
    what = f"95 % upper bound of the {gap}" if sure and lead == gap else f"{lead} as observed"
    read = front.judged()
    by = "" if read.name == record.name else f", by the {read.n} rows of {read.name}"
    among = f"models whose {main_error(front)} is within {tolerance_of(front):g} of the lowest"
    other = (
        ""
        if record.name in ("validation", HELD_OUT)
        else f" on {record.name}; fairfront select chooses on the run's own rows"
    )
    return [*lines, f"suggested{by}: smallest {what} among {among}{other}."]


def _is_value(front: Frontier) -> bool:
    """Tell whether figures are in the unit of the target, or its square, where three decimals may be all or none."""
    return front.facts.task.kind == "regression"


def _without_noise(options: list[Option]) -> list[Option]:
    least = {name: NOISE * np.max([abs(each.figures[name]) for each in options]) for name in options[0].figures}
    settled = [{name: 0.0 if abs(v) < least[name] else v for name, v in each.figures.items()} for each in options]
    return [replace(each, figures=figures) for each, figures in zip(options, settled, strict=True)]


def _loss(value: float, values: bool) -> str:
    return significant(value, 4) if values else f"{value:.4f}"


def _written(option: Option, name: str, values: bool) -> str:
    return _digits(option.figures[name], values)


def _digits(value: float, values: bool) -> str:
    if not np.isfinite(value):
        return "not defined"
    if values:
        return significant(value)
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.4g}"


def print_next(console: Console, run: Run, path: Path, *, shown: bool = False) -> None:
    """``shown`` is whether the run is on the screen already."""
    front, where = run.frontier, shlex.quote(str(path))
    foreign = untrusted_types(path) if any(path.rglob(f"*{SUFFIX}")) else ()
    trust = "".join(f" --trust {shlex.quote(name)}" for name in foreign)
    commands = [] if shown else [f"  fairfront show {where}{trust}"]
    commands.append(f"  fairfront report {where} -o report.html{trust}")
    gap, within = leading_gap(front).removesuffix("_gap"), f"{main_error(front)}={tolerance_of(front):g}"
    if suggested_id(front) is not None:  # a rule would else take a model that is never suggested
        commands.append(f"  fairfront select {where} --least-gap {gap} --within {within} -o model{trust}")
        commands.append(f"  fairfront predict model new.csv -o decided.csv{trust}")
    say(console, "Next:", *commands)


def print_picture(console: Console, run: Run) -> None:
    """Draw error against the gap with characters: o a model, U the unconstrained one, S the suggested one."""
    front = run.frontier
    error, gap = main_error(front), main_gap(front)
    x, y = front.column(gap)[front.solved], front.column(error)[front.solved]
    known = np.isfinite(x) & np.isfinite(y)
    if not known.any():
        return
    x, y, ids = x[known], y[known], front.ids[front.solved][known].tolist()
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    marks = {plain_id(front): "U", suggested_id(front): "S"}
    columns, rows = _steps(x, WIDTH), HEIGHT - 1 - _steps(y, HEIGHT)
    for strong in (False, True):  # marked points are drawn last, on top
        for c, r, id in zip(columns, rows, ids, strict=True):
            if (id in marks) is strong:
                grid[r][c] = marks.get(id, "o")
    axes = f"{error} (vertical) against {in_words(gap)} (horizontal) on {front.record().name}"
    places = {id: (c, r) for c, r, id in zip(columns, rows, ids, strict=True) if id in marks}
    same = " (in one place)" if len(places) == 2 and len(set(places.values())) == 1 else ""
    tell(console, f"{axes}; U unconstrained, S suggested{same}")
    left, right, low, high = (_digits(float(each), _is_value(front)) for each in (x.min(), x.max(), y.min(), y.max()))
    labels = {0: high, HEIGHT - 1: low}
    for i, line in enumerate(grid):
        say(console, f"{labels.get(i, ''):>8} |{''.join(line)}")
    say(console, f"{'':>8} +{'-' * WIDTH}")
    say(console, f"{'':>10}{left}{right:>{WIDTH - len(left)}}")


def _steps(values: Any, cells: int) -> Any:
    span = float(values.max() - values.min())
    scaled = (values - values.min()) / span if span > 0 else np.zeros(len(values))
    return np.rint(scaled * (cells - 1)).astype(int)


def print_rates(console: Console, front: Frontier, ids: list[int]) -> None:
    record = front.record()
    for name, rates in record.groups.items():
        shown = RATES if isinstance(rates, GroupRates) else tuple(VALUES)
        what = "Rates" if shown is RATES else "Means"
        heads = ["group", "n", "id", *map(in_words, shown)]
        table = table_of(f"{what} per group of {name} on {record.name}", heads, left=["group"])
        for j, level in enumerate(rates.levels):
            for place in map(front.place, ids):
                about = (escape(level), f"{rates.n[j]:.0f}") if place == front.place(ids[0]) else ("", "")
                cells = [_digits(float(rates.rate(rate)[place, j]), rate in VALUES) for rate in shown]
                table.add_row(*about, str(front.ids[place]), *cells, end_section=place == front.place(ids[-1]))
        print_table(console, table)
