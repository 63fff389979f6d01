"""Factors of Hessians that may be singular, indefinite, or too large to form.

A Newton step on a capped problem needs ``H^-1 V`` for the cell gradients V. What stands in the way:

- *singular*: collinear one-hot columns and free intercepts. The Hessian is scaled to a unit
  diagonal and gets jitter of the size of rounding.
- *indefinite*: a cell with a negative weight in the Lagrangian. The gradients A of the active gaps
  add ``rho A^T A``. On the null space of A, where the step is free, this changes nothing; the
  multipliers that come with it are put right by `Factor.corrected`.
- *large*: more than `DENSE_LIMIT` weights. Only products with H are taken (`ConjugateGradients`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..objectives import Array

Mask = NDArray[np.bool_]

DENSE_LIMIT = 3000  # most weights of a model for which a Hessian is formed
# Jitter of a unit diagonal, rounding first. A Hessian that needs more is not singular but indefinite.
JITTERS = (1e-13, 1e-11, 1e-9)
# Multiples of the Hessian's size that rho is tried at, in turn: a large one costs digits.
PUSHES = (1.0, 1e2, 1e4)
EIGENVALUE_FLOOR = 1e-8  # smallest eigenvalue of a repaired Hessian, as a share of its largest
LARGEST_EIGENVALUE = 1e-12  # what the largest one counts for at least: a Hessian may be 0
DIVISOR_FLOOR = 1e-300  # stands for 0 where it would be divided by


class Solvable(Protocol):
    """What a step needs of a Hessian."""

    @property
    def definite(self) -> bool:
        """Tell whether the Hessian was positive definite as it was."""

    def solve(self, V: Array) -> Array:
        """Return H^-1 applied to the rows of V (r, size)."""

    def corrected(self, x: Array, move: Array) -> Array:
        """Return the multipliers that belong to H itself, from those of a step in this metric."""


@dataclass(frozen=True, eq=False)
class Factor:
    """A Cholesky factor of H + rho A^T A, with columns scaled to a unit diagonal.

    hessian (size, size)      H itself
    gradients (a, size)       A, the gradients of the gaps that were active
    active (q,)               which gaps those are
    """

    hessian: Array
    definite: bool
    cholesky: Any
    scale: Array
    gradients: Array
    active: Mask
    rho: float = 0.0

    def solve(self, V: Array) -> Array:
        solved = cho_solve(self.cholesky, (V * self.scale).T, check_finite=False).T
        return np.asarray(solved * self.scale)

    def corrected(self, x: Array, move: Array) -> Array:
        """Take rho A move off; a gap that the step leaves inside its cap keeps a multiplier of 0."""
        if self.rho == 0.0:
            return x
        added = np.zeros_like(x)
        added[self.active] = self.rho * (self.gradients @ move)
        return np.where(x != 0.0, x - added, 0.0)


def factorise(H: Array, gap_gradients: Array, active: Mask) -> Factor:
    """Factorise a Hessian, made positive definite where it is not.

    Parameters
    ----------
    H : array of shape (size, size)
    gap_gradients : array of shape (q, size)
    active : mask of shape (q,), the gaps that are at their caps
    """
    A = gap_gradients[active]
    try:
        return Factor(H, True, *_cholesky(H), A, active)
    except LinAlgError:
        pass
    longest = max(float((A**2).sum(axis=1).max(initial=0.0)), DIVISOR_FLOOR)
    unit = float(np.abs(np.diag(H)).max()) / longest
    for rho in (push * unit for push in PUSHES if len(A)):
        try:
            return Factor(H, False, *_cholesky(H + rho * A.T @ A), A, active, rho)
        except LinAlgError:
            continue
    return Factor(H, False, *_cholesky(_with_positive_eigenvalues(H)), A, active)


def _cholesky(H: Array) -> tuple[Any, Array]:
    """Return the Cholesky factor of H scaled to a unit diagonal, and the scale of its columns."""
    diagonal = np.diag(H)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = H * scale[:, None] * scale
    for jitter in JITTERS:
        try:
            return cho_factor(scaled + jitter * np.eye(len(H)), check_finite=False), scale
        except LinAlgError:
            continue
    raise LinAlgError("the Hessian is indefinite")


def _with_positive_eigenvalues(H: Array) -> Array:
    """Return H with its eigenvalues in size, none of them near 0."""
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    size = np.abs(values)
    floor = EIGENVALUE_FLOOR * max(float(size.max()), LARGEST_EIGENVALUE)
    return np.asarray((vectors * np.maximum(size, floor)) @ vectors.T)


@dataclass(frozen=True, eq=False)
class ConjugateGradients:
    """Solves with a Hessian that is known by its products only.

    product               maps rows v (r, size) to rows H v
    diagonal (size,)      of H: the columns are scaled by it (Jacobi)
    """

    product: Callable[[Array], Array]
    diagonal: Array
    definite: bool = True

    rtol = 1e-9  # residual that is left, in the preconditioned norm
    max_products = 500

    def solve(self, V: Array) -> Array:
        """Iterate on all right-hand sides together, so that they share each pass over the data."""
        inverse_diagonal = 1.0 / np.where(self.diagonal > 0.0, self.diagonal, 1.0)
        solution, residual = np.zeros_like(V), V.copy()
        scaled = residual * inverse_diagonal
        direction = scaled.copy()
        size = (residual * scaled).sum(axis=1)
        goal = self.rtol**2 * np.maximum(size, DIVISOR_FLOOR)
        for _ in range(self.max_products):
            if (size <= goal).all():
                break
            product = self.product(direction)
            curvature = (direction * product).sum(axis=1)
            length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0.0)
            solution += length[:, None] * direction
            residual -= length[:, None] * product
            scaled = residual * inverse_diagonal
            new_size = (residual * scaled).sum(axis=1)
            growth = np.divide(new_size, size, out=np.zeros_like(size), where=size > 0.0)
            direction = scaled + growth[:, None] * direction
            size = new_size
        return solution

    def corrected(self, x: Array, move: Array) -> Array:
        return x


# Singular values of the gaps' gradients, as a share of the largest, below which one depends on others.
DEPENDENT = 1e-9
FLAT = 1e-11  # curvature of columns at unit scale that is rounding: no row moves along such directions
CONCAVE = -1e-9  # curvature along the caps that is negative, not rounding: no minimum there


@dataclass(frozen=True, eq=False)
class BorderedInverse:
    """Blocks of the inverse of [[H, A^T], [A, 0]], where A (q, size) are the active gaps' gradients.

        [ P   Q ]      P = root root^T     (size, size), root (size, r)
        [ Q^T R ]      Q (size, q), R (q, q)

    H has to be positive on the null space of A only, and is inverted there. Directions in which it
    is flat or concave are left out of P; ``concave`` says that there were concave ones.
    """

    root: Array
    Q: Array
    R: Array
    concave: bool

    @classmethod
    def of(cls, H: Array, A: Array) -> BorderedInverse:
        diagonal = np.abs(np.diag(H))
        unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        scaled = H * unit[:, None] * unit
        left, sizes, right = np.linalg.svd(A * unit)
        rank = int((sizes > DEPENDENT * sizes.max(initial=0.0)).sum())
        null_space = right[rank:].T
        values, vectors = np.linalg.eigh(null_space.T @ scaled @ null_space)
        curved = values > FLAT
        root = null_space @ (vectors[:, curved] / np.sqrt(values[curved]))
        pseudo_inverse = (right[:rank].T / sizes[:rank]) @ left[:, :rank].T
        Q = pseudo_inverse - root @ (root.T @ (scaled @ pseudo_inverse))
        concave = bool(values.min(initial=0.0) < CONCAVE)
        return cls(root * unit[:, None], Q * unit[:, None], -Q.T @ scaled @ Q, concave)
