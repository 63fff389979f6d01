"""Weighted fits: from weights of the cells to weights of rows, labels or targets that a learner takes.

While omega >= 0 on the own-label cells, a point of the frontier is a plain fit with row weights omega_cell / p_cell.
Weight on another label is a copy of the row with that label; a negative weight is turned into a positive one on every
other label, which is a heuristic. A regression's mean prediction is a shift of its targets, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...objectives import Array, Layout, Quantity, Task


@dataclass(frozen=True)
class Rows:
    """What one fit sees: rows (repeated where a row counts for two labels), their labels or targets, weights."""

    index: NDArray[np.intp]
    target: Array
    weight: Array


def row_sums(layout: Layout, quantity: Quantity, omega: Array) -> Array:
    """Return every row's weight on a quantity, (n,) in the order of the data: total * omega_cell / weight_cell."""
    cells = layout.cells
    where = dict(layout.quantities)[quantity]
    total = float(cells.weight.sum())
    per_cell = np.where(where >= 0, omega[where], 0.0) * total / cells.weight
    if cells.shares is not None:
        return np.asarray(per_cell @ cells.shares)
    found = np.repeat(per_cell, np.diff(cells.offsets))
    if cells.row_weight is not None:
        found = found * cells.row_weight
    unsorted = np.empty(cells.n)
    unsorted[cells.order] = found
    return unsorted


def label_weights(layout: Layout, omega: Array, cells: Sequence[Sequence[int]]) -> Array:
    """Return how much a row of every pair (label, one of its cells) counts for each label, (pairs, labels).

    The weights of `weighted_rows` before they are made non-negative, with the rows' own weights left out.
    """
    total = layout.cells.weight.sum() / layout.cells.weight
    found = np.zeros((sum(map(len, cells)), len(cells)))
    own = np.repeat(np.arange(len(cells)), [len(each) for each in cells])
    cell = np.array([c for each in cells for c in each], dtype=np.intp)
    for quantity, where in layout.quantities:
        per_cell = np.where(where >= 0, omega[where], 0.0) * total
        found[np.arange(len(own)), own if quantity.label is None else quantity.label] += per_cell[cell]
    return found


def weighted_rows(layout: Layout, task: Task, codes: Array, omega: Array) -> Rows:
    """Return what a learner has to be fitted to for the weights omega (k) of the cells.

    ``codes`` (n,) are class indices, or values for regression.
    """
    if task.kind == "regression":
        return _shifted(layout, codes, omega)
    labels = codes.astype(np.intp)
    n, width = len(labels), len(task.classes)
    V = np.zeros((n, width))
    for quantity, _ in layout.quantities:
        label = labels if quantity.label is None else np.full(n, quantity.label)
        V[np.arange(n), label] += row_sums(layout, quantity, omega)
    V = flipped(V)
    index, label = np.nonzero(V > 0.0)
    return Rows(index, label.astype(np.float64), V[index, label])


def flipped(V: Array) -> Array:
    """Return weights (rows, labels) without negative ones: what one label is below 0, all of a row's labels are lifted.

    Which label costs least stays as it was, and so does a row without negative weights.
    """
    return np.asarray(V - np.minimum(V.min(axis=1, keepdims=True), 0.0))


def _shifted(layout: Layout, values: Array, omega: Array) -> Rows:
    """Complete the square: v (s - y)^2 / 2 + c s has its minimum where v (s - (y - c / v))^2 / 2 has it."""
    weight = np.maximum(row_sums(layout, Quantity("loss"), omega), 0.0)
    used = np.flatnonzero(weight > 0.0)
    target = values.astype(np.float64)
    if Quantity("score") in dict(layout.quantities):
        linear = row_sums(layout, Quantity("score"), omega)
        target = target - np.divide(linear, weight, out=np.zeros_like(linear), where=weight > 0.0)
    return Rows(used, target[used], weight[used])


def is_heuristic(layout: Layout, omega: Array) -> bool:
    """Tell whether some loss has a negative weight, so that labels are flipped and no Lagrangian is minimised."""
    found = [omega[where[where >= 0]] for quantity, where in layout.quantities if quantity.kind == "loss"]
    return bool((np.concatenate(found) < -1e-12).any())
