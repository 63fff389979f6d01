"""What a card says of a point on validation: groups and worst gaps, from the evaluation that choices are made on."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..frontier import Frontier
from ..measures.claims import bound_pair, worst_pair
from ..measures.evaluation import Evaluation
from ..measures.figures import RATIO_OF, Column
from ..measures.intervals import bonferroni, ratio_interval, share_interval, worst_gap_lower, worst_gap_upper
from ..measures.lines import ALL, COMPARED, EVERYONE, REFERENCE
from ..measures.notion_figures import more_of
from ..measures.paired import rounded
from ..measures.rates import GroupRates, PerGroup, SampleRates
from .parts import CONFIDENCE, GAPS, RATES, TOLD

MISSING = "(missing)"
NOT_GIVEN = "not given: not compared"
ODDS = {"odds_gap": ("tpr_gap", "fpr_gap")}
"""Contrasts that are the worse of several columns."""


def of_evaluation(front: Frontier, place: int) -> dict[str, Any]:
    """Return ``groups`` and ``worst`` gaps of a point from the evaluation that choices are made on."""
    record = front.record()
    groups = {name: _group_lines(front, name, rates, place) for name, rates in record.groups.items()}
    everyone = _everyone(front, place)
    return {
        "groups": {name: [*lines, *_others(front, name, lines), everyone] for name, lines in groups.items()},
        "worst": _worst(front, place),
    }


def _others(front: Frontier, name: str, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a line of the rows that are in no group that is compared, without figures: evaluations have none."""
    left_out = dict(front.facts.left_out).get(name, ())
    rest = front.record().n - sum(line["rows"] for line in lines)
    if name in front.proxies or (rest < 0.5 and not left_out):
        return []
    known: dict[str, Any] = {figure: NOT_GIVEN for figure in RATES if figure in lines[0]}
    groups = (*([MISSING] if name in front.facts.missing or not left_out else []), *left_out)
    return [{"group": ", ".join(groups), "status": "missing", "rows": rest, **known}]


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
        ends = [np.full(len(value), np.nan)] * 2
        if isinstance(rates, GroupRates):
            ends = list(share_interval(front.record().sample(name, figure).take(place), CONFIDENCE))
        for line, known in zip(lines, np.stack([value, *ends], axis=1), strict=True):
            line[figure] = "not defined: nobody it is about" if np.isnan(known[0]) else rounded(known, figure=figure)
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
        value, size = (
            np.array(np.clip(part / whole, 0.0, 1.0) if whole > 0 else np.nan),
            np.array(n * whole / record.design.get("", {}).get(name, 1.0)),
        )
        line[name] = rounded([value, *share_interval(SampleRates(value, size), CONFIDENCE)])
    return line | ({} if record.weighted else {"labelled_favourable": good * record.n, "base_rate": good})


def _worst(front: Frontier, place: int) -> list[dict[str, Any]]:
    """Return the worst contrasts that an audit has, in the same order; odds are the worse of TPR and FPR."""
    record = front.record()
    return [
        _contrast(front, place, attribute, figure)
        for attribute, rates in record.groups.items()
        for figure in GAPS
        if (figure == "odds_gap" and isinstance(rates, GroupRates))
        or _column(record, attribute, figure) in record.columns
    ]


def _column(record: Evaluation, attribute: str, figure: str) -> str:
    return f"{attribute}.{figure}" if len(record.groups) > 1 else figure


def _contrast(front: Frontier, place: int, attribute: str, figure: str) -> dict[str, Any]:
    record, rates, task = front.record(), front.record().groups[attribute], front.facts.task
    names = [_column(record, attribute, each) for each in ODDS.get(figure, (figure,))]
    sure = bonferroni(CONFIDENCE, len(names))
    name = max(names, key=lambda each: np.nan_to_num(record[each][place], nan=-1.0))
    column, value = Column.of(name), float(np.max([record[each][place] for each in names]))
    ends: tuple[float, ...] = (np.nan, np.nan)
    bound: tuple[str, ...] = ()
    if isinstance(rates, GroupRates) and column.gap:
        ends = tuple(
            float(np.max([record.figure(each, level, end)[place] for each in names]))
            for end, level in ((worst_gap_lower, sure), (worst_gap_upper, CONFIDENCE))
        )
        bound = bound_pair(record, max(names, key=lambda each: record.figure(each, CONFIDENCE)[place]), place)[:2]
    elif isinstance(rates, GroupRates):
        rate = record.sample(attribute, RATIO_OF[column.figure]).take([place])
        ends = tuple(end[0] for end in ratio_interval(rate, CONFIDENCE))
    pair = worst_pair(record, name, place, task)
    told = rounded([value, *ends], figure=column.figure)
    left_out = list(dict(front.facts.left_out).get(attribute, ()))
    between, people = (list(pair.groups), list(pair.people)) if pair else ([], [])
    known = {"between": between, "people": people, "upper_between": list(bound), "not_compared": left_out}
    of = {"of": column.name_of_rate} if figure in ODDS else {}
    if pair is not None and figure == "recall_gap":
        of = {"of": f"recall[{pair.of_class}]"}
    return {"attribute": attribute, "figure": figure, **dict(zip(TOLD, told, strict=False)), **known, **of}
