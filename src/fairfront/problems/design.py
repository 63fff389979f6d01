"""Design matrices with rows sorted by cell: products over row ranges, dense or sparse, intercept as a column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..objectives import Array
from .frame import Frame, canonical

ROW_BYTES = 1 << 22
SCORE_BYTES = 1 << 20
"""Rows are taken in runs of about these many bytes of data and of scores, so that what follows the first product
of a pass finds them in the cache, and so that memory does not grow with n."""


FAR_BYTES, FAR_COLUMNS = 1 << 23, (24, 512)
"""Rows beyond so many bytes come from memory, not from a cache. With as many columns BLAS reads them at half the speed
of NumPy's own sum of products (11 against 22 gigabytes a second), which it beats elsewhere."""


def aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array at an address that BLAS takes; what comes from another process may lie at any byte."""
    return np.require(array, requirements="A")


class DenseDesign:
    """A sorted copy of a dense matrix, framed, in double precision; the only large array fairfront makes.

    Row ranges are [start, stop) in sorted order; W is (r, d), S (r, rows), v (rows,).
    """

    def __init__(self, X: NDArray[Any], order: NDArray[np.intp], intercept: bool, frame: Frame | None = None) -> None:
        self.n, columns = len(order), int(X.shape[1])
        self.d = columns + int(intercept)
        self.X = np.empty((self.n, self.d))
        self.far = self.X.nbytes > FAR_BYTES and FAR_COLUMNS[0] <= self.d <= FAR_COLUMNS[1]
        if intercept:
            self.X[:, -1] = 1.0
        for start in range(0, self.n, 4096):
            rows = self.X[start : start + 4096, :columns]
            rows[:] = X[order[start : start + 4096]]
            if frame is not None:
                frame.put(rows)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, X=aligned(state["X"]))

    @property
    def nbytes(self) -> int:
        return int(self.X.nbytes)

    def rows_per_chunk(self, r: int) -> int:
        """For r scores per row."""
        return max(256, min(ROW_BYTES // (8 * self.d), SCORE_BYTES // (8 * r), max(2048, self.n // 6)))

    def taken(self, start: int, stop: int) -> Array:
        """In double precision, the intercept included."""
        return self.X[start:stop]

    def scores(self, start: int, stop: int, W: Array) -> Array:
        """Return W X^T on the rows, (r, rows)."""
        if len(W) == 1 and self.far:
            return np.asarray(np.einsum("ij,j->i", self.taken(start, stop), W[0])[None])
        return np.asarray(W @ self.taken(start, stop).T)

    def pull(self, start: int, stop: int, S: Array) -> Array:
        """Return S X on the rows, (r, d)."""
        return np.asarray(S @ self.taken(start, stop))

    def weighted(self, start: int, stop: int, v: Array, float32: bool = False) -> Array:
        """Return X^T diag(v) X on the rows, (d, d), right in its upper triangle, maybe in single precision.

        A rank-k update where v has one sign, a product otherwise.
        """
        rows = self.taken(start, stop)
        low, high = v.min(initial=0.0), v.max(initial=0.0)
        if low < 0 < high:
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


class LooseDesign(DenseDesign):
    """A dense matrix in the precision and order that it has: rows are taken when they are needed, a chunk at a time.

    For rows that are not worth a copy, because they are read for one pass only or lie on disk. ``order`` None means
    that the rows are sorted already.
    """

    def __init__(
        self, X: NDArray[Any], order: NDArray[np.intp] | None, intercept: bool, frame: Frame | None = None
    ) -> None:
        self.n, columns = (X.shape[0] if order is None else len(order)), int(X.shape[1])
        self.d = columns + int(intercept)
        self.X, self.order, self.columns, self.far, self.frame = X, order, columns, False, frame
        self.last, self.kept = (0, 0), np.empty((0, self.d))

    def taken(self, start: int, stop: int) -> Array:
        """Framed; those of the last call are still there."""
        if self.last != (start, stop):
            if len(self.kept) != stop - start:
                self.kept = np.ones((stop - start, self.d))
            rows = self.kept[:, : self.columns]
            rows[:] = self.X[start:stop] if self.order is None else self.X[self.order[start:stop]]
            if self.frame is not None:
                self.frame.put(rows)
            self.last = (start, stop)
        return self.kept


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
        per_row = max(1.0, 12.0 * self.X.nnz / max(1, self.n))
        return max(256, min(int(ROW_BYTES / per_row), SCORE_BYTES // (8 * r)))

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


def sorted_design(X: Any, order: NDArray[np.intp], intercept: bool, frame: Frame | None = None) -> Design:
    return (SparseDesign if sparse.issparse(X) else DenseDesign)(X, order, intercept, frame)
