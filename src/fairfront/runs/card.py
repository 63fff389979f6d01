"""The model card: what a person who answers for a model needs to know about it, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .decision import Decision
from .markdown import cell, code, digits, table, with_ends
from .options import main_error, main_gap, plain_id

if TYPE_CHECKING:
    from .run import Run

RATES = {
    "selection": "favourable decisions",
    "tpr": "TPR",
    "fpr": "FPR",
    "error": "error",
    "prediction": "mean prediction",
    "mse": "squared error",
}
CALIBRATION = {"mean_score": "mean probability", "in_the_large": "in the large", "slope": "slope", "brier": "Brier"}


def card_of(run: Run, id: int, decision: Decision) -> str:
    """Return the card of the model with an id; this opens the test part, and the card says how often that was done."""
    tested = run.tested.get(str(id), {})
    parts = [
        _purpose(run, id, decision),
        _data(run),
        _groups(run, tested),
        _alternatives(decision),
        _rates(run, tested, decision),
        _calibration(tested),
        _moves(run, id, tested),
        _stability(run, id),
        _attribute(run),
        _limits(run),
        _again(run),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _purpose(run: Run, id: int, decision: Decision) -> str:
    front, settings = run.frontier, run.manifest["settings"]
    target, good, place = settings["target"], settings["favourable"], front.place(id)
    words = "" if good is None else f" The value that is good for the person is {code(good)}."
    sure = "known to be the global optimum of the training loss at its gap"
    status = sure if front.certified[place] else "not certified to be a global optimum"
    lines = [
        f"# Model card: id {id} of {len(front)} points",
        f"Predicts {code(target)} with a {settings['model']} model ({front.facts.loss} loss).{words}",
        *(f"Notion: {sentence}" for sentence in front.facts.sentences),
        f"The point is {status}. Its training {front.facts.unit} is {front.gaps[place].max():.4f}: the quantity that "
        "training controls, which is not a gap between rates.",
        f"Chosen at {decision.at}{f' by {cell(decision.by)}' if decision.by else ''}: {decision.rule_words}."
        + (f" Reason: {cell(decision.reason)}" if decision.reason else " No reason was recorded."),
    ]
    return "\n\n".join(lines)


def _data(run: Run) -> str:
    manifest = run.manifest
    split, data = manifest["split"], manifest["data"]
    rows = ", ".join(f"{n} {part}" for part, n in split["rows"].items())
    flagged = [f"- {cell(f['sentence'])}" for f in manifest["findings"]]
    known = f"File {code(data['name'])}" + (f", sha256 `{data['sha256']}`" if data.get("sha256") else "")
    lines = [
        "## Data and their limits",
        f"{known}. Rows: {rows}. {split['rule']} Models were trained on train, chosen on validation, and are reported "
        "here on test.",
        f"Columns read: {', '.join(f'{code(name)}' for name in manifest['features'])}.",
    ]
    if flagged:
        lines.append("Noticed:\n\n" + "\n".join(flagged))
    return "\n\n".join(lines)


def _groups(run: Run, tested: Mapping[str, Any]) -> str:
    facts = run.frontier.facts
    lines = ["## Groups"]
    for name, levels in facts.sensitive:
        lines.append(f"- {code(name)}: {', '.join(cell(v) for v in levels)}; reference: {cell(levels[-1])}.")
    if facts.left_out:
        lines.append(
            "- Too small to be compared in training: " + "; ".join(f"groups of {code(n)}" for n, _ in facts.left_out)
        )
    if facts.missing:
        lines.append(
            f"- Some rows have no {', '.join(f'{code(n)}' for n in facts.missing)}: they count in the loss alone."
        )
    return "\n".join([lines[0], "", *lines[1:]])


def _alternatives(decision: Decision) -> str:
    names = [name for name in decision.candidates[0] if name not in ("id", "mark")]
    rows = [
        [
            str(c["id"]) + (" (chosen)" if c["id"] == decision.id else ""),
            c["mark"],
            *(digits(c[name]) for name in names),
        ]
        for c in decision.candidates
    ]
    return "\n".join(
        [
            "## Alternatives considered",
            "",
            f"{len(decision.candidates)} of {decision.points} points were shown; loss and its gap are of training, the "
            "other figures of validation.",
            "",
            *table(["id", "", *(name.replace("_", " ") for name in names)], rows),
        ]
    )


def _rates(run: Run, tested: Mapping[str, Any], decision: Decision) -> str:
    """Return the rates of every group on test with their intervals, and the worst gaps as upper ends."""
    if not tested:
        return "## On test\n\nThis point was not solved to tolerance and has no figures on test."
    found = tested["audit"]
    lines = [
        "## On test",
        "",
        f"{found['n']} rows; intervals at {found['confidence']:.0%} confidence. " + _openings(decision.opened),
    ]
    for name, columns in found["tables"].items():
        figures = [key for key in RATES if key in columns]
        rows = [
            [cell(group), digits(columns["n"][i]), *(with_ends(columns, key, i) for key in figures)]
            for i, group in enumerate(columns["group"])
        ]
        lines += ["", f"### {cell(name)}", "", *table(["group", "n", *(RATES[key] for key in figures)], rows)]
    said = [s for s in found["sentences"] if "at most" in s or "times the rate" in s]
    return "\n".join([*lines, "", *(f"- {cell(sentence)}" for sentence in said)])


def _openings(opened: int) -> str:
    if opened == 1:
        return "The test part was opened for the first time."
    return (
        f"The test part of this run has been opened {opened} times: the more often, the less the figures below are "
        "those of an untouched sample."
    )


def _calibration(tested: Mapping[str, Any]) -> str:
    tables = tested.get("audit", {}).get("tables", {})
    lines = []
    for name, columns in tables.items():
        figures = [key for key in CALIBRATION if key in columns]
        if "slope" not in figures:
            continue
        rows = [
            [cell(group), *(with_ends(columns, key, i) for key in figures)] for i, group in enumerate(columns["group"])
        ]
        lines += ["", f"### {cell(name)}", "", *table(["group", *(CALIBRATION[key] for key in figures)], rows)]
    note = (
        "A slope of 1 and 0 in the large mean that probabilities fit; a slope below 1 means that they are too extreme."
    )
    return "\n".join(["## Calibration on test", "", note, *lines]) if lines else ""


def _moves(run: Run, id: int, tested: Mapping[str, Any]) -> str:
    moves = tested.get("moves") or {}
    if not moves or id == plain_id(run.frontier):
        return ""
    lines = ["## Who gains and who loses", "", "People on test whose decision differs from the plain model's."]
    for name, columns in moves.items():
        rows = [
            [cell(group), str(n), str(gained), str(lost)]
            for group, n, gained, lost in zip(*(columns[k] for k in ("group", "n", "gained", "lost")), strict=True)
        ]
        heads = ["group", "n", "newly favoured", "newly refused"]
        lines += ["", f"### {cell(name)}", "", *table(heads, rows)]
    return "\n".join(lines)


def _stability(run: Run, id: int) -> str:
    found = run.stability
    if "points" not in found:
        return f"## Stability\n\nNot measured: {found.get('why_not', 'no refits were made')}."
    point = found["points"].get(str(id))
    if point is None:
        return ""
    low, high = point["gap"]
    share = point["flips"]
    flips = "" if share is None else f"; on average {share:.1%} of the training rows would be decided otherwise"
    unit = run.frontier.facts.unit
    return (
        f"## Stability\n\n{found['refits']} refits on bootstrap samples of train: the training {unit} "
        f"lies between {low:.4f} and {high:.4f} ({found['confidence']:.0%} of refits){flips}."
    )


def _attribute(run: Run) -> str:
    rows = [[where, said] for where, said in run.manifest["sensitive"].items()]
    return "\n".join(["## Where the sensitive attribute was used", "", *table(["", ""], rows)])


def _limits(run: Run) -> str:
    error, gap = main_error(run.frontier), main_gap(run.frontier).replace("_", " ")
    return "\n".join(
        [
            "## Limits",
            "",
            f"- One notion was traded against the {error}; other notions may be worse than before. Read all tables, "
            f"not the {gap} alone.",
            "- Labels are taken as they are. If they record past decisions or unequal measurement, a small gap here "
            "says little about people's lives.",
            "- Figures hold for people like those in the data; a new population or a later year needs a new audit.",
            "- Intervals cover sampling of the test rows, not the choice among points and not errors in the data.",
            "- This card reports measurements. It draws no legal conclusion.",
        ]
    )


def _again(run: Run) -> str:
    versions = ", ".join(
        f"{name} {value}" for name, value in run.manifest["versions"].items() if isinstance(value, str)
    )
    return (
        "## To make it again\n\n`fairfront verify RUN DATA` refits everything from the manifest and compares. "
        f"Written by fairfront {run.manifest['fairfront']}; {versions}."
    )
