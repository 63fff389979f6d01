"""Stock models of scikit-learn, not yet fitted: each minimises a loss with a penalty of some strength."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .losses import Task


def logistic_regression(task: Task, strength: float, fit_intercept: bool) -> Any:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0 / strength if strength > 0 else np.inf, fit_intercept=fit_intercept)
    model.n_iter_ = np.zeros(1, dtype=np.int32)
    return model


def linear_svc(loss: str, task: Task, strength: float, fit_intercept: bool) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=1.0 / strength if strength > 0 else np.inf, loss=loss, fit_intercept=fit_intercept)


def ridge(task: Task, strength: float, fit_intercept: bool) -> Any:
    from sklearn.linear_model import Ridge, RidgeClassifier
    from sklearn.preprocessing import LabelBinarizer

    if task.kind == "regression":
        return Ridge(alpha=strength, fit_intercept=fit_intercept)
    model = RidgeClassifier(alpha=strength, fit_intercept=fit_intercept)
    model._label_binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(np.asarray(task.classes))
    return model


def poisson_regressor(task: Task, strength: float, fit_intercept: bool) -> Any:
    from sklearn.linear_model import PoissonRegressor

    return _generalised(PoissonRegressor(alpha=strength, fit_intercept=fit_intercept))


def gamma_regressor(task: Task, strength: float, fit_intercept: bool) -> Any:
    from sklearn.linear_model import GammaRegressor

    return _generalised(GammaRegressor(alpha=strength, fit_intercept=fit_intercept))


def tweedie_regressor(task: Task, strength: float, fit_intercept: bool, power: float = 1.5) -> Any:
    from sklearn.linear_model import TweedieRegressor

    return _generalised(TweedieRegressor(power=power, alpha=strength, fit_intercept=fit_intercept, link="log"))


def _generalised(model: Any) -> Any:
    model._base_loss, model.n_iter_ = model._get_loss(), 0
    return model
