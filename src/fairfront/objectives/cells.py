"""Atoms and cells: the frozen index of which rows are averaged together. No losses, no notions here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .groups import MISSING, Attribute
from .labels import Array

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Atoms:
    """The finest classes of rows that any notion can tell apart: (label, group of each attribute).

    ``keys`` (a, 1 + attributes) holds the label code and the group codes (-1: in no group). Rows belong to
    atoms by ``index`` (n,), or by ``shares`` (n, a) when groups are probabilities. ``weights`` (a,) are sums
    of sample weights, ``rows`` (a,) plain counts.
    """

    keys: Ints
    weights: Array
    rows: Array
    index: Ints | None
    shares: Array | None

    def belongs(self, attribute: int, level: int, labels: tuple[int, ...] | None) -> NDArray[np.bool_]:
        """Return the mask of atoms with weight of one group whose label is among ``labels`` (None: any)."""
        mask = (self.keys[:, 1 + attribute] == level) & (self.weights > 0.0)
        return np.asarray(mask if labels is None else mask & np.isin(self.keys[:, 0], labels))


def find_atoms(labels: Ints, attributes: tuple[Attribute, ...], sample_weight: Array | None) -> Atoms:
    """Find the atoms of rows with the given label codes and attributes."""
    if any(attribute.shares is not None for attribute in attributes):
        return _soft_atoms(labels, attributes, sample_weight)
    table = np.column_stack([labels] + [a.codes for a in attributes if a.codes is not None])
    base = table.max(axis=0) + 2
    flat = np.zeros(len(table), dtype=np.intp)
    for column, size in zip(table.T, base, strict=True):
        if flat.max(initial=0) > np.iinfo(np.intp).max // (2 * int(size)):
            flat = np.unique(flat, return_inverse=True)[1].astype(np.intp)
        flat = flat * size + (column + 1)
    _, first, index = np.unique(flat, return_index=True, return_inverse=True)
    rows = np.bincount(index, minlength=len(first)).astype(np.float64)
    weights = rows if sample_weight is None else np.bincount(index, sample_weight, minlength=len(first))
    return Atoms(table[first], np.asarray(weights, dtype=np.float64), rows, index.astype(np.intp), None)


def _soft_atoms(labels: Ints, attributes: tuple[Attribute, ...], sample_weight: Array | None) -> Atoms:
    """Cross labels and all attributes' memberships; what a row's kept groups leave over goes to no group."""
    codes = np.unique(labels)
    keys: list[tuple[int, ...]] = [(int(c),) for c in codes]
    shares = (labels[:, None] == codes).astype(np.float64)
    for attribute in attributes:
        member = attribute.membership()
        rest = np.clip(1.0 - member.sum(axis=1, keepdims=True), 0.0, None)
        rest[rest < 1e-9] = 0.0
        member = np.hstack([member, rest])
        levels = [*range(len(attribute.levels)), MISSING]
        keys = [(*key, level) for key in keys for level in levels]
        shares = (shares[:, :, None] * member[:, None, :]).reshape(len(labels), -1)
    rows = shares.sum(axis=0)
    used = rows > 0
    shares = np.ascontiguousarray(shares[:, used])
    weighted = shares if sample_weight is None else shares * sample_weight[:, None]
    return Atoms(np.array(keys, dtype=np.intp)[used], weighted.sum(axis=0), rows[used], None, weighted)


@dataclass(frozen=True)
class Cells:
    """Classes of rows that are averaged together, merged from atoms; rows sorted so that each is a block.

    order (n,)      the permutation that sorts the rows by cell; empty where rows are elsewhere
    offsets (c+1,)  cell j is rows offsets[j] to offsets[j+1] of the sorted data
    weight (c,)     sum of sample weights of each cell
    row_weight      sample weights in sorted order, None when all are 1
    shares (c, n)   weights of rows in cells instead of blocks, when groups are probabilities
    """

    order: Ints
    offsets: Ints
    weight: Array
    row_weight: Array | None
    shares: Array | None

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return int(self.offsets[-1]) if self.shares is None else int(self.shares.shape[1])

    @property
    def of_rows(self) -> Ints:
        """Return the cell of every row, in the order of the data; not for shares."""
        found = np.empty(self.n, dtype=np.intp)
        found[self.order] = np.repeat(np.arange(self.count), np.diff(self.offsets))
        return found

    @property
    def count(self) -> int:
        """Return the number of cells."""
        return len(self.weight)

    def chunks(self, size: int) -> Iterator[tuple[int, int, int]]:
        """Yield (start, stop, cell) of runs of at most ``size`` sorted rows; cell is -1 with shares."""
        if self.shares is not None:
            yield from ((a, min(a + size, self.n), -1) for a in range(0, self.n, size))
            return
        for cell in range(self.count):
            start, stop = int(self.offsets[cell]), int(self.offsets[cell + 1])
            yield from ((a, min(a + size, stop), cell) for a in range(start, stop, size))


def merge(atoms: Atoms, signatures: NDArray[np.bool_], sample_weight: Array | None) -> tuple[Cells, Ints]:
    """Merge atoms that every comparison treats alike; return the cells and the cell of each atom.

    ``signatures`` (a, events) says which averages each atom enters. Five groups under equal opportunity
    thus need six cells: one per group of the favourable label, and one for all other rows. Atoms without
    weight enter no average and join the heaviest, so that every cell has weight.
    """
    signatures = np.where(atoms.weights[:, None] > 0.0, signatures, signatures[np.argmax(atoms.weights)])
    _, into = np.unique(signatures, axis=0, return_inverse=True)
    into = into.reshape(-1).astype(np.intp)
    count = int(into.max()) + 1
    weight = np.bincount(into, atoms.weights, minlength=count).astype(np.float64)
    if atoms.shares is not None:
        shares = np.stack([atoms.shares[:, into == j].sum(axis=1) for j in range(count)])
        n = shares.shape[1]
        return Cells(np.arange(n), np.zeros(0, dtype=np.intp), weight, None, shares), into
    assert atoms.index is not None
    cell = into[atoms.index]
    order = np.argsort(cell, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=count))]).astype(np.intp)
    row_weight = None if sample_weight is None else sample_weight[order]
    return Cells(order, offsets, weight, row_weight, None), into
