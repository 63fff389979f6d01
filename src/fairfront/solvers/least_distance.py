"""Least distance programming: the shortest vector that meets linear constraints.

    min |y|^2 / 2   subject to   rows y >= bounds                                        (1)

is one non-negative least-squares problem (Lawson and Hanson 1995, chapter 23): with u >= 0 that
brings  rows^T u  nearest to 0 and  bounds u  nearest to 1, and r what is missing then,

    y = -r[:-1] / r[-1],   multipliers  u / |r|^2,   no y exists where r = 0.            (2)

It is exact, and does not mind rows that depend on each other, as the gaps of three groups do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from ..objectives import Array
from .base import TINY, TOLERANCES

NNLS_STEPS = 50
"""Most steps of non-negative least squares per column; SciPy's default of 3 is too few for ties."""
LASSO_RIDGE = 1e-7
"""Added to the lasso's matrix, as a share of its mean diagonal: splitting signs makes it singular."""


@dataclass(frozen=True, eq=False)
class LeastDistance:
    """The shortest y (r,) of (1) and its multipliers (c,); ``slack`` is 0 where there is none."""

    y: Array
    multipliers: Array
    slack: float


def shortest_vector(rows: Array, bounds: Array) -> LeastDistance:
    """Solve (1) for rows (c, r) of unit length."""
    scale = float(bounds.max())
    if scale <= 0.0:
        return LeastDistance(np.zeros(rows.shape[1]), np.zeros(len(rows)), 1.0)
    u, missing = nearest_to_last_unit(np.vstack([rows.T, bounds / scale]))
    slack = float(missing @ missing)
    y = -scale * missing[:-1] / max(slack, TINY)  # (2)
    # Multipliers grow without bound as the constraints come to contradict each other.
    solvable = slack >= TOLERANCES.contradiction
    multipliers = scale * u / slack if solvable else np.zeros(len(rows))
    return LeastDistance(y, multipliers, slack)


def nearest_to_last_unit(columns: Array) -> tuple[Array, Array]:
    """Return u >= 0 with columns u nearest to the last unit vector, and what is missing to it."""
    target = np.zeros(len(columns))
    target[-1] = 1.0
    u, _ = nnls(columns, target, maxiter=NNLS_STEPS * columns.shape[1])
    return u, target - columns @ u


def least_distance(C: Array, r: Array, caps: Array, two_sided: NDArray[np.bool_]) -> Array | None:
    """Return x with y = -C^T x the shortest vector such that |r + C y| <= caps; None if none is.

    C (q, r) are gradients, r (q,) the gaps before the move; without the absolute value where only
    one side counts.
    """
    norms = np.linalg.norm(C, axis=1)
    safe = np.where(norms > 0.0, norms, 1.0)
    unit = C / safe[:, None]
    rows = np.vstack([-unit, unit[two_sided]])
    bounds = np.concatenate([(r - caps) / safe, ((-r - caps) / safe)[two_sided]])
    found = shortest_vector(rows, bounds)
    missed = (bounds - rows @ found.y).max()
    if found.slack < TOLERANCES.contradiction or missed > TOLERANCES.violation * bounds.max():
        return None
    x = found.multipliers[: len(r)].copy()
    x[two_sided] -= found.multipliers[len(r) :]
    return np.asarray(x / safe)


def lasso(M: Array, r: Array, level: float, two_sided: NDArray[np.bool_], B: Array, room: Array) -> Array:
    """Minimise x M x / 2 - r x + level |x|_1 subject to B^T x >= -room; x >= 0 if one side counts.

    Signs are split, x = split u with u >= 0; with M = R^T R on the split variables, the rest is
    least distance programming in R u - R^-T c.
    """
    q = len(r)
    split = np.hstack([np.eye(q), -np.eye(q)[:, two_sided]])
    matrix = split.T @ M @ split
    ridge = LASSO_RIDGE * max(float(np.trace(M)) / q, TINY)
    R = np.linalg.cholesky(matrix + ridge * np.eye(len(matrix))).T
    linear = split.T @ r - level
    used = np.abs(B).max(axis=0) > 0.0
    constraints = np.vstack([np.eye(len(matrix)), B[:, used].T @ split])
    limits = np.concatenate([np.zeros(len(matrix)), -room[used]])
    rows = np.linalg.solve(R.T, constraints.T).T
    shift = np.linalg.solve(R.T, linear)
    norms = np.maximum(np.linalg.norm(rows, axis=1), TINY)
    nearest = shortest_vector(rows / norms[:, None], (limits - rows @ shift) / norms)
    return np.asarray(split @ np.maximum(np.linalg.solve(R, nearest.y + shift), 0.0))
