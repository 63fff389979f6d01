"""Figures of decisions and of scores that an evaluation has where a notion is about them, beside those of every one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import NOTIONS, RATE_OF, Array, Attribute, Task, rates_of
from ..validation import check_names
from .contrasts import gaps, selection_ratio, worst_gap
from .evaluation import Evaluation
from .figures import MORE, MORE_VALUES, RATIO_OF, SCORE_GAPS, Column
from .judged import Judged
from .lines import COMPARED, REFERENCE, TOO_FEW, Lines
from .moments import largest_of
from .rates import ClassRates, Margins, derived_share
from .score_gaps import PairGaps, ordered_pair, score_gaps
from .table_columns import Settings
from .worst_contrasts import Worst

ADDED = ("precision", *MORE, "tpr_ratio")
SCORES = ("auc", "in_the_large", "mean_score", *SCORE_GAPS)


def check_metrics(notion: Any) -> tuple[str, ...]:
    """Return names of notions and of metrics, checked; none for None."""
    names = () if notion is None else check_names(notion, "notion")
    if notion is not None and not names:
        raise InputError("notion is empty, expected the name of a notion or metric, or None.")
    for name in names:
        if name not in RATE_OF:
            NOTIONS[name]
    return names


def figures_of(notions: Sequence[str], task: Task) -> tuple[str, ...]:
    """Return the figures that notions and metrics are about and that not every evaluation has."""
    named = (*rates_of(notions, task), *notions)
    known = {"binary": ADDED, "regression": tuple(MORE_VALUES)}.get(task.kind, ())
    return tuple(each for each in known if each in named)


def more_of(record: Evaluation) -> tuple[str, ...]:
    """Return those of them that an evaluation has."""
    kinds = {Column.of(name).kind for name in record.columns}
    return tuple(each for each in (*ADDED, *MORE_VALUES) if each in kinds or f"{each}_gap" in kinds)


def with_figures(record: Evaluation, names: Sequence[str], good: int) -> Evaluation:
    """Return an evaluation of two classes with more figures of its decisions, those of the label ``good``."""
    more = [name for name in (*ADDED, *MORE_VALUES) if name in names and name not in more_of(record)]
    if not more or any(isinstance(rates, ClassRates) for rates in record.groups.values()):
        return record
    columns, signed = dict(record.columns), dict(record.signed)
    sizes = {attribute: dict(known) for attribute, known in record.further_sizes.items()}
    for place, (attribute, rates) in enumerate(record.groups.items()):
        prefix = f"{attribute}." if len(record.groups) > 1 else ""
        for name in more:
            if of := RATIO_OF.get(name):
                columns[f"{prefix}{name}"] = selection_ratio(rates, of)
                continue
            columns[f"{prefix}{name}_gap"], signed[f"{prefix}{name}_gap"] = worst_gap(rates, name), gaps(rates, name)
            if name not in MORE_VALUES:
                assert record.sums is not None
                counts: Any = record.sums.groups[place]
                margins = (Margins.of(each[:, :-1], good) for each in (counts.weight, counts.squared, counts.rows))
                size = derived_share(name, *margins).size / largest_effect(record, attribute)
                sizes.setdefault(attribute, {})[name] = size
    return replace(record, columns=columns, signed=signed, further_sizes=sizes)


def scores_of(notions: Sequence[str], task: Task) -> tuple[str, ...]:
    """Return the figures of scores that notions and metrics are about."""
    return tuple(each for each in SCORES if each in rates_of(notions, task)) if task.kind == "binary" else ()


def all_of(notions: Sequence[str], task: Task) -> tuple[str, ...]:
    return (*figures_of(notions, task), *scores_of(notions, task))


def largest_effect(record: Evaluation, attribute: str) -> Array:
    """Return the largest design effect of any rate, (c,), for figures whose own is not known; 1 without people."""
    known = list(record.design.get(attribute, {}).values())
    return largest_of(known) if known else np.ones(len(record.groups[attribute].levels))


def with_scores(
    record: Evaluation,
    names: Sequence[str],
    responses: Array,
    good: NDArray[np.bool_],
    attributes: Sequence[Attribute],
    weight: Array | None,
) -> Evaluation:
    """Return an evaluation with gaps of scores: responses (N, n) that speak for the label of ``good`` rows (n,)."""
    if not names:
        return record
    found = {}
    for attribute in attributes:
        member = attribute.membership() if weight is None else attribute.membership() * weight[:, None]
        wide = float(np.sqrt(np.max(largest_effect(record, attribute.name))))
        gaps_of = {name: score_gaps(name, responses, good, member) for name in names}
        found[attribute.name] = {name: replace(each, error=wide * each.error) for name, each in gaps_of.items()}
    return with_gaps(record, found)


def with_gaps(record: Evaluation, found: dict[str, dict[str, PairGaps]]) -> Evaluation:
    columns, signed, several = dict(record.columns), dict(record.signed), len(record.groups) > 1
    for attribute, gaps_of in found.items():
        last = np.triu_indices(len(record.groups[attribute].levels), 1)[1] == len(record.groups[attribute].levels) - 1
        for name, pairs in gaps_of.items():
            column = f"{attribute}.{name}_gap" if several else f"{name}_gap"
            columns[column], signed[column] = pairs.worst, pairs.gap[:, last]
    scored = {name: {**record.scored.get(name, {}), **found.get(name, {})} for name in {**record.scored, **found}}
    return replace(record, columns=columns, signed=signed, scored=scored)


def pooled_scores(records: Sequence[Evaluation], pooled: Evaluation) -> Evaluation:
    """Return a pooled evaluation with gaps of scores: those within each evaluation, averaged by rows, as its AUC.

    They are those that all evaluations have.
    """
    share = np.array([record.n for record in records]) / sum(record.n for record in records)
    found = {}
    for attribute, known in records[0].scored.items():
        shared = [name for name in known if all(name in record.scored.get(attribute, {}) for record in records)]
        pairs = {name: [record.scored[attribute][name] for record in records] for name in shared}
        found[attribute] = {
            name: PairGaps(
                np.tensordot(share, np.stack([each.gap for each in some]), 1),
                np.sqrt(np.tensordot(share**2, np.stack([each.error**2 for each in some]), 1)),
            )
            for name, some in pairs.items()
        }
    return with_gaps(pooled, found) if found else pooled


def worst_scores(judged: Judged, lines: Lines, settings: Settings) -> tuple[Worst, ...]:
    """Return the worst gaps of scores that an audit was asked for."""
    names = [name for name in SCORE_GAPS if name in settings.more]
    if not names or judged.scores is None or judged.scores.ndim != 1:
        return ()
    good = judged.truth == judged.task.favourable
    groups = [i for i, kind in enumerate(lines.status) if kind in (REFERENCE, COMPARED, TOO_FEW)]
    kept = [i for i in groups if lines.status[i] != TOO_FEW]
    member = lines.codes[:, kept] if lines.is_proxy else (lines.codes[:, None] == kept).astype(np.float64)
    people = np.stack([member[good].sum(axis=0), member[~good].sum(axis=0)])
    weighted = member if judged.weight is None else member * judged.weight[:, None]
    spoken = -judged.scores if judged.side == "below" else judged.scores
    left_out = tuple(lines.names[i] for i in groups if i not in kept)
    found = []
    for name in names:
        figure = SCORE_GAPS[name]
        worst = Worst(f"{name}_gap", figure.notion, figure.unit, not_compared=left_out, groups=len(groups))
        if len(kept) > 1 and people.min() >= 1:
            pairs = score_gaps(name, spoken[None], good, weighted)
            low, high = ordered_pair(pairs.gap[0], len(kept))
            ends = (float(each(settings.confidence)[0]) for each in (pairs.lower, pairs.upper, pairs.floor))
            known: dict[str, Any] = dict(zip(("lower", "upper", "floor"), ends, strict=True))
            between = (lines.names[kept[low]], lines.names[kept[high]])
            worst = replace(worst, value=float(pairs.worst[0]), between=between, **known)
        found.append(worst)
    return tuple(found)
