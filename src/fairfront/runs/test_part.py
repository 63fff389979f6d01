"""The test part: every solved point is judged once, the figures are sealed, and only cards read them.

Nothing is chosen here. The rows are gone when a run is saved, so what a card may need is computed while they are
there: an audit in people's units, and who gains and who loses against plain training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from ..exceptions import progress_bar
from ..frontier import Frontier
from ..frontier.judgement import encode_labels, resolve_attributes
from ..frontier.selection import plain_place
from ..measures.audit_record import audits
from ..measures.claims import moves_by_group
from ..measures.cutoffs import Operating, Side
from ..measures.disclosure import LIMIT
from ..measures.evaluation import decide
from ..measures.judged import read_judged
from ..objectives import Array, Attribute, Groups, is_likelihood
from .preparation import Part
from .settings import Settings

RESAMPLES = 200


def judged_on_test(
    front: Frontier, test: Part, settings: Settings, progress: Any, small: int = LIMIT
) -> dict[str, Any]:
    """By id, the audit on test and the changed decisions, as they are published or exact (small = 0)."""
    test, task = test.seen(), front.facts.task
    placed = front.operating() is not None
    scores, responses = front.models.responses(test.X) if placed else (front.models.scores(test.X), None)
    attributes = resolve_attributes(front.facts, test.groups, test.n)
    # Test is smaller than train, so a group that was large enough there need not be here: two are always compared.
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
                test.y,
                given,
                favourable=task.favourable_label,
                operating=operating,
                task="regression" if task.kind == "regression" else "classification",
                sample_weight=test.weight,
            )
        )
    changes = _changes(front, attributes, scores, responses, test, small) if task.kind != "regression" else {}
    found: dict[str, Any] = {}
    with progress_bar(progress, "judging on test", len(places)) as bar:
        judged = audits(models, test.groups, options, n_resamples=RESAMPLES, random_state=settings.seed)
        for done, (place, audit) in enumerate(zip(places, judged, strict=True), start=1):
            id = str(int(front.ids[place]))
            found[id] = {"audit": audit.to_dict(small=small), "moves": changes.get(id, {})}
            bar.update(done, f"{done} of {len(places)} points")
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
    test: Part,
    small: int,
) -> dict[str, Any]:
    """Against plain training, by id and attribute."""
    task, point = front.facts.task, front.operating()
    if point is not None and responses is not None:
        decided = point.favoured(responses)
    else:
        decided = decide(scores, task) == task.favourable
    good = encode_labels(np.asarray(test.y), task) == task.favourable
    found: dict[str, Any] = {str(id): {} for id in front.ids.tolist()}
    for each in attributes:
        levels, gained, lost = moves_by_group(each, decided, plain_place(front), good, small)
        for place, id in enumerate(front.ids.tolist()):
            sides = {"gained": gained[place].tolist(), "lost": lost[place].tolist()}
            found[str(id)][each.name] = {"group": list(levels), **sides}
    return found
