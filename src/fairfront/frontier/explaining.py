"""Explaining: how two points of a frontier differ, in coefficients and in people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import auc
from ..measures.changes import Flips, flips
from ..objectives import Array, Attribute
from .cutoffs import decisions
from .matching import checked_features, held_rows
from .refining import weights_of

if TYPE_CHECKING:
    from .frontier import Frontier


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
        """Name the features that moved most."""
        moved = ", ".join(
            f"{name} {before:+.3g} to {after:+.3g}"
            for name, before, after in zip(self.features[:top], self.before[:top], self.after[:top], strict=True)
        )
        return f"Moved most: {moved}; {int(self.changed_sign.sum())} coefficients changed sign."


def explain_pair(front: Frontier, before: int, after: int, X: Any, y: Any, sensitive_features: Any) -> Explanation:
    """Compare the points with two ids; data add who gains, who loses, and which features go with the group."""
    first, second = front.place(before), front.place(after)
    coef = weights_of(front)[[first, second]]
    names = _names(front, coef.shape[2] - int(getattr(front.points, "fit_intercept", True)))
    one, two = (_favourable(front, c)[: len(names)] for c in coef)
    order = np.argsort(-np.abs(two - one), kind="stable")
    strength, moved = None, {}
    if X is not None:
        matrix, labels, attributes = _data(front, X, y, sensitive_features)
        dense = np.asarray(matrix.todense()) if hasattr(matrix, "todense") else matrix
        strength = _group_auc(dense[:, order], attributes[0]) if attributes[0].codes is not None else None
        moved = _flips(front, (first, second), matrix, labels, attributes)
    return Explanation(
        tuple(names[i] for i in order),
        one[order],
        two[order],
        _crossed(one, two)[order],
        strength,
        moved,
    )


def _crossed(one: Array, two: Array) -> NDArray[np.bool_]:
    """Tell which coefficients have opposite signs; one that is rounding next to the other has none."""
    small, large = np.minimum(np.abs(one), np.abs(two)), np.maximum(np.abs(one), np.abs(two))
    return np.asarray((one * two < 0) & (small > 1e-9 * large))


def _names(front: Frontier, d: int) -> list[str]:
    known = getattr(front.points, "feature_names", None)
    return list(known) if known is not None else [f"x{j}" for j in range(d)]


def _favourable(front: Frontier, coef: Array) -> Array:
    """Return the coefficients of the favourable label's score."""
    task = front.facts.task
    if task.kind == "multiclass":
        return np.asarray(coef[task.favourable])
    return np.asarray(coef[0] if task.kind == "regression" or task.favourable == 1 else -coef[0])


def _data(front: Frontier, X: Any, y: Any, sensitive_features: Any) -> tuple[Any, Any, tuple[Attribute, ...]]:
    matrix = checked_features(front.points, X)
    if y is None or sensitive_features is None:
        raise InputError("explain with data needs X, y and sensitive_features, found one of them missing.")
    held = held_rows(front.facts, matrix.shape[0], y, sensitive_features)
    return matrix, held.labels, held.attributes


def _group_auc(X: Array, attribute: Attribute) -> Array:
    """Return each column's AUC for belonging to the smallest group rather than the reference, folded above 0.5."""
    sizes = attribute.sizes()
    smallest = int(np.argmin(sizes[:-1]))
    assert attribute.codes is not None
    rows = np.isin(attribute.codes, [smallest, len(sizes) - 1])
    found = auc(np.ascontiguousarray(X[rows].T, dtype=np.float64), attribute.codes[rows] == smallest)
    return np.maximum(found, 1.0 - found)


def _flips(
    front: Frontier, places: tuple[int, int], X: Any, labels: Any, attributes: tuple[Attribute, ...]
) -> dict[str, Flips]:
    task = front.facts.task
    if task.kind == "regression":
        return {}
    decided = decisions(front.points, X, task, front.operating())[1][list(places)] == task.favourable
    return {
        a.name: flips(decided[0], decided[1], labels == task.favourable, a.codes, a.levels)
        for a in attributes
        if a.codes is not None
    }
