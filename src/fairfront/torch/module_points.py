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
from ..validation import check_instance, is_whole, refuse
from .module_objectives import LABEL
from .modules import Module, Tensor, copied, module_scores, safetensors
from .problem import TorchProblem


@dataclass(frozen=True, eq=False)
class TorchPoints(Models):
    """N modules of one architecture.

    Attributes
    ----------
    states : tuple of N state dicts
    task : Task
        Of the only label, or the first one.
    loss : str
        Name of the loss.
    n_scores : int
        Scores that a module gives per row.
    module : nn.Module or None
        The architecture; None after loading until `load` is given one.
    tasks : tuple of Task
        Of all labels where rows have several, else empty.
    column : int or None
        The label that `of_label` picked.
    """

    states: tuple[dict[str, Tensor], ...]
    task: Task
    loss: str
    n_scores: int
    module: Module | None = field(default=None, repr=False)
    tasks: tuple[Task, ...] = ()
    column: int | None = None

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
        if self.tasks:
            raise InputError(
                f"these modules give a score for each of {len(self.tasks)} labels, expected one label to judge; pick "
                "it with fairfront.torch.of_label(front, 0)."
            )
        found = np.stack([module_scores(self.build(place), X, self.n_scores) for place in range(len(self))])
        return found if self.column is None else found[:, self.column : self.column + 1]

    def write(self, folder: Path) -> Stored:
        """Write state dicts as files of safetensors; the architecture stays in the user's code."""
        files = tuple(f"{FOLDER}/{place}.safetensors" for place in range(len(self)))
        make_folder(folder / FOLDER)
        for name, state in zip(files, self.states, strict=True):
            whole = {key: value.detach().cpu().clone().contiguous() for key, value in state.items()}
            write_file(folder / name, safetensors().save(whole))
        content = {
            "task": task_content(self.task),
            "loss": self.loss,
            "n_scores": self.n_scores,
            "tasks": [task_content(task) for task in self.tasks],
            "column": self.column,
        }
        return Stored(content, {}, files)

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> TorchPoints:
        """Return the weights, still without a module; tensors execute nothing."""
        known: dict[str, Any] = {**stored.content, "task": task_of(stored.content["task"])}
        known["tasks"] = tuple(task_of(each) for each in known["tasks"])
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


def assemble_modules(
    problem: TorchProblem, W: Array, status: tuple[Status, ...], pi: Array, solver: Any
) -> tuple[Frontier, list[int]]:
    """Return the frontier of weights (N, 1, P), sorted by loss, and which of them it has; plain training is the first.

    Points that another one dominates on loss and worst gaps go, unless they are the first, or a preference asked for
    them.
    """
    algebra, labels = problem.algebra, problem.objectives.labels
    L = np.concatenate([problem.values(W[i : i + 1]) for i in range(len(W))])
    axes = np.column_stack([algebra.loss(L), algebra.worst(L)])
    kept = nondominated(axes) | ~np.isnan(pi[:, 0])
    kept[0] = True
    places = [int(i) for i in np.argsort(axes[:, 0], kind="stable") if kept[i]]
    models = TorchPoints(
        states=tuple(problem.state(W[i]) for i in places),
        task=labels[0].task,
        loss=labels[0].loss.name,
        n_scores=problem.objectives.n_scores,
        module=copied(problem.module).eval(),
        tasks=tuple(each.task for each in labels) if len(labels) > 1 else (),
    )
    points = Points.from_values(algebra, L[places], tuple(status[i] for i in places), preferences=pi[places])
    return Frontier(models, points, replace(Facts.of(labels[0], solver), notions=algebra.notions)), places


def of_label(front: Frontier, label: int) -> Frontier:
    """Return a frontier of several labels per row as seen by one of them, to evaluate, plot and select on.

    Models and loss (the mean over labels) stay; gaps are those of this label. ``select`` gives whole modules.

    Parameters
    ----------
    front : Frontier
        Of `trace` with several columns in y.
    label : int
        Which column of y, from 0.
    """
    points = check_instance(front, Frontier, "front", "a Frontier").models
    if not isinstance(points, TorchPoints) or not points.tasks:
        raise InputError("this frontier has a single label per row, expected several; use it as it is.")
    if not is_whole(label) or not 0 <= label < len(points.tasks):
        raise refuse("label", label, f"a column of y from 0 to {len(points.tasks) - 1}")
    tag, task = LABEL.format(label), points.tasks[label]
    loss, *gaps = front.objective_names
    own, mine = ([i for i, name in enumerate(some) if name.startswith(tag)] for some in (gaps, front.facts.notions))
    wide = [0, *(1 + i for i in own)]
    of_points = replace(
        front.points,
        objectives=front.objectives[:, wide],
        gaps=front.gaps[:, mine],
        signed_gaps=front.signed_gaps[:, own],
        objective_names=(loss, *(gaps[i].removeprefix(tag) for i in own)),
        preferences=front.preferences[:, wide],
    )
    facts = replace(front.facts, task=task, notions=tuple(front.facts.notions[i].removeprefix(tag) for i in mine))
    models = replace(points, task=task, tasks=(), column=label)
    return replace(front, models=models, points=of_points, facts=facts, evaluations={})
