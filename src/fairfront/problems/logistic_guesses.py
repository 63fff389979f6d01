"""Logistic guesses of the label and of groups: one fit each, and what it would say of every row without that row.

Without a row the fit is one Newton step away: with h = x^T H^-1 x, and g and v the slope and the curvature of the row's
share in the loss, the score of the row moves by (1 - h v)^-1 h g; for several classes h and v are matrices. So one
fit does the work of many folds. Rows are where they are, in memory or with Dask, and pass through `pieces`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, softmax

from ..exceptions import InputError, spelled
from ..objectives import LOSSES, Array, Cells, Objectives
from ..validation.inputs import check_matrix
from .design import DenseDesign, Frame
from .fit_rows import Ints
from .guesses import Coded, Guess, Scaling, logistic_model
from .pieces import Names, Piece, feature_names, unfolded
from .point import Bordered, Point, newton
from .sparse_design import moments
from .threads import in_threads

if TYPE_CHECKING:
    from .dask.partition import DaskRows

RATES = "units='rates'"
MOST_WEIGHTS = 500
"""Weights of a fit, of all its classes, up to which rows are left out in closed form."""
CLIP = 0.95
"""Largest share h v of the curvature along a row that may be its own: beyond, a step without it says nothing."""
PER_ENTRY, THREAD = 0.1, 1e6  # nanoseconds per row and pair of weights, and those that are worth a thread
EVERY = np.zeros(1, dtype=np.intp)


class Classes(NamedTuple):
    """What is fitted: the class of every label and cell, (labels, cells), -1 where there is none; of ``size`` classes.

    ``binary`` says that pieces have the targets -1 and 1 of two labels.
    """

    table: Ints
    size: int
    binary: bool

    @property
    def loss(self) -> Any:
        return LOSSES["logistic" if self.size == 2 else "softmax"]()

    def relabelled(self, piece: Piece) -> Piece:
        """Return the rows in one cell, with these classes as targets; those that have none weigh nothing."""
        code = self.table[_labels(piece, self.binary)]
        given = piece.cells.row_weight
        weight = given if (code >= 0).all() else np.where(code >= 0, 1.0 if given is None else given, 0.0)
        targets = np.maximum(code, 0).astype(np.float64)
        cells = Cells(np.empty(0, dtype=np.intp), np.array([0, piece.n], dtype=np.intp), np.ones(1), weight, None)
        return Piece(piece.design, 2.0 * targets - 1.0 if self.size == 2 else targets, cells)


@dataclass(frozen=True, eq=False)
class LogisticRows:
    """Rows that logistic regressions are fitted to; ``strength`` counts half of the squared weights, once per fit."""

    rows: Piece | DaskRows
    frame: Frame
    strength: float
    binary: bool
    names: Names = None

    @classmethod
    def of(cls, X: Any, objectives: Objectives, strength: float, fit_intercept: bool) -> LogisticRows:
        matrix = check_matrix(X)
        frame = Frame.of(moments(matrix), fit_intercept)
        binary = objectives.task.kind == "binary"
        return cls(Piece.of(matrix, objectives, frame), frame, strength, binary, feature_names(X))

    def total(self, ask: Callable[[Piece], Any], join: Callable[[list[Any]], Any] | None = None) -> tuple[Any, ...]:
        """Return what is asked of all rows, added up, or joined where they are in several places."""
        if isinstance(self.rows, Piece):
            found = ask(self.rows)
            return found if isinstance(found, tuple) else (found,)
        return self.rows.total(ask) if join is None else self.rows.total(ask, join)

    def coded(self) -> Coded:
        """Return label, cell and weight of rows that are elsewhere, in the order in which passes find them."""
        label, cell, weight = self.total(partial(_codes, binary=self.binary), _joined)
        return Coded(label, cell, None if (weight == 1.0).all() else weight)

    def guess(self, table: Ints, size: int, weight: float) -> tuple[Guess, Array]:
        """Fit the classes (labels, cells) of a table (-1: not among them), of this weight in all.

        Return the guess, and its probabilities (n, size) of every row by the fit without it.
        """
        classes = Classes(table, size, self.binary)
        fit = _Fit(self, classes, weight)
        W = newton(fit, np.ones(1), np.zeros((fit.K, self.rows.d)))
        T = Bordered.of(fit.hessian(W, np.ones(1)), np.empty((0, W.size))).T.reshape(*W.shape, -1)
        P = self.total(partial(_left_out, classes=classes, weight=weight, W=W, T=T), _joined)[0]
        if isinstance(self.rows, Piece):
            P[self.rows.cells.order] = P.copy()
        outside = self.frame.outward(W)
        last = outside[:, -1] if self.frame.intercept else np.zeros(fit.K)
        columns = self.rows.d - self.frame.intercept
        model = logistic_model(np.ascontiguousarray(outside[:, :columns]), np.array(last), self.names)
        return Guess(model, np.arange(size, dtype=np.intp), Scaling.none(size)), P


@dataclass(frozen=True, eq=False)
class _Fit:
    """The penalised loss of one fit, as `point.newton` takes it."""

    rows: LogisticRows
    classes: Classes
    weight: float

    @property
    def K(self) -> int:
        return 1 if self.classes.size == 2 else self.classes.size

    @property
    def measures(self) -> list[tuple[Any, Ints]]:
        return [(self.classes.loss, EVERY)]

    @property
    def penalty(self) -> Array:
        return np.asarray(self.rows.frame.penalised * self.rows.strength / self.weight)

    def cells(self, W: Array) -> Point:
        ask = partial(Piece.cell_sums, measures=self.measures, k=1, W=W, gradients=True)
        L, G = self.rows.total(partial(_asked, ask=ask, classes=self.classes))
        value = L / self.weight + 0.5 * (W * W * self.penalty).sum()
        return Point(W, value, np.zeros((1, 1, 1)), (G / self.weight + W * self.penalty).reshape(1, 1, -1))

    def hessian(self, W: Array, omega: Array) -> Array:
        factors = [omega / self.weight]
        ask = partial(Piece.products, measures=self.measures, factors=factors, W=W, float32=False)
        H = unfolded(self.rows.total(partial(_asked, ask=ask, classes=self.classes))[0])
        H[np.diag_indices(len(H))] += np.tile(self.penalty, self.K)
        return H


def _labels(piece: Piece, binary: bool) -> tuple[Ints, Ints]:
    """Return label codes and cells of sorted rows."""
    label = piece.targets > 0.0 if binary else piece.targets
    return label.astype(np.intp), np.repeat(np.arange(len(piece.cells.offsets) - 1), np.diff(piece.cells.offsets))


def _codes(piece: Piece, binary: bool) -> tuple[Ints, Ints, Array]:
    if not isinstance(piece.design, DenseDesign):
        raise InputError(
            f"{spelled(RATES)} on Dask collections needs dense partitions, found sparse matrices; give it a sample, "
            "X.compute(), or dense partitions, X.map_blocks(lambda part: part.toarray())."
        )
    weight = piece.cells.row_weight
    return *_labels(piece, binary), np.ones(piece.n) if weight is None else weight


def _asked(piece: Piece, ask: Callable[[Piece], Any], classes: Classes) -> Any:
    return ask(classes.relabelled(piece))


def _joined(parts: list[Any]) -> tuple[NDArray[Any], ...]:
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


def _left_out(piece: Piece, classes: Classes, weight: float, W: Array, T: Array) -> tuple[Array]:
    """Return probabilities (n, size) of sorted rows by the fit W (K, d) without each; H^-1 = T T^T with T (K, d, r)."""
    rows, loss, K = classes.relabelled(piece), classes.loss, len(W)
    parts = list(rows.cells.chunks(rows.design.rows_per_chunk(K * T.shape[2])))

    def moved(chunk: tuple[int, int, int]) -> Array:
        start, stop, _ = chunk
        X: Array = rows.design.taken(start, stop)
        scores, target = W @ X.T, rows.targets[start:stop]
        given = rows.cells.row_weight
        share = np.full(stop - start, 1.0 / weight) if given is None else given[start:stop] / weight
        slope = loss.value_slope(scores, target)[1] * share
        bend, U = loss.curvature(scores, target) * share, X @ T
        if K == 1:
            h = np.einsum("nr,nr->n", U[0], U[0])
            return np.asarray(scores + h * slope / (1.0 - np.minimum(h * bend[0, 0], CLIP)))
        h = np.einsum("anr,bnr->nab", U, U)
        own = np.einsum("nab,bcn->nac", h, bend)
        size_ = np.sqrt((own * own).sum(axis=(1, 2)))
        own *= np.minimum(1.0, CLIP / np.maximum(size_, CLIP))[:, None, None]
        step = np.linalg.solve(np.eye(K) - own, np.einsum("nab,bn->na", h, slope)[..., None])[..., 0]
        return np.asarray(scores + step.T)

    found = in_threads(moved, parts, int(piece.n * W.size**2 * PER_ENTRY / THREAD))
    scores = np.concatenate(found, axis=1) if found else np.zeros((K, 0))
    if K > 1:
        return (np.ascontiguousarray(softmax(scores, axis=0).T),)
    return (np.column_stack([expit(-scores[0]), expit(scores[0])]),)


def closed_form(X: Any, sizes: Sequence[int], fit_intercept: bool) -> bool:
    """Tell whether rows of features in memory can be left out in closed form: dense numbers, in few columns."""
    if sparse.issparse(X) or len(getattr(X, "shape", ())) != 2:
        return False
    kinds = {getattr(each, "kind", "O") for each in getattr(X, "dtypes", [getattr(X, "dtype", None)])}
    weights = (X.shape[1] + fit_intercept) * max(1 if size == 2 else size for size in sizes)
    return kinds <= set("biuf") and weights <= MOST_WEIGHTS
