"""Learners: what an estimator of any kind can do, how weights reach it, and the scores it gives."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from ..exceptions import InputError, setting, spelled
from ..objectives import LOSSES, Array, Task, is_likelihood
from ..validation import check_positive

SURE = 1e-6
"""Probabilities nearer to 0 or 1 than this are taken as this: a forest's 0 would have an infinite log loss."""
Output = Literal["probability", "decision", "label", "value"]
OF_LABELS = (
    "monotonic_cst",
    "monotone_constraints",
    "class_weight",
    "scale_pos_weight",
    "is_unbalance",
    "auto_class_weights",
)
"""Parameters that say something of labels, which a guess of groups would take for itself and scaling would undo."""


def weight_keyword(estimator: Any) -> str:
    """Return the keyword by which ``fit`` takes row weights; a Pipeline hands them to its last step.

    Most wrappers of scikit-learn hand keywords of fit on only under its routing, searches and those of others always.
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{weight_keyword(last)}"
    parameters = inspect.signature(estimator.fit).parameters
    if "sample_weight" in parameters:
        return "sample_weight"
    inner = getattr(estimator, "estimator", getattr(estimator, "regressor", None))
    foreign = type(estimator).__module__.split(".")[0] != "sklearn"
    hands_on = foreign or hasattr(estimator, "refit") or isinstance(estimator, TransformedTargetRegressor)
    if inner is not None and hands_on and any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return weight_keyword(inner)
    raise InputError(
        f"{type(estimator).__name__}.fit takes no sample_weight, expected an estimator whose fit does; use another "
        "learner (boosted trees, forests, linear models), or give it a fit that draws rows in proportion to weights."
    )


def check_learner(estimator: Any, task: Task, loss: str, criterion: str) -> None:
    """Refuse an estimator of another kind of labels, or that gives too little to measure the gap that is driven."""
    name = type(estimator).__name__
    if (task.kind == "regression") != is_regressor(estimator):
        found = "a regressor" if is_regressor(estimator) else "not a regressor"
        raise InputError(f"{name} is {found}, expected one that predicts {task.kind} labels.")
    output = output_of(estimator, task, loss)
    if output == "label" and (criterion == "loss_gap" or task.kind == "multiclass"):
        raise InputError(
            f"{name} gives neither probabilities nor a decision function, which a gap between losses needs; "
            "use criterion='rate_gap' (two classes), or wrap it in CalibratedClassifierCV."
        )
    if task.kind == "multiclass" and output == "decision":
        raise InputError(
            f"{name} gives no probabilities, which more than two classes need; wrap it in CalibratedClassifierCV."
        )


MOST_WEIGHTS = 500
"""Columns up to which logistic regression is solved by Newton's method, whatever the scales of the columns."""


def logistic_learner(X: Any, total: float, ridge: float | None, fit_intercept: bool) -> LogisticRegression:
    """Return scikit-learn's logistic regression with our default ridge, 1 / (sum of weights), or the one given."""
    strength = None if ridge is None else check_positive(ridge, "ridge", zero=True) * total
    C = 1.0 if strength is None else np.inf if strength == 0.0 else 1.0 / strength
    few = getattr(X, "ndim", 2) == 2 and X.shape[1] <= MOST_WEIGHTS
    return LogisticRegression(
        C=C,
        fit_intercept=fit_intercept,
        solver="newton-cholesky" if few else "lbfgs",
        tol=1e-6 if few else 1e-4,
        max_iter=100 if few else 1000,
    )


def check_guesser(estimator: Any, loss: Any) -> None:
    """Refuse what gives no probabilities of classes, or means one kind of label only."""
    name = type(estimator).__name__
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputError(f"estimator is {estimator!r}, expected an instance with fit, such as LogisticRegression().")
    if is_regressor(estimator) or not hasattr(estimator, "predict_proba"):
        found = "a regressor" if is_regressor(estimator) else "no predict_proba"
        raise InputError(
            f"{setting('units', 'rates')} needs probabilities of classes, found {found} ({name}); use "
            f"{setting('units', 'losses')}, or wrap a classifier in CalibratedClassifierCV."
        )
    if (loss if isinstance(loss, str) else getattr(loss, "name", "")) not in ("logistic", "softmax"):
        asked, use = setting("units", "rates"), setting("loss", "logistic")
        raise InputError(f"{asked} decides by probabilities, found loss {loss!r}; use {use}.")
    for key, value in estimator.get_params(deep=True).items():
        open_ = value is None or (isinstance(value, (str, bool, list, tuple, dict)) and not value)
        if key.split("__")[-1] in OF_LABELS and not open_:
            raise InputError(
                f"{setting('units', 'rates')} fits {name} to labels and to groups and scales its probabilities, found "
                f"{key}={value!r}, which would not hold; leave it out, or use {setting('units', 'losses')}."
            )


def loss_for(estimator: Any, loss: Any) -> Any:
    """Return the loss that held-out predictions are measured by: squared, of probabilities, or of scores."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputError(f"estimator is {estimator!r}, expected an instance with fit, such as LogisticRegression().")
    name = loss if isinstance(loss, str) else getattr(loss, "name", "")
    if name in LOSSES and LOSSES[name].link:
        raise InputError(
            f"loss {name!r} is for linear models, found an estimator, whose predictions have squared errors; "
            f"leave {spelled('loss')} out, or {spelled('estimator', 'the estimator')}."
        )
    if is_regressor(estimator):
        return "squared"
    if name == "squared":
        use = setting("loss", "logistic")
        raise InputError(f"loss 'squared' is for regressors, found a classifier; use {use} or 'hinge'.")
    return "hinge" if is_likelihood(name) and not hasattr(estimator, "predict_proba") else loss


def output_of(estimator: Any, task: Task, loss: str) -> Output:
    if task.kind == "regression":
        return "value"
    if not is_likelihood(loss) and hasattr(estimator, "decision_function"):
        return "decision"
    if is_likelihood(loss) and hasattr(estimator, "predict_proba"):
        return "probability"
    return "label"


def scores_of_learner(model: Any, X: Any, task: Task, loss: str) -> Array:
    """Return scores (K, n), for two classes such that above 0 decides for the second."""
    output = output_of(model, task, loss)
    if output == "value":
        return np.asarray(model.predict(X), dtype=np.float64).reshape(1, -1)
    if output == "decision":
        return np.asarray(model.decision_function(X), dtype=np.float64).reshape(1, -1)
    if output == "label":
        return np.where(np.asarray(model.predict(X)).ravel() == task.classes[1], 1.0, -1.0)[None]
    return log_odds(probabilities_of(model, X, task))


def probabilities_of(model: Any, X: Any, task: Task) -> Array:
    """Return probabilities (n, classes) in the order of the task's classes; a class that a fit has not seen has 0."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    known = [value.item() if isinstance(value, np.generic) else value for value in getattr(model, "classes_", ())]
    ordered = np.zeros((len(found), len(task.classes)))
    for place, label in enumerate(known or task.classes):
        ordered[:, task.classes.index(label)] = found[:, place]
    return ordered


def log_odds(probability: Array) -> Array:
    """Return scores (K, n) of probabilities (n, classes): log-odds for two classes, log probabilities for more."""
    clipped = np.clip(probability, SURE, 1.0 - SURE)
    if probability.shape[1] == 2:
        return np.asarray(np.log(clipped[:, 1]) - np.log1p(-clipped[:, 1]))[None]
    return np.ascontiguousarray(np.log(clipped / clipped.sum(axis=1, keepdims=True)).T)


def fit_learner(
    estimator: Any, X: Any, y: NDArray[Any], weight: Array | None, seed: int, fit_params: Mapping[str, Any]
) -> Any:
    """Return a fitted copy in which every random state that was left open is the same for all fits.

    Weights go by keyword, whatever scikit-learn's routing is set to; without any, a learner need not take them.
    """
    try:
        fresh = clone(estimator)
    except RuntimeError:  # CatBoost rewrites some parameters, which clone refuses
        fresh = copy.deepcopy(estimator)
    given = fresh.get_params(deep=True)
    open_ = [name for name, value in given.items() if name.split("__")[-1] == "random_state" and value is None]
    model = fresh.set_params(**dict.fromkeys(open_, seed)) if open_ else fresh
    weights = {} if weight is None else {weight_keyword(estimator): weight}
    with config_context(enable_metadata_routing=False):
        model.fit(X, y, **weights, **fit_params)
    return model
