"""One point of the frontier as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from ..exceptions import InputError
from ..frontier.estimator_frontier import fit_capped, status_of
from ..frontier.models import centred
from ..objectives import Array
from ..problems import LinearProblem
from ..problems.dask.problem import refuse_collections
from ..solvers import Status, Weighting
from ..solvers.search import as_search, refuse_linear
from ..tracing import solve
from .base import FairClassifier, FairModel

USUAL_FITS = 6
"""Weightings that are tried for one cap: half of those of a whole frontier."""


@dataclass(eq=False, repr=False)
class ParetoFairClassifier(ClassifierMixin, FairClassifier):  # type: ignore[misc]
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
    surrogate : {"loss", "rate"}
    gap : str or Gap
    ridge : float, optional
        Penalty on the squared weights; 1 / (sum of weights) by default, scikit-learn's C = 1.
    fit_intercept : bool
    groups : Groups, optional
        Reference group, crossing, smallest size.
    random_state : int, optional
    estimator : estimator, optional
        Any classifier whose fit takes sample_weight, instead of a linear model; ``solver`` is then a `Weighting` (by
        default of 6 fits), or "posteriors".
    max_rate_gap : float, optional
        With an estimator: a cap on the gap between rates of decisions on held-out rows, instead of ``max_loss_gap``.

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
    status_ : Status
        Why it stopped; ``n_iter_`` steps.
    """

    preference: Any = None
    max_loss_gap: float | None = None
    max_rate_gap: float | None = None

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> ParetoFairClassifier:
        """Fit to features, labels and the group of every row."""
        refuse_collections(self, X, y, sensitive_features, sample_weight)
        X, y = self._validated(X, y, classification=True)
        _fit(self, X, y, sensitive_features, sample_weight, classification=True)
        return self


@dataclass(eq=False, repr=False)
class ParetoFairRegressor(RegressorMixin, FairModel):  # type: ignore[misc]
    """A regression that is Pareto efficient between squared loss and fairness: linear, or any that takes weights.

    Parameters and attributes are those of `ParetoFairClassifier`; notions for regression are
    "disparate_mistreatment" (equal losses), "demographic_parity" (equal mean predictions) and "group_loss".
    """

    notion: Any = "disparate_mistreatment"
    loss: Any = "squared"
    preference: Any = None
    max_loss_gap: float | None = None
    max_rate_gap: float | None = None

    def fit(self, X: Any, y: Any, *, sensitive_features: Any = None, sample_weight: Any = None) -> ParetoFairRegressor:
        """Fit to features, values and the group of every row."""
        refuse_collections(self, X, y, sensitive_features, sample_weight)
        X, y = self._validated(X, y, classification=False)
        _fit(self, X, y, sensitive_features, sample_weight, classification=False)
        return self

    def predict(self, X: Any) -> Array:
        """Return the predicted value of every row; needs no sensitive feature."""
        return self._linear(X)


def _fit(shell: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any, classification: bool) -> None:
    """Fit the linear model, or the estimator that was given."""
    if shell.estimator is not None:
        _fit_weighted(shell, X, y, sensitive_features, sample_weight)
        return
    if shell.max_rate_gap is not None:
        raise InputError("max_rate_gap needs an estimator, found None; use max_loss_gap, or surrogate='rate'.")
    _fit_point(shell, shell._problem(X, y, sensitive_features, sample_weight, classification))


def _fit_weighted(shell: Any, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> None:
    """Search the weights whose held-out gap meets the cap, and note what was found."""
    if shell.max_loss_gap is not None and shell.max_rate_gap is not None:
        raise InputError("max_loss_gap and max_rate_gap were given, expected at most one of them.")
    refuse_linear(type(shell), shell.get_params(deep=False))
    config = as_search(shell.solver, Weighting(max_fits=USUAL_FITS))
    if shell.max_loss_gap is not None or shell.max_rate_gap is not None:
        config = replace(config, criterion="loss_gap" if shell.max_rate_gap is None else "rate_gap")
    cap = shell.max_loss_gap if shell.max_rate_gap is None else shell.max_rate_gap
    problem = shell._weighted_fits(config, X, y, sensitive_features, sample_weight)
    shell.model_, found, shell.n_iter_ = fit_capped(problem, config, 0.0 if cap is None else cap)
    algebra = problem.criterion.algebra
    shell.objectives_ = np.concatenate([[found.loss], algebra.gap.value(found.gaps)])
    shell.objective_names_ = algebra.names
    if config.criterion == "loss_gap":
        shell.loss_gaps_ = found.gaps
    else:
        shell.rate_gaps_ = found.gaps
    shell.history_ = shell.objectives_[None]
    shell.status_ = status_of(problem)


def _fit_point(estimator: Any, problem: LinearProblem) -> None:
    """Solve for the one point asked for and note what was found."""
    outcome = solve(
        problem,
        estimator.solver,
        preferences=estimator.preference,
        max_gap=estimator.max_loss_gap,
        random_state=estimator._seed(),
    )
    W = outcome.W[0]
    L = problem.values(outcome.W)
    set_weights(estimator, W, problem.fit_intercept, problem.task.kind == "regression")
    estimator.objectives_ = problem.algebra.objectives(L)[0]
    estimator.objective_names_ = problem.algebra.names
    estimator.loss_gaps_ = problem.algebra.gaps(L)[0]
    estimator.history_ = outcome.history[0]
    estimator.status_ = Status(outcome.status[0])
    estimator.n_iter_ = max(1, int(outcome.n_iter[0]))


def set_weights(estimator: Any, W: Array, fit_intercept: bool, regression: bool) -> None:
    """Write weights (K, d) as coef_ and intercept_, in scikit-learn's shapes."""
    coef = W[:, :-1].copy() if fit_intercept else W.copy()
    intercept = centred(W[:, -1]) if fit_intercept else np.zeros(len(W))
    estimator.coef_ = coef[0] if regression else coef
    estimator.intercept_ = float(intercept[0]) if regression else intercept
