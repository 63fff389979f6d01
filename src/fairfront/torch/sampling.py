"""Batches in which every cell has rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..validation import check_count
from .blocks import Block, Ints
from .layouts import TorchObjectives, check_objectives


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
        size = min(max(objectives.n // 10, 256), 4096) if batch_size is None else check_count(batch_size, "batch_size")
        self.batch_size = min(size, objectives.n)
        parts = sum(block.classes for block in objectives.blocks)
        self.least = max(self.batch_size // (2 * parts), 2) if least is None else check_count(least, "least")
        self.seed, self.epoch = check_count(seed, "seed", least=0), 0
        self._drawn: list[CellRows] = [CellRows(block, self.least) for block in objectives.blocks]

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
        for drawn in self._drawn:
            rows = drawn.filled(rows, rng)
        cell = self.objectives.blocks[0].cell
        return rows if cell is None or len(self._drawn) > 1 else rows[np.argsort(cell[rows], kind="stable")]


class CellRows:
    """The rows of every class of rows of a block, to draw more of them."""

    def __init__(self, block: Block, least: int) -> None:
        self.block = block
        if block.cell is None:
            self.cells = [np.flatnonzero(share > 0.0) for share in block.members(np.arange(len(block.targets)))]
        else:
            order = np.argsort(block.cell, kind="stable")
            self.cells = np.split(order, np.cumsum(np.bincount(block.cell, minlength=block.classes))[:-1])
        self.wanted = np.minimum(least, [len(cell) for cell in self.cells])

    def filled(self, rows: Ints, rng: np.random.Generator) -> Ints:
        """Return the rows with more of every class that has too few."""
        found = self.counts(rows)
        for c in np.flatnonzero(found < self.wanted):
            others = np.setdiff1d(self.cells[c], rows, assume_unique=True)
            lack = int(self.wanted[c] - (len(self.cells[c]) - len(others)))
            if lack > 0:
                rows = np.concatenate([rows, rng.choice(others, lack, replace=False)])
        return rows

    def counts(self, rows: Ints) -> Ints:
        """Return how many of the rows are in every class of rows, (c,)."""
        if self.block.cell is not None:
            return np.bincount(self.block.cell[rows], minlength=self.block.classes)
        assert self.block.shares is not None
        return np.asarray((self.block.shares[:, rows] > 0.0).sum(axis=1))
