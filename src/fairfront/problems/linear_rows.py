"""Linear problems of rows: a question asked of checked features, labels, groups and weights, where they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scipy import sparse

from ..objectives import Gap, Groups, Loss, Objectives, Question, take_groups
from ..objectives.comparisons import Surrogate
from ..objectives.question import Notions, TaskName
from ..validation import is_dask
from ..validation.inputs import check_labels, check_matrix, check_weights, weighted_rows
from .design import Frame
from .linear import LinearProblem
from .pieces import Piece, feature_names
from .signs import as_signs
from .sparse_design import moments


def linear_problem(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any,
    favourable: Any = None,
    notion: Notions = "equal_opportunity",
    surrogate: Surrogate = "loss",
    loss: str | Loss = "logistic",
    gap: str | Gap = "squared",
    ridge: float | None = None,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    groups: Groups | None = None,
    task: TaskName | None = None,
    signs: Mapping[str | int, str] | None = None,
) -> LinearProblem:
    """Return the problem of a linear model on checked data.

    Parameters
    ----------
    X, y, sensitive_features, sample_weight
        The rows, as in `fairfront.trace`.
    favourable, notion, surrogate, loss, gap, groups, ridge, fit_intercept
        What is asked of them, and the model, as in `fairfront.trace`.
    task : {"classification", "regression"}, optional
        By default what the loss is for first.
    signs : mapping of columns of X, by name or place, to "+" or "-", optional
        Columns whose coefficients may have one sign only, as in `fairfront.trace`.

    Returns
    -------
    LinearProblem whose ``objectives`` hold the question with what the data made of it: classes, groups, ridge
    """
    question = Question.of(
        favourable=favourable,
        notion=notion,
        surrogate=surrogate,
        loss=loss,
        gap=gap,
        ridge=ridge,
        fit_intercept=fit_intercept,
        groups=groups,
        task=task,
        signs=as_signs(signs, X),
    )
    return problem_of(question, X, y, sensitive_features, sample_weight)


def problem_of(question: Question, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> LinearProblem:
    """Ask a question of data where they are; small Dask collections are brought to memory."""
    given, named = (X, y, sensitive_features, sample_weight), X
    if any(is_dask(part) for part in given):
        from .dask.problem import brought, dask_problem

        if (far := dask_problem(question, *given)) is not None:
            return far
        X, y, sensitive_features, sample_weight = brought(*given)
    matrix = check_matrix(X)
    labels, weight = check_labels(y, matrix.shape[0]), check_weights(sample_weight, matrix.shape[0])
    if weight is not None and (rows := weighted_rows(weight)) is not None:
        sensitive_features = take_groups(sensitive_features, rows, len(labels))
        matrix, labels, weight = matrix[rows], labels[rows], weight[rows]
    objectives = Objectives.of(question, labels, sensitive_features, weight)
    frame = Frame.of(moments(matrix), question.fit_intercept)
    if objectives.question.ridge == 0.0 and not sparse.issparse(matrix) and not question.signs:
        frame = frame.orthogonal(matrix)
    if objectives.copy_of is not None:
        matrix = matrix[objectives.copy_of]
    return LinearProblem(Piece.of(matrix, objectives, frame), objectives, frame, feature_names(named))
