"""Samples: the same rows drawn many times, each time with weights of their own, evaluated together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .linear import LinearProblem
from .pieces import Piece
from .point import TINY
from .sparse_design import sorted_design

CHUNK_BYTES = 1 << 18
"""Scores of a chunk of rows for all runs; with several times as many, what is computed from them leaves the cache."""

FEW, PLENTY = 16, 500
"""One row of so many is enough to begin with, where so many rows are left per weight, and in every cell."""


@dataclass(frozen=True, eq=False)
class Samples:
    """S samples of the rows of a problem; in each of them every cell has its weight in the problem.

    counts (S, n)    how often each row was drawn, in sorted order
    scale (S, c)     what makes up for a cell's rows that were drawn too heavy or too light
    """

    problem: LinearProblem
    piece: Piece
    counts: NDArray[np.uint16]
    scale: Array

    @classmethod
    def draw(cls, problem: LinearProblem, n: int, rng: np.random.Generator) -> Samples:
        """Rows with replacement inside each cell."""
        cells = problem.layout.cells
        counts = np.empty((n, cells.n), dtype=np.uint16)
        for sample in counts:
            for start, stop in pairwise(cells.offsets):
                size = int(stop - start)
                sample[start:stop] = np.bincount(rng.integers(size, size=size), minlength=size)
        return cls._of(problem, problem.piece, counts)

    @classmethod
    def without(cls, problem: LinearProblem, fold: NDArray[np.intp], n: int) -> Samples:
        """All rows but those of one of n folds each time; ``fold`` (rows,) in sorted order."""
        counts = (fold != np.arange(n)[:, None]).astype(np.uint16)
        return cls._of(problem, problem.piece, counts)

    @classmethod
    def _of(cls, problem: LinearProblem, piece: Piece, counts: NDArray[np.uint16]) -> Samples:
        cells = piece.cells
        if cells.shares is not None:
            return cls(problem, piece, counts, cells.weight / np.maximum(counts @ cells.shares.T, TINY))
        base = 1.0 if cells.row_weight is None else cells.row_weight
        drawn = np.stack([np.add.reduceat(sample * base, cells.offsets[:-1]) for sample in counts])
        return cls(problem, piece, counts, cells.weight / np.maximum(drawn, TINY))

    def _base(self, start: int, stop: int, cell: int) -> Iterator[tuple[int, Array]]:
        """Yield the cells that some rows are in, one or by shares all, with the rows' weights there."""
        cells = self.piece.cells
        if cells.shares is not None:
            yield from enumerate(cells.shares[:, start:stop])
        else:
            yield cell, np.ones(stop - start) if cells.row_weight is None else cells.row_weight[start:stop]

    def __len__(self) -> int:
        return len(self.counts)

    def take(self, which: NDArray[np.intp]) -> Samples:
        return replace(self, counts=self.counts[which], scale=self.scale[which])

    def thinned(self, most: int) -> Samples:
        """Return the samples on every m-th row of cells that have far more than ``most`` rows, of shares on all."""
        if self.piece.cells.shares is not None:
            return self
        kept = [np.arange(a, b, max(1, int(b - a) // most)) for a, b in pairwise(self.piece.cells.offsets)]
        thinned = some_rows(self.piece, kept)
        return Samples._of(self.problem, thinned, self.counts[:, np.concatenate(kept)])

    def single(self, sample: int) -> LinearProblem:
        cells = self.piece.cells
        if cells.shares is not None:
            return self.problem.with_row_weights(self.counts[sample] * cells.shares * self.scale[sample][:, None])
        base = 1.0 if cells.row_weight is None else cells.row_weight
        scale = np.repeat(self.scale[sample], np.diff(cells.offsets))
        return self.problem.with_row_weights(self.counts[sample] * base * scale)

    def cells(self, W: Array, which: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        """Evaluate R runs, each on its sample: cell values (R, k), gradients (R, k, K d), and values on all rows."""
        problem, design, cells = self.problem, self.piece.design, self.piece.cells
        (R, K, d), k = W.shape, problem.layout.k
        L, everyone, G = np.zeros((R, k)), np.zeros((R, k)), np.zeros((k, R * K, d))
        flat = np.ascontiguousarray(problem.inner(W).reshape(R * K, d))
        counts = self.counts if len(which) == len(self) else self.counts[which]
        rows = max(64, min(design.rows_per_chunk(R * K), CHUNK_BYTES // (8 * R * K)))
        for start, stop, cell in cells.chunks(rows):
            scores = self.piece.scores(start, stop, flat).reshape(R, K, -1)
            for bound, where in problem.measures:
                if cell >= 0 and where[cell] < 0:
                    continue
                value, slope = bound.value_slope(scores, self.piece.targets[start:stop])
                for j, base in self._base(start, stop, cell):
                    if where[j] >= 0:
                        drawn = counts[:, start:stop] * base
                        L[:, where[j]] += np.einsum("rn,rn->r", value, drawn)
                        everyone[:, where[j]] += value @ base
                        G[where[j]] += design.pull(start, stop, (slope * drawn[:, None]).reshape(R * K, -1))
        used = np.concatenate([np.flatnonzero(where >= 0) for _, where in problem.measures])  # the cells behind L
        scale = self.scale[which][:, used] / cells.weight[used]
        L[:, :-1] *= scale
        everyone[:, :-1] /= cells.weight[used]
        L[:, -1] = everyone[:, -1] = problem.penalty(W)
        L, everyone = problem.terms.beside(W, L), problem.terms.beside(W, everyone)
        gradients = problem.outer(G).reshape(k, R, K * d).transpose(1, 0, 2).copy()
        gradients[:, :-1] *= scale[:, :, None]
        gradients[:, -1] = (W * problem.penalised).reshape(R, K * d)
        return L, problem.terms.gradients(W, gradients), everyone

    def hessians(self, W: Array, sample: int) -> Array:
        """Of all cells at weights (K, d) on one sample, (k, K d, K d)."""
        problem, design, cells = self.problem, self.piece.design, self.piece.cells
        (K, d), k = W.shape, problem.layout.k
        H, inner = np.zeros((k, K, K, d, d)), problem.inner(W)
        for start, stop, cell in cells.chunks(design.rows_per_chunk(K * K)):
            scores = self.piece.scores(start, stop, inner)
            for bound, where in problem.measures:
                if bound.linear or (cell >= 0 and where[cell] < 0):
                    continue
                bend = bound.curvature(scores, self.piece.targets[start:stop]) * self.counts[sample, start:stop]
                for j, base in self._base(start, stop, cell):
                    if where[j] >= 0:
                        self.piece.multiply(start, stop, bend * base * self.scale[sample, j], False, H[where[j]])
        found = problem.unfolded(H / problem.objectives.weights[:, None, None, None, None])
        found[-1] = np.diag(np.tile(problem.penalised, K))
        return problem.terms.hessians(found)


def some_rows(piece: Piece, kept: list[NDArray[np.intp]]) -> Piece:
    """Return the rows with these places in each cell, without those that are left out; not for shares."""
    rows, cells = np.concatenate(kept), piece.cells
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in kept])]).astype(np.intp)
    weight = None if cells.row_weight is None else cells.row_weight[rows]
    design = sorted_design(piece.design.X, rows, False)
    return Piece(design, piece.targets[rows], replace(cells, offsets=offsets, row_weight=weight))


def on_few(problem: LinearProblem) -> LinearProblem | None:
    """Return the problem on a part of its rows, where that has plenty: its solution is near that of all rows."""
    piece, size = problem.rows, problem.K * problem.d
    if not isinstance(piece, Piece) or piece.cells.shares is not None or piece.n < FEW * PLENTY * size:
        return None
    steps = [max(1, min(FEW, int(b - a) // PLENTY)) for a, b in pairwise(piece.cells.offsets)]
    few = some_rows(piece, [np.arange(a, b, s) for (a, b), s in zip(pairwise(piece.cells.offsets), steps, strict=True)])
    base = np.ones(few.n) if few.cells.row_weight is None else few.cells.row_weight
    total = np.add.reduceat(base, few.cells.offsets[:-1])
    scale = np.repeat(piece.cells.weight / np.maximum(total, TINY), np.diff(few.cells.offsets))
    return problem.with_piece(replace(few, cells=replace(few.cells, row_weight=base * scale)))
