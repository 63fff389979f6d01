"""Pieces: rows of one place, sorted by cell, and the sums over them that linear problems are made of.

All data pass through here and nowhere else. A problem in memory is one piece; a problem on Dask is many, whose sums
are added up. Sums are not yet divided by the cells' weights, and know nothing about penalties, contrasts or solvers.

A piece takes its rows in segments, which threads share (see `threads`), and segments in chunks that fit into the
cache. Both depend on sizes only, and segments are added in the order of the rows: the same bytes on any threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import groupby
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Cells, Measure, Objectives
from ..validation import is_dask
from .design import Frame, aligned
from .sparse_design import Design, sorted_design
from .threads import in_threads

Names = tuple[str, ...] | None
Bound = Sequence[tuple[Measure, NDArray[np.intp]]]
"""Measures bound to a loss, each with the index in L of every cell (-1: not needed)."""
Factors = Sequence[Array]
"""Per measure, what a row of each cell counts in a Hessian: omega_cell / weight_cell, (c,)."""
Bent = Iterable[tuple[int, int, Array]]
"""Runs of rows (start, stop) with the curvature v (K, K, rows) of a weighted sum of measures in their scores."""
Product = Callable[[Array], Array]
Chunks = Sequence[tuple[int, int, int]]
"""Runs of rows (start, stop, cell) that are taken at once."""
SEGMENT, SHARE, SEGMENTS = 5e5, 1e6, 64
"""Nanoseconds of work that are worth a segment, and a thread (it takes about 0.1 ms to begin and to end); most segments
of a pass."""
TAKEN = 1e5
"""Numbers of the data in a chunk from which on threads pay: with fewer, Python's own work between products, which is
not shared, is as long as the products (nine classes of 20 columns: 6 % slower with two threads than with one)."""


def feature_names(X: Any) -> Names:
    native = X if is_dask(X) else nw.from_native(X, pass_through=True, eager_only=True)
    columns = list(getattr(native, "columns", ())) if is_dask(X) or isinstance(native, nw.DataFrame) else []
    return tuple(columns) if columns and all(isinstance(name, str) for name in columns) else None


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows in memory: their design, targets, and cells, in sorted order."""

    design: Design
    targets: Array
    cells: Cells
    kept: dict[Any, tuple[Array, Array]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, X: Any, objectives: Objectives, frame: Frame | None = None) -> Piece:
        cells = objectives.layout.cells
        design = sorted_design(X, cells.order, objectives.question.fit_intercept, frame)
        return cls(design, objectives.targets[cells.order], cells)

    def scores(self, start: int, stop: int, W: Array) -> Array:
        """Return the scores (r, rows) of weights (r, d) on some rows."""
        return self.design.scores(start, stop, W)

    def __setstate__(self, state: dict[str, Any]) -> None:
        cells: Cells = state["cells"]
        if cells.row_weight is not None:
            cells = replace(cells, row_weight=aligned(cells.row_weight))
        self.__dict__.update(state, targets=aligned(state["targets"]), cells=cells)

    def __sizeof__(self) -> int:
        """Return the bytes of all arrays: Dask asks, and leaves large pieces where they are instead of sending them."""
        weight = 0 if self.cells.row_weight is None else self.cells.row_weight.nbytes
        return int(self.design.nbytes + self.targets.nbytes + weight)

    @property
    def n(self) -> int:
        return self.design.n

    @property
    def d(self) -> int:
        """The intercept included."""
        return self.design.d

    @property
    def target_variance(self) -> float:
        return float(np.var(self.targets))

    @property
    def target_mean(self) -> float:
        return float(np.average(self.targets, weights=self.cells.row_weight))

    def cell_sums(self, measures: Bound, k: int, W: Array, gradients: bool) -> tuple[Array, ...]:
        """Return the sums of the measures over their cells, (R, k), and of the gradients, (k, R K, d), if asked for.

        Those of measures that are linear in the scores are found once and kept.
        """
        straight = [each for each in measures if each[0].linear]
        found = self.fresh_sums([each for each in measures if not each[0].linear], k, W, gradients)
        if straight:
            asked = (k, W.shape[1], *((bound, where.tobytes()) for bound, where in straight))
            if asked not in self.kept:
                L, G = self.fresh_sums(straight, k, 0.0 * W[:1], True)
                self.kept[asked] = L[0], G
            base, slope = self.kept[asked]
            found[0][...] += base + W.reshape(len(W), -1) @ slope.reshape(k, -1).T
            if gradients:
                found[1].reshape(k, *W.shape)[...] += slope[:, None]
        return found

    def fresh_sums(self, measures: Bound, k: int, W: Array, gradients: bool) -> tuple[Array, ...]:
        R, K, d = W.shape
        flat = aligned(np.ascontiguousarray(W.reshape(R * K, d)))

        def ask(chunks: Chunks) -> tuple[Array, ...]:
            L, G = np.zeros((R, k)), np.zeros((k, R * K, d)) if gradients else None
            self._measure(chunks, measures, flat, L, G)
            return (L,) if G is None else (L, G)

        return self._total(ask, R * K, 1.0 + R * K / 3)

    def evaluated(self, measures: Bound, k: int, W: Array) -> tuple[Array, ...]:
        """Return the sums of one run, of its gradients, and the products X^T diag(v) X of every cell, (k, K, K, d, d).

        One pass instead of two where rows are costly to get, for k matrices instead of one.
        Rows are taken in the segments of `cell_sums`, so that sums and gradients are equal to the last bit.
        """
        K, d = W.shape
        H, found = np.zeros((k, K, K, d, d)), []
        for chunks in self._segments(K, 1.0 + K / 3)[0]:
            L, G = np.zeros((1, k)), np.zeros((k, K, d))
            self._measure(chunks, measures, aligned(W), L, G, H)
            found.append((L, G))
        return *summed(found), H

    def _measure(
        self, chunks: Chunks, measures: Bound, W: Array, L: Array, G: Array | None, H: Array | None = None
    ) -> None:
        """Add chunks of rows to the sums L (R, k), the gradients G (k, R K, d) and the products H (k, K, K, d, d)."""
        design, cells = self.design, self.cells
        for start, stop, cell in chunks:
            scores = self.scores(start, stop, W).reshape(len(L), -1, stop - start)
            target = self.targets[start:stop]
            for bound, where in measures:
                if where[cell] < 0:
                    continue
                value, slope = bound.value_slope(scores, target)
                part = None if cells.row_weight is None else cells.row_weight[start:stop]
                L[:, where[cell]] += value.sum(axis=-1) if part is None else value @ part
                if G is not None:
                    pulled = slope if part is None else slope * part
                    G[where[cell]] += design.pull(start, stop, pulled.reshape(-1, stop - start))
                if H is not None and not bound.linear:
                    v = bound.curvature(scores[0], target)
                    self.multiply(start, stop, v if part is None else v * part, False, H[where[cell]])

    def curvatures(
        self, measures: Bound, factors: Factors, W: Array, chunks: Chunks | None = None
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield (start, stop, v): curvature of the weighted measures in the scores of the rows, v (K, K, rows)."""
        K, W, cells = len(W), aligned(W), self.cells
        for start, stop, cell in chunks or cells.chunks(self.design.rows_per_chunk(K * K)):
            scores = self.scores(start, stop, W)
            v = np.zeros((K, K, stop - start))
            for (bound, _), per_cell in zip(measures, factors, strict=True):
                if per_cell[cell] == 0.0 or bound.linear:
                    continue
                factor = per_cell[cell] * (1.0 if cells.row_weight is None else cells.row_weight[start:stop])
                v += bound.curvature(scores, self.targets[start:stop]) * factor
            yield start, stop, v

    def products(self, measures: Bound, factors: Factors, W: Array, float32: bool) -> Array:
        """X^T diag(v) X per pair of classes, (K, K, d, d), upper triangles; ``float32`` allows single precision."""
        K, d = W.shape

        def ask(chunks: Chunks) -> tuple[Array]:
            H = np.zeros((K, K, d, d))
            for start, stop, v in self.curvatures(measures, factors, W, chunks):
                self.multiply(start, stop, v, float32, H)
            return (H,)

        return self._total(ask, K * K, 1.0 + d * K * (K + 1) / 64, held=8 * (K * d) ** 2)[0]

    def multiply(self, start: int, stop: int, v: Array, float32: bool, H: Array) -> None:
        for a in range(len(v)):
            for b in range(a, len(v)):
                H[a, b] += self.design.weighted(start, stop, v[a, b], float32)

    def bend(self, measures: Bound, factors: Factors, W: Array) -> tuple[Array, Product]:
        """Return the diagonal of the same matrix, (K d,), and its product with rows (r, K d), in n K^2 numbers."""
        segments, want = self._segments(len(W) ** 2, 2.0)
        parts = in_threads(lambda chunks: list(self.curvatures(measures, factors, W, chunks)), segments, want)

        def total(ask: Callable[[Bent], Array]) -> Array:
            return summed([(found,) for found in in_threads(ask, parts, want)])[0]

        return total(lambda part: self.diagonal(part, len(W))), lambda V: total(lambda part: self.bent(part, V, len(W)))

    def diagonal(self, parts: Bent, K: int) -> Array:
        found = np.zeros((K, self.d))
        for start, stop, v in parts:
            for c in range(K):
                found[c] += self.design.squares(start, stop, v[c, c])
        return found.reshape(-1)

    def bent(self, parts: Bent, V: Array, K: int) -> Array:
        """Products of rows V (r, K d) with the matrix of these curvatures."""
        out = np.zeros_like(V)
        rows = aligned(V.reshape(-1, self.d))
        for start, stop, v in parts:
            scores = self.design.scores(start, stop, rows).reshape(len(V), K, -1)
            bent = np.einsum("abn,rbn->ran", v, scores).reshape(len(rows), -1)
            out += self.design.pull(start, stop, bent).reshape(V.shape)
        return out

    @cached_property
    def squares(self) -> Array:
        def ask(chunks: Chunks) -> tuple[Array]:
            return (self.diagonal(((start, stop, np.ones((1, 1, stop - start))) for start, stop, _ in chunks), 1),)

        return self._total(ask, 1, 1.0)[0]

    def reach(self, W: Array) -> Array:
        """Return the largest score of any row, (R,), in size, without the mean of its classes."""
        R, K, d = W.shape
        found, flat = np.zeros(R), aligned(np.ascontiguousarray(W.reshape(R * K, d)))
        for start, stop, _ in self.cells.chunks(self.design.rows_per_chunk(R * K)):
            scores = self.design.scores(start, stop, flat).reshape(R, K, -1)
            scores = scores if K == 1 else scores - scores.mean(axis=1, keepdims=True)
            found = np.maximum(found, np.abs(scores).max(axis=(1, 2), initial=0.0))
        return found

    def _total(
        self, ask: Callable[[Chunks], tuple[Array, ...]], r: int, cost: float, held: int = 0
    ) -> tuple[Array, ...]:
        """Add up over all rows what is found in segments of them; arguments as in `_segments`."""
        segments, want = self._segments(r, cost, held)
        return ask(segments[0]) if len(segments) == 1 else summed(in_threads(ask, segments, want))

    def _segments(self, r: int, cost: float, held: int = 0) -> tuple[list[Chunks], int]:
        """Cut the rows into consecutive segments of about equal size, and say how many threads are worth their while.

        ``r`` scores per row, ``cost`` nanoseconds per number of the data, and ``held`` bytes of the sums of a segment,
        which together take no more than half the memory of the data (or four times their own).
        """
        work = cost * self.design.nbytes / 8
        count = min(int(work / SEGMENT), SEGMENTS, max(4, self.design.nbytes // max(2 * held, 1)))
        rows = self.design.rows_per_chunk(r)
        chunks = list(self.cells.chunks(rows))
        if count < 2:
            return [chunks], 1
        want = int(work / SHARE) if min(rows, self.n) * self.design.nbytes / (8 * self.n) >= TAKEN else 1
        return [list(run) for _, run in groupby(chunks, lambda c: (c[1] - 1) * count // self.n)], want


def summed(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    return tuple(reduce(np.add, arrays) for arrays in zip(*parts, strict=True))


def unfolded(H: Array, outer: Callable[[Array], Array] = lambda G: G) -> Array:
    """Return Hessians (..., K d, K d) from the upper triangles of upper pairs of classes, (..., K, K, d, d).

    ``outer`` takes gradients of the rows that are kept to those of the weights.
    """
    upper = np.triu(H)
    H = outer(outer(upper + np.triu(upper, 1).swapaxes(-1, -2)).swapaxes(-1, -2))
    K, d = H.shape[-3], H.shape[-1]
    for a in range(K):
        for b in range(a):
            H[..., a, b, :, :] = H[..., b, a, :, :]
    return np.ascontiguousarray(H.swapaxes(-3, -2)).reshape(*H.shape[:-4], K * d, K * d)
