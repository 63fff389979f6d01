"""What classifiers share: decisions and probabilities from scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.special import softmax as row_softmax
from sklearn.utils.metaestimators import available_if

from ..objectives import LOSSES, Array
from .base import FairModel


def _is_likelihood(estimator: Any) -> bool:
    """Hinges are not, and their scores are not probabilities."""
    loss, given = estimator.loss, estimator.estimator
    if given is not None and not hasattr(given, "predict_proba"):
        raise AttributeError(f"predict_proba needs an estimator that has it, found {type(given).__name__}.")
    kind = LOSSES[loss] if isinstance(loss, str) and loss in LOSSES else loss
    if not getattr(kind, "likelihood", False):
        raise AttributeError(f"predict_proba needs a loss that is a likelihood (logistic or softmax), found {loss!r}.")
    return True


class Decides:
    """Decisions and probabilities from scores: one per row for two classes, one per class otherwise."""

    classes_: NDArray[Any]
    model_: Any
    _scores: Any

    def decision_function(self, X: Any) -> Array:
        """Return scores: (n,) for two classes, (n, classes) otherwise.

        Parameters
        ----------
        X : as in `predict`
        """
        return np.asarray(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the decided label of every row; needs no sensitive feature.

        Parameters
        ----------
        X : array of shape (n, d), or what else `fit` took
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class, in the order of ``classes_``; losses that are likelihoods give them.

        Parameters
        ----------
        X : as in `predict`
        """
        scores = self.decision_function(X)
        if getattr(self, "_rules", False):  # those of the label, which the rule does not decide by alone
            return np.asarray(self.model_.predict_proba(X))
        if scores.ndim == 1:
            p = expit(scores)
            return np.column_stack([1.0 - p, p])
        return np.asarray(row_softmax(scores, axis=1))


@dataclass(eq=False, repr=False)
class FairClassifier(Decides, FairModel):
    """Probabilities only where the loss is a likelihood."""

    favourable: Any = None
    predict_proba = available_if(_is_likelihood)(Decides.predict_proba)

    @available_if(_is_likelihood)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of `predict_proba`.

        Parameters
        ----------
        X : as in `predict`
        """
        if self._rules:
            return np.asarray(np.log(self.predict_proba(X)))
        scores = self._scores(X)
        if scores.ndim == 1:
            return np.column_stack([-np.logaddexp(0.0, scores), -np.logaddexp(0.0, -scores)])
        return np.asarray(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
