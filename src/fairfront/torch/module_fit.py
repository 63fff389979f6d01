"""fit: train one module to one point of the frontier, in epochs of mini-batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..exceptions import InputError, progress_bar
from ..objectives import Array
from ..validation import (
    check_callable,
    check_count,
    check_flag,
    check_instance,
    check_positive,
    check_progress,
    check_share,
    refuse,
)
from .epochs import cells_of, train
from .module_objectives import copies_of, objectives, on_other_rows
from .modules import (
    MakeOptimizer,
    Module,
    Optimizer,
    moved,
    optimizer_maker,
    torch,
    trainable,
    tried_inputs,
)
from .rules import Rule
from .step import FairStep


@dataclass(frozen=True)
class Training:
    """How long a module is trained, and in which batches.

    Parameters
    ----------
    epochs : int
    batch_size : int, optional
        By default a tenth of the rows, at least 256 and at most 4096 of them.
    lr : float
        Learning rate of the default optimiser, Adam.
    memory : float
        Weight of the past in the moving averages of a `FairStep`.
    two_batches : bool
        Draw a second, independent batch for every step: twice the work, and Gram matrices free of the noise's variance.
    patience : int, optional
        Stop after this many epochs without improvement on held-out rows, and go back to the best epoch.
    seed : int
        Seed of batches and of what the module draws itself, such as dropout.
    """

    epochs: int = 20
    batch_size: int | None = None
    lr: float = 1e-3
    memory: float = 0.9
    two_batches: bool = False
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_count(self.epochs, "epochs", least=0)
        for name in ("batch_size", "patience"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name)
        check_positive(self.lr, "lr")
        check_share(self.memory, "memory")
        check_flag(self.two_batches, "two_batches")
        check_count(self.seed, "seed", least=0)


@dataclass(frozen=True, eq=False)
class FitResult:
    """A trained module and how it got there.

    Attributes
    ----------
    module : nn.Module
        The module that was given, trained and in ``eval()``.
    objectives : array of shape (m,)
        Loss and phi of every gap on the training rows.
    gaps : array of shape (m - 1,)
        Signed gaps on the training rows, of losses or smooth rates as the surrogate says.
    names : tuple of m str
        Of the objectives.
    history : array of shape (epochs, m)
        Objectives after every epoch: of held-out rows if there are any, else averages of batches.
    stopped_early : bool
        Whether held-out rows ended it.
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
    optimizer: MakeOptimizer | None = None,
    scheduler: Callable[[Optimizer], Any] | None = None,
    validation: tuple[Any, Any, Any] | None = None,
    device: Any = None,
    progress: bool | Literal["auto"] = "auto",
    on_epoch: Callable[[int, FairStep], None] | None = None,
    **settings: Any,
) -> FitResult:
    """Train a module, in place, to a cap on every gap, a preference, or PDO's common descent.

    Parameters
    ----------
    module : nn.Module
        Gives one score per row (two classes, regression), or one per class.
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
    device : optional
        Where to train; by default where the module is.
    progress : bool or "auto"
        Whether to show a bar; "auto" where standard error is a terminal.
    on_epoch : function of (epoch, step), optional
        Called after every epoch.
    """
    check_progress(progress)
    for name, function in (("on_epoch", on_epoch), ("scheduler", scheduler)):
        if function is not None:
            check_callable(function, name, "a function")
    config = check_training(training, "training")
    given = objectives(y, sensitive_features=sensitive_features, **settings)
    inputs = copies_of(given, tried_inputs(moved(module, device), X, given.n_given, given.n_scores))
    held = None
    if validation is not None:
        if not isinstance(validation, (tuple, list)) or len(validation) != 3:
            raise refuse("validation", validation, "a tuple (X, y, sensitive_features)")
        known = on_other_rows(given, *validation[1:])
        held = (copies_of(known, tried_inputs(module, validation[0], known.n_given, known.n_scores)), known)
    if config.patience is not None and held is None:
        raise InputError("patience needs held-out rows to watch, found none; give validation=(X, y, groups).")
    chosen = optimizer_maker(optimizer, config.lr)(list(trainable(module).values()))
    step = FairStep(module, chosen, given, max_gap=max_gap, preference=preference, rule=rule, memory=config.memory)
    plan = None if scheduler is None else scheduler(chosen)
    if isinstance(plan, torch.optim.lr_scheduler.ReduceLROnPlateau):
        raise InputError("ReduceLROnPlateau needs a metric in every step, expected a scheduler that needs none.")
    if plan is not None and not hasattr(plan, "step"):
        raise InputError(f"scheduler makes a {type(plan).__name__}, expected one with step(), of torch.optim.")
    with torch.random.fork_rng(devices=[]), progress_bar(progress, "training", config.epochs) as bar:
        torch.manual_seed(config.seed)
        module.train()
        done = train(step, inputs, config, scheduler=plan, held=held, bar=bar, on_epoch=on_epoch)
    module.eval()
    L = cells_of(step, inputs, given)
    h, z = given.algebra.objectives(L)[0], given.algebra.gaps(L)[0]
    return FitResult(module, h, z, given.names, np.array(done.history), done.epoch < config.epochs)


def check_training(given: Any, name: str) -> Training:
    return Training() if given is None else check_instance(given, Training, name, "a fairfront.torch.Training")
