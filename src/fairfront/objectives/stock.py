"""Stock linear models: the estimators of scikit-learn, not fitted, whose plain fits minimise a loss and its ridge.

``strength`` is the ridge times the sum of weights: scikit-learn's alpha, or 1 / C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .losses import Task

Stock = Callable[["Task", float, bool], Any]
"""From task, strength and whether there is an intercept to an estimator."""


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
