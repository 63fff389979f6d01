"""Probabilities from scores, offered only where the loss is a likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from scipy.special import softmax as row_softmax
from sklearn.utils.metaestimators import available_if

from ..objectives import LOSSES, Array
from .base import ClassifierPredictions


def _is_likelihood(estimator: Any) -> bool:
    """Tell whether the loss is a likelihood; hinges are not, and their scores are not probabilities."""
    loss = estimator.loss
    if estimator.estimator is not None and not hasattr(estimator.estimator, "predict_proba"):
        raise AttributeError(
            f"predict_proba needs an estimator that has it, found {type(estimator.estimator).__name__}."
        )
    kind = LOSSES[loss] if isinstance(loss, str) and loss in LOSSES else loss
    if not getattr(kind, "likelihood", False):
        raise AttributeError(f"predict_proba needs a loss that is a likelihood (logistic or softmax), found {loss!r}.")
    return True


class WithProbabilities(ClassifierPredictions):
    """Adds ``predict_proba`` and ``predict_log_proba``."""

    @available_if(_is_likelihood)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class, columns in the order of ``classes_``."""
        scores = self._linear(X)
        if scores.ndim == 1:
            p = expit(scores)
            return np.column_stack([1.0 - p, p])
        return np.asarray(row_softmax(scores, axis=1))

    @available_if(_is_likelihood)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`."""
        scores = self._linear(X)
        if scores.ndim == 1:
            return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
        return np.asarray(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
