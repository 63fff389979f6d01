"""Folds of the rows, and held-out scores by them: the points are solved again without each fold, down the same caps.

This is for linear models whose points have no leave-one-out in closed form: sparse rows, many weights, losses with a
kink, and points that are no minima along their caps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Cells, Objectives
from ..problems import LinearProblem
from ..solvers import Newton
from ..solvers.base import Mask, OnPoint, tops
from ..solvers.cap_path import solve_down
from ..solvers.hinge import HingePoint
from ..solvers.hinge_path import HingeSettings, solved_again

Ints = NDArray[np.intp]
FOLDS = 10  # five are too few where the path is steep
HINGE_FOLDS = 5  # points of a hinge are solved again one by one: ten folds would take most of ten traces
SolveAgain = Callable[[LinearProblem], Array]
"""Returns the weights (N, K, d) of all points, solved again on a part of the rows."""


def deal_folds(cell: Ints, person: Ints | None, n_folds: int = FOLDS) -> Ints:
    """Return a fold for every row: people, or rows, of each cell are shuffled and dealt out like cards."""
    first = np.arange(len(cell)) if person is None else np.unique(person, return_index=True)[1]
    order = np.lexsort((np.random.default_rng(0).random(len(first)), cell[first]))
    fold = np.empty(len(first), dtype=np.intp)
    fold[order] = np.arange(len(first)) % n_folds
    return fold if person is None else fold[person]


def folds_of(objectives: Objectives, person: Ints | None, n_folds: int = FOLDS) -> Ints:
    """Return a fold for every sorted row; ``person`` (n,) in the order of the data.

    A row whose group is probable is dealt with the cell that most of its weight is in, and its copies stay together.
    """
    cells, copy_of = objectives.layout.cells, objectives.copy_of
    if copy_of is None:
        return deal_folds(cells.of_sorted, None if person is None else person[cells.order], n_folds)
    assert cells.row_weight is not None
    weight = np.zeros((int(copy_of[-1]) + 1, cells.count))
    np.add.at(weight, (copy_of[cells.order], cells.of_sorted), cells.row_weight)
    return deal_folds(weight.argmax(axis=1), person, n_folds)[copy_of[cells.order]]


def too_few_people(cells: Cells, fold: Ints) -> str:
    """Say that some cell is whole in one fold, without which it would be empty; empty where none is."""
    inside = np.arange(cells.count)[:, None] == cells.of_sorted
    alone = min(len(np.unique(fold[rows])) for rows in inside) < 2
    return "expected two people or more of every group and label that are compared" if alone else ""


@dataclass(frozen=True)
class FoldScores:
    """Scores (N, K, n), in the order of the data, of every row by the points solved without its fold."""

    scores: Array
    n_folds: int


def fold_scores(
    problem: LinearProblem, solve_again: SolveAgain, person: Ints | None, n_folds: int, on_fold: OnPoint
) -> FoldScores:
    """Solve the points again without each fold, of which there are as many as people at most.

    Parameters
    ----------
    person : array of shape (n,), codes of who stays together, or None
    """
    cells, piece = problem.layout.cells, problem.piece
    fold = folds_of(problem.objectives, person, n_folds)
    count = int(fold.max()) + 1
    scores: Array | None = None
    for each in range(count):
        rows = np.flatnonzero(fold == each)
        W = solve_again(_without(problem, fold == each))
        scores = np.empty((*W.shape[:2], cells.n)) if scores is None else scores
        found = np.asarray(piece.design.X[rows] @ W.reshape(-1, problem.d).T)
        scores[:, :, cells.order[rows]] = found.T.reshape(*W.shape[:2], -1)
        on_fold(each + 1, f"{each + 1} of {count} folds left out", count)
    assert scores is not None
    return FoldScores(problem.objectives.of_data(scores), count)


def _without(problem: LinearProblem, left_out: Mask) -> LinearProblem:
    """Return the problem on the other rows, in which every cell has the weight that it had."""
    cells = problem.layout.cells
    weight = np.where(left_out, 0.0, 1.0 if cells.row_weight is None else cells.row_weight)
    scale = cells.weight / np.add.reduceat(weight, cells.offsets[:-1])
    return problem.with_row_weights(weight * np.repeat(scale, np.diff(cells.offsets)))


@dataclass(frozen=True)
class PathAgain:
    """Solves plain training, from weights (K, d), and points one from another down the caps of their gaps (N, q)."""

    newton: Newton
    start: Array
    sizes: Array
    plain: int

    def __call__(self, problem: LinearProblem) -> Array:
        newton, others = self.newton, np.delete(np.arange(len(self.sizes)), self.plain)
        caps = np.stack([tops(problem.algebra, row) for row in self.sizes])
        known = (newton.tolerances, newton.no_group_worse, self.start, caps[others])
        trained, solved = solve_down(problem, *known)
        W = np.repeat(trained[None], len(caps), axis=0)
        W[others] = solved
        return W


@dataclass(frozen=True)
class HingeAgain:
    """Solves points of a hinge, in the problem's coordinates, each from itself, with the caps that it has."""

    newton: Newton
    points: tuple[HingePoint, ...]
    plain: int

    def __call__(self, problem: LinearProblem) -> Array:
        settings = HingeSettings(self.newton.tol, self.newton.no_group_worse)
        return solved_again(settings, problem, self.points, self.plain)
