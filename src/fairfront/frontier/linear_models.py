"""Linear models of a frontier: coefficients and intercepts, and the models of scikit-learn that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import LabelBinarizer

from ..exceptions import InputError
from ..objectives import LOSSES, Array, Task, predictions_of
from ..problems.threads import one_blas_thread
from .models import Models, Places, Stored, read_known


def centred(intercepts: Array) -> Array:
    """Return intercepts (..., K) with mean 0 over several classes: the softmax does not see a common shift."""
    shift = intercepts.mean(axis=-1, keepdims=True) if intercepts.shape[-1] > 1 else 0.0
    return np.asarray(intercepts - shift)


@dataclass(frozen=True, repr=False)
class LinearModels(Models):
    """Linear models: coefficients (N, K, d) and intercepts (N, K).

    ``total`` is the sum of training weights, which turns the ridge back into scikit-learn's C or alpha; ``power`` is
    that of the Tweedie loss. Scores of a loss with a link are predictions.
    """

    raw: ClassVar[bool] = False

    coef: Array
    intercept: Array
    task: Task
    loss: str
    ridge: float
    total: float
    fit_intercept: bool = True
    feature_names: tuple[str, ...] | None = None
    power: float | None = None

    @classmethod
    def from_weights(cls, W: Array, fit_intercept: bool, **known: Any) -> LinearModels:
        if fit_intercept:
            return cls(W[:, :, :-1].copy(), centred(W[:, :, -1]), fit_intercept=True, **known)
        return cls(W.copy(), np.zeros(W.shape[:2]), fit_intercept=False, **known)

    @property
    def n_features(self) -> int:
        return int(self.coef.shape[2])

    @property
    def weights(self) -> Array:
        if not self.fit_intercept:
            return self.coef
        return np.concatenate([self.coef, self.intercept[:, :, None]], axis=2)

    def __len__(self) -> int:
        return len(self.coef)

    def take(self, places: Places) -> LinearModels:
        rows = np.asarray(places)
        return replace(self, coef=self.coef[rows], intercept=self.intercept[rows])

    @one_blas_thread()
    def scores(self, X: Any) -> Array:
        N, K, d = self.coef.shape
        products = np.asarray(X @ self.coef.reshape(N * K, d).T)
        scores = np.ascontiguousarray(products.T).reshape(N, K, -1) + self.intercept[:, :, None]
        return predictions_of(scores, self.loss)

    def build(self, place: int) -> Any:
        """The linear model of scikit-learn whose plain fit has the same loss and ridge, with the weights set."""
        losses = {name: LOSSES[name] for name in LOSSES if self.task.kind in LOSSES[name].kinds}
        known = {name: vars(loss)["stock"] for name, loss in losses.items() if "stock" in vars(loss)}
        if self.loss not in known:
            raise InputError(
                f"scikit-learn has no linear model with the loss {self.loss!r}, expected one of {', '.join(known)}; "
                "read front.models.coef and front.models.intercept, or front.models.scores(X)."
            )
        strength = self.ridge * (1.0 if losses[self.loss].of_mean else self.total)
        model = known[self.loss](self.task, strength, self.fit_intercept)
        if self.power is not None:
            model.set_params(power=self.power)
        coef, intercept = self.coef[place], self.intercept[place]
        regression = self.task.kind == "regression"
        model.coef_ = coef[0].copy() if regression else coef.copy()
        model.intercept_ = float(intercept[0]) if regression else intercept.copy()
        model.n_features_in_ = coef.shape[1]
        if not regression:
            try:
                model.classes_ = np.asarray(self.task.classes)
            except AttributeError:  # RidgeClassifier before scikit-learn 1.8 reads them elsewhere
                model._label_binarizer = LabelBinarizer(neg_label=-1).fit(self.task.classes)
        if self.feature_names is not None:
            model.feature_names_in_ = np.asarray(self.feature_names, dtype=object)
        return model

    def write(self, folder: Path) -> Stored:
        arrays = {"coef": self.coef, "intercept": self.intercept}
        return Stored(self._content("ridge", "total", "fit_intercept", "power"), arrays)

    @classmethod
    def read(cls, stored: Stored, folder: Path, trusted: Sequence[str]) -> LinearModels:
        known = read_known(stored.content)
        return cls.from_arrays(stored.arrays, known.pop("n_features"), **known)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], d: int, **known: Any) -> LinearModels:
        """Refuse coefficients that no trained model of d features has."""
        models = cls(coef=arrays["coef"], intercept=arrays["intercept"], **known)
        N, names = len(models.coef), models.feature_names
        K = 1 if len(models.task.classes) <= 2 else len(models.task.classes)
        if names is not None and len(names) != d:
            raise InputError(f"there are {len(names)} names of features, expected {d}; save it again.")
        shapes: dict[str, tuple[int, ...]] = {"coef": (N, K, d), "intercept": (N, K)}
        for name, expected in shapes.items():
            found = arrays[name]
            if found.dtype.kind != "f" or found.shape != expected:
                raise InputError(
                    f"{name} are {found.dtype} of shape {found.shape}, expected numbers of shape {expected}; "
                    "save it again."
                )
            if not np.isfinite(found).all():
                raise InputError(f"{name} have infinite or missing numbers, expected finite ones; save it again.")
        return models
