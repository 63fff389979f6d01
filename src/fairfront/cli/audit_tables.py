"""``fairfront audit``: the columns that it reads, and its tables on the screen, a line per group."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape
from rich.table import Table

from ..measures import Audit
from ..measures.figures import MORE, figure_of
from ..measures.sentences import reference_sentences
from ..measures.table_columns import Cell
from ..runs.attributes import Attributes
from ..tables import Table as Rows
from ..tables import infer, open_source
from ..tables import load as load_table
from ..tables.findings import reading_findings
from ..tables.target import check_case
from .screen import print_table, printable, say, screen, table_of

Cells = Mapping[str, list[Cell]]
Named = Mapping[str, Iterable[str]]
"""Columns by the option that names them."""

TESTS = {"p_value": "Fisher p", "deviations": "SDs", "detectable_gap": "detectable"}
RIGHT = ("tpr", "fpr", "precision", *MORE, "error", "auc", "slope")
LEGEND = (
    "rate: share with the favourable decision. ratio: rate divided by the reference group's, with its interval. Fisher "
    "p: p-value of Fisher's exact test of equal rates. SDs: difference of rates in standard deviations. detectable: "
    "minimum detectable gap, which a test on this many rows finds with 80 % power. Intervals "
    "and gaps of TPR, FPR, precision, error, AUC and slope are in --json."
)
CHANGED = ("selection", "selection_over_reference")
NEW, ABSENT = "new group", "not in the baseline"
MOST = 1e300
"""Numbers of a baseline from here on are not figures that an audit wrote."""
WIDTH = 110
RANKED = ("auc", "ks", "gini")


def read_columns(path: Path, texts: Named, numbers: Named, reading: Mapping[str, Any]) -> Rows:
    """Read columns as text or as numbers, both given by the option that names them; say on stderr what was guessed."""
    opening = {name: value for name, value in reading.items() if name != "decimal"}
    source = open_source(path, **opening)
    for option, names in (*texts.items(), *numbers.items()):
        for name in names:
            source.check_column(name, option)
    words, figures = ([name for names in each.values() for name in names] for each in (texts, numbers))
    known: dict[str, Any] = {"text": words, "numbers": figures, "decimal": reading["decimal"]}
    schema = infer(source, columns=[*words, *figures], **known)
    notes = (*source.notes, *(each.sentence for each in reading_findings(schema.columns)))
    say(screen(stderr=True), *(f"note: {each}" for each in notes))
    return load_table(source, schema)


def labels_of(table: Rows, name: str) -> NDArray[Any]:
    """Return whole numbers where all values are, other numbers where all are, else text; none may be missing."""
    table.complete(name)
    texts = table.texts(name)
    levels, codes = np.unique(texts.astype(str), return_inverse=True)
    try:
        numbers = levels.astype(np.float64)
    except ValueError:
        check_case(f"column {name!r}", levels.tolist())
        return texts
    whole = np.isfinite(numbers).all() and np.array_equal(numbers, np.rint(numbers))
    return np.asarray((numbers.astype(np.int64) if whole else numbers)[codes])


def as_label(text: str, labels: NDArray[Any]) -> Any:
    if labels.dtype == object:
        return text
    try:
        return int(text) if labels.dtype.kind == "i" else float(text)
    except ValueError:
        return text


def show(found: Audit, compared: Attributes, verdicts: Sequence[str], before: Mapping[str, Any] | None) -> None:
    """Print an audit as wide as the terminal; files and pipes get lines that hold a table."""
    console = screen(highlight=False)
    if not (console.is_terminal or "COLUMNS" in os.environ):
        console = screen(width=WIDTH, highlight=False)
    for line in found.notions:
        console.print(printable(line), markup=False)
    say(console, *reference_sentences(found.groups.values(), compared.choosing))  # with options to copy
    lines: list[str] = []
    tables = [(name, table.cells, name) for name, table in found.groups.items()]
    for level, inner in found.strata.items():
        tables += [(f"{name} within {level}", table.cells, "") for name, table in inner.items()]
    for title, cells, name in tables:
        for line in lines:
            console.print(printable(line), markup=False)
        changes = changes_of(cells, before["tables"].get(name, {})) if before is not None and name else {}
        print_table(console, _rates(title, cells, changes))
        shown = [key for key in RIGHT if key in cells]
        heads = ["group", *(figure_of(key).heading for key in shown)]
        table = table_of(f"{title}: accuracy of decisions", heads, left=["group"])
        for i in range(len(cells["group"])):
            table.add_row(_group(cells, i), *(_number(cells[key][i]) for key in shown))
        print_table(console, table)
        lines = _missing(title, cells)
    lines = [*lines, LEGEND]
    if before is not None:
        lines.append(
            "rate change, ratio change: the figure here minus the baseline's; changes of other figures are in --json."
        )
        if before.get("rule") != found.rule or before.get("cutoff") != found.cutoff:
            lines.append(f"Cut-offs differ, which is part of the changes: in the baseline {before.get('rule')}.")
    everyone = {name: column[-1] for name, column in tables[0][1].items() if name in RANKED and not column[-1].reason}
    if everyone:
        said = ", ".join(f"{figure_of(name).heading} {_number(everyone[name])}" for name in RANKED if name in everyone)
        lines.append(f"All rows, independent of the cut-off: {said} (Gini is 2 AUC - 1).")
    for line in (*lines, *found.found, *verdicts):
        console.print(printable(line), markup=False)


def changes_of(cells: Cells, before: Mapping[str, list[Any]]) -> dict[str, list[Cell]]:
    found = {"group": cells["group"]}
    for key in (*CHANGED, *(key for key in RIGHT if key in cells)):
        changes = found[key] = []
        for group, cell in zip(cells["group"], cells[key], strict=True):
            if group.value not in before.get("group", ()):
                changes.append(Cell(NEW))
                continue
            old = before.get(key, [None] * len(before["group"]))[before["group"].index(group.value)]
            known = isinstance(old, (int, float)) and abs(old) < MOST
            changes.append(cell if cell.reason else Cell(cell.value - old if known else ABSENT))
    return found


def _rates(name: str, cells: Cells, changes: Cells) -> Table:
    heads = ["group", "n", "rate", "ratio (interval)", *TESTS.values()]
    table = table_of(name, [*heads, *(["rate change", "ratio change"] if changes else [])], left=["group"])
    table.columns[3].no_wrap = not changes
    for i in range(len(cells["group"])):
        ratio, low, high = (_number(cells[f"selection_over_reference{end}"][i]) for end in ("", "_lower", "_upper"))
        defined = not cells["selection_over_reference"][i].reason
        tests = zip(TESTS, ("p", "{:+.1f}", "{:.3f}"), strict=True)
        table.add_row(
            _group(cells, i),
            _number(cells["n"][i], "{:.0f}"),
            _number(cells["selection"][i]),
            f"{ratio} ({low} {'or more' if high == 'inf' else f'to {high}'})" if defined else ratio,
            *(_number(cells[key][i], form) for key, form in tests),
            *(_number(changes[key][i], "{:+.3f}") for key in CHANGED if changes),
        )
    return table


def _missing(name: str, cells: Cells) -> list[str]:
    found = []
    for i, group in enumerate(cells["group"]):
        reasons: dict[str, list[str]] = {}
        for key in (*CHANGED, *(key for key in RIGHT if key in cells)):
            cell = cells[key][i]
            if cell.reason and cell.meant:
                reasons.setdefault(cell.plain, []).append(figure_of(key).heading)
        found += [f"{name}, {group.value}: {', '.join(names)} {reason}." for reason, names in reasons.items()]
    return found


def _group(cells: Cells, i: int) -> str:
    group, status = cells["group"][i].value, cells["status"][i].value
    return escape(f"{group} ({status})" if status in ("reference", "too few") else str(group))


def _p_value(value: float) -> str:
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _number(cell: Cell, form: str = "{:.3f}") -> str:
    """Return a number, that it is not defined, or nothing where no comparison was meant."""
    if cell.reason:
        return "not defined" if cell.meant else ""
    if isinstance(cell.value, str):
        return cell.value
    if form == "p":
        return _p_value(cell.value)
    return form.format(cell.value)
