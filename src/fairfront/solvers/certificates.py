"""Certificates: whether a point minimises a Lagrangian that is convex, whatever the units of columns and losses."""

from __future__ import annotations

import numpy as np

from ..objectives import Array
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.linear import DENSE_LIMIT

NEAR = 1e-7
"""How far above its smallest value a Lagrangian may be, as a share of the plain loss."""
STILL = 1e-3
"""How far a Newton step may move the score of a row. Where labels can be separated no optimum exists, and every step
moves scores by about 1; at an optimum they stay."""
FLAT, NOTHING = 1e-11, 1e-13
"""Curvature (of columns at unit scale) that is not known for rounding, and the score of a row that is nothing."""


def is_convex(problem: LinearProblem, omega: Array, lowest: Array) -> bool:
    """Tell whether omega.L is convex in every score.

    That is omega >= 0 (``lowest``, for rounding) on every convex cell and 0 on the others. Where the curvature does not
    depend on the label (likelihoods, squares), a cell's losses on several labels count together.
    """
    alike = problem.loss.likelihood or isinstance(problem.loss, Squared)
    total, floor = np.zeros((2, problem.layout.cells.count))
    for bound, where in problem.measures:
        inside, least = (np.where(where >= 0, each[where], 0.0) for each in (omega, lowest))
        if not bound.convex and inside.any():
            return False
        if bound.convex and not bound.linear:
            if not alike and (inside < least).any():
                return False
            total, floor = total + inside, floor + least
    return bool((total >= floor).all())


def is_minimum(problem: LinearProblem, omega: Array, W: Array, G: Array, size: float) -> bool:
    """Tell whether a convex omega.L has its minimum at weights W (K, d), where the cells' gradients are G.

    A ridge bounds what is left to gain, |g|^2 / (2 ridge). Where that says nothing, the Newton step has to gain nothing
    and to leave all scores as they are, and directions whose curvature is lost in rounding must not move any.
    """
    gradient = (omega @ G).reshape(W.shape)
    solid = omega[-1] * problem.penalised
    held = problem.penalised > 0.0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        left = float(np.nan_to_num(gradient[:, held] ** 2 / solid[held], nan=0.0).sum())
    if left <= NEAR * size:
        return True
    if problem.K * problem.d > DENSE_LIMIT:
        return False
    H = problem.hessian(W, omega)
    unit = 1.0 / np.sqrt(np.where(np.diag(H) > 0.0, np.diag(H), 1.0))
    values, vectors = np.linalg.eigh(H * unit[:, None] * unit)
    known = values > FLAT
    along = (gradient.reshape(-1) * unit) @ vectors[:, known]
    step = vectors[:, known] @ (along / values[known])
    if not along @ (along / values[known]) <= NEAR * size:
        return False
    moves = np.vstack([step, vectors[:, ~known].T]) * unit
    reach = problem.reach(moves.reshape(-1, *W.shape))
    return bool(reach[0] <= STILL and (reach[1:] <= NOTHING).all())
