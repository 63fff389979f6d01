"""The inner level of the paper: weights alpha on the simplex with the shortest combined gradient.

    min over alpha >= 0, sum alpha = 1 of  Phi(alpha) = |sum_i alpha_i g_i|^2      (paper, eq. 6)

The minimum is the shortest vector d in the convex hull of the gradients. Its optimality condition
is Lemma 1 of the paper: d = 0, or

    <d, g_i> >= |d|^2 > 0  for all i,                                                   (1)

so that -d lowers every objective.

Gradients are rows J (R, m, r) in any orthonormal coordinates; from inner products Q of the cells
such coordinates come by `factor`.
"""

from __future__ import annotations

import numpy as np

from ..objectives import Array
from .base import TINY, TOLERANCES
from .least_distance import nearest_to_last_unit


def project(v: Array) -> Array:
    """Project the rows of v (R, m) on the simplex, by sorting (Held, Wolfe and Crowder 1974)."""
    descending = -np.sort(-v, axis=1)
    excess = np.cumsum(descending, axis=1) - 1.0
    counts = np.arange(1, v.shape[1] + 1)
    support = (descending > excess / counts).sum(axis=1)
    threshold = excess[np.arange(len(v)), support - 1] / support
    return np.asarray(np.maximum(v - threshold[:, None], 0.0))


def projected_gradient(gram: Array, alpha: Array, rho: float | None, steps: int) -> Array:
    """Take the paper's inner steps, alpha <- project(alpha - rho grad Phi(alpha)).

    gram (R, m, m) holds the inner products <g_i, g_j>. rho None is 1 / L with L twice the largest
    eigenvalue, the longest step that cannot oscillate (Lemma 2 allows up to 2 / L).
    """
    longest = 0.5 / np.maximum(np.linalg.eigvalsh(gram)[:, -1], TINY)
    step_size = longest if rho is None else np.full(len(gram), rho)
    for _ in range(steps):
        gradient = 2.0 * np.einsum("rij,rj->ri", gram, alpha)
        alpha = project(alpha - step_size[:, None] * gradient)
    return alpha


def min_norm(J: Array) -> Array:
    """Return the exact weights alpha (R, m) for gradients in the rows of J (R, m, r).

    alpha is not unique where gradients depend on each other; the combined gradient is. A row of
    length 0 takes all the weight: the direction is then 0.
    """
    if J.shape[1] == 1:
        return np.ones(J.shape[:2])
    if J.shape[1] == 2:
        return _min_norm_of_two(J)
    return np.stack([_min_norm_of_many(rows) for rows in J])


def _min_norm_of_two(J: Array) -> Array:
    """Return the weights of two gradients: the foot of the perpendicular on their segment."""
    difference = J[:, 0] - J[:, 1]
    length2 = np.einsum("rd,rd->r", difference, difference)[:, None]
    # Each weight has its own formula: 1 - alpha would lose the digits of a small one.
    first = -np.einsum("rd,rd->r", difference, J[:, 1])
    second = np.einsum("rd,rd->r", difference, J[:, 0])
    share = np.full(J.shape[:2], 0.5)
    np.divide(np.column_stack([first, second]), length2, out=share, where=length2 > 0.0)
    return np.asarray(np.clip(share, 0.0, 1.0))


def _min_norm_of_many(rows: Array) -> Array:
    """Return the weights (m,) of gradients in rows (m, r), by non-negative least squares."""
    norms = np.linalg.norm(rows, axis=1)
    is_zero = norms <= TINY
    if is_zero.any():
        return np.asarray(is_zero / is_zero.sum())
    # With u = alpha * norms on unit rows: minimise |sum u_i unit_i|^2 + (1 - sum u_i / norms_i)^2.
    # The second term only sets the scale of u. Dividing by the smallest norm keeps digits.
    unit = rows / norms[:, None]
    u, _ = nearest_to_last_unit(np.vstack([unit.T, norms.min() / norms]))
    alpha = u / norms
    total = alpha.sum()
    return np.asarray(alpha / total) if total > 0.0 else np.full(len(rows), 1.0 / len(rows))


def steepest(J: Array) -> Array:
    """Return the shortest vector (r,) in the hull of the unit rows of J (m, r); 0 if none descends."""
    norms = np.linalg.norm(J, axis=1)
    unit = J / np.where(norms > 0.0, norms, 1.0)[:, None]
    return np.asarray(min_norm(unit[None])[0] @ unit)


def factor(Q: Array) -> Array:
    """Return F (R, k, r) with Q = F F^T, for positive semi-definite Q that may be singular.

    The rows of A F are then the gradients of the objectives, with their lengths and angles. The
    rank r is the largest of all runs, and at least 1.
    """
    # Scaling to a unit diagonal keeps the digits of cells with short gradients.
    scale = np.sqrt(np.maximum(np.einsum("rii->ri", Q), 0.0))
    safe = np.where(scale > 0.0, scale, 1.0)
    eigenvalues, vectors = np.linalg.eigh(Q / (safe[:, :, None] * safe[:, None, :]))
    is_real = eigenvalues > TOLERANCES.rank * np.maximum(eigenvalues[:, -1:], 0.0)
    dropped = int((~is_real).all(axis=0).sum())  # eigenvalues ascend
    kept = slice(min(dropped, Q.shape[1] - 1), None)
    root = np.sqrt(np.where(is_real, eigenvalues, 0.0))[:, None, kept]
    return np.asarray(safe[:, :, None] * vectors[:, :, kept] * root)


def lengths(beta: Array, Q: Array) -> Array:
    """Return the lengths (R,) of directions in cell coordinates."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("rk,rkl,rl->r", beta, Q, beta), 0.0)))
