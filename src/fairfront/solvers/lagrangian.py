"""The Lagrangian's Hessian in a form to solve with, and where it was taken, so that it can be taken again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from ..objectives import Array
from ..problems.curvature import Factor, Shifted


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
