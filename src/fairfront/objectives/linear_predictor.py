"""LinearPredictor: a linear model for losses that scikit-learn has no linear model of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..exceptions import InputError


class LinearPredictor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts X coef + intercept, behind a link; its coefficients are those of a point of a frontier.

    Parameters
    ----------
    link : {"identity", "logit"}
        Whether predictions are scores, or 1 / (1 + exp(-score)).
    """

    def __init__(self, link: str = "identity") -> None:
        self.link = link

    def fit(self, X: Any, y: Any) -> LinearPredictor:
        """Refuse: what it predicts was solved with a frontier.

        Parameters
        ----------
        X, y : not looked at
        """
        raise InputError("LinearPredictor has the coefficients of a frontier and is not fitted; trace another one.")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted value of every row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        """
        check_is_fitted(self, "coef_")
        scores = validate_data(self, X, accept_sparse="csr", reset=False) @ self.coef_ + self.intercept_
        return np.asarray(expit(scores) if self.link == "logit" else scores)
