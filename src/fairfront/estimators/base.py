"""What all estimators share: parameters, validation, routing, and the linear prediction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..exceptions import InputError
from ..objectives import Array
from ..problems import Setup, linear_problem
from ..validation import pass_hint


class FairLinearModel(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: linear in the features, sensitive features by keyword at fit, never at predict."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sensitive_features": True}

    coef_: Array
    intercept_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _validated(self, X: Any, y: Any, classification: bool) -> tuple[Any, NDArray[Any]]:
        """Check X and y as scikit-learn does and note the features."""
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            y_numeric=not classification,
            ensure_min_samples=2,
        )
        if classification:
            check_classification_targets(y)
            self.classes_ = np.unique(y)
        return X, y

    def _setup(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, classification: bool) -> Setup:
        """Lay out the problem from the estimator's parameters."""
        if sensitive_features is None:
            raise InputError(
                f"{type(self).__name__} needs sensitive_features to fit, found None; {pass_hint('sensitive_features')}"
            )
        parameters = self.get_params(deep=False)
        return linear_problem(
            X,
            y,
            sensitive_features=sensitive_features,
            favourable=parameters.get("favourable"),
            notion=parameters["notion"],
            surrogate=parameters["surrogate"],
            loss=parameters["loss"],
            gap=parameters["gap"],
            ridge=parameters["ridge"],
            fit_intercept=parameters["fit_intercept"],
            sample_weight=sample_weight,
            groups=parameters["groups"],
            task="classification" if classification else "regression",
        )

    def _linear(self, X: Any) -> Array:
        """Return X coef^T + intercept: (n,) for one score, (n, K) for several."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        scores = np.asarray(X @ np.atleast_2d(self.coef_).T + self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores


class ClassifierPredictions(FairLinearModel):
    """Decisions from linear scores."""

    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> Array:
        """Return scores: one per row for two classes, one per class otherwise."""
        return self._linear(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the decided label of every row; needs no sensitive feature."""
        scores = self._linear(X)
        chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])
