"""Models that decide nothing worth having: nearly everyone alike, or no better than without looking at the person.

What a model has to beat depends on what was asked for. At a cut-off, or at 0.5, it is the error of giving everyone the
majority label; at an approval rate, which that label would not meet, the error of as many approvals drawn by lot; at
costs, the cost of deciding everyone alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Task
from .operating import check_costs
from .table import Evaluation

ALIKE = 0.99
ROUNDING = 1e-9


def decides_alike(record: Evaluation) -> NDArray[np.bool_]:
    """Tell which models decide more than 99 % of the rows alike, (N,)."""
    if record.alike is None:
        return np.zeros(record.n_models, dtype=bool)
    return np.asarray(record.alike > ALIKE)


def no_better(record: Evaluation, task: Task) -> NDArray[np.bool_]:
    """Tell which models are no better than decisions that look at nobody, (N,)."""
    if record.labels is None:
        return np.zeros(record.n_models, dtype=bool)
    reached, rival = _reached(record, task)
    return np.asarray(reached >= rival - ROUNDING)


def trivial(record: Evaluation, task: Task) -> NDArray[np.bool_]:
    """Tell which models are marked and never suggested, (N,)."""
    return np.asarray(decides_alike(record) | no_better(record, task))


def rival_words(record: Evaluation) -> str:
    """Say what a model that is no better is compared with."""
    asked = None if record.operating is None else record.operating.rule.asked
    if asked == "approval_rate":
        return "error no smaller than that of as many approvals drawn by lot"
    if asked == "costs":
        return "costs no less than deciding everyone alike"
    return "error no smaller than that of giving everyone the majority label"


def _reached(record: Evaluation, task: Task) -> tuple[Array, Array]:
    """Return what models reach and what they have to beat, (N,) each: errors, or costs per row."""
    assert record.labels is not None
    error, approved = record["error"], record["approval_rate"]
    rule = None if record.operating is None else record.operating.rule
    good = float(record.labels[task.favourable])
    if rule is not None and rule.asked == "approval_rate":
        return error, approved * (1.0 - good) + (1.0 - approved) * good
    if rule is not None and rule.costs is not None:
        false_positive, false_negative = check_costs(rule.costs)
        wrongly = 0.5 * (error + approved - good)  # false positives less false negatives are approved less good
        cost = false_positive * wrongly + false_negative * (error - wrongly)
        rival = min(false_positive * (1.0 - good), false_negative * good)
        return cost, np.full(len(cost), rival)
    return error, np.full(len(error), 1.0 - float(record.labels.max()))
