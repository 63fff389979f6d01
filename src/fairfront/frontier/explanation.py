"""Explanation of a frontier: how two points differ, how well probabilities fit, and what another frontier has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..exceptions import InputError
from ..measures import auc
from ..measures.calibration import Calibration, calibration_table, fit_platt
from ..measures.figures import larger_is_better
from ..measures.moves import Flips, flips
from ..objectives import Array, Attribute
from ..pareto import nondominated
from ..validation import check_labels, check_text, check_weights
from .judgement import checked_features, held_rows
from .models import LinearModels, encode_labels

if TYPE_CHECKING:
    from .frontier import Frontier

ROUNDING = 1e-9
"""A coefficient that is smaller than this share of the other one has no sign of its own."""


@dataclass(frozen=True)
class Explanation:
    """What changes from one point to another.

    features          names, the most moved first
    before, after     their coefficients in the two models (favourable decision for two classes)
    changed_sign      whether the sign changed
    group_auc         with data: how well each feature alone tells the smallest group from the reference (0.5: not)
    flips             with data: who gains and who loses a favourable decision, per attribute
    """

    features: tuple[str, ...]
    before: Array
    after: Array
    changed_sign: NDArray[np.bool_]
    group_auc: Array | None
    flips: dict[str, Flips]

    def sentence(self, top: int = 3) -> str:
        moved = ", ".join(
            f"{name} {before:+.3g} to {after:+.3g}"
            for name, before, after in zip(self.features[:top], self.before[:top], self.after[:top], strict=True)
        )
        return f"Moved most: {moved}; {int(self.changed_sign.sum())} coefficients changed sign."


def explain_pair(front: Frontier, before: int, after: int, X: Any, y: Any, sensitive_features: Any) -> Explanation:
    places, models, task = [front.place(before), front.place(after)], front.models, front.facts.task
    weights = models.weights[places]
    names = models.feature_names or tuple(f"x{j}" for j in range(models.n_features or 0))
    of_favourable = weights[:, task.favourable if task.kind == "multiclass" else 0, : len(names)]
    one, two = -of_favourable if task.kind == "binary" and task.favourable == 0 else of_favourable
    small, large = np.minimum(np.abs(one), np.abs(two)), np.maximum(np.abs(one), np.abs(two))
    crossed = (one * two < 0) & (small > ROUNDING * large)
    order = np.argsort(-np.abs(two - one), kind="stable")
    strength, moved = None, {}
    if X is not None:
        if y is None or sensitive_features is None:
            raise InputError("explain with data needs X, y and sensitive_features, found one of them missing.")
        held = held_rows(front, X, y, sensitive_features)
        dense = np.asarray(held.X.todense()) if hasattr(held.X, "todense") else held.X
        strength = _group_auc(dense[:, order], held.attributes[0])
        if task.kind != "regression":
            decided = models.decisions(held.X, front.operating())[1][places] == task.favourable
            good = held.labels == task.favourable
            moved = {
                a.name: flips(decided[0], decided[1], good, a.codes, a.levels)
                for a in held.attributes
                if a.codes is not None
            }
    return Explanation(tuple(names[i] for i in order), one[order], two[order], crossed[order], strength, moved)


def _group_auc(X: Array, attribute: Attribute) -> Array | None:
    """Of each column, for belonging to the smallest group rather than the reference, folded above 0.5."""
    if attribute.codes is None:
        return None
    sizes = attribute.sizes()
    smallest = int(np.argmin(sizes[:-1]))
    rows = np.isin(attribute.codes, [smallest, len(sizes) - 1])
    found = auc(np.ascontiguousarray(X[rows].T, dtype=np.float64), attribute.codes[rows] == smallest)
    return np.maximum(found, 1.0 - found)


def calibration_of(
    front: Frontier, id: int, X: Any, y: Any, sensitive_features: Any, sample_weight: Any
) -> dict[str, Calibration]:
    models = front.models
    if not isinstance(models, LinearModels) or not models.probable.all():
        raise InputError("calibration is about probabilities, expected a frontier of binary logistic models.")
    held = held_rows(front, X, y, sensitive_features, sample_weight)
    probability = expit(models.scores(held.X)[front.place(id), 0])
    return {
        a.name: calibration_table(
            probability, held.labels == 1, a.membership() if a.codes is None else a.codes, a.levels, held.weight
        )
        for a in held.attributes
    }


def recalibrated(front: Frontier, X: Any, y: Any, sample_weight: Any) -> Frontier:
    """Platt's map of every model's scores."""
    models = front.models
    if not isinstance(models, LinearModels) or not models.probable.all():
        raise InputError(
            "recalibration maps log-odds, expected a frontier of linear models of two classes with the logistic loss, "
            f"found {type(models).__name__} with loss {front.facts.loss!r}; put estimators into CalibratedClassifierCV."
        )
    matrix = checked_features(models, X)
    n = matrix.shape[0]
    labels, weight = encode_labels(check_labels(y, n), front.facts.task), check_weights(sample_weight, n)
    lines = [fit_platt(scores, labels == 1, weight) for scores in models.scores(matrix)[:, 0]]
    slope, offset = np.array(lines).T
    intercept = models.intercept * slope[:, None] + offset[:, None]
    moved = replace(models, coef=models.coef * slope[:, None, None], intercept=intercept)
    points = replace(front.points, certified=np.zeros(len(front), dtype=bool), kkt=np.full(len(front), np.nan))
    return replace(front, models=moved, points=points, evaluations={})


def overlaid(front: Frontier, other: Frontier, axes: tuple[str, ...], on: str | None) -> dict[str, Any]:
    """Return columns: source (0 for the first frontier, 1 for the other), id, name, the axes, and ``dominated``.

    Both must have been evaluated on the same rows under the same name; a point without a figure is dominated.
    """
    on = "validation" if on is None else check_text(on, "on", "the name of an evaluation")
    first, second = (f.evaluations.get(on) for f in (front, other))
    if first is None or second is None:
        raise InputError(f"both frontiers need the evaluation {on!r}; call evaluate on the same rows.")
    if first.rule != second.rule:
        raise InputError(
            f"decisions are made by different rules ({first.rule}; {second.rule}), expected one for both; evaluate "
            "both with the same cutoff=, approval_rate= or costs=."
        )
    same = first.groups.keys() == second.groups.keys() and first.n == second.n
    if not same or any(not np.array_equal(first.groups[g].n, second.groups[g].n, equal_nan=True) for g in first.groups):
        raise InputError(
            f"the evaluations rest on different rows ({first.n} and {second.n}, or other groups), expected the same."
        )
    columns = {axis: np.concatenate([front.column(axis, on), other.column(axis, on)]) for axis in axes}
    signed = [-values if larger_is_better(axis) else values for axis, values in columns.items()]
    costs = np.column_stack([np.where(np.isnan(values), np.inf, values) for values in signed])
    names = [str(name) for each in (front, other) for name in (each.models.names or each.ids)]
    return {
        "source": np.repeat([0, 1], [len(front), len(other)]),
        "id": np.concatenate([front.ids, other.ids]),
        "name": np.array(names, dtype=object),
        **columns,
        "dominated": ~nondominated(costs),
    }
