"""Batches in which every cell has rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..objectives import Array
from ..validation import check_count
from .blocks import Block
from .gradients import Ints
from .layouts import TorchObjectives


class CellSampler:
    """Row numbers of batches: all rows once per epoch in random order, and a few more where a cell would be empty.

    Parameters
    ----------
    objectives : TorchObjectives
    batch_size : int
    least : int
        Rows of every cell that a batch has at least; small cells are drawn more often than others for it, which leaves
        cell means as they are.
    seed : int
        Epoch ``e`` of a seed is always the same, whatever came before: training that was stopped goes on alike.

    It is a batch sampler for a `torch.utils.data.DataLoader` whose data set also returns the row numbers.
    """

    def __init__(self, objectives: TorchObjectives, batch_size: int = 256, *, least: int = 2, seed: int = 0) -> None:
        self.objectives = objectives
        self.batch_size = min(check_count(batch_size, "batch_size"), objectives.n)
        self.least, self.seed, self.epoch = check_count(least, "least"), seed, 0
        self._cells = [np.flatnonzero(member > 0.0) for block in objectives.blocks for member in _members(block)]

    def __len__(self) -> int:
        return -(-self.objectives.n // self.batch_size)

    def __iter__(self) -> Iterator[Ints]:
        """Yield the batches of the present epoch and go to the next."""
        self.epoch += 1
        return self.batches(self.epoch - 1)

    def batches(self, epoch: int, stream: int = 0) -> Iterator[Ints]:
        """Yield the batches of an epoch; another ``stream`` gives batches that are independent of them."""
        rng = np.random.default_rng([self.seed, epoch, stream])
        order = rng.permutation(self.objectives.n)
        for start in range(0, len(order), self.batch_size):
            yield self._filled(order[start : start + self.batch_size], rng)

    def _filled(self, rows: Ints, rng: np.random.Generator) -> Ints:
        """Add rows of the cells that have too few."""
        inside = np.zeros(self.objectives.n, dtype=bool)
        inside[rows] = True
        extra = []
        for cell in self._cells:
            lack = min(self.least, len(cell)) - int(inside[cell].sum())
            if lack > 0:
                extra.append(rng.choice(cell[~inside[cell]], lack, replace=False))
                inside[extra[-1]] = True
        return np.concatenate([rows, *extra]).astype(np.intp) if extra else rows


def _members(block: Block) -> Array:
    """Return the weights (c, n) of all rows in every class of rows."""
    return block.members(np.arange(len(block.targets)))
