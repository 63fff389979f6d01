"""Points that are modules: one architecture and a state dict for each, kept in files of safetensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..exceptions import InputError
from ..frontier import Frontier
from ..frontier.saving import load_frontier
from ..frontier.saving_points import MODELS, POINTS, Stored, task_content, task_of
from ..objectives import Array, Task
from ..storage.folders import make_folder, write_file
from .backend import Module, Tensor, safetensors, torch
from .modules import copied
from .scoring import as_array, as_inputs, n_rows, shaped, take

CHUNK = 8192
"""Rows that are scored at once."""


@dataclass(frozen=True, eq=False)
class TorchPoints:
    """N modules of one architecture. ``module`` is None after loading until `load` is given one.

    Modules with several labels per row have the tasks of all of them in ``tasks``; ``column`` is the label that
    `of_label` picked.
    """

    raw: ClassVar[bool] = True

    states: tuple[dict[str, Tensor], ...]
    task: Task
    loss: str
    n_scores: int
    module: Module | None = field(default=None, repr=False)
    tasks: tuple[Task, ...] = ()
    column: int | None = None

    def __len__(self) -> int:
        return len(self.states)

    def take(self, places: list[int]) -> TorchPoints:
        """Return some of the modules."""
        return replace(self, states=tuple(self.states[place] for place in places))

    def build(self, place: int) -> Module:
        """Return the module with its weights, ready to use: a copy, in ``eval()``."""
        if self.module is None:
            raise InputError(
                "the architecture of these weights is not stored with them, expected a module to put them into; read "
                "the frontier with fairfront.torch.load(path, module)."
            )
        found = copied(self.module)
        found.load_state_dict(self.states[place])
        return found.eval()

    def scores(self, X: Any) -> Array:
        """Return the scores of all modules, (N, K, n)."""
        if self.tasks:
            raise InputError(
                f"these modules give a score for each of {len(self.tasks)} labels, expected one label to judge; pick "
                "it with fairfront.torch.of_label(front, 0)."
            )
        found = np.stack([module_scores(self.build(place), X, self.n_scores) for place in range(len(self))])
        return found if self.column is None else found[:, self.column : self.column + 1]


def module_scores(module: Module, X: Any, n_scores: int) -> Array:
    """Return the scores (K, n) of a module on rows of any kind that it takes."""
    first = next(module.parameters())
    inputs = as_inputs(X, first.dtype, first.device)
    found = []
    with torch.no_grad():
        for start in range(0, n_rows(inputs), CHUNK):
            part = take(inputs, slice(start, start + CHUNK))
            given = part if isinstance(part, tuple) else (part,)
            scores = shaped(module(*given), n_rows(part), n_scores, type(module).__name__)
            found.append(as_array(scores[None], type(module).__name__)[0])
    return np.concatenate(found, axis=1)


class TorchFormat:
    """State dicts, each in a file of safetensors; the architecture stays in the user's code."""

    points = TorchPoints

    def write(self, points: TorchPoints, folder: Path) -> Stored:
        """Write every state dict into a file; nothing is pickled."""
        files = tuple(f"{MODELS}/{place}.safetensors" for place in range(len(points)))
        make_folder(folder / MODELS)
        for name, state in zip(files, points.states, strict=True):
            whole = {key: value.detach().cpu().clone().contiguous() for key, value in state.items()}
            write_file(folder / name, safetensors().save(whole))
        content = {
            "task": task_content(points.task),
            "loss": points.loss,
            "n_scores": points.n_scores,
            "tasks": [task_content(task) for task in points.tasks],
            "column": points.column,
        }
        return Stored(content, {}, files)

    def read(self, stored: Stored, folder: Path, trusted: Sequence[str]) -> TorchPoints:
        """Return the weights, still without a module; tensors execute nothing."""
        states = tuple(safetensors().load((folder / name).read_bytes()) for name in stored.files)
        known = stored.content
        tasks = tuple(task_of(each) for each in known.get("tasks", []))
        return TorchPoints(
            states, task_of(known["task"]), known["loss"], known["n_scores"], tasks=tasks, column=known.get("column")
        )


POINTS.add("torch", TorchFormat())


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
    points = front.points
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
    return replace(front, points=replace(points, module=module))
