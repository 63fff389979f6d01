"""Which points are looked at closely, and the held-out rows that they are judged on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..exceptions import InputError
from ..frontier import Frontier
from ..frontier.cutoffs import decisions, is_test
from ..frontier.estimator_models import EstimatorModels, PosteriorModels
from ..frontier.judgement import held_rows
from ..frontier.models import LinearModels
from ..frontier.selection import plain_place
from ..measures import Evaluation
from ..measures.counts import sums_of
from ..measures.evaluation import judgement_of
from ..objectives import Array, Attribute, Task
from ..problems.learners import scores_of_learner
from ..solvers import Status
from ..validation import check_text, shown

MOST_DETAILED = 150
"""Points that are described one by one; larger frontiers are thinned, evenly along the walk."""

DECISIONS = 20_000_000
"""Decisions that are held at once: on very many rows fewer points are described."""

Places = NDArray[np.intp]


def most_detailed(n: int) -> int:
    """Return how many points are described on n rows."""
    return min(MOST_DETAILED, max(12, DECISIONS // max(1, n)))


def walk(front: Frontier) -> Places:
    """Return the finished points from the largest gap to the smallest and on past zero, then the others left out."""
    places = front.solved
    past = np.array([front.status[i] is Status.PAST for i in places])
    gap = front.gaps[places].max(axis=1)
    return np.asarray(places[np.lexsort((front.loss[places], np.where(past, gap, -gap)))])


def detailed(front: Frontier, ids: Iterable[int] = (), limit: int = MOST_DETAILED) -> Places:
    """Return at most ``limit`` places along the walk, always with the plain model and the ids asked for."""
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
    places: Places
    plain: int
    good: NDArray[np.bool_]
    attributes: tuple[Attribute, ...]
    weight: Array
    decided: NDArray[Any]
    wrong: NDArray[Any]
    probability: Array | None
    record: Evaluation

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return len(self.weight)


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
    matrix, labels, n = held.X, held.labels, len(held.labels)
    scores, decided = decisions_at(front, places, matrix, on)
    sums = sums_of(decided, labels, task, held.attributes, held.weight)
    regression = task.kind == "regression"
    return Rows(
        task=task,
        places=places,
        plain=int(np.flatnonzero(places == plain_place(front))[0]),
        good=np.zeros(n, dtype=bool) if regression else labels == task.favourable,
        attributes=held.attributes,
        weight=np.ones(n) if held.weight is None else held.weight,
        decided=decided if regression else decided == task.favourable,
        wrong=(decided - labels) ** 2 if regression else decided != labels,
        probability=_probability(front, places, matrix, scores),
        record=judgement_of(sums, task, held.attributes, "rows", None),
    )


def decisions_at(front: Frontier, places: Places, X: Any, on: str) -> tuple[Array, NDArray[Any]]:
    """Return scores (k, K, n) and decisions (k, n) of some points."""
    operating = front.operating(on if on in front.evaluations else None)
    return decisions(front.models.take(places), X, None if operating is None else operating.take(places))


def _probability(front: Frontier, places: Places, X: Any, scores: Array) -> Array | None:
    """Return probabilities of the favourable label, (k, n), or None where the models give none."""
    points, task = front.models, front.facts.task
    if task.kind != "binary":
        return None
    if isinstance(points, LinearModels | EstimatorModels | PosteriorModels):
        if not points.probable.all():
            return None
        log_odds = scores[:, 0]  # of these, scores are the log-odds
    else:
        models = built(front, places)
        if models is None or not all(hasattr(model, "predict_proba") for model in models):
            return None
        log_odds = np.stack([scores_of_learner(m, X, task, "logistic")[0] for m in models])
    return np.asarray(expit(log_odds if task.favourable == 1 else -log_odds))


def built(front: Frontier, places: Places) -> list[Any] | None:
    """Return the models of some points, or None where they were given as scores."""
    try:
        return [front.models.build(int(place)) for place in places]
    except InputError:
        return None
