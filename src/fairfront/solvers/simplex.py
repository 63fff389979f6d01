"""The inner problem: the point of smallest norm in the convex hull of the objectives' gradients.

    min over alpha in the simplex of |sum_i alpha_i g_i|^2        (paper, equation (6), inner level)

Gradients enter as rows J (R, m, r) in any orthonormal coordinates, or as inner products M = J J^T (R, m, m).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from ..objectives import Array


def project(v: Array) -> Array:
    """Project the rows of v (R, m) on the simplex (sort and threshold)."""
    ordered = -np.sort(-v, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1.0
    size = np.arange(1, v.shape[1] + 1)
    keep = (ordered - excess / size > 0).sum(axis=1)
    threshold = excess[np.arange(len(v)), keep - 1] / keep
    return np.asarray(np.maximum(v - threshold[:, None], 0.0))


def projected_gradient(M: Array, alpha: Array, rho: float | None, steps: int) -> Array:
    """Take the paper's inner steps: alpha <- project(alpha - rho * 2 M alpha), ``steps`` times (Algorithm 1).

    ``rho`` None means 1 / L with L = 2 times the largest eigenvalue of M, the largest step that is safe.
    """
    if rho is None:
        top = np.linalg.eigvalsh(M)[:, -1]
        rate = 0.5 / np.maximum(top, 1e-300)
    else:
        rate = np.full(len(M), rho)
    for _ in range(steps):
        gradient = 2.0 * np.einsum("rij,rj->ri", M, alpha)
        alpha = project(alpha - rate[:, None] * gradient)
    return alpha


def factor(Q: Array) -> Array:
    """Return F (R, k, k) with Q = F F^T, for a positive semi-definite Q that may be singular.

    Q is scaled to a unit diagonal first, so that small cells keep their digits. Eigenvalues that are rounding are
    set to 0: their roots, 1e-8, would look like directions in which gaps can be moved.
    """
    scale = np.sqrt(np.maximum(np.einsum("rii->ri", Q), 0.0))
    safe = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(Q / (safe[:, :, None] * safe[:, None, :]))
    real = values > 1e-13 * np.maximum(values[:, -1:], 0.0)
    return np.asarray(safe[:, :, None] * vectors * np.sqrt(np.where(real, values, 0.0))[:, None, :])


def min_norm(J: Array) -> Array:
    """Return the exact weights alpha (R, m) of the smallest vector in the hull of the rows of J (R, m, r).

    Two objectives have a closed form; more go through `scipy.optimize.nnls` on unit rows with an
    equilibration row. A row of length 0 takes all the weight: the direction is then 0.
    """
    if J.shape[1] == 1:
        return np.ones(J.shape[:2])
    return _min_norm_two(J) if J.shape[1] == 2 else np.stack([_min_norm_many(rows) for rows in J])


def _min_norm_two(J: Array) -> Array:
    apart = J[:, 0] - J[:, 1]
    length = np.einsum("rd,rd->r", apart, apart)[:, None]
    toward = np.einsum("rd,rid->ri", apart, J[:, ::-1] * [[-1.0], [1.0]])  # both, so that a small weight has digits
    share = np.divide(toward, length, out=np.full(J.shape[:2], 0.5), where=length > 0)
    return np.asarray(np.clip(share, 0.0, 1.0))


def _min_norm_many(rows: Array) -> Array:
    norms = np.linalg.norm(rows, axis=1)
    if norms.min() <= 1e-300:
        return np.asarray((norms <= 1e-300) / float((norms <= 1e-300).sum()))
    unit = rows / norms[:, None]
    system = np.vstack([unit.T, norms.min() / norms])
    target = np.zeros(len(system))
    target[-1] = 1.0
    found, _ = nnls(system, target)
    alpha = found / norms
    total = alpha.sum()
    return np.asarray(alpha / total) if total > 0 else np.full(len(rows), 1.0 / len(rows))


def certificate(M: Array, alpha: Array) -> Array:
    """Return |d|^2 - min_i <d, g_i>, (R,): at most 0 up to rounding when alpha is optimal (Lemma 1)."""
    products = np.einsum("rij,rj->ri", M, alpha)
    return np.asarray(np.einsum("ri,ri->r", alpha, products) - products.min(axis=1))
