"""Points: the models of a frontier, however they were found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC

from ..exceptions import InputError
from ..objectives import Array, Task
from ..problems.threads import blas_threads

HINGES = {"hinge": "hinge", "smoothed_hinge": "hinge", "squared_hinge": "squared_hinge"}
CLASSES = ("logistic", "softmax", "squared", *HINGES)
VALUES = ("squared",)
"""Losses that a stock estimator of scikit-learn minimises too."""


class Points(Protocol):
    """N models that can be built by place and judged together."""

    def __len__(self) -> int:
        """Return N."""
        ...

    def build(self, place: int) -> Any:
        """Return the model at a place as a stock scikit-learn estimator."""
        ...

    def scores(self, X: Any) -> Array:
        """Return the scores of all models, (N, K, n)."""
        ...


def centred(intercepts: Array) -> Array:
    """Return intercepts (..., K) with mean 0 over several classes: the softmax does not see a common shift."""
    if intercepts.shape[-1] == 1:
        return intercepts.copy()
    return np.asarray(intercepts - intercepts.mean(axis=-1, keepdims=True))


@dataclass(frozen=True)
class LinearPoints:
    """Linear models: coefficients (N, K, d) and intercepts (N, K).

    ``total`` is the sum of training weights, which turns the ridge back into scikit-learn's C or alpha.
    """

    coef: Array
    intercept: Array
    task: Task
    loss: str
    ridge: float
    total: float
    fit_intercept: bool = True
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def from_weights(cls, W: Array, fit_intercept: bool, **known: Any) -> LinearPoints:
        """Split weights (N, K, d) into coefficients and intercepts."""
        if fit_intercept:
            return cls(W[:, :, :-1].copy(), centred(W[:, :, -1]), fit_intercept=True, **known)
        return cls(W.copy(), np.zeros(W.shape[:2]), fit_intercept=False, **known)

    def __len__(self) -> int:
        return len(self.coef)

    def take(self, places: list[int]) -> LinearPoints:
        """Return some of the models."""
        return replace(self, coef=self.coef[places], intercept=self.intercept[places])

    @property
    def n_features(self) -> int:
        """Return the number of columns that the models read."""
        return int(self.coef.shape[2])

    @blas_threads(1)
    def scores(self, X: Any) -> Array:
        """Return X coef^T + intercept of all models, (N, K, n)."""
        N, K, d = self.coef.shape
        products = np.asarray(X @ self.coef.reshape(N * K, d).T)
        return np.ascontiguousarray(products.T).reshape(N, K, -1) + self.intercept[:, :, None]

    def build(self, place: int) -> Any:
        """Return LogisticRegression, LinearSVC, RidgeClassifier or Ridge with the weights set."""
        model = self._blank()
        coef, intercept = self.coef[place], self.intercept[place]
        regression = self.task.kind == "regression"
        model.coef_ = coef[0].copy() if regression else coef.copy()
        model.intercept_ = float(intercept[0]) if regression else intercept.copy()
        model.n_features_in_ = coef.shape[1]
        if not regression:
            _set_classes(model, np.asarray(self.task.classes))
        if self.feature_names is not None:
            model.feature_names_in_ = np.asarray(self.feature_names, dtype=object)
        return model

    def _blank(self) -> Any:
        """Return the unfitted estimator whose plain fit minimises the same loss with the same ridge."""
        stock = VALUES if self.task.kind == "regression" else CLASSES
        if self.loss not in stock:
            raise InputError(
                f"scikit-learn has no linear model with the loss {self.loss!r}, expected one of {', '.join(stock)}; "
                "read front.points.coef and front.points.intercept, or front.points.scores(X)."
            )
        strength = self.ridge * self.total
        C = 1.0 / strength if strength > 0 else np.inf
        if self.task.kind == "regression":
            return Ridge(alpha=strength, fit_intercept=self.fit_intercept)
        if self.loss == "squared":
            return RidgeClassifier(alpha=strength, fit_intercept=self.fit_intercept)
        if self.loss in ("logistic", "softmax"):
            model = LogisticRegression(C=C, fit_intercept=self.fit_intercept)
            model.n_iter_ = np.zeros(1, dtype=np.int32)
            return model
        return LinearSVC(C=C, loss=HINGES[self.loss], fit_intercept=self.fit_intercept)


def _set_classes(model: Any, classes: NDArray[Any]) -> None:
    if isinstance(model, RidgeClassifier):
        from sklearn.preprocessing import LabelBinarizer

        model._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(classes)
    model.classes_ = classes
