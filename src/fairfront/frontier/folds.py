"""Folds of the rows, and held-out scores by them: the points are solved again without each fold, down the same caps.

This is for linear models whose points have no leave-one-out in closed form: sparse rows, many weights, losses with a
kink, and points that are no minima along their caps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Cells, Objectives
from ..problems import LinearProblem
from ..solvers import Newton
from ..solvers.base import Mask, tops
from ..solvers.newton import solve_down

Ints = NDArray[np.intp]
FOLDS = 10  # five are too few where the path is steep


def deal_folds(cell: Ints, person: Ints | None) -> Ints:
    """Return a fold for every row: people, or rows, of each cell are shuffled and dealt out like cards."""
    first = np.arange(len(cell)) if person is None else np.unique(person, return_index=True)[1]
    order = np.lexsort((np.random.default_rng(0).random(len(first)), cell[first]))
    fold = np.empty(len(first), dtype=np.intp)
    fold[order] = np.arange(len(first)) % FOLDS
    return fold if person is None else fold[person]


def folds_of(objectives: Objectives, person: Ints | None) -> Ints:
    """Return a fold for every sorted row; ``person`` (n,) in the order of the data.

    A row whose group is probable is dealt with the cell that most of its weight is in, and its copies stay together.
    """
    cells, copy_of = objectives.layout.cells, objectives.copy_of
    if copy_of is None:
        return deal_folds(cells.of_sorted, None if person is None else person[cells.order])
    assert cells.row_weight is not None
    weight = np.zeros((int(copy_of[-1]) + 1, cells.count))
    np.add.at(weight, (copy_of[cells.order], cells.of_sorted), cells.row_weight)
    return deal_folds(weight.argmax(axis=1), person)[copy_of[cells.order]]


def too_few_people(cells: Cells, fold: Ints) -> str:
    """Say that some cell is whole in one fold, without which it would be empty; empty where none is."""
    inside = np.arange(cells.count)[:, None] == cells.of_sorted
    alone = min(len(np.unique(fold[rows])) for rows in inside) < 2
    return "expected two people or more of every group and label that are compared" if alone else ""


def fold_scores(
    problem: LinearProblem, newton: Newton, W: Array, sizes: Array, plain: int, person: Ints | None
) -> tuple[Array, int]:
    """Return scores (N, K, n), in the order of the data, of every row by the points solved without its fold.

    And the number of folds: `FOLDS`, or as many as there are people. ``W`` (K, d) are the weights of plain training,
    which is the point ``plain``; ``sizes`` (N, q) are the gaps of the points, whose caps are kept; ``person`` (n,) are
    codes of who stays together.
    """
    cells, piece = problem.layout.cells, problem.piece
    fold = folds_of(problem.objectives, person)
    n_folds = int(fold.max()) + 1
    caps = np.stack([tops(problem.algebra, row, "worst_gap") for row in sizes])
    scores = np.empty((len(caps), problem.K, cells.n))
    for each in range(n_folds):
        rows = np.flatnonzero(fold == each)
        points = _solve_again(_without(problem, fold == each), newton, W, caps, plain)
        found = np.asarray(piece.design.X[rows] @ points.reshape(-1, problem.d).T)
        scores[:, :, cells.order[rows]] = found.T.reshape(len(caps), problem.K, -1)
    return problem.objectives.of_data(scores), n_folds


def _without(problem: LinearProblem, left_out: Mask) -> LinearProblem:
    """Return the problem on the other rows, in which every cell has the weight that it had."""
    cells = problem.layout.cells
    weight = np.where(left_out, 0.0, 1.0 if cells.row_weight is None else cells.row_weight)
    scale = cells.weight / np.add.reduceat(weight, cells.offsets[:-1])
    return problem.with_row_weights(weight * np.repeat(scale, np.diff(cells.offsets)))


def _solve_again(problem: LinearProblem, newton: Newton, start: Array, caps: Array, plain: int) -> Array:
    """Return weights (N, K, d) of plain training, from a start, and of points solved one from another down their caps.

    Where caps cannot be met, the point is the one with the smallest gaps, and so are those with smaller caps.
    """
    order = np.delete(np.arange(len(caps)), plain)
    trained, solved = solve_down(newton, problem, start, caps[order])
    found = np.repeat(trained[None], len(caps), axis=0)
    found[order] = solved
    return found
