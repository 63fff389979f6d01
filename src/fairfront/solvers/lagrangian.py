"""The Lagrangian at a point: its Hessian in a form to solve with, the iterate it belongs to, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from ..objectives import Algebra, Array
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.base import DENSE_LIMIT
from ..problems.hessian import Factor, Shifted
from ..storage.checkpoints import Entry

NEAR = 1e-7
"""How far above its smallest value a Lagrangian may be, as a share of the plain loss."""
STILL = 1e-3
"""How far a Newton step may move the score of a row. Where labels can be separated no optimum exists, and every step
moves scores by about 1; at an optimum they stay."""
FLAT, NOTHING = 1e-11, 1e-13
"""Curvature (of columns at unit scale) that is not known for rounding, and the score of a row that is nothing."""


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


@dataclass(frozen=True)
class Curved:
    """The factor of a Hessian, the weights and multipliers it was taken at, and in which precision.

    ``factor`` is None where only the place is known, as after a checkpoint was read.
    """

    factor: Any
    W: Array
    multipliers: Array
    half: bool

    def solve(self, V: Array) -> Array:
        """Return H^-1 applied to the rows of V."""
        return np.asarray(self.factor.solve(V))


def convexified(H: Array, A: Array, active: NDArray[np.bool_]) -> Any:
    """Add rho A^T A on the active gaps, which leaves the step on them as it is; else raise eigenvalues."""
    scale = float(np.abs(np.diag(H)).max())
    push = scale / max(float((A**2).sum(axis=1).max(initial=0.0)), 1e-300)
    for rho in (0.0, push, 1e2 * push, 1e4 * push):
        try:
            return Augmented(H, A, rho, active) if len(A) and rho else Factor(H)
        except LinAlgError:
            continue
    return Shifted(H)


def true_multipliers(rows: Algebra, factor: Any, x: Array, move: Array, z: Array, ahead: Array, caps: Array) -> Array:
    """Return the multipliers of a step that takes constraints from z to ``ahead``, in the metric without additions."""
    if not isinstance(factor, Augmented):
        return x
    inside = np.where(rows.two_sided, np.abs(ahead), ahead) < caps - 1e-9 * np.abs(z).max()
    return np.where((x == 0) & inside, 0.0, factor.corrected(x, move))


@dataclass(frozen=True)
class Iterate:
    """A point with its cells, gradients, multipliers and the factor of the last Hessian.

    kkt         largest of stationarity (columns at unit scale), violation, complementarity and wrong signs
    violation   how far the worst gap is above its cap
    level       pi_1 loss of a preference, NaN with fixed caps
    """

    W: Array
    L: Array
    G: Array
    multipliers: Array
    factor: Curved | None = None
    kkt: float = np.inf
    violation: float = np.inf
    level: float = np.nan
    n_iter: int = 0


NUMBERS = ("kkt", "violation", "level", "n_iter")


def stored(at: Iterate) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return weights, multipliers and where the Hessian was taken, and the iterate's numbers."""
    arrays = {"W": at.W, "multipliers": at.multipliers}
    numbers = {name: getattr(at, name) for name in NUMBERS}
    if at.factor is not None:
        arrays |= {"curved_W": at.factor.W, "curved_multipliers": at.factor.multipliers}
        numbers["curved_half"] = at.factor.half
    return arrays, numbers


def restored(there: Iterate, entry: Entry) -> Iterate:
    """Return the iterate of an entry, evaluated at its weights; its Hessian is taken again when it is needed."""
    arrays, numbers = entry.arrays, entry.numbers
    factor = None
    if "curved_W" in arrays:
        factor = Curved(None, arrays["curved_W"], arrays["curved_multipliers"], bool(numbers["curved_half"]))
    return replace(there, factor=factor, **{name: numbers[name] for name in NUMBERS})


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
