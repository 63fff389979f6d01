"""Cells: which rows are averaged together, merged from the finest classes that any notion can tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .groups import MISSING, Attribute
from .losses import Array

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Atoms:
    """The finest classes of rows that any notion can tell apart: (label, group of each attribute).

    ``keys`` (a, 1 + attributes) holds the label code and the group codes (-1: in no group), ``index`` (n,) the atom of
    every row. ``weights`` (a,) are sums of sample weights.
    """

    keys: Ints
    weights: Array
    index: Ints

    def belongs(self, attribute: int, level: int | None, labels: tuple[int, ...] | None) -> NDArray[np.bool_]:
        """Atoms with weight of one group (None: of any group) whose label is among ``labels`` (None: any)."""
        codes = self.keys[:, 1 + attribute]
        mask = (codes == level if level is not None else codes != MISSING) & (self.weights > 0.0)
        return np.asarray(mask if labels is None else mask & np.isin(self.keys[:, 0], labels))


def find_atoms(labels: Ints, attributes: tuple[Attribute, ...], sample_weight: Array | None) -> Atoms:
    table = np.column_stack([labels] + [a.codes for a in attributes if a.codes is not None])
    flat = np.zeros(len(table), dtype=np.intp)
    for column, size in zip(table.T, table.max(axis=0) + 2, strict=True):
        if flat.max(initial=0) > np.iinfo(np.intp).max // (2 * int(size)):
            flat = np.unique(flat, return_inverse=True)[1].astype(np.intp)
        flat = flat * size + (column + 1)
    _, first, index = np.unique(flat, return_index=True, return_inverse=True)
    weights = np.bincount(index, sample_weight, minlength=len(first)).astype(np.float64)
    return Atoms(table[first], weights, index.astype(np.intp))


@dataclass(frozen=True)
class Cells:
    """Classes of rows that are averaged together, merged from atoms; rows sorted so that each is a block.

    order (n,)      the permutation that sorts the rows by cell; empty where rows are elsewhere
    offsets (c+1,)  cell j is rows offsets[j] to offsets[j+1] of the sorted data
    weight (c,)     sum of sample weights of each cell
    row_weight      sample weights in sorted order, None when all are 1
    """

    order: Ints
    offsets: Ints
    weight: Array
    row_weight: Array | None

    @property
    def n(self) -> int:
        return int(self.offsets[-1])

    @property
    def count(self) -> int:
        return len(self.weight)

    @property
    def of_sorted(self) -> Ints:
        """Return the cell of every sorted row."""
        return np.repeat(np.arange(self.count), np.diff(self.offsets))

    @property
    def of_rows(self) -> Ints:
        """In the order of the data."""
        return self.unsorted(self.of_sorted)

    def unsorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """From the order of the sorted rows to that of the data."""
        found = np.empty(self.n, dtype=values.dtype)
        found[self.order] = values
        return found

    def chunks(self, size: int) -> Iterator[tuple[int, int, int]]:
        """Yield (start, stop, cell) of runs of at most ``size`` sorted rows."""
        for cell in range(self.count):
            start, stop = int(self.offsets[cell]), int(self.offsets[cell + 1])
            yield from ((a, min(a + size, stop), cell) for a in range(start, stop, size))


def merged(atoms: Atoms, signatures: NDArray[np.bool_], sample_weight: Array | None) -> tuple[Cells, Ints]:
    """Merge atoms that every comparison treats alike; return the cells and the cell of each atom.

    ``signatures`` (a, events) says which averages each atom enters. Five groups under equal opportunity
    thus need six cells: one per group of the favourable label, and one for all other rows. Atoms without
    weight enter no average and join the heaviest, so that every cell has weight.
    """
    signatures = np.where(atoms.weights[:, None] > 0.0, signatures, signatures[np.argmax(atoms.weights)])
    into = np.unique(signatures, axis=0, return_inverse=True)[1].reshape(-1).astype(np.intp)
    count = int(into.max()) + 1
    weight = np.bincount(into, atoms.weights, minlength=count).astype(np.float64)
    cell = into[atoms.index]
    order = np.argsort(cell, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=count))]).astype(np.intp)
    return Cells(order, offsets, weight, None if sample_weight is None else sample_weight[order]), into
