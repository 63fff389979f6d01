"""fit: train one module to one point of the frontier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..exceptions import InputError
from ..objectives import Array
from ..progress import progress_bar
from ..validation import check_callable, check_progress
from .backend import Module, Optimizer, torch
from .layouts import TorchObjectives, objectives, on_other_rows
from .modules import copied, moved, trainable
from .points import module_scores
from .problem import TorchProblem
from .rules import Rule
from .scoring import as_inputs, call, n_rows, take
from .stepping import FairStep
from .training import Held, Training, train


@dataclass(frozen=True, eq=False)
class FitResult:
    """A trained module and how it got there.

    module                 the module that was given, trained and in ``eval()``
    objectives (m,)        loss and phi of every gap on the training rows; ``names`` names them
    gaps (m - 1,)          signed gaps on the training rows, of losses or smooth rates as the surrogate says
    history (epochs, m)    objectives after every epoch: of held-out rows if there are any, else averages of batches
    stopped_early          whether held-out rows ended it
    """

    module: Module
    objectives: Array
    gaps: Array
    names: tuple[str, ...]
    history: Array
    stopped_early: bool


def fit(
    module: Module,
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    max_gap: float | None = None,
    preference: Any = None,
    rule: Rule | None = None,
    training: Training | None = None,
    optimizer: Callable[[Any], Optimizer] | None = None,
    scheduler: Callable[[Optimizer], Any] | None = None,
    validation: tuple[Any, Any, Any] | None = None,
    checkpoint: Any = None,
    device: Any = None,
    progress: bool | Literal["auto"] = "auto",
    on_epoch: Callable[[int, FairStep], None] | None = None,
    **settings: Any,
) -> FitResult:
    """Train a module, in place, to a cap on every gap, a preference, or PDO's common descent.

    Parameters
    ----------
    module : nn.Module
        Gives one score per row (two classes, regression), or one per class or label.
    X : tensor, array, or tuple of them
    y, sensitive_features, **settings
        Labels, groups, and notion, surrogate, loss, gap and so on, as in `objectives`.
    max_gap, preference, rule
        Where to go, as in `FairStep`; at most one.
    training : Training
        Epochs, batches, patience and seed.
    optimizer : function of the parameters, optional
        Such as ``lambda p: torch.optim.SGD(p, lr=0.1)``; Adam by default.
    scheduler : function of the optimiser, optional
        Its ``step()`` is called after every epoch.
    validation : (X, y, sensitive_features), optional
        Held-out rows, for ``history`` and early stop; the weights are those of their best epoch.
    checkpoint : path, optional
        A file written after every epoch; training that finds it goes on from there, to the same result.
    device : optional
        Where to train; by default where the module is.
    """
    check_progress(progress)
    for name, function in (("on_epoch", on_epoch), ("scheduler", scheduler)):
        if function is not None:
            check_callable(function, name, "a function")
    config = training_of(training, "training")
    given = objectives(y, sensitive_features=sensitive_features, **settings)
    moved(module, device)
    inputs = inputs_for(module, X, given)
    held = None if validation is None else _held(module, given, validation)
    if config.patience is not None and held is None:
        raise InputError("patience needs held-out rows to watch, found none; give validation=(X, y, groups).")
    chosen = optimizer_of(optimizer, config)(list(trainable(module).values()))
    step = FairStep(module, chosen, given, max_gap=max_gap, preference=preference, rule=rule, memory=config.memory)
    plan = _scheduler(scheduler, chosen)
    with torch.random.fork_rng(devices=[]), progress_bar(progress, "training", config.epochs) as bar:
        torch.manual_seed(config.seed)
        module.train()
        done = train(step, inputs, config, scheduler=plan, held=held, checkpoint=checkpoint, bar=bar, on_epoch=on_epoch)
    module.eval()
    problem = TorchProblem(module, inputs, given)
    L = problem.values(problem.start)
    return FitResult(
        module,
        given.algebra.objectives(L)[0],
        given.algebra.gaps(L)[0],
        given.names,
        np.array(done.history),
        done.epoch < config.epochs,
    )


def training_of(given: Any, name: str) -> Training:
    """Return how to train, or say that something else was given."""
    if given is not None and not isinstance(given, Training):
        raise InputError(f"{name} is a {type(given).__name__}, expected a fairfront.torch.Training.")
    return given or Training()


def optimizer_of(given: Any, config: Training) -> Callable[[Any], Optimizer]:
    """Return the function that makes the optimiser, Adam's without one."""
    if given is not None and not callable(given):
        raise InputError(
            f"optimizer is a {type(given).__name__}, expected a function of the parameters that makes one, such as "
            "lambda p: torch.optim.SGD(p, lr=0.1)."
        )
    return given or (lambda parameters: torch.optim.Adam(parameters, lr=config.lr))


def _scheduler(given: Any, optimizer: Optimizer) -> Any:
    plan = None if given is None else given(optimizer)
    if isinstance(plan, torch.optim.lr_scheduler.ReduceLROnPlateau):
        raise InputError("ReduceLROnPlateau needs a figure in every step, expected a scheduler that needs none.")
    if plan is not None and not hasattr(plan, "step"):
        raise InputError(f"scheduler makes a {type(plan).__name__}, expected one with step(), of torch.optim.")
    return plan


def inputs_for(module: Module, X: Any, given: TorchObjectives) -> Any:
    """Return X on the module's device and in its precision, as many rows as there are labels."""
    first = next(iter(trainable(module).values()))
    inputs = as_inputs(X, first.dtype, first.device)
    if n_rows(inputs) != given.n:
        raise InputError(f"X has {n_rows(inputs)} rows, expected {given.n}, as many as there are labels.")
    _try_out(module, inputs, given.n_scores)
    return inputs


def _try_out(module: Module, inputs: Any, n_scores: int) -> None:
    """Send two rows through a copy, so that what the module cannot take or do is told before it is trained."""
    trial, two = copied(module).eval(), take(inputs, slice(0, 2))
    try:
        module_scores(trial, two, n_scores)
        call(trial, two, next(trial.parameters()).device)
    except (RuntimeError, TypeError, IndexError) as error:
        raise InputError(
            f"{type(module).__name__} cannot take X ({error}); expected inputs as its forward wants them, numbers as "
            f"floats of {next(module.parameters()).dtype}."
        ) from error
    copied(trial)  # modules that keep what forward computed can only be copied before it ran


def _held(module: Module, given: TorchObjectives, validation: tuple[Any, Any, Any]) -> Held:
    if not isinstance(validation, (tuple, list)) or len(validation) != 3:
        raise InputError("validation is something else, expected a tuple (X, y, sensitive_features).")
    X, y, groups = validation
    known = on_other_rows(given, y, groups)
    return Held(inputs_for(module, X, known), known)
