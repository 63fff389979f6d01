"""What a card says of every solved point on rows that did not train it: on validation, test and in other files.

Nothing is chosen here. The rows are gone when a run is saved, so what a card may need is computed while they are there.
Of validation, whose decisions the evaluation has counted already, that is what needs scores or two models; groups and
gaps are read from that evaluation. Of other rows it is all that an audit in people's units finds.

An estimate is ``[value, lower, upper]``, with None where it is not known, or a text that says why there is none. Where
rounded counts leave the exact value notably open, a fourth entry says how far from this one it can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from ..exceptions import progress_bar
from ..frontier import Frontier
from ..frontier.judgement import encode_labels, resolve_attributes
from ..frontier.models import second_class
from ..frontier.selection import plain_place
from ..measures.audit_record import Audit, audits
from ..measures.claims import worst_pair
from ..measures.cutoffs import Operating, Side
from ..measures.disclosure import LIMIT, NOTABLE
from ..measures.evaluation import decide
from ..measures.figures import MORE, MORE_VALUES, RATIO_OF, SCORE_GAPS, VALUES, Column
from ..measures.intervals import ratio_interval, share_interval, span_of, worst_gap_lower, worst_gap_upper
from ..measures.judged import read_judged
from ..measures.lines import ALL, COMPARED, EVERYONE, REFERENCE
from ..measures.moves import OVERALL
from ..measures.notion_figures import all_of, more_of
from ..measures.paired import Change, PairedRows, effective_rows, mean_change, rounded
from ..measures.ranges import Range
from ..measures.ranks import ranking
from ..measures.rates import GroupRates, PerGroup
from ..objectives import Array, Groups, is_likelihood
from ..objectives.groups import FEWEST
from .rows import Part
from .settings import Settings

TOLD = ("value", "lower", "upper", "rounding")
RESAMPLES = 200
CONFIDENCE = 0.95
FIGURES = ("auc", "ks", "gini", "error", "selection", "mse")
OVERALL_COLUMNS = {"selection": "approval_rate"}
RATES = ("selection", "tpr", "fpr", "error", *MORE, "prediction", "residual", "mse", *MORE_VALUES)
CALIBRATION = ("mean_score", "in_the_large", "slope", "brier")
GAPS = (
    *("tpr_gap", "fpr_gap", "selection_gap", "error_gap", "precision_gap", "selection_ratio", "odds_gap", "recall_gap"),
    *("tpr_ratio", *(f"{name}_gap" for name in (*MORE, *SCORE_GAPS, *VALUES, *MORE_VALUES))),
)


def judged_points(
    front: Frontier, rows: Part, settings: Settings, progress: Any, small: int = LIMIT, *, name: str = "test"
) -> dict[str, Any]:
    """By id: ``figures`` of all rows, each with its ``difference`` from plain training, and changed decisions.

    And but for validation ``groups`` and ``worst`` gaps by attribute; with published counts or exact ones (small = 0).
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
    paired = PairedRows.of(decided, labels, task, attributes, weight, plain=plain, confidence=CONFIDENCE, small=small)
    compared = [paired.by_group(place) for place in range(len(attributes))]
    figures = {key: (_own(paired, key), change) for key, change in paired.overall(compared[0]).items()}
    off = {key: paired.shown.rounding(OVERALL_COLUMNS.get(key, key)) for key in figures}
    if task.kind != "regression" and (not small or np.bincount(paired.good, minlength=2).min() >= LIMIT):
        figures |= ranking(_ranked(front, scores, responses), paired.good, weight, plain, CONFIDENCE)
    common = {"rows": rows.n, "confidence": CONFIDENCE, "rounded_below": small, "weighted": paired.record.weighted}
    found: dict[str, Any] = {}
    for place in front.solved.tolist():
        known = {key: [each.at(place) for each in figures[key]] for key in FIGURES if key in figures}
        told = {k: [rounded([c.value, c.lower, c.upper], figure=k) for c in both] for k, both in known.items()}
        for key, values in off.items():
            told[key][0] += _notable(float(values[place]))
        moves = {}
        for attribute, each in zip(attributes, compared, strict=True):
            if each.sides:
                gained, lost = (side[place].tolist() for side in each.sides["selection"])
                moves[attribute.name] = {"group": [*each.levels, OVERALL], "gained": gained, "lost": lost}
        own = {key: {"value": value, "difference": change} for key, (value, change) in told.items()}
        found[str(int(front.ids[place]))] = {**common, "figures": own, "moves": moves}
    if name != "validation":
        judged = _audits(front, rows, settings, scores, responses)
        with progress_bar(progress, f"judging on {name}", len(found)) as bar:
            for done, (one, audit) in enumerate(zip(found.values(), judged, strict=True), start=1):
                one |= _of_audit(audit.to_dict(small=small))
                bar.update(done, f"{done} of {len(found)} points")
        for one in found.values():
            _as_audited(one, found[str(int(front.ids[plain]))])
    return found


def _as_audited(one: dict[str, Any], plain: Mapping[str, Any]) -> None:
    """Take figures of all rows as the audit's tables have them: rounded counts of weighted rows differ a little."""
    line, other = (next(iter(each["groups"].values()))[-1] for each in (one, plain))
    for key in (key for key in ("error", "selection", "mse") if key in one["figures"] and key in line):
        middle, *ends = one["figures"][key]["difference"]
        value = line[key][0] - other[key][0]
        moved = [value, *(None if end is None else end - middle + value for end in ends)]
        one["figures"][key] = {"value": line[key], "difference": rounded(np.array(moved, dtype=np.float64), figure=key)}


def _own(paired: PairedRows, figure: str) -> Change:
    """Return a figure of all rows with Wilson's interval, or the normal one of a mean."""
    record = paired.shown
    if figure != "mse":
        column = OVERALL_COLUMNS.get(figure, figure)
        return Change(record[column], *share_interval(record.span("", column), CONFIDENCE))
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


def _audits(front: Frontier, rows: Part, settings: Settings, scores: Array, responses: Array | None) -> Iterator[Audit]:
    """Audit every solved point; groups that training compared are compared here too, unless they are a few people.

    Those that it left out are not: figures of the choice are not about them either.
    """
    task = front.facts.task
    attributes = resolve_attributes(front.facts, rows.groups, rows.n)
    second = [np.sort(each.membership().sum(axis=0))[-2:][0] for each in attributes]
    options = Groups(
        reference={name: levels[-1] for name, levels in front.facts.sensitive},
        cross=settings.cross,
        min_size=max(1, min(FEWEST, int(min(second)))),
    )
    models = []
    for place in front.solved.tolist():
        given, operating = _given(front, place, scores, responses)
        known: dict[str, Any] = {"favourable": task.favourable_label, "operating": operating}
        kind: Any = "regression" if task.kind == "regression" else "classification"
        models.append(read_judged(rows.y, given, task=kind, sample_weight=rows.weight, **known))
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
        second = given[0] > 0
        given = expit(given[0]) if probable else given[0]
        side: Side = "above" if task.favourable == 1 else "below"
        operating = Operating() if probable else Operating(cutoff=0.0, side=side)
    if second.all() or not second.any():
        return np.asarray(task.classes)[second.astype(np.intp)], Operating()
    return given, operating


def _of_audit(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a card reads of an audit: lines by attribute and worst gaps; of several classes, the favourable's."""
    ending = f"[{audit['favourable']}]" if audit["task"] == "multiclass" else ""
    worst = [
        {"attribute": name, **{key: each[key] for key in ("figure", "not_compared")}, **_ends(each)}
        for name, found in audit["worst"].items()
        for each in found
        if each["figure"] in GAPS
    ]
    return {"groups": {name: _lines(table, ending) for name, table in audit["tables"].items()}, "worst": worst}


def _ends(found: Mapping[str, Any]) -> dict[str, Any]:
    ends = {name: found.get(name) if _is_number(found.get(name)) else None for name in TOLD[:3]}
    ends |= {"rounding": found["rounding"]} if "rounding" in found else {}
    return ends | {name: list(found.get(name, ())) for name in ("between", "people")}


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
                value, *more = (columns.get(f"{key}{end}", nothing)[i] for end in ("", "_lower", "_upper", "_rounding"))
                known = [value, *(end if _is_number(end) else None for end in more[:2]), *_notable(more[2])]
                line[figure] = known if _is_number(value) else str(value)
        found.append(line)
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _notable(rounding: Any) -> list[float]:
    return [rounding] if _is_number(rounding) and rounding > NOTABLE else []


def of_evaluation(front: Frontier, place: int) -> dict[str, Any]:
    """Return ``groups`` and ``worst`` gaps of a point from the evaluation that choices are made on."""
    rates, everyone = front.record().groups, _everyone(front, place)
    groups = {name: [*_group_lines(front, name, each, place), everyone] for name, each in rates.items()}
    return {"groups": groups, "worst": _worst(front, place)}


def _group_lines(front: Frontier, name: str, rates: PerGroup, place: int) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = [
        {"group": level, "status": COMPARED if i < len(rates.levels) - 1 else REFERENCE, "rows": rates.n[i].item()}
        for i, level in enumerate(rates.levels)
    ]
    if isinstance(rates, GroupRates):
        for line, good in zip(lines, rates.people("tpr", front.facts.task.favourable).tolist(), strict=True):
            line |= {"labelled_favourable": good, "base_rate": good / line["rows"] if line["rows"] else None}
    for figure in (figure for figure in RATES if figure in (*rates.names, *more_of(front.record()))):
        value = rates.rate(figure)[place]
        ends, off = [np.full(len(value), np.nan)] * 2, np.zeros(len(value))
        if isinstance(rates, GroupRates):
            span = front.record().span(name, figure).take(place)
            ends, off = list(share_interval(span, CONFIDENCE)), Range(value, span.low, span.high).width
        for line, known, far in zip(lines, np.stack([value, *ends], axis=1), off.tolist(), strict=True):
            told = rounded(known, figure=figure) + _notable(far)
            line[figure] = "not defined: nobody it is about" if np.isnan(known[0]) else told
    return lines


def _everyone(front: Frontier, place: int) -> dict[str, Any]:
    """Return the line of all rows; of two classes, rates among either label follow from error and approval rate."""
    record, task = front.record(), front.facts.task
    line: dict[str, Any] = {"group": EVERYONE, "status": ALL, "rows": record.n}
    if record.labels is None:
        return line | {"mse": [float(record["mse"][place]), None, None]}
    n, good = record.effective_n or record.n, float(record.labels[task.favourable])
    error, approved = float(record["error"][place]), float(record["approval_rate"][place])
    shares = {"selection": (approved, 1.0), "error": (error, 1.0)}
    if task.kind == "binary":
        wrongly = 0.5 * (error + approved - good)  # false positives less false negatives are approved less good
        shares |= {"tpr": (approved - wrongly, good), "fpr": (wrongly, 1.0 - good)}
    for name, (part, whole) in shares.items():
        value, size = np.array(np.clip(part / whole, 0.0, 1.0) if whole > 0 else np.nan), np.array(n * whole)
        known = record.ranges.get("", {}).get(OVERALL_COLUMNS.get(name, name))
        span = span_of(value, size) if known is None else replace(known.take(place), least=known.least * size)
        off = float(Range(value, span.low, span.high).width)
        line[name] = rounded([value, *share_interval(span, CONFIDENCE)]) + _notable(off)
    return line | ({} if record.weighted else {"labelled_favourable": good * record.n, "base_rate": good})


def _worst(front: Frontier, place: int) -> list[dict[str, Any]]:
    record, found, left_out = front.record(), list[dict[str, Any]](), dict(front.facts.told_left_out)
    for name in record.columns:
        column = Column.of(name)
        if column.kind not in GAPS:
            continue
        attribute = column.attribute or next(iter(record.groups))
        rates, ends = record.groups[attribute], (np.nan, np.nan)
        if isinstance(rates, GroupRates) and column.gap:
            ends = tuple(record.figure(name, CONFIDENCE, end)[place] for end in (worst_gap_lower, worst_gap_upper))
        elif isinstance(rates, GroupRates):
            span = record.span(attribute, RATIO_OF[column.figure]).take([place])
            ends = tuple(end[0] for end in ratio_interval(span, CONFIDENCE))
        pair = worst_pair(record, name, place, front.facts.task)
        told = rounded([record[name][place], *ends], figure=column.figure)
        told += _notable(float(record.rounding(name)[place]))
        few = (level for level, n in zip(rates.levels, rates.n, strict=True) if n < FEWEST)
        between, people = (list(pair.groups), list(pair.people)) if pair else ([], [])
        known = {"between": between, "people": people, "not_compared": [*few, *left_out.get(attribute, ())]}
        found.append({"attribute": attribute, "figure": column.kind, **dict(zip(TOLD, told, strict=False)), **known})
    return found
