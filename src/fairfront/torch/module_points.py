"""Frontiers of modules: one architecture and a state dict for each point, kept in files of safetensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..frontier import Facts, Frontier, Points
from ..frontier.models import FOLDER, Models, Places, Stored, task_content, task_of
from ..frontier.store import MODELS, load_frontier
from ..objectives import Array, Task
from ..pareto import nondominated
from ..solvers import Status
from ..storage.folders import make_folder, write_file
from .modules import Module, Tensor, copied, module_scores, safetensors
from .problem import TorchProblem


@dataclass(frozen=True, eq=False)
class TorchPoints(Models):
    """N modules of one architecture.

    Attributes
    ----------
    states : tuple of N state dicts
    task : Task
    loss : str
        Name of the loss.
    n_scores : int
        Scores that a module gives per row.
    module : nn.Module or None
        The architecture; None after loading until `load` is given one.
    """

    states: tuple[dict[str, Tensor], ...]
    task: Task
    loss: str
    n_scores: int
    module: Module | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.states)

    def take(self, places: Places) -> TorchPoints:
        return replace(self, states=tuple(self.states[place] for place in places))

    def build(self, place: int) -> Module:
        """Return a copy of the module with these weights, in ``eval()``."""
        if self.module is None:
            raise InputError(
                "the architecture of these weights is not stored with them, expected a module to put them into; read "
                "the frontier with fairfront.torch.load(path, module)."
            )
        found = copied(self.module)
        found.load_state_dict(self.states[place])
        return found.eval()

    def scores(self, X: Any) -> Array:
        return np.stack([module_scores(self.build(place), X, self.n_scores) for place in range(len(self))])

    def write(self, folder: Path) -> Stored:
        """Write state dicts as files of safetensors; the architecture stays in the user's code."""
        files = tuple(f"{FOLDER}/{place}.safetensors" for place in range(len(self)))
        make_folder(folder / FOLDER)
        for name, state in zip(files, self.states, strict=True):
            whole = {key: value.detach().cpu().clone().contiguous() for key, value in state.items()}
            write_file(folder / name, safetensors().save(whole))
        content = {"task": task_content(self.task), "loss": self.loss, "n_scores": self.n_scores}
        return Stored(content, {}, files)

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> TorchPoints:
        """Return the weights, still without a module; tensors execute nothing."""
        known: dict[str, Any] = {**stored.content, "task": task_of(stored.content["task"])}
        return cls(tuple(safetensors().load((folder / name).read_bytes()) for name in stored.files), **known)


MODELS.add("torch", TorchPoints)


def load(path: Any, module: Module) -> Frontier:
    """Read a frontier of modules that was saved, with the architecture that its weights are for.

    Parameters
    ----------
    path : path
        The folder that ``Frontier.save`` wrote.
    module : nn.Module
        A module of the same architecture; its own weights do not matter and stay as they are.
    """
    front = load_frontier(path)
    points = front.models
    if not isinstance(points, TorchPoints):
        raise InputError(f"{path} holds {type(points).__name__}, expected modules; read it with fairfront.load.")
    try:
        copied(module).load_state_dict(points.states[0])
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise InputError(
            f"{type(module).__name__} has another architecture than the weights in {path} ({reason}); make it as in "
            "training."
        ) from error
    return replace(front, models=replace(points, module=module))


def assemble_modules(problem: TorchProblem, W: Array, status: tuple[Status, ...], pi: Array, solver: Any) -> Frontier:
    """Return the frontier of weights (N, 1, P), sorted by loss; plain training is the first.

    Points that another one dominates on loss and worst gaps go, unless they are the first, or a preference asked for
    them.
    """
    algebra, asked = problem.algebra, problem.objectives.asked
    L = np.concatenate([problem.values(W[i : i + 1]) for i in range(len(W))])
    axes = np.column_stack([algebra.loss(L), algebra.worst(L)])
    kept = nondominated(axes) | ~np.isnan(pi[:, 0])
    kept[0] = True
    places = [int(i) for i in np.argsort(axes[:, 0], kind="stable") if kept[i]]
    models = TorchPoints(
        states=tuple(problem.state(W[i]) for i in places),
        task=asked.task,
        loss=asked.loss.name,
        n_scores=problem.objectives.n_scores,
        module=copied(problem.module).eval(),
    )
    points = Points.from_values(algebra, L[places], tuple(status[i] for i in places), preferences=pi[places])
    return Frontier(models, points, Facts.of(asked, solver))
