"""One point of the frontier, or a whole frontier of which one point predicts, as scikit-learn estimators."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from ..exceptions import FairfrontWarning, InputError
from ..frontier import Frontier
from ..frontier.estimator_frontier import fit_capped, trace_estimator
from ..frontier.linear_models import LinearModels, centred
from ..frontier.rate_frontier import Rates, as_rates, fit_rates, trace_rates
from ..measures.cutoffs import Operating
from ..objectives import GroupProbabilities, Groups, take_groups
from ..solution import solve
from ..solvers import Status, Weighting
from ..solvers.search import as_search
from ..tracing import trace_problem
from ..validation.inputs import check_weights, take_rows
from .base import FairModel, FairRegressor
from .classifiers import FairClassifier

USUAL_FITS = 6
"""Weightings that are tried for one cap: half of those of a whole frontier."""


@dataclass(eq=False, repr=False)
class _PointFit(FairModel):
    """Solves for the one point asked for, or searches the weights that meet the cap, and notes what was found."""

    preference: Any = None
    max_loss_gap: float | None = None
    max_rate_gap: float | None = None

    def _fit(self, *rows: Any) -> None:
        if (rates := as_rates(self.units)) is not None:
            self._fit_rule(rates, *rows)
        elif self.estimator is not None:
            self._fit_weighted(*rows)
        elif self.max_rate_gap is not None:
            raise InputError("max_rate_gap needs units='rates' or an estimator, found neither; use max_loss_gap.")
        else:
            self._fit_linear(self._problem(*rows))

    def _fit_linear(self, problem: Any) -> None:
        asked = {"preferences": self.preference, "max_gap": self.max_loss_gap, "random_state": self._seed()}
        outcome = solve(problem, self.solver, **asked)
        W, L = outcome.W[0], problem.values(outcome.W)
        self._set_weights(*((W[:, :-1], centred(W[:, -1])) if problem.fit_intercept else (W, np.zeros(len(W)))))
        self.objectives_, self.objective_names_ = problem.algebra.objectives(L)[0], problem.algebra.names
        self.loss_gaps_ = problem.algebra.gaps(L)[0]
        self.history_, self.status_ = outcome.history[0].objectives, Status(outcome.status[0])
        self.n_iter_ = max(1, int(outcome.n_iter[0]))

    def _fit_rule(self, rates: Rates, *rows: Any) -> None:
        problem = self._problem(*rows, search=rates)
        self.model_, front, place = fit_rates(problem, rates, self.max_rate_gap or 0.0)
        self.objectives_, self.objective_names_ = front.objectives[place], front.objective_names
        self.status_, self.rate_gaps_, self.n_iter_ = front.status[place], front.signed_gaps[place], len(front)
        self.history_ = self.objectives_[None]

    def _fit_weighted(self, *rows: Any) -> None:
        if self.max_loss_gap is not None and self.max_rate_gap is not None:
            raise InputError("max_loss_gap and max_rate_gap were given, expected at most one of them.")
        config, cap = as_search(self.solver, Weighting(max_fits=USUAL_FITS)), 0.0
        if self.max_loss_gap is not None:
            config, cap = replace(config, criterion="loss_gap"), self.max_loss_gap
        if self.max_rate_gap is not None:
            config, cap = replace(config, criterion="rate_gap"), self.max_rate_gap
        problem = self._problem(*rows, search=config)
        self.model_, found, self.n_iter_ = fit_capped(problem, config, cap)
        algebra = problem.criterion.algebra
        self.objectives_ = np.concatenate([[found.loss], algebra.gap.value(found.gaps)])
        self.objective_names_, self.status_ = algebra.names, Status.WEIGHTED
        setattr(self, f"{config.criterion}s_", found.gaps)
        self.history_ = self.objectives_[None]


@dataclass(eq=False, repr=False)
class ParetoFairClassifier(ClassifierMixin, _PointFit, FairClassifier):  # type: ignore[misc]
    """A classifier that is Pareto efficient between loss and fairness: linear, or any that takes weights.

    Parameters
    ----------
    notion : str, Notion or list of them
        What is compared between groups.
    loss : str or Loss
        Training loss; "logistic" becomes the softmax for more than two classes.
    solver : str or solver
        "newton" (default) and "pb_pdo" go to the preference or cap asked for; "pdo" to some efficient point below its
        start.
    preference : array of shape (m,), optional
        Aim at pi_1 h_1 = ... = pi_m h_m, objectives in the order loss, then pairs of groups.
    max_loss_gap : float, optional
        Aim at the smallest loss whose gaps are at most this, in units of the loss (a loss gap is not a rate gap).
        Without preference and cap the gaps are made as small as they get.
    favourable : label, optional
        The label that is good for the person; the second of the sorted classes by default.
    surrogate, gap : {"loss", "rate"}, and str or Gap
    ridge : float, optional
        Penalty on the squared weights; 1 / (sum of weights) by default, scikit-learn's C = 1.
    fit_intercept : bool
    groups : Groups, optional
        Reference group, crossing, smallest size.
    random_state : int, optional
    estimator : estimator, optional
        Any classifier whose fit takes sample_weight, instead of a linear model; ``solver`` is then a `Weighting` (by
        default of 6 fits). In rates, any with probabilities.
    units : {"losses", "rates"} or Rates
        As in `trace`: in rates, ``model_`` is the rule of least error whose gaps are at most ``max_rate_gap``.
    signs : mapping of columns, by name or place, to "+" or "-", as in `trace`, optional
    max_rate_gap : float, optional
        In rates, or with an estimator: a cap on gaps between rates on held-out rows, instead of ``max_loss_gap``.

    Attributes
    ----------
    coef_, intercept_, classes_
        The linear model; with an estimator, ``model_`` is its weighted fit.
    objectives_ : array of shape (m,)
        Loss with ridge, then phi of every gap, on the training data; ``objective_names_`` names them.
    loss_gaps_ : array of shape (m - 1,)
        Signed gaps on the training data.
    history_ : array of shape (T, m)
        Objectives of every accepted step.
    status_ : Status, why it stopped; ``n_iter_`` steps
    """


@dataclass(eq=False, repr=False)
class ParetoFairRegressor(RegressorMixin, _PointFit, FairRegressor):  # type: ignore[misc]
    """A regression that is Pareto efficient between loss and fairness: linear, or any that takes weights.

    Parameters
    ----------
    notion : str, Notion or list of them
        "disparate_mistreatment" (equal losses), "demographic_parity" (equal mean predictions), "group_loss"
        or "link_scale_parity".
    loss : str or Loss
        "squared", or "poisson", "gamma" and "tweedie", whose predictions are means behind a link.
    solver, preference, max_loss_gap, surrogate, gap, ridge, fit_intercept, groups, random_state, max_rate_gap, signs
        As in `ParetoFairClassifier`, which has the same attributes.
    estimator : any regressor whose fit takes sample_weight, optional
    units : "losses"; rates are of decisions, which a regression has none of
    """

    notion: Any = "disparate_mistreatment"
    loss: Any = "squared"


@dataclass(eq=False, repr=False)
class _FrontierFit(FairModel):
    """Traces on one part of the data, chooses on another when asked to."""

    preferences: Any = None
    choose: Any = None
    validation_fraction: float = 0.0
    n_points: int | None = None

    def _fit(self, X: Any, y: NDArray[Any], sensitive_features: Any, sample_weight: Any) -> None:
        cut = {name: getattr(self, name, None) for name in ("cutoff", "approval_rate", "costs")}
        asked, n = Operating(**cut).check().asked, len(y)
        weight = check_weights(sample_weight, n)
        train, held = self._split(y, sensitive_features)

        def part(rows: NDArray[np.intp]) -> tuple[Any, ...]:
            groups = None if sensitive_features is None else take_groups(sensitive_features, rows, n)
            return take_rows(X, rows), y[rows], groups, None if weight is None else weight[rows]

        known_rows = part(train)
        front = self._traced(*known_rows)
        rows, labels, groups, weights = known_rows if held is None else part(held)
        known: dict[str, Any] = {"sensitive_features": groups, "sample_weight": weights, **cut}
        if held is not None or asked is not None:
            front = front.evaluate(rows, labels, name="training" if held is None else "validation", **known)
        self.frontier_ = replace(front, source=None)  # fitted objects carry no rows
        if self.choose is not None:
            self.use(front.choose(**self.choose))
            return
        if not front.evaluations and self._classifies:  # the knee may decide everyone alike, which only rows can tell
            with warnings.catch_warnings(action="ignore", category=FairfrontWarning):
                front = front.evaluate(rows, labels, name="training", **known)
        self.use(front.choose(knee=True))

    def _traced(self, *rows: Any) -> Frontier:
        if (rates := as_rates(self.units)) is not None:
            return trace_rates(self._problem(*rows, search=rates), rates, self.n_points, progress=False)
        if self.estimator is not None:
            search = as_search(self.solver, Weighting())
            return trace_estimator(self._problem(*rows, search=search), search, progress=False)
        asked = {"preferences": self.preferences, "n_points": self.n_points, "random_state": self._seed()}
        return trace_problem(self._problem(*rows), self.solver, **asked, progress=False)

    def _split(self, y: NDArray[Any], sensitive_features: Any) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
        everything = np.arange(len(y))
        if not self.validation_fraction or sensitive_features is None:
            return everything, None
        if isinstance(sensitive_features, GroupProbabilities):
            raise InputError("validation_fraction needs group labels, found GroupProbabilities; set it to 0.")
        groups = Groups(min_size=1).resolve(sensitive_features, len(y))
        keys = np.column_stack([a.codes for a in groups if a.codes is not None] + ([y] if self._classifies else []))
        _, strata, sizes = np.unique(keys.astype(str), axis=0, return_inverse=True, return_counts=True)
        strata = np.where(sizes[strata.reshape(-1)] < 2, -1, strata.reshape(-1))
        alike = strata if (np.unique(strata, return_counts=True)[1] > 1).all() else None
        drawn: dict[str, Any] = {"test_size": self.validation_fraction, "random_state": self._seed()}
        train, held = train_test_split(everything, **drawn, stratify=alike)
        return np.sort(train), np.sort(held)

    def use(self, id: int) -> Any:
        """Predict with another point from now on; returns the estimator.

        Parameters
        ----------
        id : int
        """
        place, models = self.frontier_.place(id), self.frontier_.models
        if isinstance(models, LinearModels):
            self._set_weights(models.coef[place], models.intercept[place])
        else:
            self.model_ = models.build(place)
        point = self.frontier_.operating()
        self.cutoff_ = None if point is None else float(point.cutoffs[place])
        self.chosen_id_ = int(id)
        self.status_ = self.frontier_.status[place]
        self.objectives_ = self.frontier_.objectives[place]
        self.n_iter_ = max(1, len(self.frontier_))
        return self


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
    notion, loss, solver, n_points, favourable, surrogate, gap, ridge, fit_intercept, groups, random_state, signs
        As in `trace` and `ParetoFairClassifier`.
    estimator : estimator, optional
        Any whose fit takes sample_weight; ``solver`` is then a `Weighting`, as in `trace`, and the point in use is
        ``model_``.
    units : {"losses", "rates"} or Rates, as in `trace`; in rates, the point in use is the rule ``model_``

    Attributes
    ----------
    frontier_ : Frontier
    chosen_id_ : int, the point in use; ``use(id)`` changes it
    cutoff_ : float or None
        The cut-off of the point in use, on the probability (or score) of the favourable label.
    """

    cutoff: float | None = None
    approval_rate: float | None = None
    costs: Any = None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the decided label of every row, at the operating point if there is one."""
        check_is_fitted(self)
        if (point := self.frontier_.operating()) is None:
            return super().predict(X)
        place = [self.frontier_.place(self.chosen_id_)]
        _, second = self.frontier_.models.take(place).decisions(self._checked(X), point.take(place))
        return np.asarray(self.classes_[second[0].astype(np.intp)])


@dataclass(eq=False, repr=False)
class FrontierRegressor(RegressorMixin, FairRegressor, _FrontierFit):  # type: ignore[misc]
    """Trace a frontier of regressions and predict with one of its points.

    Parameters
    ----------
    notion, loss, solver, surrogate, gap, ridge, fit_intercept, groups, random_state, units, signs
        As in `ParetoFairRegressor`.
    estimator, preferences, choose, validation_fraction, n_points : as in `FrontierClassifier`
    """

    notion: Any = "disparate_mistreatment"
    loss: Any = "squared"
