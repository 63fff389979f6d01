"""A module as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..estimators.base import Decides
from ..exceptions import InputError
from ..objectives import Array
from ..validation import check_callable, check_count, pass_hint, refuse_masked
from ..validation.data import refuse_misread
from .module_fit import Training, fit
from .modules import copied, module_scores, torch


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
        refuse_misread(X, "X")
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
        refuse_misread(X, "X")
        X = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        found = module_scores(self.module_, X, self.n_scores_)
        return found[0] if self.n_scores_ == 1 else np.ascontiguousarray(found.T)
