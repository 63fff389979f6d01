"""The Lagrangian at a point: its Hessian in a form to solve with, and the certificate that the point minimises it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from ..objectives import Algebra, Array
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.base import DENSE_LIMIT
from ..problems.hessian import Factor, Shifted
from .base import TINY

CONVEX = 1e-9
"""How far below 0 the weight of a cell in a certified Lagrangian may be, as a share of the terms that it is the sum of:
multipliers are not known better. The ridge has no part in it, because a penalty makes no cell convex."""
NEAR = 1e-7
"""How far above its smallest value a Lagrangian may be, as a share of the plain loss."""
STILL = 1e-3
"""How far a Newton step may move the score of a row. Where labels can be separated no optimum exists, and every step
moves scores by about 1; at an optimum they stay."""
FLAT, NOTHING = 1e-11, 1e-13
"""Curvature (of columns at unit scale) that is not known for rounding, and the score of a row that is nothing."""
PUSHES = (1.0, 1e2, 1e4)
"""Multiples of the Hessian's size that are added across the active gaps, in turn: large ones cost digits."""
INSIDE = 1e-9
"""How far below its cap a gap is inside it, as a share of the largest gap."""


class Augmented(Factor):
    """Factor of H + rho A^T A with the gradients A of the gaps that were active, kept to correct the multipliers."""

    def __init__(self, H: Array, A: Array, rho: float, active: NDArray[np.bool_]) -> None:
        self.A, self.rho, self.active = A, rho, active
        super().__init__(H + rho * A.T @ A)

    def corrected(self, x: Array, move: Array) -> Array:
        """Return the multipliers of the program without rho A^T A; gaps that the step leaves alone have none."""
        full = x.copy()
        full[self.active] -= self.rho * (self.A @ move.reshape(-1))
        return full


def convexified(H: Array, A: Array, active: NDArray[np.bool_]) -> Any:
    """Add rho A^T A on the active gaps, which leaves the step on them as it is; else raise eigenvalues."""
    scale = float(np.abs(np.diag(H)).max())
    push = scale / max(float((A**2).sum(axis=1).max(initial=0.0)), TINY)
    for rho in (0.0, *(times * push for times in PUSHES)):
        try:
            return Augmented(H, A, rho, active) if len(A) and rho else Factor(H)
        except LinAlgError:
            continue
    return Shifted(H)


def true_multipliers(rows: Algebra, factor: Any, x: Array, move: Array, z: Array, ahead: Array, caps: Array) -> Array:
    """Return the multipliers of a step that takes constraints from z to ``ahead``, in the metric without additions."""
    if not isinstance(factor, Augmented):
        return x
    inside = np.where(rows.two_sided, np.abs(ahead), ahead) < caps - INSIDE * np.abs(z).max()
    return np.where((x == 0) & inside, 0.0, factor.corrected(x, move))


def is_optimum(problem: LinearProblem, rows: Algebra, x: Array, W: Array, G: Array, size: float) -> bool:
    """Tell whether weights W (K, d), where cells have gradients G, minimise a convex Lagrangian with multipliers x."""
    omega = rows.p + x @ rows.B
    lowest = -CONVEX * (rows.p + np.abs(x) @ np.abs(rows.B))
    return _is_convex(problem, omega, lowest) and _is_minimum(problem, omega, W, G, size)


def _is_convex(problem: LinearProblem, omega: Array, lowest: Array) -> bool:
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


def _is_minimum(problem: LinearProblem, omega: Array, W: Array, G: Array, size: float) -> bool:
    """Tell whether a convex omega.L has its minimum at W.

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
