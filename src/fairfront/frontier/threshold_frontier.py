"""Frontiers of group thresholds: placed on rows, and judged on the same rows by thresholds placed without them.

The rows that thresholds were placed on cannot judge them: on a small group they follow its noise. So they are placed
again without each of ten folds, at the gaps of the frontier's points, and decide about the fold: the evaluation
``held_out``, which rules read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import NOTIONS
from ..solvers.refits import FOLDS, dealt
from ..validation import MOST_POINTS, check_count, check_text, shown
from .candidates import judged_frontier
from .frontier import Frontier
from .group_thresholds import (
    NEEDS,
    Ints,
    ThresholdCurve,
    ThresholdModels,
    by_threshold,
    favourable_scores,
    single_column,
    threshold_curve,
    thresholds_at,
)
from .held_out import HELD_OUT
from .judgement import HeldRows, held_rows, with_notions
from .selection import plain_place

MADE = f"thresholds placed without each of {FOLDS} folds"


def postprocess_frontier(
    front: Frontier,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    allow_group_at_prediction: bool = False,
    notion: str | None = None,
    id: int | None = None,
    n_points: int | None = 50,
    sample_weight: Any = None,
    name: str = "thresholds",
) -> Frontier:
    if allow_group_at_prediction is not True:
        raise InputError(
            f"thresholds by group mean that {NEEDS}, and allow_group_at_prediction is "
            f"{allow_group_at_prediction!r}; expected True, once it is clear that the group may be used for "
            "decisions; otherwise choose a model of the frontier itself, which never needs it."
        )
    task, known, chosen = front.facts.task, by_threshold(), front.facts.notions[0] if notion is None else notion
    if task.kind != "binary":
        raise InputError(f"labels are {task.kind}, expected two classes; thresholds decide between two.")
    if not isinstance(chosen, str) or chosen not in known:
        raise InputError(f"notion is {shown(chosen)}, expected one of {', '.join(known)} for group thresholds.")
    count = None if n_points is None else check_count(n_points, "n_points", least=2, most=MOST_POINTS)
    check_text(name, "name", "the name of the evaluation")
    held = held_rows(front, X, y, sensitive_features, sample_weight, as_given=True)
    levels, codes = single_column(held.attributes)
    model = front.models.build(front.place(id) if id is not None else plain_place(front))
    scores, good = favourable_scores(model, held.X, task), held.labels == task.favourable
    curve = threshold_curve(scores, good, codes, len(levels), chosen, count, held.weight)
    models = ThresholdModels(model, task, held.attributes[0].name, levels, curve.cutoffs)
    left_out = _left_out(models, held, good, codes, curve, chosen)
    made = {"used_for": f"evaluation and decisions: {NEEDS}", "solver": "group thresholds"}
    found = judged_frontier(models, held, held.judge_models(models, name, None), (chosen,), **made)
    if left_out is None or name == HELD_OUT:
        return found
    record = held.judge(task, HELD_OUT, models.judged(held.X, held.attributes)[0], left_out)
    record = with_notions(replace(record, made=MADE), found.facts)
    return replace(found, evaluations={HELD_OUT: record, **found.evaluations})


def _left_out(
    models: ThresholdModels,
    held: HeldRows,
    good: NDArray[np.bool_],
    codes: Ints,
    curve: ThresholdCurve,
    notion: str,
) -> NDArray[np.bool_] | None:
    """Return decisions (N, n) for the second label by thresholds placed without the row's fold.

    None where some group has fewer than two rows of a label that is compared: without one there is no rate.
    """
    c, scores = len(models.levels), favourable_scores(models.model, held.X, models.task)
    labels = {"tpr": good, "fpr": ~good, "selection": np.ones_like(good)}
    sizes = [np.bincount(codes[labels[rate] & (codes >= 0)], minlength=c) for rate in NOTIONS[notion].rates]
    if np.min(sizes) < 2:
        return None
    fold, decided = dealt(2 * (codes + 1) + good, None), np.empty((len(models), len(good)), dtype=bool)
    for each in range(FOLDS):
        rest, own = fold != each, fold == each
        if not own.any():
            continue
        weight = None if held.weight is None else held.weight[rest]
        cut = thresholds_at(curve.gap, scores[rest], good[rest], codes[rest], c, notion, weight)
        decided[:, own] = scores[own] > np.column_stack([cut, np.zeros(len(cut))])[:, codes[own]]
    return np.asarray(decided == (models.task.favourable == 1))
