"""Blocks: which rows count in which cells, and what is measured of their scores, for any batch of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Measure
from ..problems import LinearProblem

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sorted:
    """Rows of a batch sorted by class of rows.

    order            how to sort the batch's inputs; None if they are sorted
    rows (n,)        which rows of the data they are
    sizes (c,)       how many each class of rows has
    share (n,)       weights that sum to 1 over every class of rows
    """

    order: Ints | None
    rows: Ints
    sizes: Ints
    share: Array


class Membership(Protocol):
    """Which rows of a batch count in which classes of rows, each class with weights that sum to 1."""

    def means(self, values: Array) -> Array:
        """Return the mean of values (R, n) in every class, (R, c)."""
        ...

    def back(self, weights: Array) -> Array:
        """Return how much every row counts, (R, n), where classes have these weights (R, c)."""
        ...


@dataclass(frozen=True, eq=False)
class Disjoint:
    """Every row is in one class: ``cell`` (n,), with the weight ``share`` (n,)."""

    cell: Ints
    share: Array
    classes: int

    def means(self, values: Array) -> Array:
        """Add up by class."""
        place = self.cell + self.classes * np.arange(len(values))[:, None]
        found = np.bincount(place.ravel(), (values * self.share).ravel(), len(values) * self.classes)
        return np.asarray(found, dtype=np.float64).reshape(len(values), self.classes)

    def back(self, weights: Array) -> Array:
        """Look up each row's class."""
        return np.asarray(weights[:, self.cell] * self.share)


@dataclass(frozen=True, eq=False)
class Overlapping:
    """Rows may be in several classes, with the weights ``members`` (c, n)."""

    members: Array

    def means(self, values: Array) -> Array:
        """Multiply by the weights."""
        return np.asarray(values @ self.members.T)

    def back(self, weights: Array) -> Array:
        """Multiply by the weights."""
        return np.asarray(weights @ self.members)


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of one set of scores; modules with several labels per sample have one block per label.

    columns          the module's outputs that are its scores
    first, count     its cells are first to first + count of L
    targets (n,)     what the losses read, in the order of the data
    cell (n,)        the class of rows of each row; None when groups are probabilities
    shares (c, n)    weights of rows in classes of rows, when groups are probabilities
    weight (n,)      row weights, None when all are 1
    measures         (measure, index in L of each class of rows, -1: not needed)
    names (c,)       what each class of rows is, for sentences
    """

    columns: slice
    first: int
    count: int
    targets: Array
    cell: Ints | None
    shares: Array | None
    weight: Array | None
    measures: tuple[tuple[Measure, Ints], ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, problem: LinearProblem, columns: slice, first: int) -> Block:
        """Take the cells of a problem that is laid out, back in the order of the data."""
        cells, layout = problem.layout.cells, problem.layout
        back = np.argsort(cells.order)
        measures = tuple((bound, np.where(at < 0, -1, at + first)) for bound, at in problem.measures)
        return cls(
            columns=columns,
            first=first,
            count=layout.k - 1,
            targets=problem.targets[back],
            cell=None if cells.shares is not None else cells.of_rows,
            shares=cells.shares,
            weight=None if cells.row_weight is None else cells.row_weight[back],
            measures=measures,
            names=_names(problem),
        )

    @property
    def classes(self) -> int:
        """Return the number of classes of rows."""
        return len(self.names)

    def members(self, rows: Ints) -> Array:
        """Return weights (c, rows) of these rows in every class of rows, each class summing to 1."""
        if self.shares is not None:
            found = self.shares[:, rows]
        else:
            assert self.cell is not None
            found = (self.cell[rows] == np.arange(self.classes)[:, None]).astype(np.float64)
            if self.weight is not None:
                found = found * self.weight[rows]
        total = found.sum(axis=1, keepdims=True)
        self._check(total[:, 0])
        return np.asarray(found / total)

    def membership(self, rows: Ints) -> Membership:
        """Return where these rows count."""
        return Overlapping(self.members(rows)) if self.cell is None else self.disjoint(rows)

    def disjoint(self, rows: Ints) -> Disjoint:
        """Return where these rows count, where every row is in one class."""
        assert self.cell is not None
        cell = self.cell[rows]
        weight = None if self.weight is None else self.weight[rows]
        total = np.bincount(cell, weight, self.classes)
        self._check(total)
        return Disjoint(cell, (1.0 if weight is None else weight) / total[cell], self.classes)

    def sorted(self, rows: Ints) -> Sorted:
        """Return a batch sorted by class of rows, where every row is in one."""
        assert self.cell is not None
        cell, order = self.cell[rows], None
        if (cell[1:] < cell[:-1]).any():
            order = np.argsort(cell, kind="stable")
            rows = rows[order]
        inside = self.disjoint(rows)
        return Sorted(order, rows, np.bincount(inside.cell), inside.share)

    def _check(self, total: NDArray[Any]) -> None:
        if total.min() <= 0:
            missing = ", ".join(self.names[i] for i in np.flatnonzero(total <= 0))
            raise InputError(
                f"the batch has no rows of {missing}, expected at least one row of each of {self.classes} cells; "
                "draw batches with fairfront.torch.CellSampler, or larger ones."
            )

    def slopes(self, scores: Array, rows: Ints, share: Array, cell: int, L: Array) -> Iterator[tuple[int, Array]]:
        """Add a class of rows to L (R, k) and yield (index in L, derivative of it by the scores (R, K, rows))."""
        for bound, where in self.measures:
            if where[cell] >= 0:
                value, slope = bound.value_slope(scores, self.targets[rows])
                L[:, where[cell]] += value @ share
                yield int(where[cell]), slope * share


def as_rows(rows: Any, n: int) -> Ints:
    """Return row numbers from 0 to below n."""
    found = np.asarray(rows.cpu() if hasattr(rows, "cpu") else rows)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise InputError(f"rows has entries of type {found.dtype} and the shape {found.shape}, expected row numbers.")
    if found.size and not 0 <= found.min() <= found.max() < n:
        raise InputError(f"rows has numbers from {found.min()} to {found.max()}, expected 0 to {n - 1}: rows of y.")
    return found.astype(np.intp, copy=False)


def _names(problem: LinearProblem) -> tuple[str, ...]:
    """Name every class of rows by the averages that it enters."""
    inside: list[list[str]] = [[] for _ in range(problem.layout.cells.count)]
    for average in problem.layout.averages:
        for place in average.cells:
            if average.name not in inside[place]:
                inside[place].append(average.name)
    return tuple(repr(" and ".join(names[:3])) if names else "'all other rows'" for names in inside)
