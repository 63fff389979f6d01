"""Held-out figures of rows on Dask: against folds that are refitted in memory, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.problems import linear_problem
from fairfront.problems.dask.folds import FOLDS, fold_of
from fairfront.problems.samples import Samples
from fairfront.solvers.base import tops
from fairfront.solvers.refits import refit
from tests.support.dask_rows import dask, far, given

CHUNK = 900
NEAR: dict[str, Any] = {"progress": False, "n_points": 6}
JUDGED = ("equal opportunity", "two notions, two attributes", "weights", "no intercept", "classes", "regression")


def unequal(name: str, n: int) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Return the rows of a case with labels that differ by sex, more than by noise."""
    X, y, rows, asked = given(name, n)
    if (columns := rows["sensitive_features"]).keys() <= {"sex", "race"}:
        woman, rng = columns["sex"] == "Female", np.random.default_rng(5)
        X[:, 1] += 1.5 * woman
        latent = X[:, 0] - 0.6 * X[:, 1] + (1.0 + woman) * rng.logistic(size=n)
        cuts = {"classes": [-0.8, 0.8]}.get(name, [0.0])
        y = latent if name == "regression" else np.digitize(latent, cuts)
    return X, y, rows, asked


def on_dask(name: str, n: int = 9000, **options: Any) -> tuple[ff.Frontier, ff.Frontier, Any]:
    """Return the frontier with rows far away and judged, that in memory, and the rows."""
    X, y, rows, asked = unequal(name, n)
    known = {**asked, **NEAR, **options}
    with dask.config.set({"fairfront.small_bytes": 0}):
        there = ff.trace(far(X, CHUNK), far(y, CHUNK), **far(rows, CHUNK), held_out=True, **known)
    here = ff.trace(X, y, **rows, held_out=False, **known)
    return there, here, (X, y, rows, asked)


def refitted(front: ff.Frontier, X: Any, y: Any, rows: Any, asked: dict[str, Any]) -> Any:
    """Return the scores (N, K, n) of rows by points that are refitted without their folds, in memory."""
    problem = linear_problem(X, y, **rows, **asked).framed()
    weight = rows.get("sample_weight")
    busy = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
    fold = np.concatenate([fold_of(i, len(y[a : a + CHUNK])) for i, a in enumerate(range(0, len(y), CHUNK))])[busy]
    order, solver = problem.layout.cells.order, ff.Newton()
    caps = np.stack([tops(problem.algebra, row, solver.path) for row in problem.algebra.violation(front.signed_gaps)])
    W = problem.from_user(front.models.weights)
    found = refit(problem, solver, Samples.without(problem, fold[order], FOLDS), W, caps, front.plain)
    scores = np.empty((len(W), problem.K, len(busy)))
    for f in range(FOLDS):
        left = problem.to_user(found.W[f])
        inside = np.flatnonzero(fold == f)
        features = (
            np.column_stack([X[busy[inside]], np.ones(len(inside))]) if problem.fit_intercept else X[busy[inside]]
        )
        scores[:, :, inside] = np.einsum("nkd,id->nki", left, features)
    return scores, busy


@pytest.mark.parametrize("name", JUDGED)
def test_one_step_leaves_a_fold_out_as_a_refit_does(name: str) -> None:
    there, here, (X, y, rows, asked) = on_dask(name)
    np.testing.assert_allclose(there.loss, here.loss, rtol=1e-6)
    record = there.evaluations["held_out"]
    assert record.made == "10 folds, one Newton step each"
    scores, busy = refitted(there, X, y, rows, asked)
    assert record.n == len(busy)
    w = rows.get("sample_weight", np.ones(len(y)))[busy]
    if name == "regression":
        mse = ((scores[:, 0] - y[busy]) ** 2) @ w / w.sum()
        np.testing.assert_allclose(record["mse"], mse, rtol=5e-3)
        return
    classes = np.unique(y)
    decided = classes[(scores[:, 0] > 0).astype(int)] if len(classes) == 2 else classes[scores.argmax(axis=1)]
    error = (decided != y[busy]) @ w / w.sum()
    solved = there.solved
    np.testing.assert_allclose(record["error"][solved], error[solved], atol=0.002)


def test_training_rows_are_not_judged_by_models_that_saw_them() -> None:
    there, here, (X, y, rows, _) = on_dask("equal opportunity", n=3000)
    seen = here.evaluate(X, y, sensitive_features=rows["sensitive_features"], name="training")
    record = there.evaluations["held_out"]
    assert not np.array_equal(record["error"], seen.evaluations["training"]["error"])
    assert there.choice(at_most={"tpr_gap": 0.9}).on == "held_out"
    again, _, _ = on_dask("equal opportunity", n=3000)
    for name, values in record.columns.items():
        np.testing.assert_array_equal(values, again.evaluations["held_out"][name])


def test_small_collections_are_judged_in_memory_by_leave_one_out() -> None:
    X, y, rows, asked = given(n=600)
    there = ff.trace(far(X), far(y), **far(rows), **asked, **NEAR, held_out=True)
    here = ff.trace(X, y, **rows, **asked, **NEAR, held_out=True)
    assert there.evaluations["held_out"].made == "leave-one-out in closed form"
    np.testing.assert_array_equal(there.evaluations["held_out"]["error"], here.evaluations["held_out"]["error"])
    assert not ff.trace(far(X), far(y), **far(rows), **asked, **NEAR).evaluations


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("equal opportunity", {"person": np.arange(600)}, "whose people may have rows in several"),
        ("equal opportunity", {"held_out": {"approval_rate": 0.5}}, "judged at a cut-off of 0.5"),
        ("hinge", {}, "expected a smooth loss"),
        ("curves", {}, "linear in it, without signs"),
        ("signs", {}, "linear in it, without signs"),
    ],
)
def test_what_one_step_cannot_do_is_refused(name: str, options: dict[str, Any], match: str) -> None:
    X, y, rows, asked = given(name, 600)
    known = {"held_out": True, **asked, **NEAR, **options}
    with dask.config.set({"fairfront.small_bytes": 0}), pytest.raises(ff.InputError, match=match):
        ff.trace(far(X), far(y), **far(rows), **known)
