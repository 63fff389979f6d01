"""What a card says of every solved point on rows that did not train it: on validation, test and in other files.

Nothing is chosen here. The rows are gone when a run is saved, so what a card may need is computed while they are there.
Of validation, whose decisions the evaluation has counted already, that is what needs scores or two models; groups and
gaps are read from that evaluation. Of other rows it is all that an audit in people's units finds.

An estimate is ``[value, lower, upper]``, with None where it is not known, or a text that says why there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from ..exceptions import progress_bar
from ..frontier import Frontier
from ..frontier.judgement import encode_labels, resolve_attributes
from ..frontier.models import second_class
from ..frontier.rule_models import RuleModels
from ..frontier.selection import plain_place
from ..measures.audit_record import Audit, audits
from ..measures.cutoffs import Operating, Side
from ..measures.decisions import decide
from ..measures.figures import MORE, MORE_VALUES, SCORE_GAPS, VALUES, WITHIN
from ..measures.intervals import share_interval
from ..measures.judged import read_judged
from ..measures.moves import OVERALL
from ..measures.notion_figures import all_of
from ..measures.paired import Change, PairedRows, effective_rows, mean_change, rounded
from ..measures.ranks import ranking
from ..objectives import Array, Groups, is_likelihood
from .part_people import People
from .rows import Part
from .settings import Settings
from .within_levels import worst_within

TOLD = ("value", "lower", "upper")
RESAMPLES = 200
CONFIDENCE = 0.95
FIGURES = ("auc", "ks", "gini", "error", "selection", "mse")
OVERALL_COLUMNS = {"selection": "approval_rate"}
RATES = ("selection", "tpr", "fpr", "error", *MORE, "prediction", "residual", "mse", *MORE_VALUES)
CALIBRATION = ("mean_score", "in_the_large", "slope", "brier")
GAPS = (
    *("tpr_gap", "fpr_gap", "odds_gap", "selection_gap", "error_gap", "precision_gap", "recall_gap", "selection_ratio"),
    *("tpr_ratio", *(f"{name}_gap" for name in (*MORE, *SCORE_GAPS, *VALUES, *MORE_VALUES, *WITHIN))),
)
"""Worst contrasts of a card, in this order on every part."""


def judged_points(
    front: Frontier, rows: Part, settings: Settings, progress: Any, *, name: str = "test"
) -> dict[str, Any]:
    """By id: ``figures`` of all rows, each with its ``difference`` from plain training, and changed decisions.

    And but for validation ``groups`` and ``worst`` gaps by attribute.
    """
    rows, task, point = rows.seen(), front.facts.task, front.operating()
    if point is None:
        scores, responses = front.models.scores(rows.X), None
        decided = decide(scores, task)
    else:
        scores, responses = front.models.responses(rows.X)
        decided = second_class(point, responses, task)
    attributes, plain = resolve_attributes(front.facts, rows.groups, rows.n), plain_place(front)
    labels = encode_labels(np.asarray(rows.y), task)
    weight = None if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
    paired = PairedRows.of(decided, labels, task, attributes, weight, plain=plain, confidence=CONFIDENCE)
    compared = [paired.by_group(place) for place in range(len(attributes))]
    figures = {key: (_own(paired, key), change) for key, change in paired.overall().items()}
    if task.kind != "regression":
        figures |= ranking(_ranked(front, scores, responses), paired.good, weight, plain, CONFIDENCE)
    common = {"rows": rows.n, "confidence": CONFIDENCE, "weighted": paired.record.weighted}
    found: dict[str, Any] = {}
    for place in front.solved.tolist():
        known = {key: [each.at(place) for each in figures[key]] for key in FIGURES if key in figures}
        told = {k: [rounded([c.value, c.lower, c.upper], figure=k) for c in both] for k, both in known.items()}
        moves = {}
        for attribute, each in zip(attributes, compared, strict=True):
            if each.sides:
                gained, lost = (side[place].tolist() for side in each.sides["selection"])
                moves[attribute.name] = {"group": [*each.levels, OVERALL], "gained": gained, "lost": lost}
        own = {key: {"value": value, "difference": change} for key, (value, change) in told.items()}
        found[str(int(front.ids[place]))] = {**common, "figures": own, "moves": moves}
    if name != "validation":
        given = [_given(front, place, scores, responses) for place in front.solved.tolist()]
        judged = _audits(front, rows, settings, given)
        with progress_bar(progress, f"judging on {name}", len(found)) as bar:
            for done, (one, audit) in enumerate(zip(found.values(), judged, strict=True), start=1):
                one |= _of_audit(audit.to_dict(), all_of(front.facts.notions, front.facts.task))
                bar.update(done, f"{done} of {len(found)} points")
        judged_rows = (front, paired.record, rows, scores, decided, labels, attributes)
        for place, more in enumerate(worst_within(*judged_rows, CONFIDENCE)):
            if (one := found.get(str(int(front.ids[place])))) is not None:
                one["worst"] += more
        for one in found.values():
            _as_audited(one, found[str(int(front.ids[plain]))])
        if isinstance(front.models, RuleModels):
            _calibrate(found, front, rows, settings)
    if rows.person is not None:
        people = People.of(decided, labels, task, attributes, weight, rows.person, plain)
        for place in front.solved.tolist():
            people.widen(found[str(int(front.ids[place]))], place)
    return found


def _calibrate(found: Mapping[str, Any], front: Frontier, rows: Part, settings: Settings) -> None:
    """Take the calibration of the label's probabilities, which all rules share: scores of rules are none."""
    assert isinstance(front.models, RuleModels)
    P, task = front.models.probabilities(rows.X), front.facts.task
    good = P[:, task.favourable]
    middle = 0.5 if good.min() < 0.5 <= good.max() else float(np.median(good))  # decisions are not read
    if task.kind == "binary" and not good.min() < middle <= good.max():
        return
    given = (good, Operating(cutoff=middle, side="above")) if task.kind == "binary" else (P, Operating())
    lines = _of_audit(next(_audits(front, rows, settings, [given])).to_dict(), ())["groups"]
    for one in found.values():
        for name, each in one["groups"].items():
            for line, told in zip(each, lines[name], strict=True):
                line |= {key: told[key] for key in CALIBRATION if key in told}


def _as_audited(one: dict[str, Any], plain: Mapping[str, Any]) -> None:
    """Take figures of all rows as the audit's tables have them, so that the two agree to the last digit."""
    line, other = (next(iter(each["groups"].values()))[-1] for each in (one, plain))
    for key in (key for key in ("error", "selection", "mse") if key in one["figures"] and key in line):
        middle, *ends = one["figures"][key]["difference"]
        value = line[key][0] - other[key][0]
        moved = [value, *(None if end is None else end - middle + value for end in ends)]
        one["figures"][key] = {"value": line[key], "difference": rounded(np.array(moved, dtype=np.float64), figure=key)}


def _own(paired: PairedRows, figure: str) -> Change:
    """Return a figure of all rows with Wilson's interval, or the normal one of a mean."""
    record = paired.record
    if figure != "mse":
        column = OVERALL_COLUMNS.get(figure, figure)
        return Change(record[column], *share_interval(record.sample("", column), CONFIDENCE))
    share, wrong = paired.weight / paired.weight.sum(), paired.wrong
    return mean_change(wrong @ share, wrong**2 @ share, effective_rows(paired.weight[:, None]), CONFIDENCE)


def _ranked(front: Frontier, scores: Array, responses: Array | None) -> Array:
    """Return what orders rows by the favourable label, (N, n)."""
    task = front.facts.task
    if responses is not None:
        return responses
    if task.kind == "multiclass":
        return np.asarray(softmax(scores, axis=1) if is_likelihood(front.facts.loss) else scores)[:, task.favourable]
    return scores[:, 0] if task.favourable == 1 else -scores[:, 0]


def _audits(front: Frontier, rows: Part, settings: Settings, given: Sequence[tuple[Any, Operating]]) -> Iterator[Audit]:
    """Audit what points give; groups that training compared are compared here too, however few their people are.

    Those that it left out are not: figures of the choice are not about them either.
    """
    task = front.facts.task
    options = Groups(
        reference={name: levels[-1] for name, levels in front.facts.sensitive},
        cross=settings.cross,
        min_size=1,
    )
    models = []
    for answers, operating in given:
        known: dict[str, Any] = {"favourable": task.favourable_label, "operating": operating}
        kind: Any = "regression" if task.kind == "regression" else "classification"
        models.append(read_judged(rows.y, answers, task=kind, sample_weight=rows.weight, **known))
    known = {"left_out": dict(front.facts.left_out), "more": all_of(front.facts.notions, task)}
    return audits(models, rows.groups, options, n_resamples=RESAMPLES, random_state=settings.seed, **known)


def _given(front: Frontier, place: int, scores: Array, responses: Array | None) -> tuple[Any, Operating]:
    """Return what an audit reads of a point, and how: predictions, probabilities, scores at a cut-off.

    Where no cut-off lies within the scores, these are the decisions, all alike.
    """
    task, probable, point = front.facts.task, is_likelihood(front.facts.loss), front.operating()
    given = scores[place]
    if task.kind == "regression":
        return given[0], Operating()
    if task.kind == "multiclass":
        return (softmax(given, axis=0).T if probable else given.T), Operating()
    if point is not None and responses is not None:
        cutoff = float(point.cutoffs[place])
        given, second = responses[place], (responses[place] >= cutoff) == (task.favourable == 1)
        operating = Operating(cutoff=cutoff, side="above")
    else:
        second, good = given[0] > 0, task.favourable == 1
        given = expit(given[0] if good else -given[0]) if probable else given[0]  # probabilities of the favourable one
        side: Side = "above" if good or probable else "below"
        operating = Operating(cutoff=0.5 if probable else 0.0, side=side)
    if second.all() or not second.any():
        return np.asarray(task.classes)[second.astype(np.intp)], Operating()
    return given, operating


def _of_audit(audit: Mapping[str, Any], more: Sequence[str]) -> dict[str, Any]:
    """Return what a card reads of an audit: lines by attribute and worst gaps; of several classes, the favourable's.

    Gaps are those that validation has: that of precision where a notion is about it, among ``more`` figures.
    """
    ending = f"[{audit['favourable']}]" if audit["task"] == "multiclass" else ""
    worst = [
        {"attribute": name, **{key: each[key] for key in ("figure", "not_compared")}, **_ends(each)}
        for name, found in audit["worst"].items()
        for figure in GAPS
        for each in found
        if each["figure"] == figure and (figure != "precision_gap" or "precision" in more)
    ]
    bounds = {"bounds": audit["proxy_bounds"]} if "proxy_bounds" in audit else {}
    return {
        "groups": {name: _lines(table, ending) for name, table in audit["tables"].items()},
        "worst": worst,
        **bounds,
    }


def _ends(found: Mapping[str, Any]) -> dict[str, Any]:
    ends = {name: found.get(name) if _is_number(found.get(name)) else None for name in TOLD}
    ends |= {name: list(found.get(name, ())) for name in ("between", "people", "upper_between")}
    return ends | {name: found[name] for name in ("of",) if name in found}


def estimate_of(worst: Mapping[str, Any]) -> list[Any]:
    """Return a worst gap as an estimate."""
    return [worst[name] for name in TOLD if name in worst]


def _lines(columns: Mapping[str, Any], ending: str) -> list[dict[str, Any]]:
    found, nothing = [], [None] * len(columns["group"])
    for i, group in enumerate(columns["group"]):
        line: dict[str, Any] = {"group": group, "status": columns["status"][i], "rows": columns["n"][i]}
        if "positives" in columns:
            n, good = columns["n"][i], columns["positives"][i]
            line |= {"labelled_favourable": good, "base_rate": good / n if _is_number(good) and n else None}
        for figure in (*RATES, *CALIBRATION):
            key = figure if figure in columns else figure + ending
            if key in columns:
                value, *ends = (columns.get(f"{key}{end}", nothing)[i] for end in ("", "_lower", "_upper"))
                known = [value, *(end if _is_number(end) else None for end in ends)]
                line[figure] = known if _is_number(value) else str(value)
        found.append(line)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))
