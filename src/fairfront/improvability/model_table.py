"""Models of a dossier: those of the first split, in a table and a picture, why each was refused, what it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ..records import plain
from .digits import p_words
from .dossier_layout import Part, cell_words
from .estimates import JOBS
from .sections import Search, Section
from .verdicts import pair_words, table_of

WIDE, HIGH, EDGE, TOP = 640, 372, 56, 32
COARSE = (
    "Some counts are small: p-values that rest on them say only whether they pass, and changes are in steps of what "
    "five people make of them, so that no exact count follows."
)


class Models(Section):
    """Every model of the first split: settings, figures, and why it was kept or refused."""

    name = "models"

    def find(self, search: Search) -> Mapping[str, Any]:
        first, wanted = search.outcome, search.wanted
        table = table_of(first, search.data, wanted, search.judged, search.verdicts)
        known = [(i + 1, each) for i, each in enumerate(search.verdicts) if each.changes is not None]
        pairs = [pair_words(each, search.data.sample.attributes) for each in first.pairs]
        return {
            "table": table,
            "changes": {str(i): {name: list(told) for name, told in (each.changes or {}).items()} for i, each in known},
            "pairs": {each.name: list(pair) for each, pair in zip(wanted.improve, pairs, strict=True)},
            "coarse": search.few,
            "coarse_p": [i for i, each in known if each.coarse],
        }

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        told = (
            "Figures are those of the judge rows of the first split, whose models were fitted on its search rows. "
            "Models are tested in the order of the table, which the search rows gave, until one fails; a p-value is "
            "the largest up to its own and that of the search. Cut-offs were placed on the search rows, where every "
            "model approves the incumbent's share. Id 0 is the incumbent."
        )
        told += f" {COARSE}" if record["coarse"] else ""
        yield Part("All models of the first split", [told], *_lines(record, record["table"]), picture(record), "model")
        yield Part("The model shown", _changes(record, record["shown"]))

    def summary(self, record: Mapping[str, Any]) -> Iterator[Part]:
        what = "first model that qualifies" if record["qualified"] else "most promising model, which does not qualify"
        shown = [line for line in record["table"] if line["id"] in (0, record["shown"])]
        title = f"The incumbent, and the {what}, on rows that were not searched on"
        rows = f"Figures are those of the {record['rows']['judge']} judge rows of the first split"
        where = f"{rows}; the p-value of the search, above, is over all splits."
        told = [where, *_changes(record, record["shown"]), *([COARSE] if record["coarse"] else [])]
        yield Part(title, told, *_lines(record, shown))


def _changes(record: Mapping[str, Any], id: int | None) -> list[str]:
    found = record["changes"].get(str(id))
    if found is None:
        return ["No model was found."]
    tested = len(record["changes"])
    together = f", for the {tested} models that were tested at once" if tested > 1 else ""
    of_all = " of all of them at once" if tested > 1 else ""
    said = [f"Id {id}, with bounds at {1 - record['alpha']:.0%} confidence{together}:"]
    ratios = {each["name"] for each in record["improve"] if each["ratio"]}
    for name, values in found.items():
        one, two = record["pairs"].get(name, ("", ""))
        pair = f"the incumbent's between {one!r} and {two!r}, its worst pair on the search rows"
        if name in record["keep"]:
            of = head_words(record, name)
            said.append(f"{of} changes by {values[0]:+.4f} (between {values[1]:+.4f} and {values[2]:+.4f}).")
        elif name in ratios:
            said.append(f"{name} is {values[0]:.3f} times {pair}, at least {values[1]:.3f} times.")
        elif one:
            sure = f"at least {values[1]:.4f} smaller" if values[1] > 0 else f"no reduction is sure{of_all}"
            side = "smaller" if values[0] > 0 else "larger"
            much = f"{side} by {abs(values[0]):.4f} than" if values[0] else "as large as"
            said.append(f"{name} is {much} {pair} ({sure}).")
        else:
            said.append(f"{name}: the lowest change is {values[0]:+.4f} (at least {values[1]:+.4f}).")
    return said


def _lines(record: Mapping[str, Any], table: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    names = [name for name in table[0] if name not in ("settings",)]
    heads = ["id", "family", "settings", *names[2:]]
    return [head_words(record, name) for name in heads], [
        [line_cell(record, line, name) for name in heads] for line in table
    ]


def head_words(record: Mapping[str, Any], name: str) -> str:
    """Return the name of a figure, with whom it covers where labels do not cover everybody."""
    return f"{name} (labelled rows)" if record["labelled"] and name in JOBS else name


def line_cell(record: Mapping[str, Any], line: Mapping[str, Any], name: str) -> str:
    """Return an entry of the table of models as people read it."""
    if name == "p":
        return p_words(line["p"], record["alpha"], line["id"] in record["coarse_p"])
    return cell_words(line[name])


def picture(record: Mapping[str, Any]) -> str:
    """Return a figure as SVG with a caption that says in words what it shows; empty where there is nothing to draw."""
    job, gap = next(iter(record["keep"])), record["improve"][0]["name"]
    known = [line for line in record["table"] if line.get(job) is not None and line.get(gap) is not None]
    if len(known) < 2 or known[0]["id"] != 0:
        return ""
    x, y = (np.array([line[name] for line in known]) for name in (gap, job))
    limit = y[0] - JOBS[job].better * record["keep"][job]
    low, high = float(min(y.min(), limit)), float(max(y.max(), limit))
    across = _scale(float(x.min()), float(x.max()), EDGE, WIDE - 16)
    up = _scale(low, high, HIGH - EDGE, TOP)
    better_up = JOBS[job].better > 0
    top, bottom = (float(TOP), up(limit)) if better_up else (up(limit), HIGH - float(EDGE))
    ratio = record["improve"][0]["ratio"]
    left, right = (across(float(x[0])), WIDE - 16.0) if ratio else (float(EDGE), across(float(x[0])))
    said = (
        f"{job} (upwards) and {gap} (to the right) of {len(known)} models on rows that were not searched on. The "
        f"diamond is the incumbent ({job} {y[0]:.4g}, {gap} {x[0]:.4g}); filled circles are models that qualify. The "
        "shaded region holds figures within the tolerance and better than the incumbent's; figures there may still be "
        "chance, which the test allows for."
    )
    order = sorted(range(len(known)), key=lambda i: (known[i]["id"] == 0, bool(known[i]["qualified"]), -i))
    marks = "".join(_mark(known[i], across(float(x[i])), up(float(y[i])), (job, gap)) for i in order)
    return (
        f'<figure class="drawing"><svg viewBox="0 0 {WIDE} {HIGH}" role="group" aria-labelledby="drawn" width="{WIDE}">'
        f'<rect class="region" x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0):.1f}" '
        f'height="{max(bottom - top, 0):.1f}"/>'
        f'<path d="M{EDGE} {TOP}V{HIGH - EDGE}H{WIDE - 16}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>'
        f"{_label(EDGE, HIGH - EDGE + 18, f'{x.min():.3g}')}"
        f"{_label(WIDE - 16, HIGH - EDGE + 18, f'{x.max():.3g}', 'end')}"
        f"{_label(EDGE - 6, HIGH - EDGE, f'{low:.3g}', 'end')}{_label(EDGE - 6, TOP + 8, f'{high:.3g}', 'end')}"
        f"{_label(WIDE // 2, HIGH - 14, gap, 'middle')}{_label(4, 16, job)}"
        f"{_label((left + right) / 2, bottom - 5 if better_up else top + 14, 'within the tolerance', 'middle')}"
        f"{_beside(across(float(x[0])), up(float(y[0])))}{marks}</svg>"
        f'<figcaption id="drawn">{escape(plain(said))}</figcaption></figure>'
    )


def _scale(low: float, high: float, start: float, end: float) -> Any:
    wide = high - low or 1.0
    return lambda value: start + (value - low) / wide * (end - start)


def _label(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="12">{escape(plain(text))}</text>'


def _beside(x: float, y: float) -> str:
    """Return the incumbent's name, on the side of its mark where there is room."""
    left = x > WIDE / 2
    return _label(x + (-14 if left else 14), y + 4, "incumbent", "end" if left else "start")


def _mark(line: Mapping[str, Any], x: float, y: float, names: tuple[str, str]) -> str:
    """Return a link from a model to its line of the table, which keys reach and screen readers read."""
    figures = ", ".join(f"{name} {line[name]:.4g}" for name in names)
    kind = "incumbent" if line["id"] == 0 else "qualified" if line["qualified"] else "refused"
    said = {"incumbent": "the incumbent", "qualified": "qualifies", "refused": "does not qualify"}[kind]
    shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
    if kind == "incumbent":
        shape = f'<path d="M{x:.1f} {y - 9:.1f}L{x + 9:.1f} {y:.1f}L{x:.1f} {y + 9:.1f}L{x - 9:.1f} {y:.1f}Z"/>'
    label = escape(plain(f"id {line['id']}, {line['family']}: {figures}; {said}"), quote=True)
    return f'<a href="#model{line["id"]}" class="{kind}" aria-label="{label}"><title>{label}</title>{shape}</a>'
