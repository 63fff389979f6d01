"""Scores of a model of any kind (probabilities, decision function or predictions) and the cut-off of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Array, Task
from ..validation import as_numbers
from .evaluating import encode_labels


def scores_of(model: Any, X: Any, task: Task, name: str) -> tuple[Array, float]:
    """Return scores (K, n) and the cut-off above which, for two classes, the model decides for the second.

    A model is anything with ``predict_proba``, ``decision_function`` or ``predict``, or a function of X that
    returns labels, probabilities of the second class, or predictions.
    """
    if task.kind == "regression":
        predict = getattr(model, "predict", model)
        return np.asarray(predict(X), dtype=np.float64).reshape(1, -1), 0.0
    if hasattr(model, "predict_proba"):
        return _of_probabilities(np.asarray(model.predict_proba(X), dtype=np.float64), model, task, name), 0.5
    if hasattr(model, "decision_function") and task.kind == "binary":
        _check_classes(model, task, name)
        return np.asarray(model.decision_function(X), dtype=np.float64).reshape(1, -1), 0.0
    return _of_predictions(np.asarray(getattr(model, "predict", model)(X)), task), 0.5


def _of_probabilities(found: Array, model: Any, task: Task, name: str) -> Array:
    if found.ndim == 1 and task.kind == "binary":
        return found[None]
    places = _check_classes(model, task, name)
    if found.ndim != 2 or found.shape[1] != len(task.classes):
        raise InputError(f"{name!r} gives probabilities {found.shape}, expected (n, {len(task.classes)}).")
    return found[:, [places[1]]].T if task.kind == "binary" else found[:, places].T


def _check_classes(model: Any, task: Task, name: str) -> list[int]:
    """Return the place of each class among the model's own."""
    known = list(getattr(model, "classes_", task.classes))
    missing = [label for label in task.classes if label not in known]
    if missing or len(known) != len(task.classes):
        raise InputError(f"{name!r} knows the classes {known}, expected those of y: {list(task.classes)}.")
    return [known.index(label) for label in task.classes]


def _of_predictions(found: NDArray[Any], task: Task) -> Array:
    if task.kind == "multiclass":
        return scores_of_labels(found.ravel(), task)
    return numbers_of(found.ravel(), task)[None]


def numbers_of(given: NDArray[Any], task: Task) -> Array:
    """Return scores as they are, and decisions of two classes as 0 and 1, (n,)."""
    if given.dtype.kind in "fiu" and not np.isin(given, np.asarray(task.classes)).all():
        return as_numbers(given, "scores")
    return encode_labels(given, task).astype(np.float64)


def scores_of_labels(labels: NDArray[Any], task: Task) -> Array:
    """Return one column of 0 and 1 per class, (K, n)."""
    codes = encode_labels(labels, task)
    return np.asarray(np.arange(len(task.classes))[:, None] == codes, dtype=np.float64)
