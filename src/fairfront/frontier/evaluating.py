"""Judging all points of a frontier on data, in rates of decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Evaluation, GroupRates, evaluate_scores
from ..measures.claims import worst_pair
from ..measures.figures import larger_is_better
from ..measures.intervals import Sizes, error_interval, selection_ratio_lower, worst_gap_floor, worst_gap_upper
from ..measures.operating_points import Operating, OperatingPoint
from ..objectives import Array, Task
from ..validation import is_dask
from .cutoffs import decisions, placed, responses_of, second_class
from .evaluating_parts import evaluate_parts
from .matching import checked_features, held_rows
from .models import Models

if TYPE_CHECKING:
    from .facts import Facts


def evaluate_points(
    models: Models,
    facts: Facts,
    X: Any,
    y: Any,
    sensitive_features: Any,
    name: str,
    sample_weight: Any,
    asked: Operating | OperatingPoint | None = None,
) -> Evaluation:
    """Score all models on X and count their decisions per group; Dask collections partition by partition.

    ``asked`` is a rule that places cut-offs on these rows, or cut-offs that hold here too.
    """
    if any(is_dask(each) for each in (X, y, sensitive_features, sample_weight)):
        return evaluate_parts(models, facts, X, y, sensitive_features, name, sample_weight, asked)
    matrix = checked_features(models, X)
    held = held_rows(facts, matrix.shape[0], y, sensitive_features, sample_weight)
    known: dict[str, Any] = {"name": name, "sample_weight": held.weight}
    if asked is None:
        scores, known["decided"] = decisions(models, held.of(matrix), None, held.attributes)
        return evaluate_scores(scores, held.labels, facts.task, held.attributes, **known)
    scores, responses = responses_of(models, held.of(matrix))
    good = held.labels == facts.task.favourable
    operating = placed(asked, responses, good, held.weight, probability=models.probable, placed_on=name)
    known["decided"] = second_class(operating, responses, facts.task)
    record = evaluate_scores(scores, held.labels, facts.task, held.attributes, **known)
    return replace(record, operating=operating)


GAPS = {
    "tpr_gap": "tpr",
    "fpr_gap": "fpr",
    "selection_gap": "selection",
    "error_gap": "error",
    "recall_gap": "recall",
}


End = Callable[[GroupRates, str, float, Sizes | None], Array]


def figures(record: Evaluation, name: str, confidence: float | None, end: End = worst_gap_upper) -> Array:
    """Return a column of an evaluation, as the end of its interval that has to hold when a confidence is given.

    That is the upper end of an error and of a gap, the lower end of the selection ratio (of each pair of groups on its
    own, because all have to hold). With several attributes ``tpr_gap`` is the worst of ``sex.tpr_gap``,
    ``race.tpr_gap``..., and its upper end holds for all of them at once. ``end`` takes something else of a gap's
    intervals than their upper end.
    """
    parts = [each for each in record.columns if each.rpartition(".")[2] == name and each != name]
    if name not in record.columns and parts:
        if larger_is_better(name):
            return np.asarray(np.fmin.reduce([figures(record, part, confidence) for part in parts]))
        sure = None if confidence is None else 1.0 - (1.0 - confidence) / len(parts)
        return np.asarray(np.fmax.reduce([figures(record, part, sure, end) for part in parts]))
    values = record[name]
    if confidence is None:
        return values
    kind = name.split(".")[-1]
    if name == "error":
        return error_interval(values, np.full(len(values), record.effective_n or record.n), confidence)[1]
    attribute = name.rpartition(".")[0] or next(iter(record.groups))
    rates, sizes = record.groups.get(attribute), record.sizes.get(attribute)
    if isinstance(rates, GroupRates) and kind == "selection_ratio":
        return selection_ratio_lower(rates, confidence, sizes)
    if isinstance(rates, GroupRates) and kind in GAPS:
        return end(rates, GAPS[kind], confidence, sizes)
    return values


def least_claim(record: Evaluation, name: str, confidence: float | None, among: NDArray[np.intp], task: Task) -> str:
    """Say the smallest gap that these rows could demonstrate at the rates of some models; nothing of other columns."""
    if confidence is None or name.rpartition(".")[2] not in GAPS:
        return ""
    parts = [name] if name in record.columns else [each for each in record.columns if each.endswith(f".{name}")]
    sure = 1.0 - (1.0 - confidence) / len(parts)
    floors = np.stack([figures(record, part, sure, worst_gap_floor) for part in parts])
    floor = np.fmax.reduce(floors)
    if np.isnan(floor[among]).all():
        return ""
    place = int(among[np.nanargmin(floor[among])])
    pair = worst_pair(record, parts[int(np.nanargmax(floors[:, place]))], place, task)
    assert pair is not None
    few = f"{pair.fewest[0]:.0f} and {pair.fewest[1]:.0f} people{pair.label}"
    return f"with {few} in the smallest groups, no gap below about {_down(floor[place])} can be demonstrated"


def _down(value: float) -> str:
    """Return a number in two digits, rounded towards 0, so that no upper end is below what is told."""
    unit = 10.0 ** (np.floor(np.log10(max(value, 1e-12))) - 1)
    return f"{np.floor(value / unit + 1e-9) * unit:.2g}"
