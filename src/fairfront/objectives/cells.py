"""Cells: which rows are averaged together, and which averages of them the notions compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from .gaps import Algebra, Gap
from .groups import MISSING, Attribute, counts_in_words
from .losses import Array, Task
from .notions import Comparison, Notion
from .surrogates import Quantity

if TYPE_CHECKING:
    from .question import Question

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Atoms:
    """The finest classes of rows that any notion can tell apart: (label, group of each attribute).

    ``keys`` (a, 1 + attributes) holds the label code and the group codes (-1: in no group). Rows belong to
    atoms by ``index`` (n,), or by ``shares`` (n, a) when groups are probabilities. ``weights`` (a,) are sums
    of sample weights.
    """

    keys: Ints
    weights: Array
    index: Ints | None
    shares: Array | None

    def belongs(self, attribute: int, level: int, labels: tuple[int, ...] | None) -> NDArray[np.bool_]:
        """Atoms with weight of one group whose label is among ``labels`` (None: any)."""
        mask = (self.keys[:, 1 + attribute] == level) & (self.weights > 0.0)
        return np.asarray(mask if labels is None else mask & np.isin(self.keys[:, 0], labels))


def find_atoms(labels: Ints, attributes: tuple[Attribute, ...], sample_weight: Array | None) -> Atoms:
    if any(attribute.shares is not None for attribute in attributes):
        return _soft_atoms(labels, attributes, sample_weight)
    table = np.column_stack([labels] + [a.codes for a in attributes if a.codes is not None])
    flat = np.zeros(len(table), dtype=np.intp)
    for column, size in zip(table.T, table.max(axis=0) + 2, strict=True):
        if flat.max(initial=0) > np.iinfo(np.intp).max // (2 * int(size)):
            flat = np.unique(flat, return_inverse=True)[1].astype(np.intp)
        flat = flat * size + (column + 1)
    _, first, index = np.unique(flat, return_index=True, return_inverse=True)
    weights = np.bincount(index, sample_weight, minlength=len(first)).astype(np.float64)
    return Atoms(table[first], weights, index.astype(np.intp), None)


NO_SHARE = 1e-9
"""What the probabilities of a row's kept groups leave over for no group, below which it is rounding."""


def _soft_atoms(labels: Ints, attributes: tuple[Attribute, ...], sample_weight: Array | None) -> Atoms:
    """Cross labels and all attributes' memberships; what a row's kept groups leave over goes to no group."""
    codes = np.unique(labels)
    keys: list[tuple[int, ...]] = [(int(c),) for c in codes]
    shares = (labels[:, None] == codes).astype(np.float64)
    for attribute in attributes:
        member = attribute.membership()
        rest = np.clip(1.0 - member.sum(axis=1, keepdims=True), 0.0, None)
        rest[rest < NO_SHARE] = 0.0
        keys = [(*key, level) for key in keys for level in (*range(len(attribute.levels)), MISSING)]
        shares = (shares[:, :, None] * np.hstack([member, rest])[:, None, :]).reshape(len(labels), -1)
    used = shares.sum(axis=0) > 0
    shares = np.ascontiguousarray(shares[:, used])
    weighted = shares if sample_weight is None else shares * sample_weight[:, None]
    return Atoms(np.array(keys, dtype=np.intp)[used], weighted.sum(axis=0), None, weighted)


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
        return int(self.offsets[-1]) if self.shares is None else int(self.shares.shape[1])

    @property
    def count(self) -> int:
        return len(self.weight)

    @property
    def of_rows(self) -> Ints:
        """In the order of the data; not for shares."""
        return self.unsorted(np.repeat(np.arange(self.count), np.diff(self.offsets)))

    def unsorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """From the order of the sorted rows to that of the data."""
        found = np.empty(self.n, dtype=values.dtype)
        found[self.order] = values
        return found

    def chunks(self, size: int) -> Iterator[tuple[int, int, int]]:
        """Yield (start, stop, cell) of runs of at most ``size`` sorted rows; cell is -1 with shares."""
        if self.shares is not None:
            yield from ((a, min(a + size, self.n), -1) for a in range(0, self.n, size))
            return
        for cell in range(self.count):
            start, stop = int(self.offsets[cell]), int(self.offsets[cell + 1])
            yield from ((a, min(a + size, stop), cell) for a in range(start, stop, size))


def _merged(atoms: Atoms, signatures: NDArray[np.bool_], sample_weight: Array | None) -> tuple[Cells, Ints]:
    """Merge atoms that every comparison treats alike; return the cells and the cell of each atom.

    ``signatures`` (a, events) says which averages each atom enters. Five groups under equal opportunity
    thus need six cells: one per group of the favourable label, and one for all other rows. Atoms without
    weight enter no average and join the heaviest, so that every cell has weight.
    """
    signatures = np.where(atoms.weights[:, None] > 0.0, signatures, signatures[np.argmax(atoms.weights)])
    into = np.unique(signatures, axis=0, return_inverse=True)[1].reshape(-1).astype(np.intp)
    count = int(into.max()) + 1
    weight = np.bincount(into, atoms.weights, minlength=count).astype(np.float64)
    if atoms.shares is not None:
        shares = np.stack([atoms.shares[:, into == j].sum(axis=1) for j in range(count)])
        return Cells(np.arange(shares.shape[1]), np.zeros(0, dtype=np.intp), weight, None, shares), into
    assert atoms.index is not None
    cell = into[atoms.index]
    order = np.argsort(cell, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=count))]).astype(np.intp)
    return Cells(order, offsets, weight, None if sample_weight is None else sample_weight[order], None), into


@dataclass(frozen=True)
class Average:
    """One average that a notion compares: a quantity over some cells."""

    quantity: Quantity
    cells: Ints
    name: str
    labels: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Contrast:
    """One gap: the first average minus the second (if any)."""

    plus: int
    minus: int | None
    name: str
    notion: int
    two_sided: bool
    floor: float


@dataclass(frozen=True)
class Layout:
    """Where each average lives: sorted rows (``cells``) and, per quantity, the index in L of each cell (-1: none).

    The averages and contrasts are kept, so that the algebra can be written anew for other row weights.
    """

    cells: Cells
    quantities: tuple[tuple[Quantity, Ints], ...]
    k: int
    averages: tuple[Average, ...]
    contrasts: tuple[Contrast, ...]
    notions: tuple[str, ...]

    def algebra(self, gap: Gap, ridge: float) -> Algebra:
        weight, where = self.cells.weight, dict(self.quantities)
        p = np.zeros(self.k)
        p[where[Quantity("loss")]] = weight / weight.sum()
        p[-1] = ridge
        means = np.zeros((len(self.averages), self.k))
        for mean, average in zip(means, self.averages, strict=True):
            inside = weight[average.cells]
            mean[where[average.quantity][average.cells]] = inside / max(float(inside.sum()), 1e-300)
        signs = np.zeros((len(self.averages), len(self.contrasts)))
        for j, contrast in enumerate(self.contrasts):
            signs[contrast.plus, j] = 1.0
            if contrast.minus is not None:
                signs[contrast.minus, j] = -1.0
        return Algebra(
            p=p,
            B=signs.T @ means,
            b=np.array([c.floor for c in self.contrasts]),
            two_sided=np.array([c.two_sided for c in self.contrasts]),
            gap=gap,
            names=("loss", *(c.name for c in self.contrasts)),
            notions=self.notions,
            notion_of=np.array([c.notion for c in self.contrasts], dtype=np.intp),
            means=means,
            signs=signs,
            mean_names=tuple(average.name for average in self.averages),
        )


def build(
    question: Question, task: Task, labels: Ints, attributes: tuple[Attribute, ...], sample_weight: Array | None = None
) -> tuple[Layout, Algebra]:
    """Lay out what a question asks, whose ridge is known, of rows with these labels and groups."""
    notions, gap, surrogate = question.notions, question.gap, question.surrogate
    for notion in notions:
        notion.check(task, surrogate)
        if not gap.even and not notion.two_sided:
            raise InputError(
                f"gap {gap.name!r} would reward a larger value of {notion.name!r}, which counts on one side only; "
                "use gap='squared'."
            )
    atoms = find_atoms(labels, attributes, sample_weight)
    compared: list[tuple[NDArray[np.bool_], Quantity, str, tuple[int, ...] | None]] = []
    contrasts: list[Contrast] = []
    for index, notion in enumerate(notions):
        for place, attribute in enumerate(attributes):
            named = [notion.name] * (len(notions) > 1) + [attribute.name] * (len(attributes) > 1)
            prefix, levels = "".join(f"{part}: " for part in named), attribute.levels
            for comparison in notion.comparisons(task, surrogate):
                suffix = f" | {comparison.words}" if comparison.words else ""
                first, of = len(compared), comparison.labels
                for level, name in enumerate(levels):
                    inside = atoms.belongs(place, level, of)
                    compared.append((inside, comparison.quantity, f"{prefix}{name}{suffix}", of))
                weights = [float(atoms.weights[inside].sum()) for inside, *_ in compared[first:]]
                _check_weights(weights, attribute, comparison, notion)
                for i, j in _pairs(len(levels), comparison.contrast == "each", gap.even):
                    words = levels[i] if j is None else f"{levels[i]} - {levels[j]}"
                    minus, name = None if j is None else first + j, f"{prefix}{words}{suffix}"
                    contrasts.append(Contrast(first + i, minus, name, index, notion.two_sided, notion.floor))
    cells, into = _merged(atoms, np.column_stack([inside for inside, *_ in compared]), sample_weight)
    placed = tuple(Average(quantity, np.unique(into[inside]), name, of) for inside, quantity, name, of in compared)
    quantities, k = _place(cells.count, placed)
    layout = Layout(cells, quantities, k, placed, tuple(contrasts), tuple(notion.name for notion in notions))
    return layout, layout.algebra(gap, question.ridge or 0.0)


def _check_weights(weights: list[float], attribute: Attribute, comparison: Comparison, notion: Notion) -> None:
    if min(weights) <= 0.0:
        empty = ", ".join(f"{level!r}" for level, w in zip(attribute.levels, weights, strict=True) if w <= 0.0)
        found = ", ".join(counts_in_words(attribute.levels, weights))
        which = "" if comparison.labels is None else f" with {comparison.words}"
        raise InputError(
            f"notion {notion.name!r} needs rows{which} in every group of {attribute.name!r}, "
            f"found none in {empty} (weight per group: {found}); merge groups, or leave small ones out "
            f"with {spelled('min_size', 'groups=Groups(min_size=...)')}."
        )


def _pairs(n: int, each: bool, even: bool) -> list[tuple[int, int | None]]:
    """Each of n groups by itself, or all pairs, in both orders where phi is not even."""
    if each:
        return [(i, None) for i in range(n)]
    return [pair for i, j in combinations(range(n), 2) for pair in ((i, j), (j, i))[: 1 if even else 2]]


def _place(count: int, averages: tuple[Average, ...]) -> tuple[tuple[tuple[Quantity, Ints], ...], int]:
    """Give every (quantity, cell) that is needed its index in L; the training loss needs all cells."""
    used = {Quantity("loss"): np.ones(count, dtype=bool)}
    for average in averages:
        used.setdefault(average.quantity, np.zeros(count, dtype=bool))[average.cells] = True
    placed, k = [], 0
    for quantity, need in used.items():
        where = np.full(count, -1, dtype=np.intp)
        where[need] = np.arange(k, k + int(need.sum()))
        k += int(need.sum())
        placed.append((quantity, where))
    return tuple(placed), k + 1
