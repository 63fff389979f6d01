"""Curvature: Hessians made solvable, whatever the scale of the columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..objectives import Array


class Factor:
    """Cholesky factor of a Hessian whose columns were scaled to a unit diagonal.

    A singular Hessian (collinear one-hot columns, free intercepts) gets jitter; an indefinite one raises
    LinAlgError, because jitter would hide it.
    """

    def __init__(self, H: Array) -> None:
        diagonal = np.diag(H)
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        scaled = H * self.scale[:, None] * self.scale
        for jitter in (1e-13, 1e-11, 1e-9):
            try:
                self.factor = cho_factor(scaled + jitter * np.eye(len(H)), check_finite=False)
                return
            except LinAlgError:
                continue
        raise LinAlgError("the Hessian is indefinite")

    def solve(self, V: Array) -> Array:
        """Return H^-1 applied to the rows of V (r, size)."""
        found = cho_solve(self.factor, (V * self.scale).T, check_finite=False).T
        return np.asarray(found * self.scale)


class Shifted(Factor):
    """Factor of a Hessian that was made positive definite by raising its negative eigenvalues."""

    def __init__(self, H: Array) -> None:
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        floor = 1e-8 * max(float(np.abs(values).max()), 1e-12)
        self.inverse = (vectors / np.maximum(np.abs(values), floor)) @ vectors.T

    def solve(self, V: Array) -> Array:
        """Return the inverse applied to the rows of V."""
        return np.asarray(V @ self.inverse)


class Conjugate:
    """Solves with a Hessian that is known by its products only, by conjugate gradients on all rows at once.

    ``product`` maps rows (r, size) to rows H v; ``diagonal`` scales the columns (Jacobi).
    """

    def __init__(
        self, product: Callable[[Array], Array], diagonal: Array, tol: float = 1e-9, max_iter: int = 500
    ) -> None:
        self.product, self.tol, self.max_iter = product, tol, max_iter
        self.inverse_diagonal = 1.0 / np.where(diagonal > 0, diagonal, 1.0)

    def solve(self, V: Array) -> Array:
        """Return H^-1 applied to the rows of V; rows stop improving together."""
        x, r = np.zeros_like(V), V.copy()
        z = r * self.inverse_diagonal
        d, rz = z.copy(), (r * z).sum(axis=1)
        goal = self.tol**2 * np.maximum(rz, 1e-300)
        for _ in range(self.max_iter):
            if (rz <= goal).all():
                break
            Hd = self.product(d)
            bend = (d * Hd).sum(axis=1)
            length = np.where(bend > 0, rz / np.where(bend > 0, bend, 1.0), 0.0)
            x += length[:, None] * d
            r -= length[:, None] * Hd
            z = r * self.inverse_diagonal
            new = (r * z).sum(axis=1)
            d = z + np.where(rz > 0, new / np.where(rz > 0, rz, 1.0), 0.0)[:, None] * d
            rz = new
        return x
