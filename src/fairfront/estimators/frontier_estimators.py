"""A whole frontier as a scikit-learn estimator that predicts with one chosen point."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from ..exceptions import FairfrontWarning, InputError
from ..frontier import Frontier
from ..frontier.cutoffs import for_favourable
from ..frontier.estimator_frontier import trace_estimator
from ..frontier.models import LinearModels
from ..measures.operating_points import Operating
from ..objectives import Array, GroupProbabilities, Groups, take_groups
from ..problems.dask.problem import refuse_collections
from ..problems.learners import probabilities_of
from ..solvers import Weighting
from ..solvers.search import as_search, refuse_linear
from ..tracing import trace_problem
from ..validation import check_weights, take_rows
from .base import FairClassifier, FairModel
from .single import set_weights


@dataclass(eq=False, repr=False)
class _FrontierFit(FairModel):
    """Traces on one part of the data, chooses on another when asked to."""

    preferences: Any = None
    choose: Any = None
    validation_fraction: float = 0.0
    n_points: int | None = None

    def _fit_frontier(
        self, X: Any, y: NDArray[Any], sensitive_features: Any, sample_weight: Any, classification: bool
    ) -> Any:
        operating = self._operating()
        weight = check_weights(sample_weight, len(y))
        n, (train, held) = len(y), self._split(y, sensitive_features, classification)
        parts = (take_rows(X, train), y[train], _rows(sensitive_features, train, n), _rows(weight, train, n))
        front = self._traced(*parts, classification)
        if held is not None:
            parts = (take_rows(X, held), y[held], _rows(sensitive_features, held, n), _rows(weight, held, n))
        rows, labels, groups, weights = parts
        known: dict[str, Any] = {"sensitive_features": groups, "sample_weight": weights, **operating}
        if held is not None or operating:
            front = front.evaluate(rows, labels, name="training" if held is None else "validation", **known)
        self.frontier_ = front
        if self.choose is not None:
            return self.use(front.choose(**self.choose))
        if not front.evaluations and classification:  # the knee may decide everyone alike, which only rows can tell
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FairfrontWarning)
                front = front.evaluate(rows, labels, name="training", **known)
        return self.use(front.choose(knee=True))

    def _operating(self) -> dict[str, Any]:
        """Return the operating point that was asked for, as `Frontier.evaluate` takes it."""
        names = ("cutoff", "approval_rate", "costs")
        given = {name: getattr(self, name, None) for name in names}
        Operating(**given).check()
        return {name: value for name, value in given.items() if value is not None}

    def _traced(self, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, classification: bool) -> Frontier:
        """Trace the frontier of linear models, or of the estimator that was given."""
        if self.estimator is not None:
            refuse_linear(type(self), self.get_params(deep=False))
            search = as_search(self.solver, Weighting())
            problem = self._weighted_fits(search, X, y, sensitive_features, sample_weight)
            return trace_estimator(problem, search, progress=False)
        return trace_problem(
            self._problem(X, y, sensitive_features, sample_weight, classification),
            self.solver,
            preferences=self.preferences,
            n_points=self.n_points,
            random_state=self._seed(),
            progress=False,
        )

    def _split(
        self, y: NDArray[Any], sensitive_features: Any, classification: bool
    ) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
        everything = np.arange(len(y))
        if not self.validation_fraction:
            return everything, None
        if isinstance(sensitive_features, GroupProbabilities):
            raise InputError("validation_fraction needs group labels, found GroupProbabilities; set it to 0.")
        if sensitive_features is None:
            return everything, None
        groups = Groups(min_size=1).resolve(sensitive_features, len(y))
        keys = np.column_stack([a.codes for a in groups if a.codes is not None] + ([y] if classification else []))
        _, strata, sizes = np.unique(keys.astype(str), axis=0, return_inverse=True, return_counts=True)
        strata = np.where(sizes[strata.reshape(-1)] < 2, -1, strata.reshape(-1))
        train, held = train_test_split(
            everything,
            test_size=self.validation_fraction,
            random_state=self._seed(),
            stratify=strata if (np.unique(strata, return_counts=True)[1] > 1).all() else None,
        )
        return np.sort(train), np.sort(held)

    def use(self, id: int) -> Any:
        """Predict with the point of this id from now on; returns the estimator."""
        place, points = self.frontier_.place(id), self.frontier_.models
        if isinstance(points, LinearModels):
            W = np.column_stack([points.coef[place], points.intercept[place]])
            set_weights(self, W, True, self.frontier_.facts.task.kind == "regression")
        else:
            self.model_ = points.build(place)
        point = self.frontier_.operating()
        self.cutoff_ = None if point is None else float(point.cutoffs[place])
        self.chosen_id_ = int(id)
        self.status_ = self.frontier_.status[place]
        self.objectives_ = self.frontier_.objectives[place]
        self.n_iter_ = max(1, len(self.frontier_))
        return self


def _rows(values: Any, rows: NDArray[np.intp], n: int) -> Any:
    """Return some of n rows of columns, weights or nothing."""
    if values is None or (isinstance(values, np.ndarray) and values.shape == (n,)):
        return None if values is None else values[rows]
    return take_groups(values, rows, n)


@dataclass(eq=False, repr=False)
class FrontierClassifier(ClassifierMixin, FairClassifier, _FrontierFit):  # type: ignore[misc]
    """Trace the frontier of linear classifiers, or of any that takes weights, and predict with one of its points.

    Parameters
    ----------
    preferences : None, int or array of shape (R, m)
        Targets, as in `trace`.
    choose : dict, optional
        The rule of `Frontier.select` that picks the point, for example ``{"least": "tpr_gap", "within": {"error":
        0.005}}``; by default the knee among points that do not decide nearly everyone alike.
    cutoff, approval_rate, costs
        The operating point, one of them at most, as in `Frontier.evaluate`: cut-offs are placed on the rows kept for
        choosing (on the training rows without any), and `predict` decides at that of the point in use. Without one it
        decides at 0.5.
    validation_fraction : float
        Share of the rows, stratified by label and group, that is kept from tracing and used for choosing; rules
        on rates need it.
    notion, loss, solver, n_points, favourable, surrogate, gap, ridge, fit_intercept, groups, random_state
        As in `trace` and `ParetoFairClassifier`.
    estimator : estimator, optional
        Any whose fit takes sample_weight; ``solver`` is then a `Weighting`, as in `trace`, and the point in use is
        ``model_``.

    Attributes
    ----------
    frontier_ : Frontier
    chosen_id_ : int
        The point in use; ``use(id)`` changes it.
    cutoff_ : float or None
        The cut-off of the point in use, on the probability (or score) of the favourable label.
    """

    cutoff: float | None = None
    approval_rate: float | None = None
    costs: Any = None

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> FrontierClassifier:
        """Trace the frontier and choose a point."""
        refuse_collections(self, X, y, sensitive_features, sample_weight)
        X, y = self._validated(X, y, classification=True)
        return self._fit_frontier(X, y, sensitive_features, sample_weight, True)  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the decided label of every row, at the operating point if there is one; needs no sensitive feature."""
        check_is_fitted(self)
        point = self.frontier_.operating()
        if point is None:
            return super().predict(X)
        place, task = self.frontier_.place(self.chosen_id_), self.frontier_.facts.task
        probable = point.probability[[place]]
        if not probable[0]:
            second = self.decision_function(X)
        elif self.estimator is None:
            second = self.predict_proba(X)[:, 1]
        else:
            self._linear(X[:1])  # refuses rows of another shape
            second = probabilities_of(self.model_, X, task)[:, 1]
        favoured = point.take([place]).favoured(for_favourable(second[None], task, probable))[0]
        return np.asarray(self.classes_[(favoured == (task.favourable == 1)).astype(np.intp)])


@dataclass(eq=False, repr=False)
class FrontierRegressor(RegressorMixin, _FrontierFit):  # type: ignore[misc]
    """Trace a frontier of regressions and predict with one of its points; see `FrontierClassifier`."""

    notion: Any = "disparate_mistreatment"
    loss: Any = "squared"

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> FrontierRegressor:
        """Trace the frontier and choose a point."""
        refuse_collections(self, X, y, sensitive_features, sample_weight)
        X, y = self._validated(X, y, classification=False)
        return self._fit_frontier(X, y, sensitive_features, sample_weight, False)  # type: ignore[no-any-return]

    def predict(self, X: Any) -> Array:
        """Return the predicted value of every row; needs no sensitive feature."""
        return self._linear(X)
