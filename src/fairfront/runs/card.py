"""The model card: what a person who answers for a model needs to know about it, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..frontier.cutoffs import operating_words
from ..validation import counted
from .card_figures import calibration, cell, code, digits, line, moves, rates, stability, table
from .decision import Decision
from .options import main_error, main_gaps

if TYPE_CHECKING:
    from .run import Run


def card_of(run: Run, id: int, decision: Decision) -> str:
    """Return the card of the model with an id; this opens the test part, and the card says how often that was done."""
    tested = run.tested.get(str(id), {})
    parts = [
        _purpose(run, id, decision),
        _data(run),
        _groups(run),
        cutoff(run, id, tested),
        _alternatives(decision),
        rates(run, tested, decision),
        calibration(tested),
        moves(run, id, tested),
        stability(run, id),
        _attribute(run),
        _limits(run),
        _again(run),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _purpose(run: Run, id: int, decision: Decision) -> str:
    front, settings = run.frontier, run.manifest["settings"]
    target, good, place = settings["target"], settings["favourable"], front.place(id)
    words = "" if good is None else f" The value that is good for the person is {code(good)}."
    count = len(front.facts.notions)
    sure = "known to be the global optimum of the training loss at its gap"
    status = sure if front.certified[place] else "not certified to be a global optimum"
    lines = [
        f"# Model card: id {id} of {counted(decision.points, 'point')}",
        f"Purpose: to predict {code(target)} with a {settings['model']} model ({front.facts.loss} loss).{words} It was "
        "examined for nothing else.",
        *(f"Notion: {line(sentence)}" for sentence in front.sentences[:count]),
        *(line(sentence) for sentence in front.sentences[count:]),
        f"The point is {status}. Its training {front.facts.unit} is {front.gaps[place].max():.4f}: the quantity that "
        "training controls, which is not a gap between rates.",
        f"Chosen at {decision.at}{f' by {cell(decision.by)}' if decision.by else ''}: {decision.rule_words}."
        + (f" Reason: {line(decision.reason)}" if decision.reason else " No reason was recorded."),
    ]
    return "\n\n".join(lines)


def _data(run: Run) -> str:
    manifest = run.manifest
    split, data = manifest["split"], manifest["data"]
    rows = ", ".join(f"{n} {part}" for part, n in split["rows"].items())
    flagged = [f"- {line(f['sentence'])}" for f in manifest["findings"]]
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


def _groups(run: Run) -> str:
    facts = run.frontier.facts
    lines = ["## Groups"]
    for name, levels in facts.sensitive:
        groups = ", ".join(cell(level) for level in levels)
        how = ", given as probabilities" if name in run.frontier.proxies else ""
        lines.append(f"- {code(name)}{how}: {groups}; reference: {line(run.reference(name))}.")
    if facts.left_out:
        out = [f"{code(name)}: {', '.join(map(cell, levels))}" for name, levels in facts.told_left_out]
        lines.append(f"- Too small to be compared in training: {'; '.join(out)}.")
    if facts.missing:
        lines.append(
            f"- Some rows have no {', '.join(f'{code(n)}' for n in facts.missing)}: they count in the loss alone."
        )
    return "\n".join([lines[0], "", *lines[1:]])


def _alternatives(decision: Decision) -> str:
    names = [name for name in decision.candidates[0] if name not in ("id", "mark", "shown")]
    shown = [c["id"] for c in decision.candidates if c["shown"]]
    added = "" if decision.id in shown else f" Id {decision.id}, which was chosen, was not listed and is added here."
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
            f"{len(shown)} of {decision.points} points were listed as options.{added} Loss and its gap are of "
            "training, the other figures of validation.",
            "",
            *table(["id", "", *(name.replace("_", " ") for name in names)], rows),
            *(["", " ".join(decision.footnotes)] if decision.footnotes else []),
        ]
    )


def _attribute(run: Run) -> str:
    rows = [[where, said] for where, said in run.manifest["sensitive"].items()]
    return "\n".join(["## Where the sensitive attribute was used", "", *table(["", ""], rows)])


def _limits(run: Run) -> str:
    front = run.frontier
    error, gaps = main_error(front), " and ".join(gap.replace("_", " ") for gap in main_gaps(front))
    notions = " and ".join(name.replace("_", " ") for name in front.facts.notions)
    return "\n".join(
        [
            "## Limits",
            "",
            f"- The {error} was traded against {notions}; other notions may be worse than before. Read all tables, "
            f"not the {gaps} alone.",
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
        "## To make it again\n\n`fairfront verify RUN DATA` traces the run again from its rows and compares; "
        "`fairfront verify MODEL RUN` compares this model with its run. "
        f"Written by fairfront {run.manifest['fairfront']}; {versions}."
    )


def cutoff(run: Run, id: int, tested: Mapping[str, Any]) -> str:
    """Return the section on the cut-off; nothing for several classes and for values."""
    front = run.frontier
    said = operating_words(front.record(), front.facts)
    if not said:
        return ""
    place, point = front.place(id), front.operating()
    lines = [said]
    if point is not None:
        what = "probability" if point.probability[place] else "score"
        good = code(str(front.facts.task.favourable_label))
        lines.append(
            f"The cut-off of this model is {point.cutoffs[place]:.4g} on the {what} of {good}, which is decided at or "
            "above it. It was applied to test unchanged."
        )
    approved = f"{front.column('approval_rate')[place]:.1%} of the validation rows"
    overall = _all_rows(tested)
    if "selection" in overall:
        approved += f" and {overall['selection']:.1%} of the test rows"
    lines.append(f"Decided favourably: {approved}.")
    if "auc" in overall:
        auc = overall["auc"]
        ks = f", KS {overall['ks']:.3f}" if "ks" in overall else ""
        lines.append(f"On test, whatever the cut-off: AUC {auc:.3f}{ks}, Gini {2.0 * auc - 1.0:.3f} (2 AUC - 1).")
    return "## Cut-off\n\n" + " ".join(lines)


def _all_rows(tested: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of all test rows that are numbers, from the last line of the first table."""
    tables: Mapping[str, Mapping[str, Any]] = tested.get("audit", {}).get("tables", {})
    table = next(iter(tables.values()), {})
    last = {name: table[name][-1] for name in ("selection", "auc", "ks") if name in table}
    return {name: float(value) for name, value in last.items() if isinstance(value, (int, float))}
