"""Rows in partitions: what runs where they are, where they are kept between passes, and sums over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...exceptions import InputError
from ...objectives import Array, Cells
from ..design import DenseDesign, Frame
from ..pieces import Bound, Factors, Piece, Product, summed
from ..sparse_design import sorted_design
from ..threads import one_thread
from .passes import computed_over, require_dask
from .scan import Key, Sides


@dataclass(frozen=True)
class Plan:
    """How rows become a piece: per key its cell and target, the cells' weights, and what the model needs.

    The key after the last stands for rows of weight 0, which are left out; its cell is the one after the last.
    """

    keys: dict[Key, int]
    cell: NDArray[np.intp]
    target: Array
    weight: Array
    regression: bool
    weighted: bool
    frame: Frame


@dataclass(frozen=True)
class Side:
    """What a partition's labels, groups and weights say of its rows, in a byte per row where keys are few.

    ``target`` holds the values of a regression, ``weight`` the weights of rows, None when all are 1.
    """

    key: NDArray[Any]
    target: Array | None
    weight: Array | None


def matrix_of(x: Any) -> Any:
    if sparse.issparse(x):
        return sparse.csr_array(x)
    array = x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def side(y: Any, groups: Any, weight: Any, plan: Plan) -> Side:
    """Look up every row of a partition in the plan."""
    sides = Sides.of(y, groups, weight, len(y), plan.regression)
    (place, keys), none = sides.keyed, len(plan.keys)
    codes = np.array([plan.keys.get(key, none) for key in keys], dtype=np.min_scalar_type(none))[place]
    idle = np.zeros(len(codes), dtype=bool) if sides.weight is None else sides.weight <= 0.0
    if (codes[~idle] == none).any():
        raise InputError(
            "a partition has labels or groups that it did not have when it was first read, expected collections that "
            "give the same rows each time; store or persist them before tracing."
        )
    codes[idle] = none
    return Side(codes, sides.target, sides.weight if plan.weighted else None)


class LooseDesign(DenseDesign):
    """A dense matrix in the precision and order that it has, for one pass: rows are taken chunk by chunk."""

    def __init__(self, X: NDArray[Any], order: NDArray[np.intp], frame: Frame) -> None:
        self.n, self.columns, self.d = len(order), int(X.shape[1]), len(frame.scale)
        self.X, self.order, self.far, self.frame = X, order, False, frame
        self.last, self.kept = (0, 0), np.empty((0, self.d))

    def taken(self, start: int, stop: int) -> Array:
        """Framed; those of the last call are still there."""
        if self.last != (start, stop):
            if len(self.kept) != stop - start:
                self.kept = np.ones((stop - start, self.d))
            rows = self.kept[:, : self.columns]
            rows[:] = self.X[self.order[start:stop]]
            self.frame.put(rows)
            self.last = (start, stop)
        return self.kept


def _sorted_rows(known: Side, plan: Plan) -> tuple[NDArray[np.intp], Array, Cells]:
    count = len(plan.weight)
    cell = plan.cell.astype(np.min_scalar_type(count))[known.key]  # small numbers sort by counting
    offsets = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=count + 1)[:count])]).astype(np.intp)
    order = np.argsort(cell, kind="stable")[: offsets[-1]]
    targets = known.target[order] if known.target is not None else plan.target[known.key[order]]
    weight = None if known.weight is None else known.weight[order]
    return order, targets, Cells(order, offsets, plan.weight, weight)


def prepared(x: Any, known: Side, plan: Plan, loose: bool = False) -> Piece:
    """Return a partition's rows as a piece: a sorted copy to keep in memory, or a loose one for one pass."""
    order, targets, cells = _sorted_rows(known, plan)
    matrix = matrix_of(x)
    if loose and not sparse.issparse(matrix):
        return Piece(LooseDesign(matrix, order, plan.frame), targets, cells)
    return Piece(sorted_design(matrix, order, plan.frame.intercept, plan.frame), targets, cells)


Ask = Callable[[Piece], tuple[Array, ...] | Array]
"""A pass: what to add up over a piece."""


def _added(ask: Ask, *part: Any) -> tuple[Array, ...]:
    """Add up over one part: a piece, or features, side and plan; in one thread."""
    with one_thread():
        found = ask(prepared(part[0], part[1], part[2], loose=True) if len(part) > 1 else part[0])
    return found if isinstance(found, tuple) else (found,)


def _bent(piece: Piece, measures: Any, factors: Any, W: Array, V: Array | None = None) -> Array:
    """Return the diagonal of a Hessian that is never formed, or its product with rows V; curvatures are found anew."""
    parts = piece.curvatures(measures, factors, W)
    return piece.diagonal(parts, len(W)) if V is None else piece.bent(parts, V, len(W))


EAGER_BYTES = 1 << 25
"""Largest size of the cells' Hessians that a pass which has to read its rows brings along."""
MEMO_BYTES = 1 << 26
"""Size of what is remembered of single runs: solvers come back to where they were."""


class DaskRows:
    """Rows in partitions. ``parts`` are what a pass opens: kept pieces, or features, side and plan to read anew.

    Where they are read anew, they are ``eager`` to bring the Hessians of all cells along with values and gradients,
    because reading rows is what costs. ``passes`` counts the passes over the data.
    """

    def __init__(self, parts: list[tuple[Any, ...]], n: int, squares: Array, eager: bool) -> None:
        self.parts, self.n, self.d, self.eager = parts, n, len(squares), eager
        self.squares, self.passes = squares, 0
        self.target_mean = self.target_variance = 0.0
        self.memo: dict[tuple[Any, ...], tuple[Array, ...]] = {}

    def total(self, ask: Ask, combine: Callable[[list[Any]], Any] = summed) -> tuple[Array, ...]:
        self.passes += 1
        return tuple(np.array(array) for array in computed_over(self.parts, partial(_added, ask), combine))

    def _remembered(self, ask: Ask, least: int, measures: Bound, W: Array) -> tuple[Array, ...]:
        """Return the sums of one run at W (K, d), in copies, asked for anew where fewer than ``least`` are known."""
        key = (tuple(bound for bound, _ in measures), W.shape, W.tobytes())
        if len(self.memo.get(key, ())) < least:
            self.memo.pop(key, None)
            self.memo[key] = self.total(ask)
            while len(self.memo) > 1 and sum(a.nbytes for each in self.memo.values() for a in each) > MEMO_BYTES:
                self.memo.pop(next(iter(self.memo)))
        return tuple(array.copy() for array in self.memo[key])

    def cell_sums(self, measures: Bound, k: int, W: Array, gradients: bool) -> tuple[Array, ...]:
        ask = partial(Piece.fresh_sums, measures=measures, k=k, W=W, gradients=gradients)
        if len(W) > 1:
            return self.total(ask)
        if gradients and self._brings(k, W[0]):
            ask = partial(Piece.evaluated, measures=measures, k=k, W=W[0])
        return self._remembered(ask, 1 + gradients, measures, W[0])[: 1 + gradients]

    def _brings(self, k: int, W: Array) -> bool:
        return self.eager and 8 * k * W.size**2 <= EAGER_BYTES

    def products(self, measures: Bound, factors: Factors, W: Array, float32: bool) -> Array:
        """From the cells' where passes bring them along."""
        k = 2 + max(int(where.max()) for _, where in measures)  # the penalty comes after all cells
        if not self._brings(k, W):
            return self.total(partial(Piece.products, measures=measures, factors=factors, W=W, float32=float32))[0]
        H = self._remembered(partial(Piece.evaluated, measures=measures, k=k, W=W), 3, measures, W)[2]
        share = np.zeros(len(H))
        for (_, where), per_cell in zip(measures, factors, strict=True):
            share[where[where >= 0]] += per_cell[where >= 0]
        return np.asarray(np.tensordot(share, H, axes=1))

    def bend(self, measures: Bound, factors: Factors, W: Array) -> tuple[Array, Product]:
        """Each product is one pass."""
        ask = partial(_bent, measures=measures, factors=factors, W=W)
        return self.total(ask)[0], lambda V: self.total(partial(ask, V=V))[0]

    def reach(self, W: Array) -> Array:
        return self.total(partial(Piece.reach, W=W), lambda parts: tuple(np.max(parts, axis=0)))[0]


def lazy_matrix(
    read: Callable[..., Any], parts: Sequence[tuple[Any, ...]], lengths: Sequence[int], width: int, like: Any
) -> Any:
    """Return an array (n, width) whose partitions are ``read(*part)``, matrices like an empty one, of these lengths."""
    array, call = require_dask("dask.array"), require_dask().delayed(read, pure=False)
    blocks = [array.from_delayed(call(*part), (n, width), meta=like) for part, n in zip(parts, lengths, strict=True)]
    return blocks[0] if len(blocks) == 1 else array.concatenate(blocks, axis=0)


def lazy_column(codes: NDArray[Any], values: NDArray[Any] | None, lengths: Sequence[int]) -> Any:
    """Return an array (n,) of what codes stand for, looked up partition by partition; of the codes where no values."""
    known = require_dask("dask.array").from_array(codes, chunks=(tuple(lengths),), name=False)
    return known if values is None else known.map_blocks(values.take, dtype=values.dtype, meta=values[:0])
