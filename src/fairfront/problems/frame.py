"""Frames: columns centred and scaled inside, so that what is found does not depend on the users' units.

A framed column is u = (x - shift) / scale. Models keep their scores: where w and b are the weights and the intercept in
the users' units, w' = scale w and b' = b + shift.w are those of framed columns. Scales are powers of two: exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import qr, solve_triangular

from ..exceptions import InputError
from ..objectives import Array
from ..validation import LARGEST, SMALLEST

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


CLOSE = 1e-10
"""Smallest spread of a column next to an intercept, as a share of its size: a score in the users' units is the
difference of numbers that are as much larger, and would lose its digits."""


@dataclass(frozen=True, eq=False)
class Moments:
    """What n rows say of every column, (d,): smallest and largest value, mean, and squared deviations from it.

    ``stored`` counts the rows of a column that are stored: all, but for sparse matrices.
    """

    n: int
    low: Array
    high: Array
    mean: Array
    squared: Array
    stored: Array

    def joined(self, other: Moments) -> Moments:
        n, apart = self.n + other.n, other.mean - self.mean
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        with np.errstate(over="ignore", invalid="ignore"):  # such columns are refused by their ends
            squared = self.squared + other.squared + apart**2 * (self.n * (other.n / n))
        return Moments(n, low, high, self.mean + apart * (other.n / n), squared, self.stored + other.stored)


def moments(X: Any, rows: NDArray[np.intp] | None = None) -> Moments:
    find = _sparse_moments if sparse.issparse(X) else _dense_moments
    n = X.shape[0] if rows is None else len(rows)
    with np.errstate(over="ignore", invalid="ignore"):  # such columns are refused
        found = find(X[:ROWS] if rows is None else X[rows[:ROWS]])
        for start in range(ROWS, n, ROWS):
            stop = start + ROWS
            found = found.joined(find(X[start:stop] if rows is None else X[rows[start:stop]]))
    return found


def _dense_moments(block: NDArray[Any]) -> Moments:
    part = np.asarray(block, dtype=np.float64)
    n, d = part.shape
    mean = part.mean(axis=0)
    away = part - mean
    return Moments(n, part.min(axis=0), part.max(axis=0), mean, np.einsum("ij,ij->j", away, away), np.full(d, float(n)))


def _sparse_moments(block: Any) -> Moments:
    part = canonical(block)
    n, d = part.shape
    stored = np.bincount(part.indices, minlength=d).astype(np.float64)
    mean = np.bincount(part.indices, part.data, minlength=d) / n
    away = np.bincount(part.indices, (part.data - mean[part.indices]) ** 2, minlength=d)
    low, high = (np.asarray(getattr(part, end)(axis=0).toarray(), dtype=np.float64).ravel() for end in ("min", "max"))
    return Moments(n, low, high, mean, away + (n - stored) * mean**2, stored)


def canonical(X: Any) -> Any:
    """Return a sparse matrix as CSR in which no entry is stored twice; a copy where some were."""
    rows = sparse.csr_array(X, dtype=np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


@dataclass(frozen=True, eq=False)
class Frame:
    """Shift and scale of every column, the intercept (0 and 1) included, (d,); ``factor`` is 1 / scale.

    ``size`` is the largest value of a column in the users' units, which says how well scores are known there.

    The factor of a constant column next to an intercept is 0: its weight is of no use, and stays what it is.
    """

    shift: Array
    scale: Array
    factor: Array
    intercept: bool
    size: Array
    basis: Basis | None = None

    @classmethod
    def plain(cls, columns: int, intercept: bool) -> Frame:
        one = np.ones(columns + intercept)
        return cls(0.0 * one, one, one, intercept, 0.0 * one)

    @classmethod
    def of(cls, seen: Moments, intercept: bool) -> Frame:
        """Return the frame of columns; only an intercept makes up for a shift.

        Shifts are whole multiples of the scale, 0 for columns that are near it. Sparse columns with rows that are
        not stored keep their place: those rows are 0, so that the spread is not far below the mean.
        """
        _check_sizes(seen, intercept)
        spread, constant = np.sqrt(seen.squared / seen.n), (seen.low == seen.high) & intercept
        spread = spread if intercept else np.hypot(spread, seen.mean)
        scale = np.ldexp(1.0, np.frexp(np.where(constant | (spread == 0.0), 1.0, spread))[1] - 1)
        shift = np.where(constant, seen.low, np.rint(seen.mean / scale) * scale)
        shift = np.where((seen.stored == seen.n) & intercept, shift, 0.0)
        factor = np.where(constant, 0.0, 1.0 / scale)
        end = [1.0] * intercept
        size = np.append(np.maximum(np.abs(seen.low), np.abs(seen.high)), end)
        none = [0.0] * intercept
        return cls(np.append(shift, none), np.append(scale, end), np.append(factor, end), intercept, size)

    def orthogonal(self, X: NDArray[Any]) -> Frame:
        """Return the frame in which no columns nearly depend on each other; for problems without a ridge only."""
        if X.shape[1] > MOST:
            return self
        blocks = (self._framed(X[start : start + ROWS]) for start in range(0, len(X), ROWS))
        return replace(self, basis=basis_of(blocks, X.shape[1]))

    def _framed(self, rows: NDArray[Any]) -> Array:
        found = np.array(rows, dtype=np.float64)
        self.put(found)
        return found

    @property
    def trivial(self) -> bool:
        return self.basis is None and not self.shift.any() and bool((self.factor == 1.0).all())

    @property
    def penalised(self) -> Array:
        """Return what the square of every framed weight counts in |w|^2, (d,); orthogonal ones are not penalised."""
        found = self.scale**-2.0 if self.basis is None else np.ones_like(self.scale)
        found[-1] *= not self.intercept
        return found

    def rounding(self, W: Array) -> Array:
        """Return how far the score of a row may be off that is computed from weights (..., d) in the users' units."""
        return np.asarray(np.finfo(float).eps * (np.abs(W) @ self.size))

    def squares(self, seen: Moments) -> Array:
        columns = len(seen.mean)
        total = (seen.squared + seen.n * (seen.mean - self.shift[:columns]) ** 2) * self.factor[:columns] ** 2
        return np.append(total, [float(seen.n)] * self.intercept)

    def put(self, rows: Array) -> None:
        """Frame rows (n, columns) in place; the intercept is not among them."""
        columns = rows.shape[1]
        if self.shift.any():
            rows -= self.shift[:columns]
        rows *= self.factor[:columns]
        if self.basis is not None:
            rows[:] = rows @ self.basis.forth

    def inward(self, W: Array) -> Array:
        """To the framed columns, (..., d)."""
        found = W * self.scale
        if self.shift.any():
            found[..., -1] += W @ self.shift
        return self._times(found, None if self.basis is None else self.basis.back.T)

    def outward(self, W: Array) -> Array:
        """To the users' units, (..., d)."""
        found = self._times(W, None if self.basis is None else self.basis.forth.T) / self.scale
        if self.shift.any():
            found[..., -1] -= found @ self.shift
        return found

    def gradient(self, G: Array) -> Array:
        """To gradients (..., d) in the weights of the users' units."""
        found = self._times(G, None if self.basis is None else self.basis.back) * self.scale
        if self.shift.any():
            found += G[..., -1:] * self.shift
        return found

    @staticmethod
    def _times(W: Array, M: Array | None) -> Array:
        """The intercept, if any, stays."""
        if M is None:
            return W
        return np.concatenate([W[..., : len(M)] @ M, W[..., len(M) :]], axis=-1)


def _check_sizes(seen: Moments, intercept: bool) -> None:
    """Refuse columns whose powers are not numbers, or whose values are too close next to an intercept."""
    size, apart = np.maximum(np.abs(seen.low), np.abs(seen.high)), seen.high - seen.low
    bad = np.flatnonzero((size > LARGEST) | ((size < SMALLEST) & (size > 0.0)))
    if len(bad):
        raise InputError(
            f"column {bad[0]} of X has values up to {size[bad[0]]:g} in size, expected {SMALLEST:g} to {LARGEST:g}, "
            "whose powers are numbers too; give it in another unit."
        )
    bad = np.flatnonzero((apart > 0.0) & (apart < CLOSE * size))
    if intercept and len(bad):
        raise InputError(
            f"column {bad[0]} of X has values near {size[bad[0]]:g} that differ by {apart[bad[0]]:.3g} at most, "
            f"expected at least {CLOSE:g} of their size, or scores lose their digits; subtract a constant from it, or "
            "leave it out."
        )
