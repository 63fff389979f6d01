"""Objectives on batches: which rows count in which cells, and a sampler of batches in which every cell has rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Algebra, Array, Measure, Objectives
from ..validation import check_count, check_instance

Ints = NDArray[np.intp]
SMALLEST_BATCH, LARGEST_BATCH = 256, 4096
"""Between these, batches have a tenth of the rows: enough of every cell, and enough steps per epoch."""


@dataclass(frozen=True, eq=False)
class Membership:
    """Where rows of a batch count: weights that sum to 1 in every class of rows.

    ``share`` is (n,) where every row is in one class, which ``cell`` (n,) names, and (c, n) where it may be in several.
    """

    cell: Ints | None
    share: Array
    classes: int

    def means(self, values: Array) -> Array:
        """Return the mean of values (R, n) in every class, (R, c)."""
        if self.cell is None:
            return np.asarray(values @ self.share.T)
        place = self.cell + self.classes * np.arange(len(values))[:, None]
        found = np.bincount(place.ravel(), (values * self.share).ravel(), len(values) * self.classes)
        return np.asarray(found, dtype=np.float64).reshape(len(values), self.classes)

    def back(self, weights: Array) -> Array:
        """Return how much every row counts, (R, n), where classes have these weights (R, c)."""
        return np.asarray(weights @ self.share if self.cell is None else weights[:, self.cell] * self.share)

    def by_class(self) -> Array:
        """Return the weights of all rows in every class, (c, n)."""
        if self.cell is None:
            return self.share
        return np.asarray((self.cell == np.arange(self.classes)[:, None]) * self.share)


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

    def membership(self, rows: Ints) -> Membership:
        """Return where these rows count, or say which class has none of them."""
        if self.shares is not None:
            share = self.shares[:, rows]
            total = share.sum(axis=1)
            self._check(total)
            return Membership(None, share / total[:, None], self.classes)
        assert self.cell is not None
        cell, weight = self.cell[rows], 1.0 if self.weight is None else self.weight[rows]
        total = np.bincount(cell, None if self.weight is None else weight, self.classes)
        self._check(total)
        return Membership(cell, weight / total[cell], self.classes)

    def _check(self, total: NDArray[Any]) -> None:
        if total.min() <= 0:
            missing = ", ".join(self.names[i] for i in np.flatnonzero(total <= 0))
            raise InputError(
                f"the batch has no rows of {missing}, expected at least one row of each of {self.classes} cells; "
                "draw batches with fairfront.torch.CellSampler, or larger ones."
            )

    def order(self, rows: Ints) -> Ints | None:
        """Return how to sort a batch by class of rows, None if it is sorted or rows are in several."""
        if self.cell is None:
            return None
        cell = self.cell[rows]
        return np.argsort(cell, kind="stable") if (cell[1:] < cell[:-1]).any() else None

    def inside(self) -> NDArray[np.bool_]:
        """Tell which rows are in which classes, (c, n)."""
        found = self.shares > 0.0 if self.shares is not None else self.cell == np.arange(self.classes)[:, None]
        return np.asarray(found)

    def slopes(self, scores: Array, rows: Ints, share: Array, cell: int, L: Array) -> Iterator[tuple[int, Array]]:
        """Add a class of rows to L (R, k) and yield (index in L, derivative of it by the scores (R, K, rows))."""
        for bound, where in self.measures:
            if where[cell] >= 0:
                value, slope = bound.value_slope(scores, self.targets[rows])
                L[:, where[cell]] += value @ share
                yield int(where[cell]), slope * share


@dataclass(frozen=True, eq=False)
class TorchObjectives:
    """What a module is trained for: loss and gaps as functions of its scores on n known rows.

    ``n_scores`` is how many scores a module has to give per sample, ``labels`` the objectives of each label of a
    sample (one in all but the multi-label case).
    """

    algebra: Algebra
    blocks: tuple[Block, ...]
    n: int
    n_scores: int
    labels: tuple[Objectives, ...]

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
    """Return what `objectives` returned, and nothing else."""
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
        self._inside = np.concatenate([block.inside() for block in objectives.blocks])
        self._classes = [np.flatnonzero(each) for each in self._inside]

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
        for inside, every in zip(self._inside, self._classes, strict=True):
            lack = min(self.least, len(every)) - int(inside[rows].sum())
            if lack > 0:
                others = np.setdiff1d(every, rows, assume_unique=True)
                rows = np.concatenate([rows, rng.choice(others, lack, replace=False)])
        blocks = self.objectives.blocks
        order = blocks[0].order(rows) if len(blocks) == 1 else None
        return rows if order is None else rows[order]
