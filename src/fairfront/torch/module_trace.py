"""trace: the frontier of a module. Plain training reaches it first, then runs slide along it (design of PB-PDO)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..exceptions import InputError, Progress, progress_bar
from ..frontier import Frontier
from ..objectives import Array
from ..solvers import PBPDO, Status, Target, descend
from ..solvers.base import TARGETS, TINY, tops
from ..validation import MOST_POINTS, check_count, check_flag, check_instance, check_progress
from ..validation.inputs import check_preferences
from .epochs import train
from .layers import Scorer
from .module_fit import Training, check_training
from .module_objectives import TorchObjectives, copies_of, objectives
from .module_points import assemble_modules
from .modules import (
    Inputs,
    MakeOptimizer,
    Module,
    copied,
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

SMALLEST_CAP = 1e-3
"""Smallest cap that is turned into a preference, as a share of the largest: a cap of 0 has none."""


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
    device: Any = None,
    progress: bool | Literal["auto"] = "auto",
    **settings: Any,
) -> Frontier:
    """Trace the frontier of a module between loss and worst gap; the module given stays as it is.

    Parameters
    ----------
    module, X, y, sensitive_features, **settings
        As in `fit`.
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
    inputs = tried_inputs(work, X, given.n_given, given.n_scores)
    course = _Course(work, config, after, solver, optimizer, stack, progress)
    problem, target, W, status = course.ends(inputs, given, preferences)
    every = np.concatenate([problem.start, W])
    pi = np.concatenate([np.full((1, problem.algebra.m), np.nan), target.pi])
    known = (every, (Status.VISITED, *status), pi, after if solver is None else solver)
    return assemble_modules(problem, *known)


@dataclass(frozen=True, eq=False)
class _Course:
    """How a copy of a module is trained plainly, and how runs go on from there."""

    module: Module
    training: Training
    slide: Training
    solver: PBPDO | None
    optimizer: MakeOptimizer | None
    stack: bool | None
    progress: bool | Literal["auto"]

    def ends(
        self, inputs: Inputs, given: TorchObjectives, wanted: Any
    ) -> tuple[TorchProblem, Target, Array, tuple[Status, ...]]:
        """Return the problem at the end of plain training, where runs should end, and where they do, (R, 1, P).

        ``wanted`` are preferences, or how many caps.
        """
        config, work = self.training, copied(self.module)
        chosen = optimizer_maker(self.optimizer, config.lr)(list(trainable(work).values()))
        step = FairStep(work, chosen, given, rule=PlainRule(), memory=config.memory)
        with torch.random.fork_rng(devices=[]), progress_bar(self.progress, "training", config.epochs) as bar:
            torch.manual_seed(config.seed)
            work.train()
            train(step, copies_of(given, inputs), config, bar=bar)
        problem = TorchProblem(work.eval(), inputs, given)
        target = _targets(problem, wanted)
        if self.solver is not None:
            target = _on_lines(problem, target)
            outcome = descend(problem, self.solver, problem.start, target)
            return problem, target, outcome.W, tuple(outcome.status)
        after = self.slide
        make = optimizer_maker(self.optimizer, after.lr)
        with torch.random.fork_rng(devices=[]), progress_bar(self.progress, "sliding", after.epochs) as bar:
            torch.manual_seed(after.seed)
            W = _Slide(problem, after, make, bar).ends(target, self.stack)
        return problem, target, W, (Status.VISITED,) * len(W)


def _targets(problem: TorchProblem, preferences: Any) -> Target:
    """Space caps evenly below the gaps of the present weights where there are no preferences."""
    algebra = problem.algebra
    if preferences is not None and not isinstance(preferences, (int, np.integer)):
        return Target.from_preferences(check_preferences(preferences, algebra.names))
    count = check_count(TARGETS if preferences is None else preferences, "preferences", most=MOST_POINTS)
    top = tops(algebra, algebra.violation(algebra.gaps(problem.values(problem.start)))[0])
    return Target.from_caps(np.linspace(1.0, 0.0, count + 1)[1:, None] * top)


def _on_lines(problem: TorchProblem, target: Target) -> Target:
    """Turn caps into preferences, whose lines pass through them at the loss of the present weights."""
    if target.by_preference.all():
        return target
    algebra = problem.algebra
    loss = float(algebra.loss(problem.values(problem.start))[0])
    caps = np.maximum(target.caps, SMALLEST_CAP * float(target.caps.max()))
    ratios = loss / np.maximum(algebra.gap.value(caps), TINY)
    return Target.from_preferences(np.column_stack([np.ones(len(caps)), ratios]))


@dataclass(frozen=True, eq=False)
class _Slide:
    """How runs slide: on which problem, for how long, and by which optimiser."""

    problem: TorchProblem
    config: Training
    make: MakeOptimizer
    bar: Progress

    def ends(self, target: Target, stack: bool | None) -> Array:
        """Return weights (R, 1, P): of one stack, or of one run after the other from the last one's end."""
        here, runs = self.problem.start, len(target.pi)
        if stack if stack is not None else self.stackable():
            return self.together(np.repeat(here, runs, axis=0), target)
        found = []
        for r in range(runs):
            here = self.together(here, target.take(np.arange(runs) == r))
            found.append(here)
        return np.concatenate(found)

    def together(self, W: Array, target: Target) -> Array:
        """Train stacked copies together: an optimiser that works number by number treats them as separate runs."""
        problem, config = self.problem, self.config
        stacked, rule = problem.tensors(W), SlideRule(target)
        optimizer = self.make(list(stacked.values()))
        step = FairStep(self.module(), optimizer, problem.objectives, rule=rule, memory=config.memory, stacked=stacked)
        last = max(config.epochs, 1)  # the learning rate falls evenly, to 1 / epochs of it in the last one
        slower = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 1.0 / last, total_iters=max(last - 1, 1))
        train(step, problem.inputs, config, scheduler=slower, bar=self.bar)
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
