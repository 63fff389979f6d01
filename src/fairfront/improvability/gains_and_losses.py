"""The people of a dossier: the incumbent's audit, who gains and who loses, and how those who change sides perform.

Counts, rates and moves are those that may be published (`fairfront.measures.disclosure`), made together, so that none
of them gives another away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..measures.audits import audit
from ..measures.disclosure import LIMIT, ROUNDED
from ..measures.lines import NO_GROUP
from ..measures.paired import GroupChanges, PairedRows
from ..measures.spans import Range, notable, with_ends
from ..objectives import Groups
from .digits import as_told
from .dossier_layout import Part, cell_words
from .sections import Search, Section
from .verdicts import truth_of

RATES = ("selection", "tpr", "fpr", "error")
EVERYONE = "(all rows)"
APART = "(in no gap)"
"""People without a group, or of one with too few rows to be compared."""


class IncumbentAudit(Section):
    """How the incumbent stands on the judge rows of the first split."""

    name = "audit"

    def find(self, search: Search) -> Mapping[str, Any]:
        rows, data = search.data.sample.take(search.outcome.judge), search.data
        classes, said = np.asarray(data.task.classes), search.outcome.incumbent.take(search.outcome.judge)
        truth, decided = (truth_of(each, data.task) for each in (rows.good, said.approved))
        found = audit(
            classes[truth],
            classes[decided],
            sensitive_features={name: each[search.outcome.judge] for name, each in data.columns.items()},
            favourable=data.task.favourable_label,
            groups=Groups(reference=dict(data.reference), min_size=2),
            sample_weight=None if (rows.weight == 1.0).all() else rows.weight,
            confidence=1.0 - search.alpha,
        ).published()
        rates = RATES if rows.labelled is None else RATES[:1]
        shown = [name for rate in rates for name in (rate, f"{rate}_lower", f"{rate}_upper")]
        tables = found.to_dict(small=LIMIT)["tables"]
        told = {name: {head: _short(table[head]) for head in ("group", "n", *shown)} for name, table in tables.items()}
        for table in told.values():
            table["group"] = [APART if group == NO_GROUP else group for group in table["group"]]
        return {"audit": {"tables": told, "sentences": list(found.sentences) if rows.labelled is None else []}}

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        sure = f"{1 - record['alpha']:.0%}"
        for name, table in record["audit"]["tables"].items():
            rates = [rate for rate in RATES if rate in table]
            rows = []
            for k, group in enumerate(table["group"]):
                cells = [_with_ends(*(table[f"{rate}{end}"][k] for end in ("", "_lower", "_upper"))) for rate in rates]
                rows.append([str(group), cell_words(table["n"][k]), *cells])
            told = f"The incumbent on the judge rows of the first split, with {sure} intervals of each rate on its own."
            yield Part(f"The incumbent's audit: {name}", [told], ["group", "people", *rates], rows)
        if record["audit"]["sentences"]:
            yield Part("The incumbent's audit in words", record["audit"]["sentences"])


def _short(values: Sequence[Any]) -> list[Any]:
    return [round(value, 4) if isinstance(value, float) else value for value in values]


def _with_ends(value: Any, lower: Any, upper: Any) -> str:
    if not all(isinstance(each, (int, float)) for each in (value, lower, upper)):
        return cell_words(value)
    return f"{value:.3f} ({lower:.3f} to {upper:.3f})"


class People(Section):
    """Rates of every group before and after, who enters and who leaves, of the model that is shown."""

    name = "people"

    def find(self, search: Search) -> Mapping[str, Any]:
        if search.shown is None:
            return {"moved": {}, "swapped": {}}
        paired, labelled = _paired(search), search.data.sample.labelled is None
        found, everyone = dict[str, Any](), list[dict[str, Any]]()
        for place, attribute in enumerate(paired.attributes):
            changes = paired.by_group(place)
            people = paired.shown.groups[attribute.name].n
            found[attribute.name] = [
                {"group": level, "n": int(people[k])}
                | _rates(paired, place, changes, k, labelled)
                | _sides(changes, k, labelled)
                for k, level in enumerate(changes.levels)
            ]
            everyone.append({"group": EVERYONE, **_sides(changes, -1, labelled)})
        return {"moved": found, "swapped": min(everyone, key=len)}  # fewest entries: shares that need no ends

    def parts(self, record: Mapping[str, Any]) -> Iterator[Part]:
        sure = f"{1 - record['alpha']:.0%}"
        for name, lines in record["moved"].items():
            rates = [rate for rate in ("selection", "tpr") if rate in lines[0]]
            heads = ["group", "people", *(f"{rate} {what}" for rate in rates for what in ("before", "after", "change"))]
            labelled = "enter_favourable" in lines[0]
            heads += ["enter", "of whom favourable", "leave", "of whom favourable"] if labelled else ["enter", "leave"]
            rows = [_line(line, rates, labelled) for line in (*lines, record["swapped"])]
            told = (
                "Judge rows of the first split. People whom the model alone approves enter, those whom the incumbent "
                f"alone approves leave. Behind a change is its {sure} interval. {ROUNDED}"
            )
            yield Part(f"Who gains and who loses: {name}", [told], heads, rows)

    summary = parts


def _line(line: Mapping[str, Any], rates: Sequence[str], labelled: bool) -> list[str]:
    cells = [line["group"], cell_words(line.get("n"))]
    for rate in rates:
        change: Sequence[Any] = line.get(f"{rate}_change", (None,))
        cells += [cell_words(value) for value in line.get(rate, (None, None))]
        cells.append("" if None in change else "{:+.3f} ({:+.3f} to {:+.3f})".format(*change))
    for side in ("enter", "leave"):
        cells.append(str(line[side]))
        if labelled:
            share, ends = line[f"{side}_favourable"], line.get(f"{side}_favourable_ends", ())
            cells.append("few" if share is None else with_ends(f"{share:.3f}", ends))
    return cells


def _paired(search: Search) -> PairedRows:
    """Return the judge rows with the decisions of the incumbent, first, and of the model that is shown."""
    assert search.shown is not None
    rows, task = search.data.sample.take(search.outcome.judge), search.data.task
    said = (search.outcome.incumbent.take(search.outcome.judge), search.outcome.candidates[search.shown - 1].answers)
    decided = np.stack([truth_of(each.approved, task) for each in said])
    known: dict[str, Any] = {"plain": 0, "confidence": 1.0 - search.alpha, "small": LIMIT}
    weight = None if (rows.weight == 1.0).all() else rows.weight
    return PairedRows.of(decided, truth_of(rows.good, task), task, rows.attributes, weight, **known)


def _rates(paired: PairedRows, place: int, changes: GroupChanges, k: int, labelled: bool) -> dict[str, Any]:
    table: Any = paired.shown.groups[paired.attributes[place].name]
    found: dict[str, Any] = {}
    for rate in ("selection", "tpr") if labelled else ("selection",):
        change = changes.changes[rate]
        found[rate] = [as_told(table.rate(rate)[i, k]) for i in (0, 1)]
        found[f"{rate}_change"] = [as_told(each[1, k]) for each in (change.value, change.lower, change.upper)]
    return found


def _sides(changes: GroupChanges, k: int, labelled: bool) -> dict[str, Any]:
    """Return who enters and leaves in a group, the last being everyone; shares are those of published counts."""
    found: dict[str, Any] = {}
    for side, name in enumerate(("enter", "leave")):
        found[name] = int(changes.sides["selection"].rows.shown[side, 1, k])
        if labelled:
            found |= _favourable(name, *(changes.sides[rate].rows.at(side, 1, k) for rate in ("tpr", "fpr")))
    return found


def _favourable(name: str, good: Range, bad: Range) -> dict[str, Any]:
    """Return the share with the favourable label among those who change sides, None of few; with ends where off."""
    yes, least, most = (float(each) for each in (good.shown, good.low, good.high))
    no, fewest, highest = (float(each) for each in (bad.shown, bad.low, bad.high))
    if yes + no <= LIMIT:
        return {f"{name}_favourable": None}
    share, ends = yes / (yes + no), (least / max(least + highest, 1.0), most / max(most + fewest, 1.0))
    found: dict[str, Any] = {f"{name}_favourable": round(share, 3)}
    if notable(share, *ends, by=0.005):
        found[f"{name}_favourable_ends"] = [round(each, 4) for each in ends]
    return found
