"""The test part: every solved point is judged once, the figures are sealed, and only cards read them.

Nothing is chosen here. The rows are gone when a run is saved, so what a card may need is computed while they are
there: an audit in people's units, and who gains and who loses against plain training.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from ..frontier import Frontier
from ..frontier.evaluating import encode_labels, resolve_attributes
from ..measures import audit
from ..measures.changes import Moves, flips
from ..measures.table import decide
from ..objectives import Array, Groups
from ..progress import progress_bar
from .model import PROBABLE
from .preparing import Part
from .settings import Settings

RESAMPLES = 200


def judged_on_test(front: Frontier, test: Part, settings: Settings, progress: Any) -> dict[str, Any]:
    """Return, by id, the audit on test and the changed decisions, small counts hidden."""
    scores = front.points.scores(test.X)
    places = [int(i) for i in front.solved]
    changes = _changes(front, scores, test)
    found: dict[str, Any] = {}
    with progress_bar(progress, "judging on test", len(places)) as bar:
        for done, place in enumerate(places, start=1):
            id = str(int(front.ids[place]))
            found[id] = {"audit": _audited(front, scores[place], test, settings), "moves": changes.get(id, {})}
            bar.update(done, f"{done} of {len(places)} points")
    return found


def _audited(front: Frontier, scores: Array, test: Part, settings: Settings) -> dict[str, Any]:
    task = front.facts.task
    reference = {name: levels[-1] for name, levels in front.facts.sensitive}
    given, options = _judged(front, scores)
    found = audit(
        test.y,
        given,
        sensitive_features=test.groups,
        favourable=task.favourable_label,
        groups=Groups(reference=reference, cross=settings.cross, min_size=settings.min_size),
        sample_weight=test.weight,
        task="regression" if task.kind == "regression" else "classification",
        n_resamples=RESAMPLES,
        random_state=settings.seed,
        **options,
    )
    return found.to_dict()


def _judged(front: Frontier, scores: Array) -> tuple[Any, dict[str, Any]]:
    """Return what an audit reads: predictions, probabilities, or scores with the cut-off 0."""
    task, probable = front.facts.task, front.facts.loss in PROBABLE
    if task.kind == "regression":
        return scores[0], {}
    if task.kind == "multiclass":
        return (softmax(scores, axis=0).T if probable else scores.T), {}
    if probable:
        return expit(scores[0]), {}
    return scores[0], {"cutoff": 0.0, "favourable_side": "above" if task.favourable == 1 else "below"}


def _changes(front: Frontier, scores: Array, test: Part) -> dict[str, Any]:
    """Return who gains and who loses a favourable decision against plain training, by id and attribute."""
    task = front.facts.task
    if task.kind == "regression":
        return {}
    labels = encode_labels(np.asarray(test.y), task)
    decided = decide(scores, task) == task.favourable
    plain = int(np.argmin(front.loss))
    found: dict[str, Any] = {str(int(id)): {} for id in front.ids}
    for each in resolve_attributes(front.facts, test.groups, test.n):
        codes = each.membership() if each.codes is None else each.codes
        moved = flips(decided[plain], decided, labels == task.favourable, codes, each.levels, test.weight).among_all
        for place, id in enumerate(front.ids.tolist()):
            found[str(id)][each.name] = hidden_moves(moved, place)
    return found


def hidden_moves(moved: Moves, place: int, limit: int = 10) -> dict[str, Any]:
    """Return one model's gained and lost decisions per group, counts from 1 to 9 hidden and nothing to subtract."""
    gained, lost = moved.n_gained[place], moved.n_lost[place]
    small = ((gained > 0) & (gained < limit)) | ((lost > 0) & (lost < limit)) | (moved.n < limit)
    if small[:-1].sum() == 1:  # the line of all people would give the one hidden line back
        small[-1] = True
    words = f"hidden (a count below {limit})"
    return {
        "group": list(moved.levels),
        "n": [words if n < limit else int(n) for n in moved.n],
        "gained": [words if s else int(v) for v, s in zip(gained, small, strict=True)],
        "lost": [words if s else int(v) for v, s in zip(lost, small, strict=True)],
    }
