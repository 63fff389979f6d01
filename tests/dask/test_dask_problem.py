"""The same linear problem on Dask collections: same cells, Hessians and frontiers as in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.problems import linear_problem
from fairfront.problems.dask.problem import DaskProblem
from fairfront.tracing import trace_problem
from tests.support.dask_rows import CASES, assert_same, both, dask, far, given

pytestmark = pytest.mark.usefixtures("on_dask")


@pytest.mark.parametrize("name", CASES)
def test_cells_and_hessians_are_those_in_memory(name: str) -> None:
    near, away = both(name)
    assert isinstance(away, DaskProblem)
    assert (near.task, near.objectives.question.ridge, near.objectives.attributes[0].levels) == (
        away.task,
        away.objectives.question.ridge,
        away.objectives.attributes[0].levels,
    )
    assert [a.n_missing for a in near.objectives.attributes] == [a.n_missing for a in away.objectives.attributes]
    one, two = near, away
    np.testing.assert_array_equal(one.layout.cells.offsets, two.layout.cells.offsets)
    assert one.layout.cells.n == two.layout.cells.n
    np.testing.assert_allclose(one.algebra.B, two.algebra.B, atol=1e-15)
    W = np.random.default_rng(1).normal(size=(3, one.K, one.d))
    omega = np.random.default_rng(2).normal(size=len(one.algebra.p))
    for some in (W, W[:1]):
        for field in ("L", "Q", "D"):
            found, expected = getattr(two.cells(some), field), getattr(one.cells(some), field)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(two.values(W), one.values(W), rtol=1e-12)
    np.testing.assert_allclose(two.hessian(W[0], omega), one.hessian(W[0], omega), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(two.column_scale(), one.column_scale(), rtol=1e-12)
    spread = one.rows.target_variance if "squared" in str(one.loss).lower() else 0.0
    np.testing.assert_allclose(two.rows.target_variance, spread)
    V = np.random.default_rng(4).normal(size=(2, one.K * one.d))
    solved = [p.conjugate(W[0], np.abs(omega)).product(V) for p in (one, two)]
    np.testing.assert_allclose(*solved, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "name", ["equal opportunity", "classes", "regression", "weights", "missing groups, reference", "signs"]
)
def test_newton_traces_the_same_frontier(name: str) -> None:
    near, away = both(name, n=400)
    one, two = (trace_problem(problem, "newton", n_points=4, progress=False) for problem in (near, away))
    assert_same(one, two)
    assert one.facts.sensitive == two.facts.sensitive
    assert one.facts.question == two.facts.question


def test_newton_needs_few_passes() -> None:
    rng = np.random.default_rng(0)
    group = (rng.random(4000) < 0.3).astype(int)
    X = rng.normal(size=(4000, 10))
    X[:, :5] -= 0.6 * group[:, None]
    y = (0.5 * X.sum(axis=1) + rng.logistic(size=4000) > 0).astype(int)
    passes = {}
    for keep in ("memory", "source"):
        with dask.config.set({"fairfront.keep": keep}):
            problem = linear_problem(far(X, 2000), far(y, 2000), sensitive_features=far(group, 2000))
        front = trace_problem(problem, "newton", n_points=12, progress=False)
        assert front.certified.all()
        passes[keep] = problem.passes
    assert passes["source"] < passes["memory"] < 75


def test_pb_pdo_takes_all_preferences_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    near, away = both("equal opportunity", n=400)
    seen: list[int] = []
    before = away.rows.cell_sums

    def counted(measures: Any, k: int, W: Any, gradients: bool) -> Any:
        seen.append(len(W))
        return before(measures, k, W, gradients)

    monkeypatch.setattr(away.rows, "cell_sums", counted)
    preferences = np.array([[1.0, 5.0], [1.0, 50.0], [1.0, 500.0]])
    one, two = (trace_problem(s, "pb_pdo", preferences=preferences, progress=False) for s in (near, away))
    assert max(seen[:-1]) == 3
    np.testing.assert_allclose(one.objectives[:, 0], two.objectives[:, 0], rtol=1e-8)
    assert_same(one, two)


@pytest.mark.parametrize("solver", [ff.Newton(no_group_worse=0.05), ff.PDO(max_iter=20)])
def test_other_solvers_run_on_it_as_well(solver: Any) -> None:
    near, away = both("equal opportunity", n=400)
    options = {"n_points": 4, "progress": False, "random_state": 0}
    one, two = (trace_problem(problem, solver, **options) for problem in (near, away))
    np.testing.assert_allclose(one.objectives, two.objectives, rtol=1e-8, atol=1e-8)


def test_hessians_that_are_never_formed_solve_alike() -> None:
    near, away = both("equal opportunity", n=400)
    W, omega = np.zeros((1, near.d)), near.algebra.p
    V = np.random.default_rng(0).normal(size=(2, near.d))
    first = away.passes
    one, two = (problem.conjugate(W, omega).solve(V) for problem in (near, away))
    np.testing.assert_allclose(one, two, rtol=1e-8)
    assert away.passes > first


class TestAfterTracing:
    def test_the_frontier_holds_nothing_of_dask(self) -> None:
        X, y, rows, options = given(n=400)
        front = ff.trace(far(X), far(y), **far(rows), **options, n_points=3, progress=False)
        assert "dask" not in repr(front.facts).lower()
