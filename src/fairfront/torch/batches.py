"""Objectives on batches: which rows count in which cells, and a sampler of batches in which every cell has rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Algebra, Array, Measure
from ..problems import Setup
from ..validation import check_count, check_instance

Ints = NDArray[np.intp]
SMALLEST_BATCH, LARGEST_BATCH = 256, 4096
"""Between these, batches have a tenth of the rows: enough of every cell, and enough steps per epoch."""


@dataclass(frozen=True, eq=False)
class Disjoint:
    """Rows of a batch that are in one class of rows each: ``cell`` (n,), with weights ``share`` (n,) that sum to 1."""

    cell: Ints
    share: Array
    classes: int

    def means(self, values: Array) -> Array:
        """Return the mean of values (R, n) in every class, (R, c)."""
        place = self.cell + self.classes * np.arange(len(values))[:, None]
        found = np.bincount(place.ravel(), (values * self.share).ravel(), len(values) * self.classes)
        return np.asarray(found, dtype=np.float64).reshape(len(values), self.classes)

    def back(self, weights: Array) -> Array:
        """Return how much every row counts, (R, n), where classes have these weights (R, c)."""
        return np.asarray(weights[:, self.cell] * self.share)


@dataclass(frozen=True, eq=False)
class Overlapping:
    """Rows of a batch that may be in several classes, with weights ``members`` (c, n) that sum to 1 in every class."""

    members: Array

    def means(self, values: Array) -> Array:
        """Return the mean of values (R, n) in every class, (R, c)."""
        return np.asarray(values @ self.members.T)

    def back(self, weights: Array) -> Array:
        """Return how much every row counts, (R, n), where classes have these weights (R, c)."""
        return np.asarray(weights @ self.members)


Membership: TypeAlias = Disjoint | Overlapping


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of one set of scores; modules with several labels per sample have one block per label.

    columns          the module's outputs that are its scores
    targets (n,)     what the losses read, in the order of the data
    cell (n,)        the class of rows of each row; None when groups are probabilities
    shares (c, n)    weights of rows in classes of rows, when groups are probabilities
    weight (n,)      row weights, None when all are 1
    measures         (measure, index in L of each class of rows, -1: not needed)
    names (c,)       what each class of rows is, for sentences
    """

    columns: slice
    targets: Array
    cell: Ints | None
    shares: Array | None
    weight: Array | None
    measures: tuple[tuple[Measure, Ints], ...]
    names: tuple[str, ...]

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

    def order(self, rows: Ints) -> Ints | None:
        """Return how to sort a batch by class of rows, None if it is sorted."""
        assert self.cell is not None
        cell = self.cell[rows]
        return np.argsort(cell, kind="stable") if (cell[1:] < cell[:-1]).any() else None

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

    def rows_of_classes(self) -> list[Ints]:
        """Return the rows of every class."""
        if self.shares is not None:
            return [np.flatnonzero(share > 0.0) for share in self.shares]
        assert self.cell is not None
        order = np.argsort(self.cell, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.cell, minlength=self.classes))[:-1])

    def counts(self, rows: Ints) -> Ints:
        """Return how many of these rows are in every class, (c,)."""
        if self.cell is not None:
            return np.bincount(self.cell[rows], minlength=self.classes)
        assert self.shares is not None
        return np.asarray((self.shares[:, rows] > 0.0).sum(axis=1))


@dataclass(frozen=True, eq=False)
class TorchObjectives:
    """What a module is trained for: loss and gaps as functions of its scores on n known rows.

    ``n_scores`` is how many scores a module has to give per sample, ``setups`` what was asked, one for each label of a
    sample (one in all but the multi-label case).
    """

    algebra: Algebra
    blocks: tuple[Block, ...]
    n: int
    n_scores: int
    setups: tuple[Setup, ...] = ()

    @property
    def k(self) -> int:
        """Return the number of cells, the penalty included."""
        return len(self.algebra.p)

    @property
    def names(self) -> tuple[str, ...]:
        """Name the objectives: the loss, then every gap."""
        return self.algebra.names

    @property
    def overlapping(self) -> bool:
        """Tell whether a row may be in several cells: several labels per sample, or groups as probabilities."""
        return len(self.blocks) > 1 or any(block.cell is None for block in self.blocks)

    @property
    def penalised(self) -> bool:
        """Tell whether the penalty counts, the last cell."""
        return bool(self.algebra.p[-1] != 0.0)


def check_objectives(given: Any) -> TorchObjectives:
    """Return what `objectives` laid out, and nothing else."""
    return check_instance(given, TorchObjectives, "objectives", "what fairfront.torch.objectives returned")


def as_rows(rows: Any, n: int) -> Ints:
    """Return row numbers from 0 to below n."""
    found = np.asarray(rows.cpu() if hasattr(rows, "cpu") else rows)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise InputError(f"rows has entries of type {found.dtype} and the shape {found.shape}, expected row numbers.")
    if found.size and not 0 <= found.min() <= found.max() < n:
        raise InputError(f"rows has numbers from {found.min()} to {found.max()}, expected 0 to {n - 1}: rows of y.")
    return found.astype(np.intp, copy=False)


class CellSampler:
    """Row numbers of batches: all rows once per epoch in random order, and more of the cells that have few.

    Parameters
    ----------
    objectives : TorchObjectives
    batch_size : int, optional
        By default a tenth of the rows, at least 256 and at most 4096 of them.
    least : int, optional
        Rows of every cell that a batch has at least, or all its rows if they are fewer; by default half of what each
        would have in equal parts. Gaps are as noisy as the mean of the smaller cell. Small cells are drawn more often
        than others for it, which leaves cell means as they are, and makes batches at most half as large again.
    seed : int
        Epoch ``e`` of a seed is always the same, whatever came before: training that was stopped goes on alike.

    It is a batch sampler for a `torch.utils.data.DataLoader` whose data set also returns the row numbers.
    """

    def __init__(
        self, objectives: TorchObjectives, batch_size: int | None = None, *, least: int | None = None, seed: int = 0
    ) -> None:
        self.objectives = check_objectives(objectives)
        n = objectives.n
        tenth = min(max(n // 10, SMALLEST_BATCH), LARGEST_BATCH)
        self.batch_size = min(tenth if batch_size is None else check_count(batch_size, "batch_size"), n)
        parts = sum(block.classes for block in objectives.blocks)
        self.least = max(self.batch_size // (2 * parts), 2) if least is None else check_count(least, "least")
        self.seed, self.epoch = check_count(seed, "seed", least=0), 0
        self._classes = [block.rows_of_classes() for block in objectives.blocks]
        self._wanted = [np.minimum(self.least, [len(rows) for rows in classes]) for classes in self._classes]

    def __len__(self) -> int:
        return -(-self.objectives.n // self.batch_size)

    def __iter__(self) -> Iterator[Ints]:
        """Yield the batches of the present epoch and go to the next."""
        self.epoch += 1
        return self.batches(self.epoch - 1)

    def batches(self, epoch: int, stream: int = 0) -> Iterator[Ints]:
        """Yield the batches of an epoch; another ``stream`` gives batches that are independent of them."""
        check_count(epoch, "epoch", least=0)
        check_count(stream, "stream", least=0)
        rng = np.random.default_rng([self.seed, epoch, stream])
        order = rng.permutation(self.objectives.n)
        for start in range(0, len(order), self.batch_size):
            yield self._filled(order[start : start + self.batch_size], rng)

    def _filled(self, rows: Ints, rng: np.random.Generator) -> Ints:
        """Add rows of the cells that have too few, and sort by cell, which spares every step the sorting."""
        blocks = self.objectives.blocks
        for block, classes, wanted in zip(blocks, self._classes, self._wanted, strict=True):
            for c in np.flatnonzero(block.counts(rows) < wanted):
                others = np.setdiff1d(classes[c], rows, assume_unique=True)
                lack = int(wanted[c] - (len(classes[c]) - len(others)))
                if lack > 0:
                    rows = np.concatenate([rows, rng.choice(others, lack, replace=False)])
        order = None if len(blocks) > 1 or blocks[0].cell is None else blocks[0].order(rows)
        return rows if order is None else rows[order]
