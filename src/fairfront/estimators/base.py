"""What all estimators share: parameters, validation, routing, and the linear prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from ..exceptions import InputError
from ..frontier.rate_frontier import Rates, as_rates, refuse_losses
from ..objectives import LOSSES, Array, Loss, Within, predictions_of, warn_of_proxies
from ..problems import linear_problem, one_blas_thread
from ..problems.dask.problem import refuse_collections
from ..problems.learners import scores_of_learner
from ..problems.signs import as_signs
from ..solvers import Weighting, as_solver
from ..solvers.search import refuse_linear
from ..validation import (
    check_flag,
    check_mapping,
    check_positive,
    check_seed,
    check_share,
    is_dask,
    pass_hint,
    refuse_masked,
)
from ..validation.inputs import refuse_misread


@dataclass(eq=False, repr=False)
class FairModel(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators: sensitive features by keyword at fit, never at predict.

    Linear in the features, unless an ``estimator`` was given, whose weighted fit then is ``model_``, or decisions are
    compared in rates, whose rule it is. The fields are the parameters that all estimators share; those of a subclass
    come after them.
    """

    notion: Any = "equal_opportunity"
    loss: Any = "logistic"
    solver: Any = "newton"
    surrogate: Any = "loss"
    gap: Any = "squared"
    ridge: float | None = None
    fit_intercept: bool = True
    groups: Any = None
    random_state: Any = None
    estimator: Any = None
    units: Any = "losses"
    signs: Any = None

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sensitive_features": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_options(self) -> None:
        """Refuse parameters that nothing else checks before rows are looked at."""
        given = self.get_params(deep=False)
        if (rates := as_rates(self.units)) is not None:
            refuse_losses(given, self.estimator)
            if not self._classifies:
                raise InputError("units='rates' compares decisions, found a regression; use units='losses'.")
        if self.estimator is None and rates is None:
            as_solver(self.solver)
        if not isinstance(self.random_state, np.random.RandomState):
            check_seed(self.random_state)
        check_flag(self.fit_intercept, "fit_intercept")
        check_share(given.get("validation_fraction", 0.0), "validation_fraction")
        if given.get("choose") is not None:
            check_mapping(given["choose"], "choose", "{'least': 'tpr_gap'}")
        for name in ("max_loss_gap", "max_rate_gap"):
            if given.get(name) is not None:
                check_positive(given[name], name, zero=True)

    @property
    def _classifies(self) -> bool:
        return isinstance(self, ClassifierMixin)

    @property
    def _rules(self) -> bool:
        """Tell whether the model is a rule in rates."""
        return as_rates(self.units) is not None

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        control_features: Any = None,
    ) -> Self:
        """Fit to features, labels (or values) and the group of every row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        y : array of shape (n,)
        sensitive_features : array, mapping of names to arrays, data frame or GroupProbabilities
            The group of every row; has to be given.
        sample_weight : array of shape (n,), optional
        control_features : array, mapping of names to arrays or data frame, optional
            Columns inside whose levels groups are compared, as in `trace`.
        """
        refuse_collections(self, X, y, sensitive_features, sample_weight)
        if sensitive_features is not None:
            sensitive_features = Within.of(sensitive_features, control_features)
        self._check_options()
        refuse_misread(X)
        refuse_masked(y, "y")
        if self.estimator is None:
            known: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_min_samples": 2}
            X, y = validate_data(self, X, y, y_numeric=not self._classifies, **known)
        else:  # X is the estimator's own affair
            _, y = validate_data(self, X, y, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            X = indexable(X)[0]  # sparse matrices by row; what is no array but can be one
            check_consistent_length(X, y)
            if len(y) < 2:
                raise InputError(f"found n_samples={len(y)}, expected at least 2 rows to fit {type(self).__name__}.")
        if self._classifies:
            check_classification_targets(y)
            self.classes_ = np.unique(y)
        self._fit(X, y, sensitive_features, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> None:
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted value, or the decided label, of every row; needs no sensitive feature.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        """
        return self._scores(X)

    def _problem(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        sample_weight: Any,
        *,
        search: Weighting | Rates | None = None,
    ) -> Any:
        """Return the linear problem, or with a search the weighted fits of the estimator, or its rules in rates."""
        if sensitive_features is None:
            raise InputError(
                f"{type(self).__name__} needs sensitive_features to fit, found None; {pass_hint('sensitive_features')}"
            )
        warn_of_proxies(sensitive_features, stacklevel=5)
        given = self.get_params(deep=False)
        if self.signs is not None and isinstance(search, Rates):
            raise InputError("signs is for units of losses, found rates, whose rules guess the group; leave it out.")
        names = getattr(self, "feature_names_in_", None)
        known = {name: given.get(name) for name in ("favourable", "notion", "loss", "gap", "groups")}
        known |= {"sensitive_features": sensitive_features, "sample_weight": sample_weight}
        if not isinstance(search, Rates):
            known["signs"] = as_signs(self.signs, X, None if names is None else tuple(names))
        if search is None:
            known["signs"] = dict(known["signs"]) or None
            own = {name: given[name] for name in ("surrogate", "ridge", "fit_intercept")}
            return linear_problem(X, y, task="classification" if self._classifies else "regression", **own, **known)
        if isinstance(search, Rates):
            known |= {name: given[name] for name in ("ridge", "fit_intercept")}
        else:
            refuse_linear(type(self), given)
        problem = search.problem(X, y, estimator=self.estimator, random_state=self._seed(), **known)
        self.task_, self.loss_ = problem.objectives.task, problem.objectives.loss.name
        return problem

    def _seed(self) -> int | None:
        """A RandomState gives another one each time, as in scikit-learn."""
        given = self.random_state
        return int(given.randint(2**31 - 1)) if isinstance(given, np.random.RandomState) else given

    def _set_weights(self, coef: Array, intercept: Array) -> None:
        """Write coefficients (K, d) and intercepts (K,) in scikit-learn's shapes."""
        self.coef_: Array = coef.copy() if self._classifies else coef[0].copy()
        self.intercept_: Any = intercept.copy() if self._classifies else float(intercept[0])

    def _checked(self, X: Any) -> Any:
        """Return rows to predict as the model takes them."""
        check_is_fitted(self)
        if is_dask(X):
            raise InputError(
                f"{type(self).__name__} predicts rows in memory, found a Dask collection; use "
                "X.map_partitions(model.predict, meta=...), which leaves rows where they are."
            )
        refuse_misread(X)
        if self.estimator is None:
            return validate_data(self, X, accept_sparse="csr", reset=False)
        if getattr(X, "ndim", 2) == 2:  # the learner itself says best what is wrong with others
            validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def _scores(self, X: Any) -> Array:
        """X coef^T + intercept, or the fitted estimator's scores: (n,) for one, (n, K) for several."""
        X = self._checked(X)
        if self._rules:
            return np.asarray(self.model_.decision_function(X))
        if self.estimator is not None:
            scores = np.ascontiguousarray(scores_of_learner(self.model_, X, self.task_, self.loss_).T)
        else:
            with one_blas_thread():
                scores = np.asarray(X @ np.atleast_2d(self.coef_).T + self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores


class FairRegressor(FairModel):
    """Predicts values, maybe behind the link of a loss."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted value of every row; needs no sensitive feature.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
        """
        scores = super().predict(X)
        return scores if self.estimator is not None else predictions_of(scores, LOSSES.made(self.loss, Loss).name)
