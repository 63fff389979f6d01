"""Training that goes on from a checkpoint: what is saved of it, and whose checkpoint it may be."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..solvers.digests import digest
from ..storage.checkpoints import Fingerprint
from ..storage.leftovers import remove_leftovers
from ..validation import check_path
from .averaging import Average
from .backend import Optimizer, Tensor, torch
from .checkpoints import read_checkpoint, write_checkpoint
from .layouts import TorchObjectives
from .stepping import FairStep


@dataclass(eq=False)
class Progressed:
    """How far training has come: epochs done, figures so far, and the best epoch's weights."""

    epoch: int = 0
    history: list[list[float]] | None = None
    best: float = float("inf")
    waited: int = 0
    kept: list[Tensor] | None = None


@dataclass(frozen=True, eq=False)
class Keeper:
    """Saves a training after every epoch, and finds where an earlier one stopped; without a path it does neither."""

    path: Any
    owner: Fingerprint | None = None

    @classmethod
    def of(cls, path: Any, step: FairStep, inputs: Any, config: Any, scheduler: Any, held: Any) -> Keeper:
        """Return the keeper of a training of these settings on these rows."""
        if path is None:
            return cls(None)
        if check_path(path, "checkpoint").is_dir():
            raise InputError(f"{path} is a folder, expected a file for the checkpoint of a training; name one in it.")
        remove_leftovers(path)
        same = {each.name: getattr(config, each.name) for each in fields(config)}
        settings = {
            "training": {name: value for name, value in same.items() if name not in ("epochs", "patience")},
            "rule": (step.rule, getattr(getattr(step.rule, "target", None), "pi", None)),
            "target": getattr(getattr(step.rule, "target", None), "caps", None),
            "optimizer": (type(step.optimizer).__name__, step.optimizer.defaults),
            "scheduler": (type(scheduler).__name__, None if scheduler is None else _plain(scheduler.state_dict())),
            "module": [(type(step.module).__name__, tuple(p.shape)) for p in weights_of(step)],
            "objectives": (step.objectives.names, _measured(step.objectives)),
            "refresh": step.refresh,
        }
        others = None if held is None else (_arrays(held.inputs), _labels(held.objectives))
        rows = (_arrays(inputs), _labels(step.objectives), others)
        return cls(path, Fingerprint({name: digest(value) for name, value in settings.items()}, digest(rows)))

    def save(self, step: FairStep, scheduler: Any, done: Progressed) -> None:
        """Write all that training has changed."""
        if self.owner is None:
            return
        parts = {
            "settings": dict(self.owner.settings),
            "rows": self.owner.rows,
            "weights": weights_of(step),
            "optimizer": step.optimizer.state_dict(),
            "scheduler": None if scheduler is None else _plain(scheduler.state_dict()),
            "average": {each.name: getattr(step.average, each.name) for each in fields(step.average)},
            "pace": {"scale": step.scale, "missed": step.missed, "beta": step.beta},
            "random": torch.get_rng_state(),
            "done": {each.name: getattr(done, each.name) for each in fields(done)},
        }
        write_checkpoint(self.path, parts)

    def resumed(self, step: FairStep, scheduler: Any) -> Progressed | None:
        """Return where an earlier run stopped, with everything set as it was, or None if there is no checkpoint."""
        if self.owner is None or not Path(self.path).exists():
            return None
        parts = read_checkpoint(self.path)
        self.owner.refuse_other(Fingerprint(parts["settings"], parts["rows"]), self.path)
        restore(step, parts["weights"])
        _load_optimizer(step.optimizer, parts["optimizer"])
        if scheduler is not None:
            scheduler.load_state_dict({**scheduler.state_dict(), **parts["scheduler"]})
        seen, pace = parts["average"], parts["pace"]
        device = step.scorer.parameters[0].device
        G, step.scale = (None if each is None else each.to(device) for each in (seen["G"], pace["scale"]))
        L, Q, squared = (_array(seen[name]) for name in ("L", "Q", "squared"))
        step.average = Average(seen["steps"], L, Q, G, squared, seen["products"], seen["gradients"])
        step.missed, step.beta = _array(pace["missed"]), _array(pace["beta"])
        torch.set_rng_state(parts["random"])
        return Progressed(**parts["done"])


def weights_of(step: FairStep) -> list[Tensor]:
    """Return all that training changes: parameters, and figures such as those of batch normalisation."""
    return [*step.scorer.parameters, *step.module.buffers()]


def restore(step: FairStep, kept: list[Tensor]) -> None:
    """Write weights that `weights_of` gave back into their places."""
    with torch.no_grad():
        for mine, value in zip(weights_of(step), kept, strict=True):
            mine.copy_(value)


def _measured(objectives: TorchObjectives) -> Any:
    """Return what makes objectives of the same names different ones: losses, rates, gap function, penalty."""
    algebra = objectives.algebra
    return [bound for block in objectives.blocks for bound, _ in block.measures], algebra.gap, float(algebra.p[-1])


def _labels(objectives: TorchObjectives) -> Any:
    return [(block.targets, block.cell, block.shares, block.weight) for block in objectives.blocks]


def _arrays(inputs: Any) -> list[Any]:
    parts = inputs if isinstance(inputs, tuple) else (inputs,)
    return [part.detach().cpu().numpy() for part in parts]


def _array(value: Tensor | None) -> Array | None:
    return None if value is None else np.asarray(value.numpy())


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """Return what of a scheduler's state can be written; functions are made anew with the scheduler."""
    return {
        name: value for name, value in state.items() if isinstance(value, (int, float, str, list, dict, type(None)))
    }


def _load_optimizer(optimizer: Optimizer, state: dict[str, Any]) -> None:
    for group in state["param_groups"]:
        group.update({name: tuple(value) for name, value in group.items() if name == "betas"})
    optimizer.load_state_dict(state)
