"""Design matrices: rows sorted by cell, columns centred and scaled, so that nothing depends on the users' units.

A framed column is u = (x - shift) / scale. Models keep their scores: where w and b are the weights and the intercept in
the users' units, w' = scale w and b' = b + shift.w are those of framed columns. Scales are powers of two: exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from ..exceptions import InputError
from ..objectives import Array
from ..validation.inputs import LARGEST, SMALLEST
from .point import TINY

ROWS = 4096
"""Rows that are looked at, framed or copied together, so that they are still in the cache."""
NULL, LITTLE, NEAR = 1e-13, 1e-10, 1e-4
"""What is left of a column without the others, as a share of it: nothing but rounding, too little for its digits to be
made into a column, and what a Hessian, which has its square, still knows well."""
MOST = 1000
"""Most columns that are made orthogonal."""
CLOSE = 1e-10
"""Smallest spread of a column next to an intercept, as a share of its size: a score in the users' units is the
difference of numbers that are as much larger, and would lose its digits."""
ROW_BYTES, SCORE_BYTES = 1 << 22, 1 << 20
"""Rows are taken in runs of about these many bytes of data and of scores, so that what follows the first product
of a pass finds them in the cache, and so that memory does not grow with n."""


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

    @classmethod
    def of(cls, block: NDArray[Any]) -> Moments:
        part = np.asarray(block, dtype=np.float64)
        n, mean = len(part), part.mean(axis=0)
        away = part - mean
        squared, stored = np.einsum("ij,ij->j", away, away), np.full(len(mean), float(n))
        return cls(n, part.min(axis=0), part.max(axis=0), mean, squared, stored)

    @property
    def size(self) -> Array:
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def joined(self, other: Moments) -> Moments:
        n, apart = self.n + other.n, other.mean - self.mean
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        with np.errstate(over="ignore", invalid="ignore"):  # such columns are refused by their ends
            squared = self.squared + other.squared + apart**2 * (self.n * (other.n / n))
        return Moments(n, low, high, self.mean + apart * (other.n / n), squared, self.stored + other.stored)


class Basis(NamedTuple):
    """Columns U = A ``forth`` with A = U ``back``, (c, c); the last of U are 0 where columns of A depend on others."""

    forth: Array
    back: Array


def _basis_of(blocks: Iterable[Array], columns: int) -> Basis | None:
    """Return what makes columns orthogonal that nearly depend on each other, None where none do or all but do.

    ``blocks`` are runs of rows. A pivoted QR decomposition knows the columns themselves, not their squares.
    """
    n, R = 0, np.zeros((0, columns))
    for rows in blocks:
        n, R = n + len(rows), qr(np.vstack([R, rows]), mode="r", check_finite=False)[0][:columns]
    R, order = qr(R, mode="r", pivoting=True, check_finite=False)
    left = np.abs(np.diag(R)) / max(float(np.abs(R[0, 0])), TINY)
    rank = int((left > NULL).sum())
    if rank == 0 or not LITTLE < left[rank - 1] < NEAR:
        return None
    forth, back = np.zeros((2, columns, columns))
    forth[order[:rank], :rank] = np.sqrt(n) * solve_triangular(R[:rank, :rank], np.eye(rank))
    back[:rank, order] = R[:rank] / np.sqrt(n)
    return Basis(forth, back)


@dataclass(frozen=True, eq=False)
class Frame:
    """Shift and scale of every column, the intercept (0 and 1) included, (d,); ``factor`` is 1 / scale.

    ``size`` is the largest value of a column in the users' units, which says how well scores are known there. The
    factor of a constant column next to an intercept is 0: its weight is of no use, and stays what it is.
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
        shift, size = np.append(shift, [0.0] * intercept), np.append(seen.size, end)
        return cls(shift, np.append(scale, end), np.append(factor, end), intercept, size)

    def orthogonal(self, X: NDArray[Any]) -> Frame:
        """Return the frame in which no columns nearly depend on each other; for problems without a ridge only."""
        if X.shape[1] > MOST:
            return self
        blocks = (self.put(np.array(X[start : start + ROWS], dtype=np.float64)) for start in range(0, len(X), ROWS))
        return replace(self, basis=_basis_of(blocks, X.shape[1]))

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

    def put(self, rows: Array) -> Array:
        """Frame rows (n, columns) in place, and return them; the intercept is not among them."""
        columns = rows.shape[1]
        if self.shift.any():
            rows -= self.shift[:columns]
        rows *= self.factor[:columns]
        if self.basis is not None:
            rows[:] = rows @ self.basis.forth
        return rows

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
    size, apart = seen.size, seen.high - seen.low
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


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array at an address that BLAS takes; what comes from another process may lie at any byte."""
    return np.require(array, requirements="A")


def run_of_rows(row_bytes: float, r: int) -> int:
    """Return how many rows of that many bytes are taken at once for r scores each."""
    return max(256, min(int(ROW_BYTES / row_bytes), SCORE_BYTES // (8 * r)))


class DenseDesign:
    """A sorted copy of a dense matrix, framed, in double precision; the only large array fairfront makes.

    Row ranges are [start, stop) in sorted order; W is (r, d), S (r, rows), v (rows,).
    """

    def __init__(self, X: NDArray[Any], order: NDArray[np.intp], intercept: bool, frame: Frame | None = None) -> None:
        self.n, columns = len(order), int(X.shape[1])
        self.d = columns + int(intercept)
        self.X = np.empty((self.n, self.d))
        if intercept:
            self.X[:, -1] = 1.0
        for start in range(0, self.n, ROWS):
            rows = self.X[start : start + ROWS, :columns]
            rows[:] = X[order[start : start + ROWS]]
            if frame is not None:
                frame.put(rows)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, X=aligned(state["X"]))

    @property
    def nbytes(self) -> int:
        return int(self.X.nbytes)

    def rows_per_chunk(self, r: int) -> int:
        return min(run_of_rows(8 * self.d, r), max(2048, self.n // 6))

    def taken(self, start: int, stop: int) -> Array:
        return self.X[start:stop]

    def scores(self, start: int, stop: int, W: Array) -> Array:
        """Return W X^T on the rows, (r, rows)."""
        return np.asarray(W @ self.taken(start, stop).T)

    def pull(self, start: int, stop: int, S: Array) -> Array:
        """Return S X on the rows, (r, d)."""
        return np.asarray(S @ self.taken(start, stop))

    def weighted(self, start: int, stop: int, v: Array, float32: bool = False) -> Array:
        """Return X^T diag(v) X on the rows, (d, d), right in its upper triangle, maybe in single precision."""
        rows, bent = self.taken(start, stop), np.flatnonzero(v)
        if 2 * len(bent) < len(v):  # most rows are straight: beyond the kink of a hinge nothing bends
            rows, v = rows[bent], v[bent]
        low, high = v.min(initial=0.0), v.max(initial=0.0)
        if low < 0 < high:  # where v has one sign, rank-k updates are quicker
            return np.asarray((rows * v[:, None]).T @ rows)
        root, size = np.sqrt(np.abs(v))[:, None], max(256, SCORE_BYTES // (8 * self.d))
        H = _update(rows[:size], root[:size], float32)
        for a in range(size, len(rows), size):
            H += _update(rows[a : a + size], root[a : a + size], float32)
        return -H if low < 0 else H

    def squares(self, start: int, stop: int, v: Array) -> Array:
        """Return the diagonal of X^T diag(v) X on the rows, (d,)."""
        return np.asarray(v @ self.taken(start, stop) ** 2)


def _update(rows: Array, root: Array, float32: bool) -> Array:
    """Return the rank-k update of scaled rows by NumPy's product, which lets other threads run; SciPy's does not."""
    scaled = np.empty(rows.shape, dtype=np.float32 if float32 else np.float64)
    np.multiply(rows, root, out=scaled, casting="unsafe")
    return np.asarray(scaled.T @ scaled, dtype=np.float64)
