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
from ..objectives import NOTIONS, Array
from ..validation import MOST_POINTS, check_count, check_text, shown
from .candidates import judged_frontier
from .folds import FOLDS, deal_folds
from .frontier import Frontier
from .group_thresholds import NEEDS, GroupScores, ThresholdModels, by_threshold, favourable_scores, single_column
from .held_out import HELD_OUT
from .judgement import held_rows, with_notions
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
    rows = GroupScores(scores, good, codes, len(levels), chosen, held.weight)
    curve = rows.curve(count)
    models = ThresholdModels(model, task, held.attributes[0].name, levels, curve.cutoffs)
    left_out = _left_out(rows, curve.gap)
    made = {"used_for": f"evaluation and decisions: {NEEDS}", "solver": "group thresholds"}
    found = judged_frontier(models, held, held.judge_models(models, name, None), (chosen,), **made)
    if left_out is None or name == HELD_OUT:
        return found
    second = np.asarray(left_out == (task.favourable == 1))
    record = held.judge(task, HELD_OUT, models.judged(held.X, held.attributes)[0], second)
    record = with_notions(replace(record, made=MADE), found.facts)
    return replace(found, evaluations={HELD_OUT: record, **found.evaluations})


def _left_out(rows: GroupScores, caps: Array) -> NDArray[np.bool_] | None:
    """Return favourable decisions (N, n) by thresholds placed without the row's fold.

    None where some group has fewer than two rows of a label that is compared: without one there is no rate.
    """
    good, codes = rows.good, rows.codes
    labels = {"tpr": good, "fpr": ~good, "selection": np.ones_like(good)}
    compared = [labels[rate] & (codes >= 0) for rate in NOTIONS[rows.notion].rates]
    if np.min([np.bincount(codes[some], minlength=rows.n_groups) for some in compared]) < 2:
        return None
    fold, decided = deal_folds(2 * (codes + 1) + good, None), np.empty((len(caps), len(good)), dtype=bool)
    for own in (fold == each for each in range(FOLDS)):
        if own.any():
            cut = rows.take(~own).within(caps)
            decided[:, own] = rows.scores[own] > np.column_stack([cut, np.zeros(len(cut))])[:, codes[own]]
    return decided
