"""Linear models: scores are X W^T, every cell gradient a weighted sum of rows.

Sums over rows are the affair of `pieces`; here they are divided by the cells' weights, penalised and put together.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..exceptions import InputError
from ..objectives import Algebra, Array, Layout, Loss, Objectives, Task
from ..objectives.losses import Squared
from .design import Frame
from .factorisation import DENSE_LIMIT, ConjugateGradients
from .pieces import Bound, Names, Piece, unfolded
from .point import TINY, Point, fit_cells, gram
from .weight_terms import WeightTerms

if TYPE_CHECKING:
    from .dask.partition import DaskRows

METRIC_RIDGE = 1e-10  # added to a metric's diagonal, as a share of its mean: collinear columns leave it singular


class LinearProblem:
    """Cells of a linear model on its rows: first order, second order and weighted fits.

    Columns are centred and scaled by ``frame`` inside. Weights are in the users' units all the same, but for those of
    the problem that `framed` returns; `from_user` and `to_user` turn one into the other.
    """

    def __init__(
        self,
        rows: Piece | DaskRows,
        objectives: Objectives,
        frame: Frame | None = None,
        feature_names: Names = None,
    ) -> None:
        intercept = objectives.question.fit_intercept
        self.rows, self.feature_names = rows, feature_names
        self.K, self.d = objectives.n_scores, rows.d
        self.penalised = np.ones(self.d)
        self.penalised[-1] = not intercept
        self.inverse_metric: Array | None = None
        self.frame = frame or Frame.plain(self.d - intercept, intercept)
        self.inside = self.frame.trivial
        self.terms = WeightTerms.of(objectives)
        self.objectives = replace(objectives, algebra=objectives.algebra.widened(len(self.terms)))

    @property
    def algebra(self) -> Algebra:
        return self.objectives.algebra

    @property
    def layout(self) -> Layout:
        return self.objectives.layout

    @property
    def task(self) -> Task:
        return self.objectives.task

    @property
    def loss(self) -> Loss:
        return self.objectives.loss

    @property
    def fit_intercept(self) -> bool:
        """It is the last weight of each class."""
        return self.objectives.question.fit_intercept

    @property
    def measures(self) -> Bound:
        return self.objectives.measures

    @property
    def piece(self) -> Piece:
        if isinstance(self.rows, Piece):
            return self.rows
        raise InputError(
            "this needs all rows in memory, expected arrays or data frames, found Dask collections; "
            "give it a sample of the rows, X.compute(), traced in memory."
        )

    def _with(self, **changed: Any) -> Self:
        other = copy.copy(self)
        other.__dict__.update(changed)
        return other

    def framed(self) -> Self:
        if self.inside:
            return self
        return self._with(inside=True, penalised=self.frame.penalised, inverse_metric=None)

    def with_loss(self, loss: Loss) -> Self:
        return self._with(objectives=self.objectives.with_loss(loss))

    def with_algebra(self, algebra: Algebra) -> Self:
        return self._with(objectives=replace(self.objectives, algebra=algebra))

    def with_row_weights(self, weight: Array) -> Self:
        """Of sorted rows, (n,), with the same total in every cell."""
        return self.with_piece(replace(self.piece, cells=replace(self.layout.cells, row_weight=weight)))

    def with_piece(self, rows: Piece) -> Self:
        """On other rows in memory, with the same total in every cell."""
        return self._with(objectives=replace(self.objectives, layout=replace(self.layout, cells=rows.cells)), rows=rows)

    def with_metric(self, M: Array) -> Self:
        """Directions in the metric M, (K d, K d), or (K d,) for its diagonal."""
        if M.ndim == 1:
            return self._with(inverse_metric=1.0 / M)
        size = len(M)
        ridge = METRIC_RIDGE * max(float(np.trace(M)) / size, TINY)
        return self._with(inverse_metric=cho_solve(cho_factor(M + ridge * np.eye(size)), np.eye(size)))

    def without_metric(self) -> Self:
        return self._with(inverse_metric=None)

    def from_user(self, W: Array) -> Array:
        return self.frame.inward(W) if self.inside else W

    def to_user(self, W: Array) -> Array:
        return self.frame.outward(W) if self.inside else W

    def inner(self, W: Array) -> Array:
        """Weights (..., d) of the rows that are kept."""
        return W if self.inside else self.frame.inward(W)

    def outer(self, G: Array) -> Array:
        """From gradients (..., d) of the rows that are kept."""
        return G if self.inside else self.frame.gradient(G)

    def evaluate(self, W: Array) -> tuple[Array, Array]:
        """Return cell values (R, k) and gradients (R, k, K d) of R models: one pass."""
        R, k = len(W), self.layout.k
        L, G = self.rows.cell_sums(self.measures, k, self.inner(W), True)
        weight, G = self.objectives.weights, self.outer(G)
        G[:-1] /= weight[:-1, None, None]
        G[-1] = (W * self.penalised).reshape(R * self.K, self.d)
        G = self.terms.gradients(W, G.reshape(k, R, self.K * self.d).transpose(1, 0, 2))
        return self._means(W, L), G

    def cells(self, W: Array) -> Point:
        L, G = self.evaluate(W)
        inverse = self.inverse_metric
        D = G if inverse is None else G * inverse if inverse.ndim == 1 else G @ inverse
        return Point(W, L, gram(G, D), D)

    @property
    def has_curvature(self) -> bool:
        """Tell whether the loss is curved where scores are 0, so that Newton's method can start there."""
        return self.loss.smooth and self.loss.name != "smoothed_hinge"

    def values(self, W: Array) -> Array:
        """Cell values alone, (R, k), for the price of one product."""
        (L,) = self.rows.cell_sums(self.measures, self.layout.k, self.inner(W), False)
        return self._means(W, L)

    def _means(self, W: Array, L: Array) -> Array:
        L[:, :-1] /= self.objectives.weights[:-1]
        L[:, -1] = self.penalty(W)
        return self.terms.beside(W, L)

    def penalty(self, W: Array) -> Array:
        return np.asarray(0.5 * (W * W * self.penalised).sum(axis=(1, 2)))

    def reach(self, W: Array) -> Array:
        return self.rows.reach(self.inner(W))

    def move(self, point: Point, beta: Array) -> Array:
        return point.moved(beta)

    def hessian(self, W: Array, omega: Array, float32: bool = False) -> Array:
        """Return the Hessian of omega.L at weights (K, d), maybe in single precision, enough for a Newton step."""
        H = self.unfolded(self.rows.products(self.measures, self.factors(omega), self.inner(W), float32))
        H[np.diag_indices(len(H))] += omega[-1] * np.tile(self.penalised, self.K)
        return H

    def unfolded(self, H: Array) -> Array:
        return unfolded(H, self.outer)

    def factors(self, omega: Array) -> list[Array]:
        """Return what a row of each cell counts in every measure, omega_cell / weight_cell."""
        weight = self.layout.cells.weight
        return [np.where(where >= 0, omega[where], 0.0) / weight for _, where in self.measures]

    def conjugate(self, W: Array, omega: Array) -> ConjugateGradients:
        diagonal, product = self.rows.bend(self.measures, self.factors(omega), self.inner(W))
        ridge, shape = omega[-1] * np.tile(self.penalised, self.K), (-1, self.K, self.d)

        def bent(V: Array) -> Array:
            found = product(self.inner(V.reshape(shape)).reshape(V.shape))
            return np.asarray(self.outer(found.reshape(shape)).reshape(V.shape) + V * ridge)

        if not self.inside:
            blocks = diagonal.reshape(self.K, self.d)
            diagonal = (blocks * self.frame.scale**2 + blocks[:, -1:] * self.frame.shift**2).reshape(-1)
        return ConjugateGradients(bent, diagonal + ridge)

    def column_scale(self) -> Array:
        """Return each column's root mean square, (d,), of its shift at least; 1 for empty columns."""
        total = self.rows.squares
        found = np.sqrt(np.where(total > 0, total / max(self.rows.n, 1), 1.0))
        return found if self.inside else np.hypot(found * self.frame.scale, self.frame.shift)

    def fit(self, omega: Array, start: Array | None = None) -> Array:
        if not self.inside:
            inner = self.framed()
            return inner.to_user(inner.fit(omega, None if start is None else inner.from_user(start)))
        first = np.zeros((self.K, self.d)) if start is None else np.array(start, dtype=np.float64)
        if start is None and self.fit_intercept and self.loss.link:
            first[:, -1] = self.loss.begin(self.piece.target_mean)
        return fit_cells(self, omega, first, second_order=self.K * self.d <= DENSE_LIMIT)

    @property
    def loss_size(self) -> float:
        """Return the order of magnitude of the loss, in its unit: tolerances are shares of it."""
        return self.loss.size(self.rows.target_mean, self.rows.target_variance)

    @property
    def score_size(self) -> float:
        """Return the order of magnitude of scores: of the targets where scores predict them, else log-odds or logs."""
        spread = float(np.sqrt(self.rows.target_variance)) if isinstance(self.loss, Squared) else 1.0
        return spread or 1.0

    def metric(self, W: Array) -> Array:
        """Return the Hessian of the loss at weights (K, d); where it has kinks, X^T X / n with the ridge per class.

        Above the limit for second-order quantities it is the diagonal of the identity, (K d,).
        """
        if self.K * self.d > DENSE_LIMIT:
            return np.ones(self.K * self.d)
        if self.loss.smooth:
            return self.hessian(W, self.algebra.p)
        block = self.with_loss(Squared())._with(K=1).hessian(np.zeros((1, self.d)), self.algebra.p)
        return np.asarray(np.kron(np.eye(self.K), block), dtype=np.float64)
