"""trace: the frontier of a module. Plain training reaches it first, then runs slide along it (design of PB-PDO)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..exceptions import InputError
from ..frontier import Frontier
from ..objectives import Array
from ..progress import Progress, progress_bar
from ..solvers import PBPDO, Status, Target, run
from ..solvers.aiming import TARGETS, tops
from ..storage.folders import make_folder
from ..validation import (
    MOST_POINTS,
    check_count,
    check_flag,
    check_instance,
    check_path,
    check_preferences,
    check_progress,
)
from .assembling import assemble_modules
from .backend import Module, Optimizer, Tensor, torch
from .fitting import fit, optimizer_of, training_of
from .layouts import objectives
from .modules import copied, is_batch_norm, trainable
from .problem import TorchProblem
from .rules import PlainRule, SlideRule
from .scoring import StackScorer, take
from .stepping import FairStep
from .training import Training, train

Make = Callable[[Any], Optimizer]


def trace(
    module: Module,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    preferences: Any = None,
    training: Training | None = None,
    slide: Training | None = None,
    solver: PBPDO | None = None,
    optimizer: Make | None = None,
    stack: bool | None = None,
    checkpoint: Any = None,
    device: Any = None,
    progress: bool | Literal["auto"] = "auto",
    **settings: Any,
) -> Frontier:
    """Trace the frontier of a module between loss and worst gap; the module given stays as it is.

    Parameters
    ----------
    module, X, y, sensitive_features, **settings
        As in `fit`. Frontiers of several labels per row are judged one label at a time (`of_label`).
    preferences : None, int or array of shape (R, m)
        Preference vectors, or how many caps to place evenly between the gaps of plain training and 0.
    training, slide : Training
        Plain training, and the slide of all runs from its end; by default a slide of half as many epochs. The learning
        rate falls evenly from epoch to epoch while sliding, so that runs come to rest at their caps.
    solver : PBPDO, optional
        Slide on all rows at once with the solver of linear models, and a line search, instead of in batches.
    optimizer : function of the parameters, optional
        Adam by default.
    stack : bool, optional
        Train all runs as one batch of stacked modules. By default where the module allows it; otherwise runs go one
        after the other, each from the end of the one before.
    checkpoint : path, optional
        A folder for files written after every epoch of plain training and of the slide; a trace that finds them goes on
        from there, to the same result. A slide by ``solver`` starts anew.

    Returns
    -------
    Frontier
        ``select`` gives modules in ``eval()``. Points that batches led to have the status VISITED: near the frontier,
        not solved to a tolerance.
    """
    check_progress(progress)
    if solver is not None:
        check_instance(solver, PBPDO, "solver", "fairfront.PBPDO(...)")
    if stack is not None:
        check_flag(stack, "stack")
    config = training_of(training, "training")
    if config.patience is not None:
        raise InputError("patience has no held-out rows to watch in a trace, expected None; choose among its points.")
    after = replace(config, epochs=-(-config.epochs // 2)) if slide is None else training_of(slide, "slide")
    given = objectives(y, sensitive_features=sensitive_features, **settings)
    work = copied(module, device)
    common: dict[str, Any] = {"optimizer": optimizer, "progress": progress, "checkpoint": _file(checkpoint, "plain")}
    fit(work, X, y, sensitive_features=sensitive_features, rule=PlainRule(), training=config, **common, **settings)
    problem = TorchProblem(work, X, given)
    target = _targets(problem, preferences)
    if solver is not None:
        outcome = run(problem, solver, problem.start, target)
        W, status = outcome.W, list(outcome.status)
    else:
        make = optimizer_of(optimizer, after)
        with torch.random.fork_rng(devices=[]), progress_bar(progress, "sliding", after.epochs) as bar:
            torch.manual_seed(after.seed)
            W = Slide(problem, after, make, bar, checkpoint).ends(target, stack)
        status = [Status.VISITED] * len(W)
    first = np.full((1, problem.algebra.m), np.nan)
    every = [Status.VISITED, *status]
    how = solver if solver is not None else after
    return assemble_modules(problem, np.concatenate([problem.start, W]), every, np.concatenate([first, target.pi]), how)


def _targets(problem: TorchProblem, preferences: Any) -> Target:
    """Return preferences, or caps evenly spaced below the gaps of the present weights."""
    algebra = problem.algebra
    if preferences is not None and not isinstance(preferences, (int, np.integer)):
        return Target.from_preferences(check_preferences(preferences, algebra.names))
    count = check_count(TARGETS if preferences is None else preferences, "preferences", most=MOST_POINTS)
    top = tops(algebra, algebra.violation(algebra.gaps(problem.values(problem.start)))[0], "worst_gap")
    return Target.from_caps(np.linspace(1.0, 0.0, count + 1)[1:, None] * top)


def _file(folder: Any, name: str) -> Path | None:
    """Return a file of a checkpoint's folder, which is made if it is not there."""
    if folder is None:
        return None
    place = check_path(folder, "checkpoint")
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is a file, expected a folder for the checkpoint of a trace; choose another name.")
    if not place.parent.is_dir():
        raise InputError(f"{place.parent} is not a folder, expected one to make {place.name!r} in; make it first.")
    make_folder(place)
    return place / f"{name}.safetensors"


@dataclass(frozen=True, eq=False)
class Slide:
    """How runs slide: on which problem, for how long, by which optimiser, and where they are saved."""

    problem: TorchProblem
    config: Training
    make: Make
    bar: Progress
    checkpoint: Any

    def ends(self, target: Target, stack: bool | None) -> Array:
        """Return the weights (R, 1, P) of all runs: as one stack, or one after the other from the last one's end."""
        problem, runs = self.problem, len(target.pi)
        if stack if stack is not None else stackable(problem):
            return self.together(np.repeat(problem.start, runs, axis=0), target, "slide")
        found, here = [], problem.start
        for r in range(runs):
            here = self.together(here, target.take(np.arange(runs) == r), f"slide-{r}")
            found.append(here)
        return np.concatenate(found)

    def together(self, W: Array, target: Target, name: str) -> Array:
        """Train stacked copies together: an optimiser that works number by number treats them as separate runs."""
        problem, config = self.problem, self.config
        stacked = {name: value.requires_grad_(True) for name, value in problem.tensors(W).items()}
        optimizer = self.make(list(stacked.values()))
        step = FairStep(
            sliding(problem.module),
            optimizer,
            problem.objectives,
            rule=SlideRule(target),
            memory=config.memory,
            stacked=stacked,
        )
        file = _file(self.checkpoint, name)
        train(
            step,
            problem.inputs,
            replace(config, patience=None),
            scheduler=slowing(optimizer, config.epochs),
            bar=self.bar,
            checkpoint=file,
        )
        return np.asarray(_flat(stacked).double().cpu().numpy())[:, None]


def slowing(optimizer: Optimizer, epochs: int) -> Any:
    """Return a scheduler that takes the learning rate down evenly, to 1 / epochs of it in the last one."""
    last = max(epochs, 1)
    return torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1.0 / last, total_iters=max(last - 1, 1))


def _flat(stacked: dict[str, Tensor]) -> Tensor:
    return torch.cat([value.detach().reshape(len(value), -1) for value in stacked.values()], dim=1)


def sliding(module: Module) -> Module:
    """Return a copy to slide with: batch normalisation keeps the figures of plain training, which all points share."""
    work = copied(module).train()
    for part in work.modules():
        if is_batch_norm(part):
            part.eval()
    return work


def stackable(problem: TorchProblem) -> bool:
    """Tell whether copies of the module can go forward as one: nothing in it that `vmap` refuses."""
    module = sliding(problem.module)
    pair = {name: torch.stack([value.detach()] * 2) for name, value in trainable(module).items()}
    try:
        with torch.no_grad():
            StackScorer(module, problem.objectives.n_scores, pair).scores(take(problem.inputs, slice(0, 2)))
    except RuntimeError:
        return False
    return True
