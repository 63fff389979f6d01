"""Least distance programming: the smallest vector that meets linear constraints (Lawson and Hanson, chapter 23)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from ..objectives import Array
from .base import TINY

CONTRADICTION = 1e-12  # squared distance below which constraints contradict each other (Lawson and Hanson, chapter 23)
MET = 1e-6  # how far a least distance may miss a constraint, as a share of the largest


def least_distance(C: Array, r: Array, caps: Array, two_sided: NDArray[np.bool_]) -> Array | None:
    """Return x with y = -C^T x the smallest vector such that |r + C y| <= caps; None if there is none.

    Lawson and Hanson's least distance programming: one non-negative least-squares problem, exact, and
    indifferent to contrasts that depend on each other (pairs of three groups or more do).
    """
    norms = np.linalg.norm(C, axis=1)
    safe = np.where(norms > 0, norms, 1.0)
    rows = np.vstack([-C / safe[:, None], (C / safe[:, None])[two_sided]])
    h = np.concatenate([(r - caps) / safe, ((-r - caps) / safe)[two_sided]])
    y, scaled, slack = smallest(rows, h)
    if slack < CONTRADICTION or (h - rows @ y).max() > MET * h.max():
        return None
    multipliers = scaled / slack
    x = multipliers[: len(r)].copy()
    x[two_sided] -= multipliers[len(r) :]
    return np.asarray(x / safe)


def smallest(G: Array, h: Array) -> tuple[Array, Array, float]:
    """Return the smallest y with G y >= h for unit rows G, its multipliers times slack, and the slack: 0 if none is."""
    scale = float(h.max())
    if scale <= 0.0:
        return np.zeros(G.shape[1]), np.zeros(len(G)), 1.0
    u, missed = last_unit_vector(np.vstack([G.T, h / scale]))
    slack = float(missed @ missed)
    return -scale * missed[:-1] / max(slack, TINY), scale * u, slack


def last_unit_vector(columns: Array) -> tuple[Array, Array]:
    """Return u >= 0 with which the columns come nearest to the last unit vector, and what is missing then."""
    target = np.zeros(len(columns))
    target[-1] = 1.0
    u, _ = nnls(columns, target, maxiter=50 * columns.shape[1])
    return u, target - columns @ u
