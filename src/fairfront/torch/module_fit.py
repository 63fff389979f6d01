"""fit: train one module to one point of the frontier, in epochs of mini-batches, and the same as a classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..estimators.classifiers import Decides
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
    pass_hint,
    refuse,
    refuse_masked,
)
from ..validation.inputs import refuse_misread
from .epochs import cells_of, train
from .module_objectives import objectives, on_other_rows
from .modules import (
    MakeOptimizer,
    Module,
    Optimizer,
    copied,
    module_scores,
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
    inputs = tried_inputs(moved(module, device), X, given.n, given.n_scores)
    held = None
    if validation is not None:
        if not isinstance(validation, (tuple, list)) or len(validation) != 3:
            raise refuse("validation", validation, "a tuple (X, y, sensitive_features)")
        known = on_other_rows(given, *validation[1:])
        held = (tried_inputs(module, validation[0], known.n, known.n_scores), known)
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
        done = train(step, inputs, config, scheduler=plan, held=held, checkpoint=checkpoint, bar=bar, on_epoch=on_epoch)
    module.eval()
    L = cells_of(step, inputs, given)
    h, z = given.algebra.objectives(L)[0], given.algebra.gaps(L)[0]
    return FitResult(module, h, z, given.names, np.array(done.history), done.epoch < config.epochs)


def check_training(given: Any, name: str) -> Training:
    return Training() if given is None else check_instance(given, Training, name, "a fairfront.torch.Training")


@dataclass(eq=False, repr=False)
class TorchFairClassifier(Decides, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A network trained to one point of its frontier, behind scikit-learn's interface.

    Parameters
    ----------
    module : nn.Module, or function of (n_features, n_scores) that makes one
        A module that is given is copied, never changed; ``n_scores`` is 1 for two classes. Without one it is a network
        with a hidden layer of 32 units.
    notion, surrogate, loss, gap, favourable, groups
        As in `fairfront.ParetoFairClassifier`.
    max_loss_gap : float, optional
        Cap on every gap, in the unit of the surrogate; without cap and preference the gaps are made small.
    preference : array of shape (m,), optional
    epochs, batch_size, lr, optimizer, device
        As in `fit` and `Training`.
    random_state : int, optional
        Seed of weights (of modules that are made here), batches and dropout.

    Attributes
    ----------
    module_, classes_, objectives_, objective_names_, loss_gaps_, history_
    """

    module: Any = None
    notion: Any = "equal_opportunity"
    surrogate: Any = "loss"
    loss: Any = "logistic"
    gap: Any = "squared"
    max_loss_gap: float | None = None
    preference: Any = None
    favourable: Any = None
    groups: Any = None
    epochs: int = 20
    batch_size: int | None = None
    lr: float = 1e-3
    optimizer: Any = None
    device: Any = None
    random_state: int | None = None

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sensitive_features": True}

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> TorchFairClassifier:
        """Train a copy of the module.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Labels of two or more classes.
        sensitive_features : array or data frame
            The group of every row; predictions need none.
        sample_weight : array of shape (n,), optional
            Above 0; by default all rows count alike.
        """
        if sensitive_features is None:
            raise InputError(
                f"TorchFairClassifier needs sensitive_features to fit, found None; {pass_hint('sensitive_features')}"
            )
        refuse_misread(X)
        refuse_masked(y, "y")
        X, y = validate_data(self, X, y, dtype=[np.float32, np.float64], ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        self.n_scores_ = 1 if len(self.classes_) == 2 else len(self.classes_)
        free = self.max_loss_gap is None and self.preference is None
        seed = 0 if self.random_state is None else check_count(self.random_state, "random_state", least=0)
        found = fit(
            self._made(X.shape[1], seed),
            X,
            y,
            sensitive_features=sensitive_features,
            max_gap=0.0 if free else self.max_loss_gap,
            preference=self.preference,
            training=Training(epochs=self.epochs, batch_size=self.batch_size, lr=self.lr, seed=seed),
            optimizer=self.optimizer,
            device=self.device,
            progress=False,
            sample_weight=sample_weight,
            **{name: getattr(self, name) for name in ("notion", "surrogate", "loss", "gap", "favourable", "groups")},
        )
        self.module_, self.objectives_, self.loss_gaps_ = found.module, found.objectives, found.gaps
        self.objective_names_, self.history_ = found.names, found.history
        self.n_iter_ = len(found.history)
        return self

    def _made(self, width: int, seed: int) -> Any:
        if isinstance(self.module, torch.nn.Module):
            return copied(self.module)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            if self.module is not None:
                check_callable(self.module, "module", "an nn.Module, or a function that makes one")
                return self.module(width, self.n_scores_)
            return torch.nn.Sequential(torch.nn.Linear(width, 32), torch.nn.ReLU(), torch.nn.Linear(32, self.n_scores_))

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        refuse_misread(X)
        X = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        found = module_scores(self.module_, X, self.n_scores_)
        return found[0] if self.n_scores_ == 1 else np.ascontiguousarray(found.T)
