"""The model card: what a person who answers for a model needs to know about it, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..frontier.judgement import operating_words
from ..measures.disclosure import EXACT, ROUNDED
from ..validation import counted
from .decision import Decision
from .markdown import by_attribute, cell, code, digits, line, section, table
from .options import in_words, main_error, main_gaps, plain_id

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
SHIFTS = {"prediction": "prediction", "mse": "squared error"}
MOVES = {"gained": "newly approved", "lost": "newly declined"}
LIMITS = (
    "- Labels are taken as they are. If they record past decisions or unequal measurement, a small gap here says "
    "little about people's lives.",
    "- Figures hold for people like those in the data; a new population or a later year needs a new audit.",
    "- Intervals cover sampling of the test rows, not the choice among points and not errors in the data.",
    "- This card reports measurements. It draws no legal conclusion.",
)


def card_of(run: Run, decision: Decision) -> str:
    """Return the card of the chosen model; this opens the test part, and the card says how often that was done."""
    tested = run.judged["test"].get(str(decision.id), {})
    found: Mapping[str, Any] = tested.get("audit", {})
    parts = [
        _purpose(run, decision),
        _data(run.manifest),
        _groups(run),
        _cutoff(run, decision, found.get("tables", {})),
        _alternatives(decision),
        _rates(run, found, decision),
        _calibration(found),
        _moves(run, decision.id, tested),
        _stability(run, decision),
        section("Where the sensitive attribute was used", *table(["", ""], run.manifest["sensitive"].items())),
        _limits(run),
        _again(run.manifest),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _purpose(run: Run, decision: Decision) -> str:
    front, settings = run.frontier, run.manifest["settings"]
    target, good, place = settings["target"], settings["favourable"], front.place(decision.id)
    words = "" if good is None else f" The value that is good for the person is {code(good)}."
    count = len(front.facts.notions)
    sure = "known to be the global optimum of the training loss at its gap"
    status = sure if front.certified[place] else "not certified to be a global optimum"
    lines = [
        f"# Model card: id {decision.id} of {counted(decision.points, 'point')}",
        f"Purpose: to predict {code(target)} with a {settings['model']} model ({front.facts.loss} loss).{words} It was "
        "not evaluated for any other use.",
        *(f"Notion: {line(sentence)}" for sentence in front.sentences[:count]),
        *(line(sentence) for sentence in front.sentences[count:]),
        f"The point is {status}. Its training {front.facts.unit} is {front.gaps[place].max():.4f}: the quantity that "
        "training controls, which is not a gap between rates.",
        f"Chosen at {decision.at}{f' by {cell(decision.by)}' if decision.by else ''}: {decision.rule_words}."
        + (f" Reason: {line(decision.reason)}" if decision.reason else " No reason was recorded."),
    ]
    return "\n\n".join(lines)


def _data(manifest: Mapping[str, Any]) -> str:
    split, data = manifest["split"], manifest["data"]
    rows = ", ".join(f"{n} {part}" for part, n in split["rows"].items())
    known = f"File {code(data['name'])}" + (f", sha256 `{data['sha256']}`" if data.get("sha256") else "")
    lines = [
        f"{known}. Rows: {rows}. {split['rule']} Models were trained on train, chosen on validation, and are reported "
        f"here on test.\n\nColumns read: {', '.join(map(code, manifest['features']))}."
    ]
    if manifest["findings"]:
        lines += ["\nNoticed:\n", *(f"- {line(found['sentence'])}" for found in manifest["findings"])]
    return section("Data and their limits", *lines)


def _groups(run: Run) -> str:
    facts, lines = run.frontier.facts, []
    for name, levels in facts.sensitive:
        how = ", given as probabilities" if name in run.frontier.proxies else ""
        groups = ", ".join(map(cell, levels))
        lines.append(f"- {code(name)}{how}: {groups}; reference: {line(run.reference(name))}.")
    if facts.left_out:
        out = [f"{code(name)}: {', '.join(map(cell, levels))}" for name, levels in facts.told_left_out]
        lines.append(f"- Too small to be compared in training: {'; '.join(out)}.")
    if facts.missing:
        lines.append(f"- Some rows have no {', '.join(map(code, facts.missing))}: they count in the loss alone.")
    return section("Groups", *lines)


def _cutoff(run: Run, decision: Decision, tables: Mapping[str, Any]) -> str:
    """Nothing for several classes and for values."""
    front = run.frontier
    said = operating_words(front.record(), front.facts)
    if not said:
        return ""
    place, point, lines = front.place(decision.id), front.operating(), [said]
    if point is not None and decision.operating is not None:
        what = "probability" if point.probability[place] else "score"
        good, cutoff = code(str(front.facts.task.favourable_label)), decision.operating["cutoff"]
        lines.append(
            f"The cut-off of this model is {cutoff:.4g} on the {what} of {good}, which is decided "
            "at or above it. It was applied to test unchanged."
        )
    columns: Mapping[str, Any] = next(iter(tables.values()), {})  # whose last line is all rows
    overall = {name: columns[name][-1] for name in ("selection", "auc", "ks") if name in columns}
    overall = {name: value for name, value in overall.items() if isinstance(value, (int, float))}
    approved = f"{front.column('approval_rate')[place]:.1%} of the validation rows"
    if "selection" in overall:
        approved += f" and {overall['selection']:.1%} of the test rows"
    lines.append(f"Decided favourably: {approved}.")
    if "auc" in overall:
        auc = overall["auc"]
        ks = f", KS {overall['ks']:.3f}" if "ks" in overall else ""
        lines.append(f"On test, whatever the cut-off: AUC {auc:.3f}{ks}, Gini {2.0 * auc - 1.0:.3f} (2 AUC - 1).")
    return section("Cut-off", " ".join(lines))


def _alternatives(decision: Decision) -> str:
    names = [name for name in decision.candidates[0] if name not in ("id", "mark", "shown")]
    shown = [each["id"] for each in decision.candidates if each["shown"]]
    added = "" if decision.id in shown else f" Id {decision.id}, which was chosen, was not listed and is added here."
    rows = []
    for each in decision.candidates:
        chosen = " (chosen)" if each["id"] == decision.id else ""
        rows.append([f"{each['id']}{chosen}", each["mark"], *(digits(each[name]) for name in names)])
    return section(
        "Alternatives considered",
        f"{len(shown)} of {decision.points} points were listed as options.{added} Loss and its gap are of "
        "training, the other figures of validation.",
        "",
        *table(["id", "", *map(in_words, names)], rows),
        *(["", " ".join(decision.footnotes)] if decision.footnotes else []),
    )


def _rates(run: Run, found: Mapping[str, Any], decision: Decision) -> str:
    if not found:
        return section("On test", "This point was not solved to tolerance and has no figures on test.")
    opened, weight = decision.opened, run.manifest["settings"].get("weight")
    openings = "This is the first use of the test part."
    if opened > 1:
        openings = (
            f"The test part of this run has been opened {opened} times: the more often, the less the figures below are "
            "those of an untouched sample."
        )
    tables = {
        name: {"group": columns["group"], "n": columns["n"], **_with_ends(columns, RATES)}
        for name, columns in found["tables"].items()
    }
    small = ROUNDED if found["small"] else EXACT
    if weight:
        how = "n counts rows, and intervals rest on effective rows (Kish)"
        small = f"Rates are weighted by {code(weight)}; {how}. {small}"
    return section(
        "On test",
        f"{found['n']} rows; intervals at {found['confidence']:.0%} confidence. {openings}",
        *by_attribute(tables),
        "",
        small,
        "",
        *(f"- {line(sentence)}" for sentence in found["found"]),
    ).rstrip()


def _calibration(found: Mapping[str, Any]) -> str:
    """With several classes, of the favourable one."""
    several = found.get("task") == "multiclass"
    ending = f"[{found['favourable']}]" if several else ""
    heads = {key + ending: words for key, words in CALIBRATION.items()}
    tables = {
        name: {"group": columns["group"], **_with_ends(columns, heads)}
        for name, columns in found.get("tables", {}).items()
        if f"slope{ending}" in columns
    }
    if not tables:
        return ""
    whose = f" Probabilities are those of {cell(found['favourable'])}." if several else ""
    note = (
        "A slope of 1 and 0 in the large mean that probabilities fit; a slope below 1 means that they are too extreme."
    )
    return section("Calibration on test", note + whose, *by_attribute(tables))


def _moves(run: Run, id: int, tested: Mapping[str, Any]) -> str:
    title, plain = "Who gains and who loses", plain_id(run.frontier)
    if id == plain:
        said = "This is the plain model: training without any cap on gaps. Nobody is decided otherwise."
        return section(title, said)
    tables: dict[str, dict[str, list[Any]]] = {}
    if run.frontier.facts.task.kind == "regression":
        before, after = (run.judged["test"].get(str(i), {}).get("audit", {}).get("tables", {}) for i in (plain, id))
        for name in (name for name in after if name in before):
            tables[name] = {"group": after[name]["group"]}
            for key, words in SHIFTS.items():
                tables[name] |= {f"{words}, plain": before[name][key], words: after[name][key]}
        note = "Means per group on test: the plain model's, then this one's."
    else:
        for name, columns in (tested.get("moves") or {}).items():
            sides = {words: [f"{n:.0f}" for n in columns[side]] for side, words in MOVES.items()}
            tables[name] = {"group": columns["group"], **sides}
        note = f"Rows of test whose decision differs from that of the plain model (id {plain})."
        if len(tables) > 1 and tested["audit"]["small"]:
            note += " overall is the sum of the groups as rounded, so that it can differ between attributes."
    return section(title, note, *by_attribute(tables)) if tables else ""


def _stability(run: Run, decision: Decision) -> str:
    found, front = run.stability, run.frontier
    if "points" not in found:
        return section("Stability", f"Not measured: {found.get('why_not', 'no refits were made')}.")
    point = found["points"].get(str(decision.id))
    if point is None:
        return ""
    (low, high), share, place = point["gap"], point["flips"], front.place(decision.id)
    said = (
        f"The point was trained again in the same way on {found['refits']} bootstrap samples of train. Measured on all "
        f"of train, the worst {front.facts.unit} of these models lies between {low:.4f} and {high:.4f} "
        f"({found['confidence']:.0%} of them); that of the chosen model is {front.gaps[place].max():.4f}. A cap is met "
        "on the rows of its own sample, so other rows mostly show a larger gap, and small groups make the band wide: "
        "it says how far a cap on training rows can be trusted."
    )
    if share is not None:
        at = decision.operating
        cutoff = "" if at is None else f" at the cut-off {at['cutoff']:.4g}"
        said += f" On average {share:.1%} of the training rows would be decided otherwise{cutoff}."
    return section("Stability", said)


def _limits(run: Run) -> str:
    front = run.frontier
    notions = " and ".join(map(in_words, front.facts.notions))
    gaps = " and ".join(map(in_words, main_gaps(front)))
    traded = f"- The {main_error(front)} was traded against {notions}; other notions may be worse than before."
    return section("Limits", f"{traded} Read all tables, not the {gaps} alone.", *LIMITS)


def _again(manifest: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {value}" for name, value in manifest["versions"].items() if isinstance(value, str))
    return section(
        "Reproducing this model",
        "`fairfront verify RUN DATA` traces the run again from its rows and compares; `fairfront verify MODEL RUN` "
        f"compares this model with its run. Written by fairfront {manifest['fairfront']}; {versions}.",
    )


def _with_ends(columns: Mapping[str, list[Any]], heads: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in (key for key in heads if key in columns):
        texts = found[heads[key]] = []
        ends = (columns.get(f"{key}_{end}", [None] * len(columns[key])) for end in ("lower", "upper"))
        for value, low, high in zip(columns[key], *ends, strict=True):
            number = digits(value) if isinstance(value, str) else f"{value:.3f}"
            both = all(isinstance(each, (int, float)) for each in (value, low, high))
            texts.append(f"{number} ({low:.3f} to {high:.3f})" if both else number)
    return found
