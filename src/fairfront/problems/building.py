"""From a user's data to a linear problem: validated once, where the rows are."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from ..objectives import Gap, Groups, Loss, Objectives, Question, take_groups
from ..objectives.notions import Surrogate
from ..objectives.question import Notions, TaskName
from ..validation import check_labels, check_matrix, check_weights, is_dask
from .bounds import check_memory
from .frame import Frame, moments
from .linear import LinearProblem, feature_names


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
) -> LinearProblem:
    """Return the problem of a linear model on checked data.

    Parameters
    ----------
    task : {"classification", "regression"}, optional
        By default regression for the squared loss and classification for all others.

    The other parameters are those of `fairfront.trace`.

    Returns
    -------
    LinearProblem
        Its ``objectives`` hold the question with what the data made of it: classes, groups, ridge.
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
    )
    return problem_of(question, X, y, sensitive_features, sample_weight)


def problem_of(question: Question, X: Any, y: Any, sensitive_features: Any, sample_weight: Any) -> LinearProblem:
    """Ask a question of data where they are; small Dask collections are brought to memory."""
    given, named = (X, y, sensitive_features, sample_weight), X
    if any(is_dask(part) for part in given):
        from .dask.reading import brought, dask_problem

        far = dask_problem(question, *given)
        if far is not None:
            return far
        X, y, sensitive_features, sample_weight = brought(*given)
    matrix = check_matrix(X)
    labels, weight = check_labels(y, matrix.shape[0]), check_weights(sample_weight, matrix.shape[0])
    if weight is not None and not weight.all():  # rows of weight 0 are to count as if they were not there
        busy = weight > 0
        sensitive_features = take_groups(sensitive_features, busy, len(labels))
        matrix, labels, weight = matrix[busy], labels[busy], weight[busy]
    objectives = Objectives.of(question, labels, sensitive_features, weight)
    n, columns = matrix.shape
    if not sparse.issparse(matrix):
        check_memory(8.0 * n * (columns + 1), f"a sorted copy of {n} rows and {columns} columns")
    frame = Frame.of(moments(matrix), question.fit_intercept)
    if objectives.question.ridge == 0.0 and not sparse.issparse(matrix):
        frame = frame.orthogonal(matrix)
    return LinearProblem(matrix, objectives, frame, feature_names(named))
