"""trace: the frontier of a module, or of its last layer alone.

Plain training reaches the frontier first, then runs slide along it (design of PB-PDO). The last layer alone, on
features that stay as they are, is a linear model, which the Newton tracer solves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..exceptions import InputError, Progress, progress_bar
from ..frontier import Frontier, LinearModels
from ..objectives import Array
from ..solvers import PBPDO, Status, Target, run
from ..solvers.base import TARGETS, tops
from ..storage.folders import make_folder
from ..tracing import trace as trace_linear
from ..validation import MOST_POINTS, check_count, check_flag, check_instance, check_path, check_progress, check_text
from ..validation.inputs import check_preferences
from .epochs import train
from .layers import Scorer, heard
from .module_fit import Training, check_training
from .module_objectives import objectives
from .module_points import TorchPoints, assemble_modules
from .modules import (
    MakeOptimizer,
    Module,
    Tensor,
    called,
    check_devices,
    chunks,
    copied,
    inputs_of,
    is_batch_norm,
    optimizer_maker,
    take,
    torch,
    trainable,
    tried_inputs,
)
from .problem import TorchProblem
from .rules import PlainRule, SlideRule
from .step import FairStep


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
    optimizer: MakeOptimizer | None = None,
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
        Preference vectors, or how many caps to place evenly between the gaps of unconstrained training and 0.
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
        A folder for files written after every epoch of unconstrained training and of the slide; a trace that finds them
        goes on from there, to the same result. A slide by ``solver`` starts again.
    device, progress
        As in `fit`.

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
    config = check_training(training, "training")
    if config.patience is not None:
        raise InputError("patience has no held-out rows to watch in a trace, expected None; choose among its points.")
    after = replace(config, epochs=-(-config.epochs // 2)) if slide is None else check_training(slide, "slide")
    given = objectives(y, sensitive_features=sensitive_features, **settings)
    work = copied(module, device)
    inputs = tried_inputs(work, X, given.n, given.n_scores)
    chosen = optimizer_maker(optimizer, config.lr)(list(trainable(work).values()))
    step = FairStep(work, chosen, given, rule=PlainRule(), memory=config.memory)
    with torch.random.fork_rng(devices=[]), progress_bar(progress, "training", config.epochs) as bar:
        torch.manual_seed(config.seed)
        work.train()
        train(step, inputs, config, checkpoint=_file(checkpoint, "plain"), bar=bar)
    problem = TorchProblem(work.eval(), inputs, given)
    target = _targets(problem, preferences)
    if solver is not None:
        outcome = run(problem, solver, problem.start, target)
        W, status = outcome.W, outcome.status
    else:
        make = optimizer_maker(optimizer, after.lr)
        with torch.random.fork_rng(devices=[]), progress_bar(progress, "sliding", after.epochs) as bar:
            torch.manual_seed(after.seed)
            W = _Slide(problem, after, make, bar, checkpoint).ends(target, stack)
        status = (Status.VISITED,) * len(W)
    every = np.concatenate([problem.start, W])
    pi = np.concatenate([np.full((1, problem.algebra.m), np.nan), target.pi])
    return assemble_modules(problem, every, (Status.VISITED, *status), pi, after if solver is None else solver)


def _targets(problem: TorchProblem, preferences: Any) -> Target:
    """Space caps evenly below the gaps of the present weights where there are no preferences."""
    algebra = problem.algebra
    if preferences is not None and not isinstance(preferences, (int, np.integer)):
        return Target.from_preferences(check_preferences(preferences, algebra.names))
    count = check_count(TARGETS if preferences is None else preferences, "preferences", most=MOST_POINTS)
    top = tops(algebra, algebra.violation(algebra.gaps(problem.values(problem.start)))[0], "worst_gap")
    return Target.from_caps(np.linspace(1.0, 0.0, count + 1)[1:, None] * top)


def _file(folder: Any, name: str) -> Path | None:
    if folder is None:
        return None
    place = check_path(folder, "checkpoint")
    if place.exists() and not place.is_dir():
        raise InputError(f"{place} is a file, expected a folder for the checkpoint of a trace; choose another name.")
    make_folder(place)
    return place / f"{name}.safetensors"


@dataclass(frozen=True, eq=False)
class _Slide:
    """How runs slide: on which problem, for how long, by which optimiser, and where they are saved."""

    problem: TorchProblem
    config: Training
    make: MakeOptimizer
    bar: Progress
    checkpoint: Any

    def ends(self, target: Target, stack: bool | None) -> Array:
        """Return weights (R, 1, P): of one stack, or of one run after the other from the last one's end."""
        here, runs = self.problem.start, len(target.pi)
        if stack if stack is not None else self.stackable():
            return self.together(np.repeat(here, runs, axis=0), target, "slide")
        found = []
        for r in range(runs):
            here = self.together(here, target.take(np.arange(runs) == r), f"slide-{r}")
            found.append(here)
        return np.concatenate(found)

    def together(self, W: Array, target: Target, name: str) -> Array:
        """Train stacked copies together: an optimiser that works number by number treats them as separate runs."""
        problem, config = self.problem, self.config
        stacked, rule = problem.tensors(W), SlideRule(target)
        optimizer = self.make(list(stacked.values()))
        step = FairStep(self.module(), optimizer, problem.objectives, rule=rule, memory=config.memory, stacked=stacked)
        last = max(config.epochs, 1)  # the learning rate falls evenly, to 1 / epochs of it in the last one
        slower = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1.0 / last, total_iters=max(last - 1, 1))
        file = _file(self.checkpoint, name)
        train(step, problem.inputs, config, scheduler=slower, bar=self.bar, checkpoint=file)
        flat = torch.cat([value.detach().reshape(len(value), -1) for value in stacked.values()], dim=1)
        return np.asarray(flat.double().cpu().numpy())[:, None]

    def module(self) -> Module:
        """Return a copy to slide with: all points share the statistics of batch normalisation in plain training."""
        work = copied(self.problem.module).train()
        for part in work.modules():
            if is_batch_norm(part):
                part.eval()
        return work

    def stackable(self) -> bool:
        """Tell whether `vmap` refuses nothing in the module."""
        problem = self.problem
        pair = problem.tensors(np.repeat(problem.start, 2, axis=0))
        try:
            with torch.no_grad():
                scorer = Scorer(self.module(), problem.objectives.n_scores, pair)
                scorer.scores(take(problem.inputs, slice(0, 2)))
        except RuntimeError:
            return False
        return True


def trace_head(
    module: Module, X: Any, y: Any, *, sensitive_features: Any, head: str | None = None, **options: Any
) -> Frontier:
    """Trace the exact frontier of a module's last linear layer on features that stay as they are.

    Parameters
    ----------
    module : nn.Module
        Trained; it is not changed.
    X : tensor, array, or tuple of them
        What the module takes.
    y, sensitive_features
        As in `fairfront.trace`.
    head : str, optional
        Name of the ``nn.Linear`` whose output the scores are, such as "fc"; by default the module's last one.
    **options
        As in `fairfront.trace`: notion, n_points, preferences, ridge, solver...

    Returns
    -------
    Frontier
        With Newton's certificates, which hold for the head on these features; ``select`` gives whole modules.
    """
    check_devices(module)
    parts, kind = dict(module.named_modules()), type(module).__name__
    linear = [each for each, part in parts.items() if isinstance(part, torch.nn.Linear)]
    if head is None and not linear:
        raise InputError(f"{kind} has no nn.Linear, expected one as its last layer.")
    name = linear[-1] if head is None else check_text(head, "head", "the name of an nn.Linear")
    if name not in linear:
        found = type(parts.get(name)).__name__
        raise InputError(f"head {name!r} is {found}, expected the name of an nn.Linear of {kind}.")
    layer, features = parts[name], _features(module, X, name)
    given = {"sensitive_features": sensitive_features, "fit_intercept": layer.bias is not None}
    front = trace_linear(features, y, **given, **options)
    points = front.models
    assert isinstance(points, LinearModels)
    if points.coef.shape[1] != layer.out_features:
        raise InputError(
            f"head {name!r} gives {layer.out_features} scores per row, expected {points.coef.shape[1]} for the labels."
        )
    states: list[dict[str, Tensor]] = []
    for coef, intercept in zip(points.coef, points.intercept, strict=True):
        state = {key: value.detach().clone() for key, value in module.state_dict().items()}
        for key, values in (("weight", coef), ("bias", intercept)):
            full = f"{name}.{key}" if name else key
            if full in state:
                state[full] = torch.as_tensor(values, dtype=state[full].dtype, device=state[full].device)
        states.append(state)
    made = TorchPoints(tuple(states), points.task, points.loss, layer.out_features, copied(module).eval())
    words = f"Only the last layer ({name}) was solved; the features of {kind} stayed as they were."
    facts = replace(front.facts, sentences=(*front.facts.sentences, words))
    return replace(front, models=made, facts=facts)


def _features(module: Module, X: Any, name: str) -> Array:
    """Return (n, features), with the module as it predicts."""
    work, inputs = copied(module).eval(), inputs_of(module, X)
    layer = work.get_submodule(name)
    if not len(inputs[0]):
        raise InputError("X has 0 rows, expected at least one sample.")
    with torch.no_grad(), heard([layer]) as (calls,):
        for part in chunks(inputs):
            scores, out = called(work, part), calls[-1][1] if calls else torch.empty(0)
            same = scores.numel() == out.numel() and torch.allclose(scores.reshape(-1), out.reshape(-1), equal_nan=True)
            if not same:
                raise InputError(
                    f"the scores of the module are not the output of head {name!r}, expected nothing after it; leave "
                    "out what comes last (such as a sigmoid), or name another head."
                )
    found = np.concatenate([given.double().cpu().numpy() for given, _, _ in calls])
    if found.shape != (len(inputs[0]), layer.in_features):
        raise InputError(f"the head's input has the shape {found.shape}, expected one row of features per row of X.")
    return np.asarray(found)
