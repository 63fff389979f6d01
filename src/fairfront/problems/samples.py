"""Samples: a part of the rows, on which fits of very many begin."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .linear import LinearProblem
from .pieces import Piece
from .point import TINY
from .sparse_design import sorted_design

FEW, PER_WEIGHT, PLENTY = 16, 10, 100
"""One row of so many is enough to begin with, where so many rows are left per weight, and so many in every cell."""


def some_rows(piece: Piece, kept: list[NDArray[np.intp]]) -> Piece:
    """Return the rows with these places in each cell, without those that are left out."""
    rows, cells = np.concatenate(kept), piece.cells
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in kept])]).astype(np.intp)
    weight = None if cells.row_weight is None else cells.row_weight[rows]
    design = sorted_design(piece.design.X, rows, False)
    return Piece(design, piece.targets[rows], replace(cells, offsets=offsets, row_weight=weight))


def on_few(problem: LinearProblem) -> LinearProblem | None:
    """Return the problem on a part of its rows, where that has plenty: its solution is near that of all rows."""
    piece, size = problem.rows, problem.K * problem.d
    if not isinstance(piece, Piece) or piece.n < FEW * PER_WEIGHT * size:
        return None
    steps = [max(1, min(FEW, int(b - a) // PLENTY)) for a, b in pairwise(piece.cells.offsets)]
    few = some_rows(piece, [np.arange(a, b, s) for (a, b), s in zip(pairwise(piece.cells.offsets), steps, strict=True)])
    base = np.ones(few.n) if few.cells.row_weight is None else few.cells.row_weight
    total = np.add.reduceat(base, few.cells.offsets[:-1])
    scale = np.repeat(piece.cells.weight / np.maximum(total, TINY), np.diff(few.cells.offsets))
    return problem.with_piece(replace(few, cells=replace(few.cells, row_weight=base * scale)))
