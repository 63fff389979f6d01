"""Training in mini-batches: epochs, held-out rows, early stop, checkpoints; for one module or a stack of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..objectives import Array
from ..progress import Progress
from ..validation import check_count, check_flag, check_positive
from .averaging import check_memory
from .gradients import read_cells
from .layouts import TorchObjectives
from .resuming import Keeper, Progressed, restore, weights_of
from .sampling import CellSampler
from .scoring import take
from .stepping import FairStep


@dataclass(frozen=True)
class Training:
    """How long and in which portions a module is trained.

    Parameters
    ----------
    epochs : int
    batch_size : int, optional
        By default a tenth of the rows, at least 256 and at most 4096 of them.
    lr : float
        Learning rate of the default optimiser, Adam.
    memory : float
        Weight of the past in the moving averages of a `FairStep`.
    two_batches : bool
        Draw a second, independent batch for every step: twice the work, and Gram matrices free of the noise's variance.
    patience : int, optional
        Stop when held-out rows have not improved for so many epochs, and go back to the best epoch.
    seed : int
        Seed of batches and of what the module draws itself, such as dropout.
    """

    epochs: int = 20
    batch_size: int | None = None
    lr: float = 1e-3
    memory: float = 0.9
    two_batches: bool = False
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_count(self.epochs, "epochs", least=0)
        if self.batch_size is not None:
            check_count(self.batch_size, "batch_size")
        check_positive(self.lr, "lr")
        check_memory(self.memory)
        check_flag(self.two_batches, "two_batches")
        check_count(self.seed, "seed", least=0)
        if self.patience is not None:
            check_count(self.patience, "patience")


@dataclass(frozen=True, eq=False)
class Held:
    """Rows that are not trained on."""

    inputs: Any
    objectives: TorchObjectives


def train(
    step: FairStep,
    inputs: Any,
    config: Training,
    *,
    scheduler: Any = None,
    held: Held | None = None,
    checkpoint: Any = None,
    bar: Progress | None = None,
    on_epoch: Callable[[int, FairStep], None] | None = None,
) -> Progressed:
    """Train until the epochs are done or held-out rows stop improving; objectives per epoch are in ``history``."""
    keeper = Keeper.of(checkpoint, step, inputs, config, scheduler, held)
    done = keeper.resumed(step, scheduler) or Progressed(history=[])
    sampler = CellSampler(step.objectives, config.batch_size, seed=config.seed)
    while done.epoch < config.epochs and not _tired(done, config):
        _epoch(step, inputs, sampler, done.epoch, config.two_batches)
        if scheduler is not None:
            scheduler.step()
        done.epoch += 1
        _note(step, done, held)
        keeper.save(step, scheduler, done)
        if bar is not None:
            bar.update(done.epoch, f"epoch {done.epoch}")
        if on_epoch is not None:
            on_epoch(done.epoch, step)
    if done.kept is not None:
        restore(step, done.kept)
    return done


def _tired(done: Progressed, config: Training) -> bool:
    return config.patience is not None and done.waited >= config.patience


def _epoch(step: FairStep, inputs: Any, sampler: CellSampler, epoch: int, two: bool) -> None:
    others = sampler.batches(epoch, stream=1)
    for rows in sampler.batches(epoch):
        second = None
        if two:
            more = next(others)
            second = (take(inputs, more), more)
        step(take(inputs, rows), rows, second)


def _note(step: FairStep, done: Progressed, held: Held | None) -> None:
    """Add the epoch's figures, and keep the weights if held-out rows say that they are the best so far."""
    algebra = step.objectives.algebra if held is None else held.objectives.algebra
    assert done.history is not None
    L = step.average.values(step.memory) if held is None else held_cells(step, held)
    done.history.append([float(value) for value in algebra.objectives(L)[0]])
    if held is None:
        return
    merit = float(step.rule.merit(algebra, L).mean())
    done.waited += 1
    if merit < done.best:
        done.best, done.waited = merit, 0
        done.kept = [value.detach().clone() for value in weights_of(step)]


def held_cells(step: FairStep, held: Held) -> Array:
    """Return the cell values (R, k) of held-out rows, with the module as it predicts."""
    mode = step.module.training
    step.module.eval()
    rows = np.arange(held.objectives.n)
    found = read_cells(step.scorer, held.objectives, held.inputs, rows, chunk=8192, gradients=False)
    step.module.train(mode)
    return found.L
