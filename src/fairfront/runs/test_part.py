"""The test part: every solved point is judged once, the figures are sealed, and only cards read them.

Nothing is chosen here. The rows are gone when a run is saved, so what a card may need is computed while they are
there: an audit in people's units, and who gains and who loses against plain training.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from ..exceptions import GroupWarning
from ..frontier import Frontier
from ..frontier.cutoffs import responses_at
from ..frontier.judgement import resolve_attributes
from ..frontier.models import encode_labels
from ..frontier.selection import plain_place
from ..measures.audits import audits
from ..measures.changes import moves_by_group
from ..measures.disclosure import LIMIT
from ..measures.evaluation import decide
from ..measures.judged import Judged, read_judged
from ..measures.operating_points import Operating
from ..objectives import Array, Groups, is_likelihood
from ..progress import progress_bar
from .prepared_rows import Part
from .settings import Settings

RESAMPLES = 200


def judged_on_test(
    front: Frontier, test: Part, settings: Settings, progress: Any, small: int = LIMIT
) -> dict[str, Any]:
    """Return, by id, the audit on test and the changed decisions, as they are published or exact (small = 0)."""
    test = test.seen()
    scores, responses = responses_at(front, test.X)
    places = [int(i) for i in front.solved]
    changes = _changes(front, scores, responses, test, small)
    options = Groups(
        reference={name: levels[-1] for name, levels in front.facts.sensitive},
        cross=settings.cross,
        min_size=_least(front, test, settings),
    )
    models = [_judged(front, place, scores, responses, test) for place in places]
    found: dict[str, Any] = {}
    with progress_bar(progress, "judging on test", len(places)) as bar:
        judged = audits(models, test.groups, options, n_resamples=RESAMPLES, random_state=settings.seed)
        for done, (place, audit) in enumerate(zip(places, judged, strict=True), start=1):
            id = str(int(front.ids[place]))
            found[id] = {"audit": audit.to_dict(small=small), "moves": changes.get(id, {})}
            bar.update(done, f"{done} of {len(places)} points")
    return found


def _judged(front: Frontier, place: int, scores: Array, responses: Array | None, test: Part) -> Judged:
    """Return the labels and decisions of one point."""
    task = front.facts.task
    given, operating = _given(front, scores[place]) if responses is None else _at_cutoff(front, responses, place)
    return read_judged(
        test.y,
        given,
        favourable=task.favourable_label,
        operating=operating,
        task="regression" if task.kind == "regression" else "classification",
        sample_weight=test.weight,
    )


def _least(front: Frontier, test: Part, settings: Settings) -> int:
    """Return the smallest group that is compared: as in training, or less where that would leave only one here.

    Test is smaller than train, so a group that was large enough there need not be here; of a few people no figures are
    given.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GroupWarning)
        found = resolve_attributes(front.facts, test.groups, test.n)
    second = [np.sort(each.membership().sum(axis=0))[-2:][0] for each in found]
    return max(1, min(settings.min_size, int(min(second))))


def _given(front: Frontier, scores: Array) -> tuple[Any, Operating]:
    """Return what an audit reads: predictions, probabilities, scores with the cut-off 0, or decisions all alike."""
    task, probable = front.facts.task, is_likelihood(front.facts.loss)
    if task.kind == "regression":
        return scores[0], Operating()
    if task.kind == "multiclass":
        return (softmax(scores, axis=0).T if probable else scores.T), Operating()
    second = scores[0] > 0
    if second.all() or not second.any():  # no cut-off lies within such scores: the decisions are judged
        return np.asarray(task.classes)[second.astype(np.intp)], Operating()
    if probable:
        return expit(scores[0]), Operating()
    return scores[0], Operating(cutoff=0.0, side="above" if task.favourable == 1 else "below")


def _at_cutoff(front: Frontier, responses: Array, place: int) -> tuple[Any, Operating]:
    """Return what an audit reads at the cut-off that was placed on validation: responses, or decisions all alike."""
    point, task = front.operating(), front.facts.task
    assert point is not None
    given, cutoff = responses[place], float(point.cutoffs[place])
    if given.min() < cutoff <= given.max():
        return given, Operating(cutoff=cutoff, side="above")
    favoured = given >= cutoff
    return np.asarray(task.classes)[np.where(favoured, task.favourable, 1 - task.favourable)], Operating()


def _changes(front: Frontier, scores: Array, responses: Array | None, test: Part, small: int) -> dict[str, Any]:
    """Return who gains and who loses a favourable decision against plain training, by id and attribute."""
    task = front.facts.task
    if task.kind == "regression":
        return {}
    labels = encode_labels(np.asarray(test.y), task)
    point = front.operating()
    if point is not None and responses is not None:
        decided = point.favoured(responses)
    else:
        decided = decide(scores, task) == task.favourable
    plain = plain_place(front)
    found: dict[str, Any] = {str(int(id)): {} for id in front.ids}
    good = labels == task.favourable
    for each in resolve_attributes(front.facts, test.groups, test.n):
        levels, gained, lost = moves_by_group(each, decided, plain, good, small)
        for place, id in enumerate(front.ids.tolist()):
            sides = {"gained": gained[place].tolist(), "lost": lost[place].tolist()}
            found[str(id)][each.name] = {"group": list(levels), **sides}
    return found
