"""The figures of a model card in Markdown: rates and calibration on test, who gains and who loses, stability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..measures.disclosure import EXACT, ROUNDED
from .decision import Decision
from .options import plain_id

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


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table; cells must be plain already."""
    names = list(heads)
    head = f"| {' | '.join(names)} |"
    return [head, f"|{'---|' * len(names)}", *(f"| {' | '.join(row)} |" for row in rows)]


def cell(text: Any) -> str:
    """Return a name, cut at 200 characters, that cannot break a table or become markup: it is from others' files."""
    return line(text)[:200]


def line(text: Any) -> str:
    """Return text on one line in which nothing becomes markup."""
    plain = "".join(" " if ch in "\r\n\t\u2028\u2029" else ch for ch in str(text) if ch.isprintable() or ch in "\r\n\t")
    escaped = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("`", "'")
    for mark in "\\|*_[]":
        escaped = escaped.replace(mark, "\\" + mark)
    return escaped


def code(text: Any) -> str:
    """Return a name as code, on one line and without marks that would end it."""
    plain = "".join(ch for ch in str(text) if ch.isprintable()).replace("`", "'").replace("|", "/")
    return f"`{plain[:200]}`"


def digits(value: Any) -> str:
    """Return a figure: counts whole, shares with four digits, words as they are."""
    if value is None or value != value:
        return "not shown"
    if isinstance(value, str):
        return value
    whole = isinstance(value, int) or (float(value).is_integer() and abs(value) >= 2)
    return f"{value:.0f}" if whole else f"{value:.4f}"


def with_ends(columns: Mapping[str, list[Any]], key: str, i: int) -> str:
    """Return a figure of an audit's table with its interval."""
    value = columns[key][i]
    if isinstance(value, str):
        return digits(value)
    ends = [columns.get(key + end, [None] * (i + 1))[i] for end in ("_lower", "_upper")]
    if any(not isinstance(end, (int, float)) for end in ends):
        return f"{value:.3f}"
    return f"{value:.3f} ({ends[0]:.3f} to {ends[1]:.3f})"


def rates(run: Run, tested: Mapping[str, Any], decision: Decision) -> str:
    """Return the rates of every group on test with their intervals, and the worst gaps with their upper ends."""
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
    lines += ["", f"{_weighted(run)}{ROUNDED if found['small'] else EXACT}"]
    return "\n".join([*lines, "", *(f"- {line(sentence)}" for sentence in found["found"])]).rstrip()


def _weighted(run: Run) -> str:
    """Say by which column rates are weighted, where they are."""
    weight = run.manifest["settings"].get("weight")
    if not weight:
        return ""
    return f"Rates are weighted by {code(weight)}; n counts rows, and intervals rest on effective rows (Kish). "


def _openings(opened: int) -> str:
    if opened == 1:
        return "The test part was opened for the first time."
    return (
        f"The test part of this run has been opened {opened} times: the more often, the less the figures below are "
        "those of an untouched sample."
    )


def calibration(tested: Mapping[str, Any]) -> str:
    """Return how well probabilities fit in every group; with several classes, those of the favourable one."""
    found = tested.get("audit", {})
    several = found.get("task") == "multiclass"
    ending = f"[{found['favourable']}]" if several else ""
    lines = []
    for name, columns in found.get("tables", {}).items():
        figures = {key + ending: words for key, words in CALIBRATION.items() if key + ending in columns}
        if f"slope{ending}" not in figures:
            continue
        rows = [
            [cell(group), *(with_ends(columns, key, i) for key in figures)] for i, group in enumerate(columns["group"])
        ]
        lines += ["", f"### {cell(name)}", "", *table(["group", *figures.values()], rows)]
    whose = f" Probabilities are those of {cell(found['favourable'])}." if several else ""
    note = (
        "A slope of 1 and 0 in the large mean that probabilities fit; a slope below 1 means that they are too extreme."
        + whose
    )
    return "\n".join(["## Calibration on test", "", note, *lines]) if lines else ""


def moves(run: Run, id: int, tested: Mapping[str, Any]) -> str:
    """Return who is decided otherwise than by the plain model, or whose predictions are other ones."""
    title = "## Who gains and who loses"
    plain = plain_id(run.frontier)
    if id == plain:
        return f"{title}\n\nThis is the plain model: training without any cap on gaps. Nobody is decided otherwise."
    if run.frontier.facts.task.kind == "regression":
        before, after = (run.tested.get(str(i), {}).get("audit", {}).get("tables", {}) for i in (plain, id))
        return _shifts(title, before, after)
    lines = [title, "", f"Rows of test whose decision differs from that of the plain model (id {plain})."]
    found = tested.get("moves") or {}
    if len(found) > 1 and tested["audit"]["small"]:
        lines[-1] += " overall is the sum of the groups as rounded, so that it can differ between attributes."
    for name, columns in found.items():
        rows = [
            [cell(group), f"{gained:.0f}", f"{lost:.0f}"]
            for group, gained, lost in zip(*(columns[k] for k in ("group", "gained", "lost")), strict=True)
        ]
        lines += ["", f"### {cell(name)}", "", *table(["group", "newly favoured", "newly refused"], rows)]
    return "\n".join(lines) if len(lines) > 3 else ""


def _shifts(title: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return mean predictions and errors of the plain model and of the chosen one, group by group."""
    lines = [title, "", "Means per group on test: the plain model's, then this one's."]
    for name, columns in after.items():
        if name not in before:
            return ""
        rows = [
            [
                cell(group),
                *(digits(each[key][i]) for key in ("prediction", "mse") for each in (before[name], columns)),
            ]
            for i, group in enumerate(columns["group"])
        ]
        heads = ["group", "prediction, plain", "prediction", "squared error, plain", "squared error"]
        lines += ["", f"### {cell(name)}", "", *table(heads, rows)]
    return "\n".join(lines)


def stability(run: Run, id: int) -> str:
    """Say how much the model hangs on the rows that it was trained on."""
    found = run.stability
    if "points" not in found:
        return f"## Stability\n\nNot measured: {found.get('why_not', 'no refits were made')}."
    point = found["points"].get(str(id))
    if point is None:
        return ""
    (low, high), share, front = point["gap"], point["flips"], run.frontier
    unit, own = front.facts.unit, front.gaps[front.place(id)].max()
    lines = [
        f"## Stability\n\nThe point was trained again in the same way on {found['refits']} bootstrap samples of train. "
        f"Measured on all of train, the worst {unit} of these models lies between {low:.4f} and {high:.4f} "
        f"({found['confidence']:.0%} of them); that of the chosen model is {own:.4f}. A cap is met on the rows of its "
        "own sample, so other rows mostly show a larger gap, and small groups make the band wide: it says how far a "
        "cap on training rows can be trusted."
    ]
    if share is not None:
        operating = front.operating()
        cutoff = "" if operating is None else f" at the cut-off {operating.cutoffs[front.place(id)]:.4g}"
        lines.append(f"On average {share:.1%} of the training rows would be decided otherwise{cutoff}.")
    return " ".join(lines)
