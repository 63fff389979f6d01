"""Sparse design matrices: CSR rows sorted by cell, what they say of their columns, and which kind a matrix has."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..objectives import Array
from .design import ROWS, DenseDesign, Frame, Moments, aligned, run_of_rows


def canonical(X: Any) -> Any:
    """Return a sparse matrix as CSR in which no entry is stored twice; a copy where some were."""
    rows = sparse.csr_array(X, dtype=np.float64)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def sparse_moments(block: Any) -> Moments:
    part = canonical(block)
    n, d = part.shape
    stored = np.bincount(part.indices, minlength=d).astype(np.float64)
    mean = np.bincount(part.indices, part.data, minlength=d) / n
    away = np.bincount(part.indices, (part.data - mean[part.indices]) ** 2, minlength=d)
    low, high = (np.asarray(getattr(part, end)(axis=0).toarray(), dtype=np.float64).ravel() for end in ("min", "max"))
    return Moments(n, low, high, mean, away + (n - stored) * mean**2, stored)


class SparseDesign:
    """A sorted copy of a sparse matrix in CSR form, framed where rows are stored."""

    def __init__(self, X: Any, order: NDArray[np.intp], intercept: bool, frame: Frame | None = None) -> None:
        rows = canonical(X)[order]
        if frame is not None:
            rows.data = (rows.data - frame.shift[rows.indices]) * frame.factor[rows.indices]
        ones = sparse.csr_array(np.ones((rows.shape[0], 1)))
        self.X = sparse.csr_array(sparse.hstack([rows, ones])) if intercept else rows
        if self.X.nnz < np.iinfo(np.int32).max:  # half the memory, and quicker to follow
            places = (self.X.indices.astype(np.int32), self.X.indptr.astype(np.int32))
            self.X = sparse.csr_array((self.X.data, *places), shape=self.X.shape)
        self.n, self.d = self.X.shape

    def __setstate__(self, state: dict[str, Any]) -> None:
        X = state["X"]
        parts = tuple(aligned(part) for part in (X.data, X.indices, X.indptr))
        self.__dict__.update(state, X=sparse.csr_array(parts, shape=X.shape))

    @property
    def nbytes(self) -> int:
        return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)

    def rows_per_chunk(self, r: int) -> int:
        return run_of_rows(max(1.0, 12.0 * self.X.nnz / max(1, self.n)), r)

    def taken(self, start: int, stop: int, v: Array | None = None) -> Any:
        """Return the rows without a copy, or each times an entry of v."""
        ends = self.X.indptr[start : stop + 1]
        there = slice(ends[0], ends[-1])
        data = self.X.data[there] if v is None else self.X.data[there] * np.repeat(v, np.diff(ends))
        rows = sparse.csr_array((stop - start, self.d))  # its constructor would copy short views
        rows.data, rows.indices, rows.indptr = data, self.X.indices[there], ends - ends[0]
        return rows

    def scores(self, start: int, stop: int, W: Array) -> Array:
        return np.ascontiguousarray((self.taken(start, stop) @ W.T).T)

    def pull(self, start: int, stop: int, S: Array) -> Array:
        return np.ascontiguousarray((self.taken(start, stop).T @ S.T).T)

    def weighted(self, start: int, stop: int, v: Array, float32: bool = False) -> Array:
        return np.asarray((self.taken(start, stop, v).T @ self.taken(start, stop)).toarray())

    def squares(self, start: int, stop: int, v: Array) -> Array:
        return np.asarray(self.taken(start, stop).power(2).T @ v)


Design = DenseDesign | SparseDesign


def moments(X: Any) -> Moments:
    find = sparse_moments if sparse.issparse(X) else Moments.of
    with np.errstate(over="ignore", invalid="ignore"):  # such columns are refused
        return reduce(Moments.joined, (find(X[start : start + ROWS]) for start in range(0, X.shape[0], ROWS)))


def sorted_design(X: Any, order: NDArray[np.intp], intercept: bool, frame: Frame | None = None) -> Design:
    return (SparseDesign if sparse.issparse(X) else DenseDesign)(X, order, intercept, frame)
