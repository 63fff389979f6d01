"""Which points are looked at closely, the held-out rows that they are judged on, and what is kept of these."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..exceptions import InputError
from ..frontier import Frontier
from ..frontier.cutoffs import decisions, is_test
from ..frontier.judgement import held_rows
from ..frontier.selection import plain_place
from ..measures import Evaluation
from ..measures.counts import sums_of
from ..measures.evaluation import judgement_of
from ..objectives import LOSSES, Array, Attribute, Task
from ..problems.learners import scores_of_learner
from ..solvers import Status
from ..storage.documents import parse_json
from ..validation import check_text, shown

MOST_DETAILED = 150
"""Points that are described one by one; larger frontiers are thinned, evenly along the walk."""
DECISIONS = 20_000_000
"""Decisions that are held at once: on very many rows fewer points are described."""
VERSION = 2
Places = NDArray[np.intp]


@dataclass(frozen=True)
class Details:
    """Aggregates of held-out rows for some points of a frontier; no row, label or small count is in them.

    Attributes
    ----------
    on : str
        Name of the rows, such as "validation".
    n : int
        Number of rows.
    confidence, small
        Of the intervals, each on its own; counts below ``small`` are rounded, 0 where they are exact.
    weighted : bool
        Whether rates are weighted by sample weights; counts are rows.
    plain : int
        The id that every point is compared with.
    ids : tuple of int
        The points described.
    overall : mapping
        ``error`` (``mse`` for regression): ``change``, ``lower``, ``upper`` against the plain model, one per id.
    attributes : tuple of mappings
        Per sensitive attribute: ``name``, ``levels``, ``n``, ``rates`` (per rate the change of every group and of its
        gap to the reference, and how many rows ``gained`` and ``lost``), ``calibration`` (bins per id and group, or
        None).
    told_apart : str
        Bits in base64, (ids, ids): whether two points differ significantly, in the error or in a gap of the notion.
    """

    on: str
    n: int
    confidence: float
    small: int
    weighted: bool
    plain: int
    ids: tuple[int, ...]
    overall: Mapping[str, Any]
    attributes: tuple[Mapping[str, Any], ...]
    told_apart: str
    version: int = VERSION

    def to_json(self) -> str:
        return json.dumps(asdict(self), allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes | Mapping[str, Any]) -> Details:
        record = dict(text) if isinstance(text, Mapping) else parse_json(text, "what describes the points")
        names = {each.name for each in fields(cls)}
        if not isinstance(record, dict) or set(record) != names or record["version"] != VERSION:
            raise InputError(f"details have other fields than version {VERSION} has, expected what to_json wrote.")
        return cls(**{**record, "ids": tuple(record["ids"]), "attributes": tuple(record["attributes"])})


def walk(front: Frontier) -> Places:
    """The finished points from the largest gap to the smallest and on past zero; the others are left out."""
    places = front.solved
    past = np.array([front.status[i] is Status.PAST for i in places])
    gap = front.gaps[places].max(axis=1)
    return np.asarray(places[np.lexsort((front.loss[places], np.where(past, gap, -gap)))])


def detailed(front: Frontier, ids: Iterable[int] = (), limit: int = MOST_DETAILED) -> Places:
    """At most ``limit`` places along the walk, always with the plain model and the ids asked for."""
    wanted = {plain_place(front), *(front.place(i) for i in ids)}
    if limit < len(wanted):
        raise InputError(f"limit is {limit}, expected at least {len(wanted)}: the plain model and the ids asked for.")
    along = [int(i) for i in walk(front) if int(i) not in wanted]
    room = limit - len(wanted)
    if len(along) > room:
        along = [along[i] for i in np.unique(np.linspace(0, len(along) - 1, room).round().astype(int))]
    return np.array(sorted(wanted | set(along)), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Rows:
    """Held-out rows with the decisions of k points; it lives while details are made and is never stored.

    ``decided`` (k, n) says who is decided favourably and ``wrong`` (k, n) where the decision is not the label; for
    regression they are the predictions and the squared errors. ``probability`` (k, n) is that of the favourable label
    where the models give one. ``record`` judges the points on these rows, with exact counts.
    """

    task: Task
    plain: int
    good: NDArray[np.bool_]
    attributes: tuple[Attribute, ...]
    weight: Array
    decided: NDArray[Any]
    wrong: NDArray[Any]
    probability: Array | None
    record: Evaluation


def refuse_test(on: str) -> None:
    """Refuse rows that are called test: what was chosen on them could no longer be tested on them."""
    if is_test(check_text(on, "on", "the name of the rows")):
        raise InputError(
            f"on is {shown(on)}, expected rows to choose on, such as 'validation'; test rows stay out of the page, "
            "because what is chosen on them cannot be tested on them."
        )


def rows_of(
    front: Frontier, places: Places, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, on: str
) -> Rows:
    """Check rows as `Frontier.evaluate` does and let the points decide them, at the cut-offs of ``on``."""
    if y is None or sensitive_features is None:
        raise InputError("details need X, y and sensitive_features, found one of them missing; pass all three.")
    task = front.facts.task
    held = held_rows(front, X, y, sensitive_features, sample_weight)
    labels, n = held.labels, len(held.labels)
    operating = front.operating(on if on in front.evaluations else None)
    cutoffs = None if operating is None else operating.take(places)
    scores, decided = decisions(front.models.take(places), held.X, cutoffs)
    sums = sums_of(decided, labels, task, held.attributes, held.weight)
    regression = task.kind == "regression"
    return Rows(
        task=task,
        plain=int(np.flatnonzero(places == plain_place(front))[0]),
        good=np.zeros(n, dtype=bool) if regression else labels == task.favourable,
        attributes=held.attributes,
        weight=np.ones(n) if held.weight is None else held.weight,
        decided=decided if regression else decided == task.favourable,
        wrong=(decided - labels) ** 2 if regression else decided != labels,
        probability=_probability(front, places, held.X, scores),
        record=judgement_of(sums, task, held.attributes, "rows", None),
    )


def _probability(front: Frontier, places: Places, X: Any, scores: Array) -> Array | None:
    """Of the favourable label, (k, n); None where the models give none."""
    models, task = front.models, front.facts.task
    if task.kind != "binary":
        return None
    if models.loss in LOSSES:
        if not models.probable.all():
            return None
        log_odds = scores[:, 0]  # as everywhere, where scores come from a likelihood
    else:
        given = built(front, places)
        if given is None or not all(hasattr(model, "predict_proba") for model in given):
            return None
        log_odds = np.stack([scores_of_learner(model, X, task, "logistic")[0] for model in given])
    return np.asarray(expit(log_odds if task.favourable == 1 else -log_odds))


def built(front: Frontier, places: Places) -> list[Any] | None:
    """None where models were given as scores."""
    try:
        return [front.models.build(int(place)) for place in places]
    except InputError:
        return None
