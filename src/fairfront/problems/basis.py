"""Bases: columns that nearly depend on each other as others that do not, where no ridge decides between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..objectives import Array

ROWS = 4096
"""Rows that are looked at together, so that they are still in the cache."""
NULL, LITTLE, NEAR = 1e-13, 1e-10, 1e-4
"""What is left of a column without the others, as a share of it: nothing but rounding, too little for its digits to be
made into a column, and what a Hessian, which has its square, still knows well."""
MOST = 1000
"""Most columns that are made orthogonal."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns U = A ``forth`` with A = U ``back``, (c, c); the last of U are 0 where columns of A depend on others."""

    forth: Array
    back: Array


def basis_of(blocks: Any, columns: int) -> Basis | None:
    """Return what makes columns orthogonal that nearly depend on each other, None where none do or all but do.

    ``blocks`` are runs of rows. A pivoted QR decomposition knows the columns themselves, not their squares.
    """
    n, R = 0, np.zeros((0, columns))
    for rows in blocks:
        n, R = n + len(rows), qr(np.vstack([R, rows]), mode="r", check_finite=False)[0][:columns]
    R, order = qr(R, mode="r", pivoting=True, check_finite=False)
    left = np.abs(np.diag(R)) / max(float(np.abs(R[0, 0])), 1e-300)
    rank = int((left > NULL).sum())
    if rank == 0 or not LITTLE < left[rank - 1] < NEAR:
        return None
    forth, back = np.zeros((2, columns, columns))
    forth[order[:rank], :rank] = np.sqrt(n) * solve_triangular(R[:rank, :rank], np.eye(rank))
    back[:rank, order] = R[:rank] / np.sqrt(n)
    return Basis(forth, back)
