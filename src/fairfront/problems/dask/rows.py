"""Rows on Dask: every sum over them is one pass, and what the last passes found is remembered."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import Any

import numpy as np

from ...objectives import Array
from ..pieces import Bound, Factors, Piece, Product, summed
from .running import Runner
from .sums import Ask, added, bent_diagonal, bent_product

EAGER_BYTES = 1 << 25
"""Largest size of the cells' Hessians that a pass which has to read its rows brings along."""
MEMO_BYTES = 1 << 26
"""Size of what is remembered of single runs: solvers come back to where they were."""


class Memo:
    """Sums of single runs, the oldest forgotten first."""

    def __init__(self) -> None:
        self.found: OrderedDict[tuple[Any, ...], tuple[list[Any], tuple[Array, ...]]] = OrderedDict()
        self.size = 0

    def get(self, measures: Bound, W: Array) -> tuple[Array, ...] | None:
        """Return copies of what was found at W for the same measures."""
        bounds, arrays = self.found.get((W.shape, W.tobytes()), ([], ()))
        return tuple(array.copy() for array in arrays) if arrays and bounds == [b for b, _ in measures] else None

    def put(self, measures: Bound, W: Array, arrays: tuple[Array, ...]) -> None:
        """Remember what was found at W."""
        self._forget((W.shape, W.tobytes()))
        self.found[W.shape, W.tobytes()] = [b for b, _ in measures], tuple(array.copy() for array in arrays)
        self.size += sum(array.nbytes for array in arrays)
        while self.size > MEMO_BYTES and len(self.found) > 1:
            self._forget(next(iter(self.found)))

    def _forget(self, key: tuple[Any, ...]) -> None:
        _, arrays = self.found.pop(key, ([], ()))
        self.size -= sum(array.nbytes for array in arrays)


class DaskRows:
    """Rows in partitions. ``parts`` are what a pass opens: kept pieces, or features, side and plan to read anew.

    Parameters
    ----------
    eager : bool
        Bring the Hessians of all cells along with values and gradients, because reading rows is what costs.
    """

    def __init__(self, runner: Runner, parts: list[tuple[Any, ...]], n: int, squares: Array, eager: bool) -> None:
        self.runner, self.parts, self.n, self.d = runner, parts, n, len(squares)
        self.eager, self.passes, self.memo = eager, 0, Memo()
        self._squares = squares

    def total(self, ask: Ask) -> tuple[Array, ...]:
        """Add up over all rows: one pass."""
        self.passes += 1
        return tuple(np.array(array) for array in self.runner.over(self.parts, partial(added, ask), summed))

    def cell_sums(self, measures: Bound, k: int, W: Array, gradients: bool) -> tuple[Array, ...]:
        """Return the sums of the measures over their cells, and of the gradients, if asked for."""
        if len(W) > 1:
            return self.total(partial(Piece.cell_sums, measures=measures, k=k, W=W, gradients=gradients))
        known = self.memo.get(measures, W[0])
        if known is None or len(known) < 1 + gradients:
            known = self._single(measures, k, W, gradients)
            self.memo.put(measures, W[0], known)
        return known[: 1 + gradients]

    def _single(self, measures: Bound, k: int, W: Array, gradients: bool) -> tuple[Array, ...]:
        if gradients and self._brings(k, W[0]):
            return self.total(partial(Piece.evaluated, measures=measures, k=k, W=W[0]))
        return self.total(partial(Piece.cell_sums, measures=measures, k=k, W=W, gradients=gradients))

    def _brings(self, k: int, W: Array) -> bool:
        """Tell whether gradients at W (K, d) bring the Hessians of k cells along."""
        return self.eager and 8 * k * W.size**2 <= EAGER_BYTES

    def products(self, measures: Bound, factors: Factors, W: Array, half: bool) -> Array:
        """Return X^T diag(v) X per pair of classes, from the cells' where passes bring them along."""
        k = 2 + max(int(where.max()) for _, where in measures)  # the penalty comes after all cells
        if not self._brings(k, W):
            return self.total(partial(Piece.products, measures=measures, factors=factors, W=W, half=half))[0]
        known = self.memo.get(measures, W)
        if known is None or len(known) < 3:  # the same way without the memo, which a resumed run does not have
            known = self.total(partial(Piece.evaluated, measures=measures, k=k, W=W))
            self.memo.put(measures, W, known)
        share = np.zeros(len(known[2]))
        for (_, where), per_cell in zip(measures, factors, strict=True):
            share[where[where >= 0]] += per_cell[where >= 0]
        return np.asarray(np.tensordot(share, known[2], axes=1))

    def bend(self, measures: Bound, factors: Factors, W: Array) -> tuple[Array, Product]:
        """Return the diagonal and the product of a Hessian that is never formed; each product is one pass."""
        given: dict[str, Any] = {"measures": measures, "factors": factors, "W": W}
        (diagonal,) = self.total(partial(bent_diagonal, **given))
        return diagonal, lambda V: self.total(partial(bent_product, V=V, **given))[0]

    def reach(self, W: Array) -> Array:
        """Return the largest score of any row, in size, without the mean of its classes: one pass."""
        self.passes += 1
        ask = partial(added, partial(Piece.reach, W=W))
        return np.asarray(self.runner.over(self.parts, ask, lambda parts: (np.max(parts, axis=0)[0],))[0])

    def squares(self) -> Array:
        """Return the sums of squares of the columns, which were found when the data were first read."""
        return self._squares
