"""Small programs in cell coordinates: the common descent direction, the capped step, the imbalance, a dual's lasso.

The inner problem of the paper (equation (6), inner level) is the point of smallest norm in the convex hull of the
objectives' gradients,

    min over alpha in the simplex of |sum_i alpha_i g_i|^2

with gradients as rows J (R, m, r) in any orthonormal coordinates, or as inner products M = J J^T (R, m, m).
The capped step goes down the loss and along to where the gaps should be. It is the solution d of

    min  eta p.G d + |d|^2 / 2    subject to   |z + B G d| <= caps      (one side only where so declared)

whose answer is beta = eta p + B^T x with signed multipliers x: the loss gradient with its components along the
gap gradients adjusted so that the gaps end inside their caps. All it needs is Q = G G^T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from ..objectives import Algebra, Array
from ..problems import Point
from .base import TINY
from .least_distance import last_unit_vector, least_distance, smallest

Balance = Literal["softmax", "ratio"]
LOST = 1e-13
"""Eigenvalues of a matrix with unit diagonal that are rounding: their roots would look like directions to move in."""
NEARER = (0.0, 0.5, 0.9, 1.0)
"""Shares of the way from the caps to the present gaps, tried in turn where linearised caps contradict each other."""
DEPENDENT, DEPENDENT_GAPS = 1e-10, 1e-12
"""Shares of the largest eigenvalue below which held gaps, and gaps that stay where they are, depend on each other."""
UNFELT, UNFELT_GAP = 1e-14, 1e-9
"""Gradients shorter than these shares are rounding: of the longest, and of the terms that a gap is the difference of,
whose squares are known to the first."""
RIDGE = 1e-7  # added to the lasso's matrix, as a share of its mean diagonal: splitting signs makes it singular


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
    rate = 0.5 / np.maximum(np.linalg.eigvalsh(M)[:, -1], TINY) if rho is None else np.full(len(M), rho)
    for _ in range(steps):
        gradient = 2.0 * np.einsum("rij,rj->ri", M, alpha)
        alpha = project(alpha - rate[:, None] * gradient)
    return alpha


def factor(Q: Array) -> Array:
    """Return F (R, k, rank) with Q = F F^T, for a positive semi-definite Q that may be singular.

    Q is scaled to a unit diagonal first, so that small cells keep their digits. The rank, at least 1 and the largest of
    all runs, is not above the number of weights, however many cells there are.
    """
    scale = np.sqrt(np.maximum(np.einsum("rii->ri", Q), 0.0))
    safe = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(Q / (safe[:, :, None] * safe[:, None, :]))
    real = values > LOST * np.maximum(values[:, -1:], 0.0)
    used = slice(min(int((~real).all(axis=0).sum()), Q.shape[1] - 1), None)  # eigenvalues ascend
    root = np.sqrt(np.where(real, values, 0.0))[:, None, used]
    return np.asarray(safe[:, :, None] * vectors[:, :, used] * root)


def min_norm(J: Array) -> Array:
    """Return the exact weights alpha (R, m) of the smallest vector in the hull of the rows of J (R, m, r).

    Two objectives have a closed form; more go through `scipy.optimize.nnls` on unit rows with an
    equilibration row. A row of length 0 takes all the weight: the direction is then 0.
    """
    if J.shape[1] == 1:
        return np.ones(J.shape[:2])
    if J.shape[1] > 2:
        return np.stack([_min_norm_many(rows) for rows in J])
    apart = J[:, 0] - J[:, 1]
    length = np.einsum("rd,rd->r", apart, apart)[:, None]
    toward = np.einsum("rd,rid->ri", apart, J[:, ::-1] * [[-1.0], [1.0]])  # both, so that a small weight has digits
    share = np.divide(toward, length, out=np.full(J.shape[:2], 0.5), where=length > 0)
    return np.asarray(np.clip(share, 0.0, 1.0))


def _min_norm_many(rows: Array) -> Array:
    norms = np.linalg.norm(rows, axis=1)
    if norms.min() <= TINY:
        return np.asarray((norms <= TINY) / float((norms <= TINY).sum()))
    found, _ = last_unit_vector(np.vstack([(rows / norms[:, None]).T, norms.min() / norms]))
    alpha = found / norms
    total = alpha.sum()
    return np.asarray(alpha / total) if total > 0 else np.full(len(rows), 1.0 / len(rows))


def steepest(J: Array) -> Array:
    """Return the smallest vector (r,) in the hull of unit rows of J (m, r): 0 where no direction lowers them all."""
    norms = np.linalg.norm(J, axis=1)
    unit = J / np.where(norms > 0.0, norms, 1.0)[:, None]
    return np.asarray(min_norm(unit[None])[0] @ unit)


def length(beta: Array, Q: Array) -> Array:
    """Of directions given in cell coordinates, (R,)."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("rk,rkl,rl->r", beta, Q, beta), 0.0)))


def imbalance(pi: Array, h: Array, balance: Balance) -> tuple[Array, Array]:
    """Return KL(sigma || uniform), (R,), and its derivatives lambda with respect to h, (R, m).

    ``softmax`` is the paper's: sigma = softmax(pi h), lambda as in Proposition 1.
    ``ratio`` differs from the paper: sigma = pi h / sum(pi h), which has the same zeros and is scale free.
    """
    y, m = pi * h, h.shape[1]
    if balance == "softmax":
        sigma = softmax(y, axis=1)
        outer = pi * sigma
    else:
        total = y.sum(axis=1, keepdims=True)
        total = np.where(total > 0, total, np.inf)  # all objectives 0: on the line
        sigma = y / total
        outer = pi / total
    logs = np.log(np.maximum(m * sigma, TINY))
    kl = (sigma * logs).sum(axis=1)
    return kl, outer * (logs - kl[:, None])


def common_direction(A: Array, B: Array, F: Array, z: Array, held: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the common descent direction and the way back to zero of held gaps, in cell coordinates.

    The direction is the smallest vector in the hull of unit gradients, each with its components along the
    gradients of held gaps taken out, times the length of the loss gradient that is left.
    """
    J = A @ F
    C = B[held] @ F
    free = np.concatenate([[True], ~held])
    rows, coordinates = J[free], A[free]
    back = np.zeros(A.shape[1])
    if held.any():
        inverse = np.linalg.pinv(C @ C.T, rcond=DEPENDENT, hermitian=True)
        taken_out = rows @ C.T @ inverse
        coordinates = coordinates - taken_out @ B[held]
        rows = rows - taken_out @ C
        back = (inverse @ z[held]) @ B[held]
    norms = np.linalg.norm(rows, axis=1)
    used = norms > UNFELT * max(float(np.linalg.norm(J, axis=1).max()), TINY)
    if not used.any() or (held.any() and not used[0]):
        return np.zeros(A.shape[1]), back
    alpha = min_norm((rows[used] / norms[used, None])[None])[0]
    length = norms[0] if used[0] else norms[used].max()
    return length * (alpha / norms[used]) @ coordinates[used], back


@dataclass(frozen=True)
class Step:
    """A batch of capped steps: what to move by, and what it should do.

    beta (R, k)      the move is w - D^T beta
    x (R, q)         signed multipliers of the gaps, times eta
    decrease (R,)    predicted change of the loss, negative when it falls
    length2 (R,)     squared length of the move in the metric
    """

    beta: Array
    x: Array
    decrease: Array
    length2: Array


def first_step(algebra: Algebra, point: Point) -> Array:
    """Return step sizes (R,) with which the steepest objective promises to fall by its whole size: scale free."""
    A = algebra.jacobian(point.L)
    slope2 = np.einsum("rik,rkl,ril->ri", A, point.Q, A).max(axis=1)
    size = np.abs(algebra.objectives(point.L)).max(axis=1)
    return np.asarray(np.divide(size, slope2, out=np.ones_like(size), where=(slope2 > 0) & (size > 0)))


def capped_step(algebra: Algebra, Q: Array, z: Array, caps: Array, eta: Array) -> Step:
    """Solve the step's small quadratic program for every run; closed form for a single gap."""
    p, B = algebra.p, algebra.B
    r = z - eta[:, None] * np.einsum("qk,rkl,l->rq", B, Q, p)
    if len(B) == 1:  # soft threshold: x = (|r| - cap)+ sign(r) / slope2, and 0 where the gap has no gradient
        slope2 = np.einsum("k,rkl,l->r", B[0], Q, B[0])[:, None]
        rounding = UNFELT * np.einsum("k,rkl,l->r", np.abs(B[0]), np.abs(Q), np.abs(B[0]))[:, None]
        over = np.maximum(np.where(algebra.two_sided, np.abs(r), r) - caps, 0.0)
        x = np.divide(over, slope2, out=np.zeros_like(r), where=slope2 > rounding)
        x = np.where(algebra.two_sided, np.sign(r), 1.0) * x
    else:
        x = np.zeros_like(r)
        outside = (np.where(algebra.two_sided, np.abs(r), r) > caps).any(axis=1)
        for run in np.flatnonzero(outside):
            F = factor(Q[run : run + 1])[0]
            C = B @ F
            C[np.linalg.norm(C, axis=1) <= UNFELT_GAP * np.abs(B) @ np.linalg.norm(F, axis=1)] = 0.0
            x[run] = _relaxed(C, r[run], z[run], caps[run], algebra.two_sided)
    beta = eta[:, None] * p + x @ B
    moved = np.einsum("rkl,rl->rk", Q, beta)
    return Step(beta, x, -moved @ p, np.einsum("rk,rk->r", beta, moved))


def _relaxed(C: Array, r: Array, z: Array, caps: Array, two_sided: NDArray[np.bool_]) -> Array:
    """Solve with the caps; where the linearised caps contradict each other, with caps nearer to the present gaps."""
    size = np.where(two_sided, np.abs(z), z)
    for share in NEARER:
        x = least_distance(C, r, caps + share * np.maximum(size - caps, 0.0), two_sided)
        if x is not None:
            return x
    if len(C) > C.shape[1]:  # gaps stay as they are
        inner = np.linalg.pinv(C.T @ C, rcond=DEPENDENT_GAPS, hermitian=True)
        return np.asarray(C @ (inner @ (inner @ (C.T @ (r - z)))))
    stay = np.linalg.pinv(C @ C.T, rcond=DEPENDENT_GAPS, hermitian=True)
    return np.asarray(stay @ (r - z))


def lasso(M: Array, r: Array, level: float, two_sided: NDArray[np.bool_], B: Array, room: Array) -> Array:
    """Minimise x M x / 2 - r x + level |x|_1 subject to B^T x >= -room, x >= 0 where only one side counts.

    Signs are split and the rest is least distance programming: one non-negative least-squares problem.
    """
    q = len(r)
    split = np.hstack([np.eye(q), -np.eye(q)[:, two_sided]])
    used = np.abs(B).max(axis=0) > 0.0
    P = split.T @ M @ split
    R = np.linalg.cholesky(P + RIDGE * max(float(np.trace(M)) / q, TINY) * np.eye(len(P))).T
    c = split.T @ r - level
    G = np.linalg.solve(R.T, np.vstack([np.eye(len(P)), B[:, used].T @ split]).T).T
    shift = np.linalg.solve(R.T, c)
    h = np.concatenate([np.zeros(len(P)), -room[used]]) - G @ shift
    norms = np.maximum(np.linalg.norm(G, axis=1), TINY)
    nearest, _, _ = smallest(G / norms[:, None], h / norms)
    return np.asarray(split @ np.maximum(np.linalg.solve(R, nearest + shift), 0.0))
