"""Linear models on data in memory: scores are X W^T, every cell gradient a weighted sum of rows."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from ..objectives import Algebra, Array, Layout, Loss, Measure, Task, measure
from ..objectives.losses import Squared
from .base import Point, gram
from .curvature import Conjugate
from .design import sorted_design
from .fitting import fit_cells

DENSE_LIMIT = 3000
"""Largest K d for which second-order quantities are formed."""


class LinearProblem:
    """Cells of a linear model on (X, y): first order, second order and weighted fits.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    targets : array of shape (n,)
        What the loss reads: -1 / +1, class indices, or values (`Task.targets`).
    """

    def __init__(
        self,
        X: Any,
        targets: Array,
        task: Task,
        loss: Loss,
        layout: Layout,
        algebra: Algebra,
        fit_intercept: bool = True,
    ) -> None:
        self.task, self.loss, self.layout, self.algebra = task, loss, layout, algebra
        self.fit_intercept = fit_intercept
        self.design = sorted_design(X, layout.cells.order, fit_intercept)
        self.targets = targets[layout.cells.order]
        self.K, self.d = loss.n_scores(task), self.design.d
        self.measures = self._bind(loss)
        self.penalised = np.ones(self.d)
        if fit_intercept:
            self.penalised[-1] = 0.0
        self.inverse_metric: Array | None = None

    def _bind(self, loss: Loss) -> list[tuple[Measure, NDArray[np.intp]]]:
        return [(measure(quantity, loss, self.task), where) for quantity, where in self.layout.quantities]

    def with_loss(self, loss: Loss) -> LinearProblem:
        """Return the same problem with another loss of the same width; the data are shared."""
        other = copy.copy(self)
        other.loss, other.measures = loss, other._bind(loss)
        return other

    def with_metric(self, M: Array) -> LinearProblem:
        """Return the same problem with directions taken in the metric M, (K d, K d); the data are shared.

        A one-dimensional M is the diagonal of one.
        """
        other = copy.copy(self)
        if M.ndim == 1:
            other.inverse_metric = 1.0 / M
            return other
        size = len(M)
        ridge = 1e-10 * max(float(np.trace(M)) / size, 1e-300)
        other.inverse_metric = cho_solve(cho_factor(M + ridge * np.eye(size)), np.eye(size))
        return other

    def with_algebra(self, algebra: Algebra) -> LinearProblem:
        """Return the same problem with other contrasts on the same cells; the data are shared."""
        other = copy.copy(self)
        other.algebra = algebra
        return other

    def with_row_weights(self, weight: Array) -> LinearProblem:
        """Return the same problem with other weights of the (sorted) rows that leave every cell's total as it is."""
        other = copy.copy(self)
        cells = replace(self.layout.cells, row_weight=weight)
        other.layout = replace(self.layout, cells=cells)
        return other

    def without_metric(self) -> LinearProblem:
        """Return the same problem with plain gradients as directions; the data are shared."""
        other = copy.copy(self)
        other.inverse_metric = None
        return other

    def cells(self, W: Array) -> Point:
        """Evaluate cell values and gradients of R runs in one pass."""
        R = len(W)
        L = np.zeros((R, self.layout.k))
        G = np.zeros((self.layout.k, R * self.K, self.d))
        self._accumulate(W, L, G)
        G[-1] = (W * self.penalised).reshape(R * self.K, self.d)
        return self._point(W, L, G.reshape(self.layout.k, R, self.K * self.d).transpose(1, 0, 2))

    def values(self, W: Array) -> Array:
        """Return the cell values alone, (R, k), for the price of one product."""
        L = np.zeros((len(W), self.layout.k))
        self._accumulate(W, L, None)
        return L

    def _accumulate(self, W: Array, L: Array, G: Array | None) -> None:
        """Add up cells over chunks of rows and turn sums into weighted means; G None skips the gradients."""
        R = len(W)
        flat = np.ascontiguousarray(W.reshape(R * self.K, self.d))
        for start, stop, cell in self.layout.cells.chunks(self.design.rows_per_chunk(R * self.K)):
            scores = self.design.scores(start, stop, flat).reshape(R, self.K, -1)
            for bound, where in self.measures:
                if cell < 0 or where[cell] >= 0:
                    value, slope = bound.value_slope(scores, self.targets[start:stop])
                    self._add(where, cell, start, stop, value, slope, L, G)
        for _, where in self.measures:
            need = where >= 0
            L[:, where[need]] /= self.layout.cells.weight[need]
            if G is not None:
                G[where[need]] /= self.layout.cells.weight[need][:, None, None]
        L[:, -1] = 0.5 * (W * W * self.penalised).sum(axis=(1, 2))

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
        cells = self.layout.cells
        for j in np.flatnonzero(where >= 0) if cell < 0 else (cell,):
            weight = cells.row_weight if cells.shares is None else cells.shares[j]
            part = None if weight is None else weight[start:stop]
            L[:, where[j]] += value.sum(axis=-1) if part is None else value @ part
            if G is not None:
                pulled = slope if part is None else slope * part
                G[where[j]] += self.design.pull(start, stop, pulled.reshape(-1, stop - start))

    def _point(self, W: Array, L: Array, G: Array) -> Point:
        inverse = self.inverse_metric
        if inverse is None:
            return Point(W, L, gram(G, G), G)
        D = G * inverse if inverse.ndim == 1 else G @ inverse
        return Point(W, L, gram(G, D), D)

    def move(self, point: Point, beta: Array) -> Array:
        """Return w - D^T beta."""
        step = np.einsum("rk,rkd->rd", beta, point.D)
        return np.asarray(point.W - step.reshape(point.W.shape))

    def hessian(self, W: Array, omega: Array, half: bool = False) -> Array:
        """Return the Hessian of omega.L at weights (K, d): products X^T diag(v) X per pair of classes.

        ``half`` allows single precision in the products, which is enough for a Newton step.
        """
        K, d = self.K, self.d
        H = np.zeros((K, K, d, d))
        for start, stop, v in self.curvatures(W, omega):
            for a in range(K):
                for b in range(a, K):
                    H[a, b] += self.design.weighted(start, stop, v[a, b], half)
        for a in range(K):
            for b in range(a, K):
                upper = np.triu(H[a, b])
                H[a, b] = upper + np.triu(upper, 1).T
                H[b, a] = H[a, b]
            H[a, a] += omega[-1] * np.diag(self.penalised)
        return np.asarray(H.transpose(0, 2, 1, 3).reshape(K * d, K * d))

    def curvatures(self, W: Array, omega: Array) -> Iterator[tuple[int, int, Array]]:
        """Yield (start, stop, v): curvature of omega.L in the scores of the rows, v (K, K, rows)."""
        K = self.K
        for start, stop, cell in self.layout.cells.chunks(self.design.rows_per_chunk(K * K)):
            scores = self.design.scores(start, stop, W)
            v = np.zeros((K, K, stop - start))
            for bound, where in self.measures:
                factor = self._row_factor(omega, where, cell, start, stop)
                if factor is not None:
                    v += bound.curvature(scores, self.targets[start:stop]) * factor
            yield start, stop, v

    def conjugate(self, W: Array, omega: Array) -> Conjugate:
        """Return a solver with the Hessian of omega.L that never forms it: n K^2 numbers instead of (K d)^2."""
        parts = list(self.curvatures(W, omega))
        ridge = omega[-1] * np.tile(self.penalised, self.K)
        diagonal = ridge + sum(
            np.concatenate([self.design.squares(a, b, v[c, c]) for c in range(self.K)]) for a, b, v in parts
        )

        def product(V: Array) -> Array:
            out: Array = V * ridge
            rows = V.reshape(-1, self.d)
            for start, stop, v in parts:
                scores = self.design.scores(start, stop, rows).reshape(len(V), self.K, -1)
                bent = np.einsum("abn,rbn->ran", v, scores).reshape(len(rows), -1)
                out += self.design.pull(start, stop, bent).reshape(V.shape)
            return out

        return Conjugate(product, diagonal)

    def _row_factor(
        self, omega: Array, where: NDArray[np.intp], cell: int, start: int, stop: int
    ) -> Array | float | None:
        """Return each row's weight omega_cell / weight_cell, or None when it is zero."""
        cells = self.layout.cells
        if cell < 0:
            assert cells.shares is not None
            per_cell = np.where(where >= 0, omega[where], 0.0) / cells.weight
            return np.asarray(per_cell @ cells.shares[:, start:stop])
        if where[cell] < 0 or omega[where[cell]] == 0.0:
            return None
        factor = float(omega[where[cell]] / cells.weight[cell])
        return factor if cells.row_weight is None else factor * cells.row_weight[start:stop]

    def fit(self, omega: Array, start: Array | None = None) -> Array:
        """Return the weights (K, d) that minimise omega.L, from the given start or from zero."""
        first = np.zeros((self.K, self.d)) if start is None else np.array(start, dtype=np.float64)
        return fit_cells(self, omega, first, second_order=self.K * self.d <= DENSE_LIMIT)

    def metric(self, W: Array) -> Array:
        """Return the Hessian of the loss at weights (K, d), or the whitening matrix if the loss has kinks.

        Above the limit for second-order quantities it is the diagonal of the identity, (K d,).
        """
        if self.K * self.d > DENSE_LIMIT:
            return np.ones(self.K * self.d)
        return self.hessian(W, self.algebra.p) if self.loss.smooth else self._whitening()

    def _whitening(self) -> Array:
        """Return X^T X / n with the ridge, which is the squared loss's Hessian, one block per class."""
        twin = self.with_loss(Squared())
        twin.K = 1
        block = twin.hessian(np.zeros((1, self.d)), self.algebra.p)
        return np.asarray(np.kron(np.eye(self.K), block), dtype=np.float64)
