"""Training in mini-batches: epochs, held-out rows, early stop, checkpoints; for one module or a stack of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..progress import Progress
from ..validation import check_count, check_positive
from .backend import Optimizer, Tensor, torch
from .checkpoints import average_content, average_of, read_checkpoint, write_checkpoint
from .gradients import read_cells
from .layouts import TorchObjectives
from .sampling import CellSampler
from .scoring import take
from .stepping import FairStep


@dataclass(frozen=True)
class Training:
    """How long and in which portions a module is trained.

    Parameters
    ----------
    epochs, batch_size : int
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
    batch_size: int = 256
    lr: float = 1e-3
    memory: float = 0.9
    two_batches: bool = False
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_count(self.epochs, "epochs", least=0)
        check_count(self.batch_size, "batch_size")
        check_positive(self.lr, "lr")
        if self.patience is not None:
            check_count(self.patience, "patience")


@dataclass(frozen=True, eq=False)
class Held:
    """Rows that are not trained on."""

    inputs: Any
    objectives: TorchObjectives


@dataclass(eq=False)
class Progressed:
    """How far training has come: epochs done, figures so far, and the best epoch's weights."""

    epoch: int = 0
    history: list[list[float]] | None = None
    best: float = float("inf")
    waited: int = 0
    kept: list[Tensor] | None = None


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
    done = _resumed(step, scheduler, config, checkpoint) or Progressed(history=[])
    sampler = CellSampler(step.objectives, config.batch_size, seed=config.seed)
    while done.epoch < config.epochs and not _tired(done, config):
        _epoch(step, inputs, sampler, done.epoch, config.two_batches)
        if scheduler is not None:
            scheduler.step()
        done.epoch += 1
        _note(step, done, held)
        if checkpoint is not None:
            _save(step, scheduler, config, done, checkpoint)
        if bar is not None:
            bar.update(done.epoch, f"epoch {done.epoch}")
        if on_epoch is not None:
            on_epoch(done.epoch, step)
    if done.kept is not None:
        _restore(step, done.kept)
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
    L = step.average.corrected(step.average.L, step.memory) if held is None else held_cells(step, held)
    done.history.append([float(value) for value in algebra.objectives(L)[0]])
    if held is None:
        return
    merit = float(step.rule.merit(algebra, L).mean())
    done.waited += 1
    if merit < done.best:
        done.best, done.waited = merit, 0
        done.kept = [value.detach().clone() for value in _weights(step)]


def held_cells(step: FairStep, held: Held) -> Array:
    """Return the cell values (R, k) of held-out rows, with the module as it predicts."""
    mode = step.module.training
    step.module.eval()
    rows = np.arange(held.objectives.n)
    found = read_cells(step.scorer, held.objectives, held.inputs, rows, chunk=8192, gradients=False)
    step.module.train(mode)
    return found.L


def _weights(step: FairStep) -> list[Tensor]:
    """Return all that training changes: parameters, and figures such as those of batch normalisation."""
    return [*step.scorer.parameters, *step.module.buffers()]


def _restore(step: FairStep, kept: list[Tensor]) -> None:
    with torch.no_grad():
        for mine, value in zip(_weights(step), kept, strict=True):
            mine.copy_(value)


def _settings(step: FairStep, config: Training) -> list[str]:
    """Return what a checkpoint and its continuation must share."""
    same = {each.name: getattr(config, each.name) for each in fields(config) if each.name not in ("epochs", "patience")}
    return [repr(same), repr(step.objectives.names), str(step.objectives.n), type(step.optimizer).__name__]


def _save(step: FairStep, scheduler: Any, config: Training, done: Progressed, checkpoint: Any) -> None:
    parts = {
        "settings": _settings(step, config),
        "weights": _weights(step),
        "optimizer": step.optimizer.state_dict(),
        "scheduler": None if scheduler is None else _plain(scheduler.state_dict()),
        "average": average_content(step.average),
        "random": torch.get_rng_state(),
        "done": {each.name: getattr(done, each.name) for each in fields(done)},
    }
    write_checkpoint(checkpoint, parts)


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """Return what of a scheduler's state can be written; functions are made anew with the scheduler."""
    return {
        name: value for name, value in state.items() if isinstance(value, (int, float, str, list, dict, type(None)))
    }


def _resumed(step: FairStep, scheduler: Any, config: Training, checkpoint: Any) -> Progressed | None:
    """Return where an earlier run stopped, with everything set as it was, or None if there is no checkpoint."""
    if checkpoint is None or not Path(checkpoint).exists():
        return None
    parts = read_checkpoint(checkpoint)
    if parts["settings"] != _settings(step, config):
        raise InputError(
            f"{checkpoint} is from a training with other settings, data or optimiser, expected the same; delete it or "
            "choose another name."
        )
    _restore(step, parts["weights"])
    _load_optimizer(step.optimizer, parts["optimizer"])
    if scheduler is not None:
        scheduler.load_state_dict({**scheduler.state_dict(), **parts["scheduler"]})
    step.average = average_of(parts["average"])
    torch.set_rng_state(parts["random"])
    return Progressed(**parts["done"])


def _load_optimizer(optimizer: Optimizer, state: dict[str, Any]) -> None:
    for group in state["param_groups"]:
        group.update({name: tuple(value) for name, value in group.items() if name == "betas"})
    optimizer.load_state_dict(state)
