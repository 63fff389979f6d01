"""From a user's data to a problem: validated once, where the rows are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from scipy import sparse

from ..exceptions import InputError
from ..objectives import Array, Layout, Objectives, Question, take_groups
from ..validation import check_choice, check_flag, check_mapping, check_seed, is_dask, is_whole, refuse
from ..validation.data import check_labels, check_rows, check_weights, take_rows
from .fit_rows import find_folds
from .learners import check_guesser, check_learner, loss_for, weight_keyword
from .learners import shared_trees as sharing
from .weighted_fits import Criterion, EstimatorProblem, PosteriorProblem

MOST_JOBS = 1024
"""Most processes that joblib is asked for; more would be made, one by one."""


def estimator_problem(
    X: Any,
    y: Any,
    *,
    estimator: Any,
    sensitive_features: Any,
    sample_weight: Any = None,
    loss: Any = "logistic",
    criterion: Criterion = "loss_gap",
    cv: Any = "auto",
    n_jobs: int | None = None,
    random_state: int | None = None,
    fit_params: Mapping[str, Any] | None = None,
    shared_trees: float = 0.0,
    posteriors: bool = False,
    **known: Any,
) -> EstimatorProblem:
    """Check the data and lay out the cells that an estimator's predictions are measured on.

    X is passed to the estimator as it is. ``known``: favourable, notion, gap, groups, as in `linear_problem`.
    With ``posteriors``, weightings are read from probabilities of labels and groups that are learnt once.
    """
    if any(is_dask(part) for part in (X, y, sensitive_features, sample_weight)):
        raise InputError(
            "estimator= is for data in memory, found Dask collections; give it a sample, X.compute(), or leave it out."
        )
    shared = sharing(estimator, shared_trees)
    check_choice(criterion, "criterion", get_args(Criterion))
    check_flag(posteriors, "posteriors")
    check_jobs(n_jobs)
    if fit_params is not None:
        check_mapping(fit_params, "fit_params", "{'verbose': False}")
    n = check_rows(X)
    if sparse.issparse(X):
        X = X.tocsr()  # whose rows can be taken
    elif hasattr(X, "__array__") and not hasattr(X, "shape"):
        X = np.asarray(X)
    labels, weight = check_labels(y, n), check_weights(sample_weight, n)
    whole = (X, labels)
    kept = np.arange(n) if weight is None else np.flatnonzero(weight > 0.0)
    measured = loss_for(estimator, loss)
    if posteriors:
        check_guesser(estimator, loss, shared_trees, fit_params)
    regression = measured == "squared"
    if weight is not None and len(kept) < n:
        X, labels, weight = take_rows(X, kept), labels[kept], weight[kept]
        sensitive_features = take_groups(sensitive_features, kept, n)
    if regression and criterion == "rate_gap":
        raise InputError("criterion 'rate_gap' compares decisions, found a regressor; use criterion='loss_gap'.")
    question = Question.of(**known, loss=measured, ridge=0.0, task="regression" if regression else "classification")
    objectives = driven = Objectives.of(question, labels, sensitive_features, weight)
    if criterion == "rate_gap":
        driven = Objectives.of(replace(question, surrogate="rate"), labels, sensitive_features, weight)
    if not posteriors or weight is not None:
        weight_keyword(estimator)
    check_learner(estimator, objectives.task, objectives.loss.name, criterion)
    classes, seed = objectives.task.classes, check_seed(random_state) or 0
    codes = labels if regression else np.array([classes.index(v) for v in labels.tolist()])
    folds = find_folds(cv, *whole, kept, objectives.layout.cells, not regression, seed)
    fits = (folds, seed, n_jobs, fit_params or {}, shared)
    kind = PosteriorProblem if posteriors else EstimatorProblem
    problem = kind(estimator, X, codes.astype(np.float64), objectives, driven, _signs(driven.layout), *fits)
    problem.check()
    return problem


def check_jobs(n_jobs: Any) -> None:
    if n_jobs is None or (is_whole(n_jobs) and 0 != n_jobs <= MOST_JOBS):
        return
    raise refuse("n_jobs", n_jobs, f"None, a whole number from 1 to {MOST_JOBS}, or -1 for all processors")


def _signs(layout: Layout) -> Array:
    """Return -1 for contrasts of rates of which more is better, where the loss gap has the other sign."""
    found = np.ones(len(layout.contrasts))
    for j, contrast in enumerate(layout.contrasts):
        average = layout.averages[contrast.plus]
        label = average.quantity.label
        if average.quantity.kind == "rate" and label is not None and average.labels in (None, (label,)):
            found[j] = -1.0
    return found
