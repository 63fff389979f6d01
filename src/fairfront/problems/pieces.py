"""Pieces: rows of one place, sorted by cell, and the sums over them that linear problems are made of.

All data pass through here and nowhere else. A problem in memory is one piece; a problem on Dask is many, whose sums
are added up. Sums are not yet divided by the cells' weights, and know nothing about penalties, contrasts or solvers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Cells, Measure
from .design import Design, aligned

Bound = Sequence[tuple[Measure, NDArray[np.intp]]]
"""Measures bound to a loss, each with the index in L of every cell (-1: not needed)."""
Factors = Sequence[Array]
"""Per measure, what a row of each cell counts in a Hessian: omega_cell / weight_cell, (c,)."""
Bent = Iterable[tuple[int, int, Array]]
"""Runs of rows (start, stop) with the curvature v (K, K, rows) of a weighted sum of measures in their scores."""
Product = Callable[[Array], Array]


class Rows(Protocol):
    """Adds up over rows, wherever they are. Shapes as in the conventions sheet."""

    @property
    def n(self) -> int:
        """Return the number of rows."""
        ...

    @property
    def d(self) -> int:
        """Return the number of columns, the intercept included."""
        ...

    def cell_sums(self, measures: Bound, k: int, W: Array, gradients: bool) -> tuple[Array, ...]:
        """Return the sums of the measures over their cells, (R, k), and of the gradients, (k, R K, d), if asked for."""
        ...

    def products(self, measures: Bound, factors: Factors, W: Array, half: bool) -> Array:
        """Return X^T diag(v) X per pair of classes, (K, K, d, d), right in its upper triangles."""
        ...

    def bend(self, measures: Bound, factors: Factors, W: Array) -> tuple[Array, Product]:
        """Return the diagonal of the same matrix, (K d,), and its product with rows (r, K d)."""
        ...

    def squares(self) -> Array:
        """Return the sums of squares of the columns, (d,)."""
        ...


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows in memory: their design, targets and cells, all in sorted order."""

    design: Design
    targets: Array
    cells: Cells

    def __setstate__(self, state: dict[str, Any]) -> None:
        cells: Cells = state["cells"]
        if cells.row_weight is not None:
            cells = replace(cells, row_weight=aligned(cells.row_weight))
        for name, value in {**state, "targets": aligned(state["targets"]), "cells": cells}.items():
            object.__setattr__(self, name, value)

    def __sizeof__(self) -> int:
        """Return the bytes of all arrays: Dask asks, and leaves large pieces where they are instead of sending them."""
        weight = 0 if self.cells.row_weight is None else self.cells.row_weight.nbytes
        return int(self.design.nbytes + self.targets.nbytes + weight)

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return self.design.n

    @property
    def d(self) -> int:
        """Return the number of columns, the intercept included."""
        return self.design.d

    def cell_sums(self, measures: Bound, k: int, W: Array, gradients: bool) -> tuple[Array, ...]:
        """Return the sums of the measures over their cells, and of the gradients, in one pass over chunks of rows."""
        R, K, d = W.shape
        L = np.zeros((R, k))
        G = np.zeros((k, R * K, d)) if gradients else None
        flat = aligned(np.ascontiguousarray(W.reshape(R * K, d)))
        for start, stop, cell in self.cells.chunks(self.design.rows_per_chunk(R * K)):
            scores = self.design.scores(start, stop, flat).reshape(R, K, -1)
            for bound, where in measures:
                if cell < 0 or where[cell] >= 0:
                    value, slope = bound.value_slope(scores, self.targets[start:stop])
                    self._add(where, cell, start, stop, value, slope, L, G)
        return (L,) if G is None else (L, G)

    def _add(
        self,
        where: NDArray[np.intp],
        cell: int,
        start: int,
        stop: int,
        value: Array,
        slope: Array,
        L: Array,
        G: Array | None,
    ) -> None:
        """Add rows to the one cell that they belong to, or to every cell by their shares."""
        cells = self.cells
        for j in np.flatnonzero(where >= 0) if cell < 0 else (cell,):
            weight = cells.row_weight if cells.shares is None else cells.shares[j]
            part = None if weight is None else weight[start:stop]
            L[:, where[j]] += value.sum(axis=-1) if part is None else value @ part
            if G is not None:
                pulled = slope if part is None else slope * part
                G[where[j]] += self.design.pull(start, stop, pulled.reshape(-1, stop - start))

    def evaluated(self, measures: Bound, k: int, W: Array) -> tuple[Array, ...]:
        """Return the sums of one run, of its gradients, and the products X^T diag(v) X of every cell, (k, K, K, d, d).

        One pass instead of two where rows are costly to get, for k matrices instead of one; groups have labels here.
        Rows are taken in the chunks of `cell_sums`, so that sums and gradients are equal to the last bit.
        """
        K, d = W.shape
        W = aligned(W)
        L, G, H = np.zeros((1, k)), np.zeros((k, K, d)), np.zeros((k, K, K, d, d))
        for start, stop, cell in self.cells.chunks(self.design.rows_per_chunk(K)):
            scores, target = self.design.scores(start, stop, W), self.targets[start:stop]
            for bound, where in measures:
                if where[cell] < 0:
                    continue
                value, slope = bound.value_slope(scores[None], target)
                self._add(where, cell, start, stop, value, slope, L, G)
                if not bound.linear:
                    v = bound.curvature(scores, target)
                    v = v if self.cells.row_weight is None else v * self.cells.row_weight[start:stop]
                    self._multiply(start, stop, v, False, H[where[cell]])
        return L, G, H

    def curvatures(self, measures: Bound, factors: Factors, W: Array) -> Iterator[tuple[int, int, Array]]:
        """Yield (start, stop, v): curvature of the weighted measures in the scores of the rows, v (K, K, rows)."""
        K, W = len(W), aligned(W)
        for start, stop, cell in self.cells.chunks(self.design.rows_per_chunk(K * K)):
            scores = self.design.scores(start, stop, W)
            v = np.zeros((K, K, stop - start))
            for (bound, _), per_cell in zip(measures, factors, strict=True):
                factor = self._row_factor(per_cell, cell, start, stop)
                if factor is not None:
                    v += bound.curvature(scores, self.targets[start:stop]) * factor
            yield start, stop, v

    def _row_factor(self, per_cell: Array, cell: int, start: int, stop: int) -> Array | float | None:
        """Return what each row counts, or None when that is nothing."""
        cells = self.cells
        if cells.shares is not None:
            return np.asarray(per_cell @ cells.shares[:, start:stop])
        factor = float(per_cell[cell])
        if factor == 0.0:
            return None
        return factor if cells.row_weight is None else factor * cells.row_weight[start:stop]

    def products(self, measures: Bound, factors: Factors, W: Array, half: bool) -> Array:
        """Return X^T diag(v) X per pair of classes; ``half`` allows single precision."""
        K, d = W.shape
        H = np.zeros((K, K, d, d))
        for start, stop, v in self.curvatures(measures, factors, W):
            self._multiply(start, stop, v, half, H)
        return H

    def _multiply(self, start: int, stop: int, v: Array, half: bool, H: Array) -> None:
        """Add X^T diag(v) X of some rows to H (K, K, d, d)."""
        for a in range(len(v)):
            for b in range(a, len(v)):
                H[a, b] += self.design.weighted(start, stop, v[a, b], half)

    def bend(self, measures: Bound, factors: Factors, W: Array) -> tuple[Array, Product]:
        """Return the diagonal and the product, for n K^2 numbers in memory instead of (K d)^2."""
        parts = list(self.curvatures(measures, factors, W))
        return self.diagonal(parts, len(W)), lambda V: self.bent(parts, V, len(W))

    def diagonal(self, parts: Bent, K: int) -> Array:
        """Return the diagonal of the matrix of these curvatures, (K d,)."""
        found = np.zeros((K, self.d))
        for start, stop, v in parts:
            for c in range(K):
                found[c] += self.design.squares(start, stop, v[c, c])
        return found.reshape(-1)

    def bent(self, parts: Bent, V: Array, K: int) -> Array:
        """Return the products of rows V (r, K d) with the matrix of these curvatures."""
        out = np.zeros_like(V)
        rows = aligned(V.reshape(-1, self.d))
        for start, stop, v in parts:
            scores = self.design.scores(start, stop, rows).reshape(len(V), K, -1)
            bent = np.einsum("abn,rbn->ran", v, scores).reshape(len(rows), -1)
            out += self.design.pull(start, stop, bent).reshape(V.shape)
        return out

    def squares(self) -> Array:
        """Return the sums of squares of the columns."""
        total = np.zeros(self.d)
        for start, stop, _ in self.cells.chunks(self.design.rows_per_chunk(1)):
            total += self.design.squares(start, stop, np.ones(stop - start))
        return total
