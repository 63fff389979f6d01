"""Measuring: cell values of scores that some model gave, on all rows or on those that were held out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...exceptions import InputError, spelled
from ...objectives import Array, Cells, Objectives
from .crossfit import Ints

FIRM = 1e9
"""A score so large that smooth rates of it are 0 or 1."""


def hardened(scores: Array) -> Array:
    """Return scores (K, n) whose smooth rates are shares of decisions."""
    if scores.shape[0] == 1:
        return np.where(scores > 0.0, FIRM, -FIRM)
    return np.where(np.arange(len(scores))[:, None] == scores.argmax(axis=0), FIRM, 0.0)


def cell_values(objectives: Objectives, scores: Array, held: Ints) -> Array:
    """Return L (k,) of scores (K, n) in the order of the data, averaged over the rows that were held out."""
    cells = objectives.layout.cells
    measured = np.zeros(cells.n)
    measured[held] = 1.0
    measured = measured[cells.order]
    total = _sums(cells, measured)
    if (total <= 0.0).any():
        raise InputError(
            "a (group, label) cell has no held-out rows to measure a gap on; use more rows, fewer groups "
            f"({spelled('min_size', 'groups=Groups(min_size=...)')}), another cv, or cv='train'."
        )
    L = np.zeros(objectives.layout.k)
    ordered, targets = scores[:, cells.order], objectives.targets[cells.order]
    for bound, where in objectives.measures:
        value, _ = bound.value_slope(ordered, targets)
        L[where[where >= 0]] = (_sums(cells, measured * value) / total)[where >= 0]
    return L


def held_rows(cells: Cells, held: Ints) -> Array:
    """Return how many rows of every cell were held out; shares of rows where groups are probabilities."""
    measured = np.zeros(cells.n)
    measured[held] = 1.0
    return _sums(replace(cells, row_weight=None), measured[cells.order])


def _sums(cells: Cells, values: Array) -> Array:
    """Return the weighted sum of sorted rows' values in every cell."""
    if cells.shares is not None:
        return np.asarray(cells.shares @ values)
    weighted = values if cells.row_weight is None else values * cells.row_weight
    return np.asarray(np.add.reduceat(weighted, cells.offsets[:-1]))
