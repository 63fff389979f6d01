"""Figures of every solved point on rows that did not train it: for the card, which reads those of test alone.

Nothing is chosen here. The rows are gone when a run is saved, so what a card may need is computed while they are
there: an audit in people's units, who gains and who loses against plain training, and how much figures of all rows
differ from those of plain training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from ..exceptions import progress_bar
from ..frontier import Frontier
from ..frontier.judgement import encode_labels, resolve_attributes
from ..frontier.selection import plain_place
from ..measures.audit_record import audits
from ..measures.cutoffs import Operating, Side
from ..measures.disclosure import LIMIT
from ..measures.evaluation import decide
from ..measures.judged import read_judged
from ..measures.paired import Change, Sides, area_changes, mean_changes, moves_by_group, rounded, share_changes
from ..objectives import Array, Attribute, Groups, is_likelihood
from .preparation import Part
from .settings import Settings

RESAMPLES = 200
CONFIDENCE = 0.95
FIGURES = ("auc", "ks", "gini", "error", "selection", "mse")


def figures_on(
    front: Frontier, rows: Part, settings: Settings, progress: Any, small: int = LIMIT, *, name: str = "test"
) -> dict[str, Any]:
    """By id: ``audit``, ``moves`` and ``against``, as they are published or exact (small = 0).

    ``moves`` are the changed decisions by attribute. ``against`` are differences from plain training over all rows,
    each with the ends of its interval at 95 % confidence, or without where there is none.
    """
    rows, task = rows.seen(), front.facts.task
    placed = front.operating() is not None
    scores, responses = front.models.responses(rows.X) if placed else (front.models.scores(rows.X), None)
    attributes = resolve_attributes(front.facts, rows.groups, rows.n)
    # These rows are fewer than train, so a group that was large enough there need not be here: two are compared.
    second = [np.sort(each.membership().sum(axis=0))[-2:][0] for each in attributes]
    options = Groups(
        reference={name: levels[-1] for name, levels in front.facts.sensitive},
        cross=settings.cross,
        min_size=max(1, min(settings.min_size, int(min(second)))),
    )
    places, models = front.solved.tolist(), []
    for place in places:
        given, operating = _given(front, place, scores, responses)
        models.append(
            read_judged(
                rows.y,
                given,
                favourable=task.favourable_label,
                operating=operating,
                task="regression" if task.kind == "regression" else "classification",
                sample_weight=rows.weight,
            )
        )
    moves, changes = _changes(front, attributes, scores, responses, rows, small)
    found: dict[str, Any] = {}
    with progress_bar(progress, f"judging on {name}", len(places)) as bar:
        judged = audits(models, rows.groups, options, n_resamples=RESAMPLES, random_state=settings.seed)
        for done, (place, audit) in enumerate(zip(places, judged, strict=True), start=1):
            id = str(int(front.ids[place]))
            found[id] = {"audit": audit.to_dict(small=small), "moves": moves[place]}
            bar.update(done, f"{done} of {len(places)} points")
    plain = _overall(found[str(int(front.ids[plain_place(front)]))]["audit"])
    for place in places:
        one = found[str(int(front.ids[place]))]
        one["against"] = _against(_overall(one["audit"]), plain, {k: each.at(place) for k, each in changes.items()})
    return found


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


def _changes(
    front: Frontier,
    attributes: Sequence[Attribute],
    scores: Array,
    responses: Array | None,
    rows: Part,
    small: int,
) -> tuple[list[dict[str, Any]], dict[str, Change]]:
    """By place and attribute who gains and who loses against plain training, and by figure the change over all rows."""
    task, point, plain = front.facts.task, front.operating(), plain_place(front)
    moves: list[dict[str, Any]] = [{} for _ in front.ids]
    weight = np.ones(rows.n) if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
    one = np.ones(1)
    if task.kind == "regression":
        wrong = (scores[:, 0] - np.asarray(rows.y, dtype=np.float64)) ** 2
        return moves, {"mse": mean_changes(wrong, plain, weight[:, None], one, CONFIDENCE).columns(0)}
    labels, good = encode_labels(np.asarray(rows.y), task), task.favourable
    if point is not None and responses is not None:
        decided = np.where(point.favoured(responses), good, 1 - good)
    else:
        decided = decide(scores, task).astype(np.intp)
    overall: dict[str, Sides] = {}
    for each in attributes:
        levels, sides = moves_by_group(each, decided, labels, task, plain, small)
        overall = overall or {rate: (gained[:, -1:], lost[:, -1:]) for rate, (gained, lost) in sides.items()}
        gained, lost = sides["selection"]
        for place, found in enumerate(moves):
            found[each.name] = {"group": list(levels), "gained": gained[place].tolist(), "lost": lost[place].tolist()}
    found = {}
    for rate, values in {"selection": decided == good, "error": decided != labels}.items():
        change = share_changes(values, plain, weight[:, None], weight, overall[rate], one, CONFIDENCE)
        found[rate] = change.columns(0)
    found["auc"] = area_changes(_ranked(front, scores, responses), labels == good, rows.weight, plain, CONFIDENCE)
    return moves, found


def _ranked(front: Frontier, scores: Array, responses: Array | None) -> Array:
    """Return what orders rows by the favourable label, (N, n)."""
    task = front.facts.task
    if responses is not None:
        return responses
    if task.kind == "multiclass":
        return np.asarray(softmax(scores, axis=1) if is_likelihood(front.facts.loss) else scores)[:, task.favourable]
    return scores[:, 0] if task.favourable == 1 else -scores[:, 0]


def _overall(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of all rows, the same in every attribute's table; of several classes, the favourable one's."""
    columns: Mapping[str, Any] = next(iter(audit["tables"].values()))
    ending = f"[{audit['favourable']}]" if audit["task"] == "multiclass" else ""
    names = {name: name if name in columns else name + ending for name in FIGURES}
    found = {name: columns[key][-1] for name, key in names.items() if key in columns}
    return {name: value for name, value in found.items() if isinstance(value, (int, float))}


def _against(own: Mapping[str, float], plain: Mapping[str, float], changes: Mapping[str, Change]) -> dict[str, Any]:
    """Return published differences with the intervals that belong to them; KS has none."""
    found = {}
    for name in (name for name in FIGURES if name in own and name in plain):
        value = own[name] - plain[name]
        change = changes.get({"gini": "auc"}.get(name, name))
        ends = [np.nan, np.nan]
        if change is not None:
            scale = 2.0 if name == "gini" else 1.0
            ends = [value + scale * float(end - change.value) for end in (change.lower, change.upper)]
        found[name] = rounded([value, *ends])
    return found
