"""Resumption of training from a checkpoint: what is saved of it, and whose checkpoint it may be.

A checkpoint is one file. Tensors are stored by safetensors, all else as JSON in its header; nothing is executed when it
is read, and the file is replaced in one piece, so that a kill leaves the last whole one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..solvers.fingerprints import digest
from ..storage.checkpoints import Fingerprint
from ..storage.documents import decode, encode, read_bytes
from ..storage.folders import write_file
from ..storage.places import remove_leftovers
from ..validation import check_path
from .backend import Tensor, safetensors, torch
from .batches import TorchObjectives
from .forward import parts_of
from .step import FairStep, MovingAverage

KIND = "fairfront torch checkpoint 2"
AVERAGES = ("values", "products", "gradients", "squared")
REMEMBERED = ("scale", "missed", "beta")
"""What a step knows beside its averages."""


@dataclass(eq=False)
class TrainingState:
    """How far training has come: epochs done, the objectives after each, and the best epoch's merit and weights."""

    epoch: int = 0
    history: list[list[float]] = field(default_factory=list)
    best: float = float("inf")
    waited: int = 0
    kept: list[Tensor] | None = None


class Checkpointer:
    """Saves a training after every epoch, and finds where an earlier one of these settings on these rows stopped."""

    def __init__(self, path: Any, step: FairStep, inputs: Any, config: Any, scheduler: Any, held: Any) -> None:
        self.path, self.step, self.scheduler = check_path(path, "checkpoint"), step, scheduler
        if self.path.is_dir():
            raise InputError(f"{path} is a folder, expected a file for the checkpoint of a training; name one in it.")
        remove_leftovers(path)
        target = getattr(step.rule, "target", None)
        settings = {
            "training": {name: value for name, value in vars(config).items() if name not in ("epochs", "patience")},
            "rule": (step.rule, getattr(target, "pi", None)),
            "target": getattr(target, "caps", None),
            "optimizer": (type(step.optimizer).__name__, step.optimizer.defaults),
            "scheduler": (type(scheduler).__name__, _state_of(scheduler)),
            "module": [(type(step.module).__name__, tuple(p.shape)) for p in weights_of(step)],
            "objectives": _measured(step.objectives),
            "refresh": step.refresh,
        }
        rows = (_rows(inputs, step.objectives), None if held is None else _rows(held.inputs, held.objectives))
        self.owner = Fingerprint({name: digest(value) for name, value in settings.items()}, digest(rows))

    def save(self, state: TrainingState) -> None:
        """Write all that training has changed."""
        step = self.step
        averages = {name: getattr(step, name) for name in AVERAGES}
        parts = {
            "settings": dict(self.owner.settings),
            "rows": self.owner.rows,
            "weights": weights_of(step),
            "optimizer": step.optimizer.state_dict(),
            "scheduler": _state_of(self.scheduler),
            "averages": {name: {"total": each.total, "count": each.count} for name, each in averages.items()},
            "step": {name: getattr(step, name) for name in REMEMBERED},
            "random": torch.get_rng_state(),
            "state": vars(state),
        }
        tensors: dict[str, Tensor] = {}
        content = json.dumps(encode(_without_tensors(parts, "", tensors)))
        data = safetensors().save(tensors, {"format": KIND, "content": content})
        write_file(self.path, data, overwrite=True, own=_is_tensors, private=True)

    def resumed(self) -> TrainingState:
        """Return where an earlier run stopped, with everything set as it was; the beginning without a checkpoint."""
        if not self.path.exists():
            return TrainingState()
        step, parts = self.step, _read(self.path)
        self.owner.refuse_other(Fingerprint(parts["settings"], parts["rows"]), self.path)
        restore(step, parts["weights"])
        for group in parts["optimizer"]["param_groups"]:
            group.update({name: tuple(value) for name, value in group.items() if name == "betas"})
        step.optimizer.load_state_dict(parts["optimizer"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict({**self.scheduler.state_dict(), **parts["scheduler"]})
        device = step.scorer.parameters[0].device
        for name, known in parts["averages"].items():
            setattr(step, name, MovingAverage(step.memory, _on(device, known["total"]), known["count"]))
        for name, value in parts["step"].items():
            setattr(step, name, _on(device, value))
        torch.set_rng_state(parts["random"])
        return TrainingState(**parts["state"])


def weights_of(step: FairStep) -> list[Tensor]:
    """Return all that training changes: parameters, and buffers such as the statistics of batch normalisation."""
    return [*step.scorer.parameters, *step.module.buffers()]


def restore(step: FairStep, kept: list[Tensor]) -> None:
    """Write weights that `weights_of` gave back into their places."""
    with torch.no_grad():
        for mine, value in zip(weights_of(step), kept, strict=True):
            mine.copy_(value)


def _measured(objectives: TorchObjectives) -> Any:
    """Return what makes objectives different ones: names, losses, rates, gap function, penalty."""
    algebra, measures = objectives.algebra, [bound for block in objectives.blocks for bound, _ in block.measures]
    return objectives.names, measures, algebra.gap, float(algebra.p[-1])


def _rows(inputs: Any, objectives: TorchObjectives) -> Any:
    """Return inputs, labels, groups and weights."""
    arrays = [part.detach().cpu().numpy() for part in parts_of(inputs)]
    return arrays, [(block.targets, block.cell, block.shares, block.weight) for block in objectives.blocks]


def _state_of(scheduler: Any) -> dict[str, Any] | None:
    """Return what of a scheduler's state can be written; functions come back with the scheduler."""
    state = {} if scheduler is None else scheduler.state_dict()
    kinds = (int, float, str, list, dict, type(None))
    return {name: value for name, value in state.items() if isinstance(value, kinds)}


def _on(device: Any, value: Any) -> Any:
    return value.to(device) if isinstance(value, torch.Tensor) else value


def _is_tensors(head: bytes) -> bool:
    return b'"__metadata__"' in head[:32]


def _read(path: Any) -> dict[str, Any]:
    """Return the parts that were saved, or say that the file is something else."""
    data = read_bytes(path)
    try:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size]).get("__metadata__", {})
        tensors, kind = safetensors().load(data), header.get("format")
        content = decode(json.loads(header["content"])) if kind == KIND else None
    except Exception as error:  # safetensors has errors of its own kinds
        raise InputError(f"{path} is not a checkpoint or is damaged ({error}); delete it to start again.") from error
    if kind != KIND:
        raise InputError(f"{path} holds {kind!r}, expected a {KIND}; choose another name.")
    found: dict[str, Any] = _with_tensors(content, tensors)
    return found


def _without_tensors(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """Return nested values with the names of tensors and arrays, which are put into ``tensors``, in their places."""
    if isinstance(value, (np.ndarray, torch.Tensor)):
        tensors[name] = torch.as_tensor(value).detach().cpu().clone().contiguous()
        return {"array" if isinstance(value, np.ndarray) else "tensor": name}
    if isinstance(value, dict):
        return {"items": [[key, _without_tensors(each, f"{name}/{key}", tensors)] for key, each in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"list": [_without_tensors(each, f"{name}/{i}", tensors) for i, each in enumerate(value)]}
    if value is None or isinstance(value, (str, int, float)):
        return {"value": value}
    raise InputError(
        f"the state to be saved has {name.strip('/')} of type {type(value).__name__}, expected tensors, numbers and "
        "text; use another scheduler or optimiser, or no checkpoint."
    )


def _with_tensors(value: Any, tensors: dict[str, Tensor]) -> Any:
    """Return nested values with their tensors and arrays."""
    kind, inner = next(iter(value.items()))
    if kind == "items":
        return {key: _with_tensors(each, tensors) for key, each in inner}
    if kind == "list":
        return [_with_tensors(each, tensors) for each in inner]
    if kind == "value":
        return inner
    return tensors[inner].numpy() if kind == "array" else tensors[inner]
