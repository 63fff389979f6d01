"""Epochs of mini-batches: a sampler in which every cell has rows, and the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..exceptions import Progress
from ..objectives import Array
from ..validation import check_count
from .module_objectives import Ints, TorchObjectives, check_objectives
from .modules import CHUNK, Tensor, mixes_rows, take
from .problem import CellReader
from .step import FairStep

SMALLEST_BATCH, LARGEST_BATCH = 256, 4096
"""Between these, batches have a tenth of the rows: enough of every cell, and enough steps per epoch."""


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
        Epoch ``e`` of a seed is always the same, whatever came before.

    It is a batch sampler for a `torch.utils.data.DataLoader` whose data set also returns the row numbers.
    """

    def __init__(
        self, objectives: TorchObjectives, batch_size: int | None = None, *, least: int | None = None, seed: int = 0
    ) -> None:
        self.objectives = check_objectives(objectives)
        n = objectives.n
        usual = min(max(n // 10, SMALLEST_BATCH), LARGEST_BATCH)
        self.batch_size = min(usual if batch_size is None else check_count(batch_size, "batch_size"), n)
        block = objectives.block
        self.least = max(self.batch_size // (2 * block.classes), 2) if least is None else check_count(least, "least")
        self.seed, self.epoch = check_count(seed, "seed", least=0), 0
        codes = np.arange(block.classes)[:, None]
        self._classes = [(each, np.flatnonzero(each)) for each in block.cell == codes]

    def __len__(self) -> int:
        return -(-self.objectives.n // self.batch_size)

    def __iter__(self) -> Iterator[Ints]:
        """Yield the batches of the present epoch and go to the next."""
        self.epoch += 1
        return self.batches(self.epoch - 1)

    def batches(self, epoch: int, stream: int = 0) -> Iterator[Ints]:
        """Yield the row numbers of an epoch's batches.

        Parameters
        ----------
        epoch : int
            From 0.
        stream : int
            Another one gives batches of the same epoch that are independent of these.
        """
        check_count(epoch, "epoch", least=0)
        check_count(stream, "stream", least=0)
        rng = np.random.default_rng([self.seed, epoch, stream])
        order = rng.permutation(self.objectives.n)
        for start in range(0, len(order), self.batch_size):
            yield self._filled(order[start : start + self.batch_size], rng)

    def _filled(self, rows: Ints, rng: np.random.Generator) -> Ints:
        """Add rows of the cells that have too few, and sort by cell, which spares every step the sorting."""
        for inside, every in self._classes:
            lack = min(self.least, len(every)) - int(inside[rows].sum())
            if lack > 0:
                others = np.setdiff1d(every, rows, assume_unique=True)
                rows = np.concatenate([rows, rng.choice(others, lack, replace=False)])
        order = self.objectives.block.order(rows)
        return rows if order is None else rows[order]


@dataclass(eq=False)
class TrainingState:
    """How far training has come: epochs done, the objectives after each, and the best epoch's merit and weights."""

    epoch: int = 0
    history: list[list[float]] = field(default_factory=list)
    best: float = float("inf")
    waited: int = 0
    kept: list[Tensor] | None = None


def train(
    step: FairStep,
    inputs: Any,
    config: Any,
    *,
    scheduler: Any = None,
    held: tuple[Any, TorchObjectives] | None = None,
    bar: Progress,
    on_epoch: Callable[[int, FairStep], None] | None = None,
) -> TrainingState:
    """Keep the weights that held-out rows (inputs, objectives) find the best, and stop when these stop improving."""
    state = TrainingState()
    sampler = CellSampler(step.objectives, config.batch_size, seed=config.seed)
    algebra = (step.objectives if held is None else held[1]).algebra
    while state.epoch < config.epochs and (config.patience is None or state.waited < config.patience):
        others = sampler.batches(state.epoch, stream=1)
        for rows in sampler.batches(state.epoch):
            more = next(others) if config.two_batches else None
            step(take(inputs, rows), rows, None if more is None else (take(inputs, more), more))
        if scheduler is not None:
            scheduler.step()
        state.epoch += 1
        L = step.values.value if held is None else cells_of(step, *held)
        state.history.append([float(value) for value in algebra.objectives(L)[0]])
        if held is not None:
            merit = float(step.rule.merit(algebra, L).mean())
            state.waited += 1
            if merit < state.best:
                state.best, state.waited = merit, 0
                state.kept = [value.detach().clone() for value in _weights_of(step)]
        bar.update(state.epoch, f"epoch {state.epoch}")
        if on_epoch is not None:
            on_epoch(state.epoch, step)
    if state.kept is not None:
        _restore(step, state.kept)
    return state


def cells_of(step: FairStep, inputs: Any, known: TorchObjectives) -> Array:
    """Return (R, k) of all rows, with the module as it predicts."""
    module, mode = step.module, step.module.training
    module.eval()
    reader = CellReader(step.scorer, known)
    found = reader.read(inputs, np.arange(known.n), joint=mixes_rows(module), chunk=CHUNK, gradients=False)
    module.train(mode)
    return found.L


def _weights_of(step: FairStep) -> list[Tensor]:
    """Return parameters, and buffers such as the statistics of batch normalisation."""
    return [*step.scorer.parameters, *step.module.buffers()]


def _restore(step: FairStep, kept: list[Tensor]) -> None:
    for mine, value in zip(_weights_of(step), kept, strict=True):
        mine.detach().copy_(value)
