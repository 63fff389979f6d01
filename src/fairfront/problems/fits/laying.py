"""Laying out estimators: the data checked, the cells found that their predictions are measured on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ...exceptions import InputError
from ...objectives import Array, take_groups
from ...validation import check_labels, check_weights, is_dask, take_rows
from ..building import Setup, linear_problem
from .crossfit import find_folds
from .learners import check_guesser, check_learner, loss_for, weight_keyword
from .posterior_problem import PosteriorProblem
from .problem import Drive, EstimatorProblem
from .sharing_trees import shared_trees as sharing


def estimator_problem(
    X: Any,
    y: Any,
    *,
    estimator: Any,
    sensitive_features: Any,
    sample_weight: Any = None,
    loss: Any = "logistic",
    drive: Drive = "loss_gap",
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
    if drive not in ("loss_gap", "rate_gap"):
        raise InputError(f"unknown drive {drive!r}, expected 'loss_gap' or 'rate_gap'.")
    X = _as_given(X)
    n = _rows_of(X)
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
        n = len(kept)
    if regression and drive == "rate_gap":
        raise InputError("drive 'rate_gap' compares decisions, found a regressor; use drive='loss_gap'.")
    options = {**known, "sensitive_features": sensitive_features, "sample_weight": weight, "ridge": 0.0}
    blank = np.zeros((n, 1))
    task: Literal["classification", "regression"] = "regression" if regression else "classification"
    laid = linear_problem(blank, labels, loss=measured, surrogate="loss", task=task, **options)
    driving = laid
    if drive == "rate_gap":
        driving = linear_problem(blank, labels, loss=measured, surrogate="rate", task=task, **options)
    if not posteriors or weight is not None:
        weight_keyword(estimator)
    check_learner(estimator, laid.task, laid.problem.loss.name, drive)
    classes = laid.task.classes
    codes = labels if regression else np.array([classes.index(v) for v in labels.tolist()])
    seed = _seed(random_state)
    folds = find_folds(cv, *whole, kept, laid.problem.layout.cells, not regression, seed)
    kind = PosteriorProblem if posteriors else EstimatorProblem
    problem = kind(
        estimator,
        X,
        codes.astype(np.float64),
        laid,
        driving,
        _signs(driving),
        folds,
        seed,
        n_jobs,
        fit_params or {},
        shared,
    )
    problem.check()
    return problem


def _seed(random_state: Any) -> int:
    if random_state is None:
        return 0
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)):
        raise InputError(
            f"random_state is a {type(random_state).__name__}, expected a whole number or None, as all fits share it."
        )
    return int(random_state)


def _as_given(X: Any) -> Any:
    """Return X as it is, but in a form whose rows can be taken: sparse matrices by row, others that are arrays."""
    if hasattr(X, "tocsr"):
        return X.tocsr()
    return np.asarray(X) if hasattr(X, "__array__") and not hasattr(X, "shape") else X


def _rows_of(X: Any) -> int:
    found = X.shape[0] if hasattr(X, "shape") else len(X)
    if found == 0:
        raise InputError("X has 0 rows, expected at least one sample.")
    return int(found)


def _signs(driving: Setup) -> Array:
    """Return -1 for contrasts of rates of which more is better, where the loss gap has the other sign."""
    layout = driving.problem.layout

    def sign(average: Any) -> float:
        quantity = average.quantity
        better = quantity.kind == "rate" and quantity.label is not None
        return -1.0 if better and average.labels in (None, (quantity.label,)) else 1.0

    return np.array([sign(layout.averages[contrast.plus]) for contrast in layout.contrasts])
