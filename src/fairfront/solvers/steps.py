"""Steps along the frontier in cell coordinates: down the loss, and along to where the gaps should be.

The step is the solution d of

    min  eta p.G d + |d|^2 / 2    subject to   |z + B G d| <= caps      (one side only where so declared)

whose answer is beta = eta p + B^T x with signed multipliers x: the loss gradient with its components along the
gap gradients adjusted so that the gaps end inside their caps. All it needs is Q = G G^T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from ..objectives import Algebra, Array
from ..problems import Point
from .simplex import factor


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
    if len(B) == 1:
        slope2 = np.einsum("k,rkl,l->r", B[0], Q, B[0])
        rounding = 1e-14 * np.einsum("k,rkl,l->r", np.abs(B[0]), np.abs(Q), np.abs(B[0]))
        x = _one_gap(np.where(slope2 > rounding, slope2, 0.0)[:, None], r, caps, algebra.two_sided)
    else:
        x = np.zeros_like(r)
        outside = (np.where(algebra.two_sided, np.abs(r), r) > caps).any(axis=1)
        for run in np.flatnonzero(outside):
            F = factor(Q[run : run + 1])[0]
            C = B @ F
            C[np.linalg.norm(C, axis=1) <= 1e-9 * np.abs(B) @ np.linalg.norm(F, axis=1)] = 0.0  # rounding
            x[run] = _relaxed(C, r[run], z[run], caps[run], algebra.two_sided)
    beta = eta[:, None] * p + x @ B
    moved = np.einsum("rkl,rl->rk", Q, beta)
    return Step(beta, x, -moved @ p, np.einsum("rk,rk->r", beta, moved))


def _one_gap(M: Array, r: Array, caps: Array, two_sided: NDArray[np.bool_]) -> Array:
    """Soft-threshold: x = (|r| - cap)+ sign(r) / M, and 0 where the gap has no gradient."""
    over = np.maximum(np.where(two_sided, np.abs(r), r) - caps, 0.0)
    x = np.divide(over, M, out=np.zeros_like(r), where=M > 0.0)
    return np.asarray(np.where(two_sided, np.sign(r), 1.0) * x)


def _relaxed(C: Array, r: Array, z: Array, caps: Array, two_sided: NDArray[np.bool_]) -> Array:
    """Solve with the caps; where the linearised caps contradict each other, with caps nearer to the present gaps."""
    size = np.where(two_sided, np.abs(z), z)
    for share in (0.0, 0.5, 0.9, 1.0):
        x = least_distance(C, r, caps + share * np.maximum(size - caps, 0.0), two_sided)
        if x is not None:
            return x
    return np.asarray(np.linalg.pinv(C @ C.T, rcond=1e-12, hermitian=True) @ (r - z))  # gaps stay as they are


def least_distance(C: Array, r: Array, caps: Array, two_sided: NDArray[np.bool_]) -> Array | None:
    """Return x with y = -C^T x the smallest vector such that |r + C y| <= caps; None if there is none.

    Lawson and Hanson's least distance programming: one non-negative least-squares problem, exact, and
    indifferent to contrasts that depend on each other (pairs of three groups or more do).
    """
    norms = np.linalg.norm(C, axis=1)
    safe = np.where(norms > 0, norms, 1.0)
    rows = np.vstack([-C / safe[:, None], (C / safe[:, None])[two_sided]])
    h = np.concatenate([(r - caps) / safe, ((-r - caps) / safe)[two_sided]])
    scale = h.max()
    if scale <= 0:
        return np.zeros_like(r)
    system = np.vstack([rows.T, h / scale])
    target = np.zeros(len(system))
    target[-1] = 1.0
    u, _ = nnls(system, target, maxiter=50 * system.shape[1])
    missed = target - system @ u
    slack = float(missed @ missed)
    y = -scale * missed[:-1] / max(slack, 1e-300)
    if slack < 1e-12 or (h - rows @ y).max() > 1e-6 * scale:
        return None
    multipliers = scale * u / slack
    x = multipliers[: len(r)].copy()
    x[two_sided] -= multipliers[len(r) :]
    return np.asarray(x / safe)
