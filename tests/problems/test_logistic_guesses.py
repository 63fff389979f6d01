"""Logistic guesses: the fit is scikit-learn's, and what it says of a row without it is what refitting says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from fairfront.problems import rate_problem
from fairfront.problems.logistic_guesses import closed_form


def rows(classes: int, n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, 3)) * [1.0, 30.0, 0.1] + [0.0, 100.0, 0.0], rng.choice(list("abc"), n)
    X[:, 0] += group == "a"
    return (
        X,
        np.digitize(X[:, 0] + rng.logistic(size=n), np.quantile(X[:, 0], np.linspace(0.0, 1.0, classes + 1)[1:-1])),
        group,
    )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_left_out_as_by_refitting(classes: int, weighted: bool) -> None:
    X, y, group = rows(classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    known: dict[str, Any] = {"sensitive_features": group, "notion": "demographic_parity", "sample_weight": weight}
    problem = rate_problem(X, y, estimator=None, **known)
    assert problem.folds.alone == len(y)
    closed, coded = problem.closed, problem.rows
    assert closed is not None
    assert problem.fits == 1 + classes
    cells = int(coded.cell.max()) + 1
    for task, (table, size) in enumerate(
        [(np.tile(np.arange(classes)[:, None], (1, cells)), classes), (np.full((classes, cells), -1), cells)]
    ):
        if task:
            table[1] = np.arange(cells)  # the group among the rows of the second label
        code = table[coded.label, coded.cell]
        used = np.flatnonzero(code >= 0)
        each = np.ones(len(y)) if weight is None else weight
        guess, P = closed.guess(table, size, float(each[used].sum()))

        def fitted(some: np.ndarray, code: np.ndarray = code, each: np.ndarray = each) -> LogisticRegression:
            model = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=200)
            return model.fit(X[some], code[some], sample_weight=each[some])

        plain = fitted(used)
        np.testing.assert_allclose(guess.model.predict_proba(X), plain.predict_proba(X), atol=1e-6)
        others = np.setdiff1d(np.arange(len(y)), used)
        if len(others):  # rows that the fit does not see as they are
            np.testing.assert_allclose(P[others], plain.predict_proba(X[others]), atol=1e-6)
        for row in used[::37]:
            without = fitted(np.setdiff1d(used, row)).predict_proba(X[[row]])[0]
            moved = np.abs(without - plain.predict_proba(X[[row]])[0]).max()
            np.testing.assert_allclose(P[row], without, atol=0.1 * moved + 2e-4)


def test_what_is_left_out_in_closed_form() -> None:
    X, y, group = rows(2)
    known: dict[str, Any] = {"estimator": None, "sensitive_features": group}
    assert rate_problem(X, y, **known).fits == 2
    assert rate_problem(X, y, **known, cv=3).fits == 8
    assert rate_problem(sparse.csr_array(X), y, **known).fits == 8
    assert rate_problem(X, y, **known, person=np.arange(len(y)) // 2).fits == 8
    both = rate_problem(X, y, **{**known, "estimator": [None, LogisticRegression()]})
    assert both.fits == 10
    assert both.learners == "LogisticRegression"
    assert not closed_form(np.zeros((3, 500)), [2, 2], fit_intercept=True)
    assert closed_form(np.zeros((3, 499)), [2, 2], fit_intercept=True)
    assert not closed_form(np.zeros((3, 300)), [2, 3], fit_intercept=True)
    assert not closed_form(np.array([["a"]], dtype=object), [2], fit_intercept=True)
