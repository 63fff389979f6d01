"""Epochs of mini-batches: a sampler in which every cell has rows, the loop, and checkpoints from which it goes on.

A checkpoint is one file. Tensors are stored by safetensors, all else as JSON in its header; nothing is executed when it
is read, and the file is replaced in one piece, so that a kill leaves the last whole one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..exceptions import InputError, Progress
from ..objectives import Array
from ..solvers.fingerprints import digest
from ..storage.checkpoints import Fingerprint
from ..storage.documents import read_bytes
from ..storage.folders import write_file
from ..storage.places import remove_leftovers
from ..validation import check_count, check_path
from .module_objectives import Ints, TorchObjectives, check_objectives
from .modules import CHUNK, Tensor, mixes_rows, safetensors, take, torch
from .problem import CellReader
from .step import FairStep, MovingAverage

SMALLEST_BATCH, LARGEST_BATCH = 256, 4096
"""Between these, batches have a tenth of the rows: enough of every cell, and enough steps per epoch."""
KIND = "fairfront torch checkpoint 3"
ARRAY, TENSOR, AVERAGE, ITEMS = "$array", "$tensor", "$average", "$items"
REMEMBERED = ("values", "products", "gradients", "squared", "scale", "missed", "beta")
"""What a step knows of the steps before it."""


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
        usual = min(max(n // 10, SMALLEST_BATCH), LARGEST_BATCH)
        self.batch_size = min(usual if batch_size is None else check_count(batch_size, "batch_size"), n)
        parts = sum(block.classes for block in objectives.blocks)
        self.least = max(self.batch_size // (2 * parts), 2) if least is None else check_count(least, "least")
        self.seed, self.epoch = check_count(seed, "seed", least=0), 0
        inside = [
            block.cell == np.arange(block.classes)[:, None] if block.shares is None else block.shares > 0.0
            for block in objectives.blocks
        ]
        self._classes = [(each, np.flatnonzero(each)) for each in np.concatenate(inside)]

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
        blocks = self.objectives.blocks
        order = blocks[0].order(rows) if len(blocks) == 1 else None
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
    checkpoint: Any = None,
    bar: Progress,
    on_epoch: Callable[[int, FairStep], None] | None = None,
) -> TrainingState:
    """Keep the weights that held-out rows (inputs, objectives) find the best, and stop when these stop improving."""
    saved = None if checkpoint is None else _Checkpoint(checkpoint, step, inputs, config, scheduler, held)
    state = TrainingState() if saved is None else saved.resumed()
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
        if saved is not None:
            saved.save(state)
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


class _Checkpoint:
    """Saves a training after every epoch, and finds where an earlier one of these settings on these rows stopped."""

    def __init__(self, path: Any, step: FairStep, inputs: Any, config: Any, scheduler: Any, held: Any) -> None:
        self.path, self.step, self.scheduler = check_path(path, "checkpoint"), step, scheduler
        if self.path.is_dir():
            raise InputError(f"{path} is a folder, expected a file for the checkpoint of a training; name one in it.")
        remove_leftovers(path)
        target, known = getattr(step.rule, "target", None), step.objectives
        measures = [bound for block in known.blocks for bound, _ in block.measures]
        settings = {
            "training": {name: value for name, value in vars(config).items() if name not in ("epochs", "patience")},
            "rule": (step.rule, getattr(target, "pi", None)),
            "target": getattr(target, "caps", None),
            "optimizer": (type(step.optimizer).__name__, step.optimizer.defaults),
            "scheduler": (type(scheduler).__name__, self._plan()),
            "module": [(type(step.module).__name__, tuple(p.shape)) for p in _weights_of(step)],
            "objectives": (known.names, measures, known.algebra.gap, float(known.algebra.p[-1])),
            "refresh": step.refresh,
        }
        rows = (_rows(inputs, known), None if held is None else _rows(*held))
        self.owner = Fingerprint({name: digest(value) for name, value in settings.items()}, digest(rows))

    def _plan(self) -> dict[str, Any]:
        """Leave out functions of a scheduler's state, which come back with the scheduler."""
        state = {} if self.scheduler is None else self.scheduler.state_dict()
        kinds = (int, float, str, list, dict, type(None))
        return {name: value for name, value in state.items() if isinstance(value, kinds)}

    def save(self, state: TrainingState) -> None:
        step, tensors = self.step, dict[str, Tensor]()
        parts = {
            "owner": vars(self.owner),
            "weights": _weights_of(step),
            "optimizer": step.optimizer.state_dict(),
            "scheduler": self._plan(),
            "step": {name: getattr(step, name) for name in REMEMBERED},
            "random": torch.get_rng_state(),
            "state": vars(state),
        }

        def named(value: Any) -> dict[str, Any]:
            if isinstance(value, MovingAverage):
                return {AVERAGE: [value.total, value.count]}
            if not isinstance(value, (np.ndarray, torch.Tensor)):
                raise InputError(
                    f"the state to be saved has {value!r} of type {type(value).__name__}, expected tensors, numbers "
                    "and text; use another scheduler or optimiser, or no checkpoint."
                )
            name = str(len(tensors))
            tensors[name] = torch.as_tensor(value).detach().cpu().clone().contiguous()
            return {ARRAY if isinstance(value, np.ndarray) else TENSOR: name}

        content = json.dumps(_with_items(parts), default=named)
        data = safetensors().save(tensors, {"content": content, "format": KIND})
        write_file(self.path, data, overwrite=True, own=lambda head: b'"__metadata__"' in head[:32], private=True)

    def resumed(self) -> TrainingState:
        if not self.path.exists():
            return TrainingState()
        step, parts = self.step, _read(self.path)
        self.owner.refuse_other(Fingerprint(**parts["owner"]), self.path)
        _restore(step, parts["weights"])
        for group in parts["optimizer"]["param_groups"]:  # JSON has lists for tuples
            group.update({name: tuple(value) for name, value in group.items() if name == "betas"})
        step.optimizer.load_state_dict(parts["optimizer"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict({**self.scheduler.state_dict(), **parts["scheduler"]})

        def placed(value: Any) -> Any:
            if isinstance(value, dict):
                total, count = value[AVERAGE]
                return MovingAverage(step.memory, placed(total), count)
            return value.to(step.scorer.parameters[0].device) if isinstance(value, torch.Tensor) else value

        for name, value in parts["step"].items():
            setattr(step, name, placed(value))
        torch.set_rng_state(parts["random"])
        return TrainingState(**parts["state"])


def _rows(inputs: Any, objectives: TorchObjectives) -> Any:
    arrays = [part.detach().cpu().numpy() for part in inputs]
    return arrays, [(block.targets, block.cell, block.shares, block.weight) for block in objectives.blocks]


def _with_items(value: Any) -> Any:
    """Return mappings with other keys than text as their items: JSON would turn a scheduler's milestone 3 into "3"."""
    if isinstance(value, (list, tuple)):
        return [_with_items(each) for each in value]
    if not isinstance(value, dict):
        return value
    items = {key: _with_items(each) for key, each in value.items()}
    return items if all(isinstance(key, str) for key in items) else {ITEMS: list(items.items())}


def _read(path: Any) -> dict[str, Any]:
    data = read_bytes(path)

    def opened(found: dict[str, Any]) -> Any:
        if ITEMS in found:
            return dict(found[ITEMS])
        if ARRAY in found:
            return tensors[found[ARRAY]].numpy()
        return tensors[found[TENSOR]] if TENSOR in found else found

    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size]).get("__metadata__", {})
        tensors, kind = safetensors().load(data), header.get("format")
        content = json.loads(header["content"], object_hook=opened) if kind == KIND else {}
    except Exception as error:  # safetensors has errors of its own kinds
        raise InputError(f"{path} is not a checkpoint or is damaged ({error}); delete it to start again.") from error
    if kind != KIND:
        raise InputError(f"{path} holds {kind!r}, expected a {KIND}; choose another name.")
    return dict(content)
