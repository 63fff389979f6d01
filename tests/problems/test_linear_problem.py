"""The linear problem: Hessians, metrics, moves, and weighted fits against scikit-learn's optima."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from fairfront.objectives import LOSSES
from fairfront.objectives.losses import SmoothedHinge
from fairfront.problems import (
    FirstOrder,
    LinearProblem,
    SecondOrder,
    WeightedFit,
    linear,
    linear_problem,
    point,
    samples,
)
from fairfront.problems.sparse_design import sorted_design
from tests.support.cases import Case, assemble, case_of, central, draw

SMOOTH = [name for name in LOSSES if LOSSES[name].smooth]


def plain(kind: str = "binary", loss: str | None = None, scale: float = 1.0, **options) -> LinearProblem:
    """Return a problem with scikit-learn's default ridge, C = 1."""
    X, y, columns = draw(kind)
    if isinstance(loss, str) and LOSSES[loss].link:  # whose values are counts, amounts or shares
        y = 1.0 / (1.0 + np.exp(-y))
    return assemble(X * scale, y, columns["sex"], kind, ("disparate_mistreatment",), loss, ridge=1 / len(y), **options)


def objective(problem: LinearProblem, W: np.ndarray, omega: np.ndarray | None = None) -> float:
    return float(problem.values(W[None])[0] @ (problem.algebra.p if omega is None else omega))


def gradient(problem: LinearProblem, W: np.ndarray, omega: np.ndarray) -> np.ndarray:
    return omega @ problem.cells(W[None]).D[0]


class TestEveryCase:
    def test_hessian_is_the_derivative_of_the_gradient(self, case: Case) -> None:
        problem, W = case.problem, case.weights(1)[0]
        omega = np.random.default_rng(4).normal(size=problem.layout.k)
        assert omega.min() < 0.0 < omega.max()
        H = problem.hessian(W, omega)
        numeric = central(lambda w: gradient(problem, w, omega), W)
        np.testing.assert_allclose(H, numeric, atol=1e-7)
        np.testing.assert_allclose(H, H.T, atol=1e-12)

    def test_directions_in_a_metric(self, case: Case) -> None:
        problem, W = case.problem, case.weights(2)
        G = problem.cells(W).D
        root = np.random.default_rng(5).normal(size=(G.shape[2], G.shape[2]))
        M = root @ root.T + np.eye(len(root))
        point = problem.with_metric(M).cells(W)
        np.testing.assert_allclose(point.D, np.linalg.solve(M, G.transpose(0, 2, 1)).transpose(0, 2, 1), atol=1e-8)
        np.testing.assert_allclose(point.Q, G @ np.linalg.inv(M) @ G.transpose(0, 2, 1), atol=1e-8)
        np.testing.assert_array_equal(problem.with_metric(M).without_metric().cells(W).D, G)
        diagonal = problem.with_metric(np.diag(M)).cells(W)
        np.testing.assert_allclose(diagonal.D, G / np.diag(M), rtol=1e-12)

    def test_moves_follow_the_directions(self, case: Case) -> None:
        problem, W = case.problem, case.weights(2)
        assert all(isinstance(problem, capability) for capability in (FirstOrder, SecondOrder, WeightedFit))
        point = problem.cells(W)
        beta = np.random.default_rng(6).normal(size=point.L.shape)
        expected = np.stack([w.reshape(-1) - b @ D for w, b, D in zip(W, beta, point.D, strict=True)])
        np.testing.assert_allclose(problem.move(point, beta), expected.reshape(W.shape), atol=1e-12)

    def test_fit_is_stationary(self, case: Case) -> None:
        problem, p = case.problem, case.problem.algebra.p
        W = problem.fit(p)
        assert np.abs(gradient(problem, W, p)).max() < 1e-6
        again = problem.fit(p, start=case.weights(1)[0])
        np.testing.assert_allclose(objective(problem, again), objective(problem, W), atol=1e-12)


def test_points_are_taken_and_mixed() -> None:
    problem = case_of("classes").problem
    one, two = (problem.cells(case_of("classes").weights(3, seed)) for seed in (1, 2))
    mixed = one.where(np.array([True, False, True]), two)
    np.testing.assert_array_equal(mixed.W, np.stack([one.W[0], two.W[1], one.W[2]]))
    np.testing.assert_array_equal(mixed.Q[1], two.Q[1])
    np.testing.assert_array_equal(mixed.take(np.array([1])).D, two.D[1:2])
    assert one.where(np.ones(3, dtype=bool), two) is one
    assert mixed.take(np.array([True, False, True])).runs == 2


def stacked(model) -> np.ndarray:
    intercept = np.zeros(len(np.atleast_2d(model.coef_))) + model.intercept_
    return np.column_stack([np.atleast_2d(model.coef_), intercept])


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_likelihoods_reach_logistic_regression(kind: str) -> None:
    X, y, _ = draw(kind)
    problem = plain(kind)
    W = problem.fit(problem.algebra.p)
    model = LogisticRegression(tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(X, y)
    theirs = stacked(model)
    assert abs(objective(problem, W) - objective(problem, theirs)) < 1e-8
    scores = X @ (W - W.mean(axis=0) if kind == "multiclass" else W)[:, :-1].T
    reference = X @ (theirs - theirs.mean(axis=0) if kind == "multiclass" else theirs)[:, :-1].T
    np.testing.assert_allclose(scores, reference, atol=1e-5)


def test_squared_loss_reaches_ridge() -> None:
    """The mean of r^2 / 2 with ridge / 2 |w|^2, times 2 n: sum r^2 + n ridge |w|^2, alpha = n ridge = 1."""
    X, y, _ = draw("regression")
    problem = plain("regression")
    W = problem.fit(problem.algebra.p)
    np.testing.assert_allclose(W, stacked(Ridge(alpha=1.0).fit(X, y)), atol=1e-9)


@pytest.mark.parametrize(("loss", "slack"), [("squared_hinge", 1e-8), ("hinge", 0.01)])
def test_hinges_reach_linear_svc(loss: str, slack: float) -> None:
    """Times n C, with ridge = 1 / (n C): C sum hinge + |w|^2 / 2. LinearSVC would penalise its intercept."""
    X, y, _ = draw()
    problem = plain(loss=loss, intercept=False)
    model = LinearSVC(loss=loss, tol=1e-10, max_iter=2_000_000, fit_intercept=False, dual=True, random_state=0)
    theirs = objective(problem, model.fit(X, y).coef_)
    ours = objective(problem, problem.fit(problem.algebra.p))
    assert theirs - 1e-8 < ours < theirs + slack


@pytest.mark.parametrize(("loss", "kind"), [(name, kind) for name in LOSSES for kind in LOSSES[name].kinds])
def test_lbfgs_agrees_with_newton(loss: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = plain(kind, loss)
    rng = np.random.default_rng(7)
    omega = problem.algebra.p * np.append(rng.uniform(0.5, 1.5, problem.layout.k - 1), 1.0)
    exact = problem.fit(omega)
    monkeypatch.setattr(linear, "DENSE_LIMIT", 0)
    monkeypatch.setattr(point, "newton", None)
    found = problem.fit(omega)
    assert abs(objective(problem, found, omega) - objective(problem, exact, omega)) < 1e-8


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("width", [0.5, 0.02, 0.004])
def test_fits_without_curvature_at_the_start(width: float, scale: float) -> None:
    """At zero all margins lie outside the band of a narrow hinge, where Newton steps mean nothing."""
    problem = plain(loss=SmoothedHinge(width), scale=scale)
    p = problem.algebra.p
    W = problem.fit(p)
    assert np.abs(gradient(problem, W, p)).max() < 1e-6 * scale
    hinge = plain(loss="hinge", scale=scale)
    best = objective(hinge, hinge.fit(p))
    assert objective(problem, W) <= best + 1e-9
    assert best <= objective(problem, W) + width / 2.0 + 0.01


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_a_fit_takes_no_hessian_where_it_ends(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[np.ndarray] = []
    before = LinearProblem.hessian

    def watched(self: LinearProblem, W: np.ndarray, omega: np.ndarray, float32: bool = False) -> np.ndarray:
        taken.append(W)
        return before(self, W, omega, float32)

    monkeypatch.setattr(LinearProblem, "hessian", watched)
    problem = plain(kind)
    found = problem.fit(problem.algebra.p)
    assert len(taken) > 2
    assert not any(np.array_equal(W, found) for W in taken)


def test_fit_weighs_cells_as_repeated_rows() -> None:
    """The minimiser of omega.L is a weighted fit with row weights omega_cell / p_cell."""
    X, y, _ = draw()
    problem = plain()
    omega = problem.algebra.p * np.array([0.3, 1.4, 1.0])
    factor, cells = np.zeros(len(y)), problem.layout.cells
    for cell in range(cells.count):
        factor[cells.order[cells.offsets[cell] : cells.offsets[cell + 1]]] = omega[cell] / problem.algebra.p[cell]
    model = LogisticRegression(tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(X, y, sample_weight=factor)
    np.testing.assert_allclose(problem.fit(omega), stacked(model), atol=1e-6)


def test_metric_is_a_hessian_a_whitening_or_a_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = draw()
    smooth, kinked = plain(), plain(loss="hinge")
    W = np.ones((1, 4))
    np.testing.assert_array_equal(smooth.metric(W), smooth.hessian(W, smooth.algebra.p))
    rows = np.column_stack([X, np.ones(len(y))])
    ridge = np.diag([1.0, 1.0, 1.0, 0.0]) / len(y)
    np.testing.assert_allclose(kinked.metric(W), rows.T @ rows / len(y) + ridge, atol=1e-12)
    assert np.abs(kinked.with_metric(kinked.metric(W)).cells(W[None]).D).max() < 10.0
    monkeypatch.setattr(linear, "DENSE_LIMIT", 3)
    np.testing.assert_array_equal(smooth.metric(W), np.ones(4))
    np.testing.assert_array_equal(smooth.with_metric(smooth.metric(W)).cells(W[None]).Q, smooth.cells(W[None]).Q)


@pytest.mark.parametrize("loss", SMOOTH)
def test_fits_take_no_notice_of_the_metric(loss: str) -> None:
    problem = plain(LOSSES[loss].kinds[0], loss)
    bent = problem.with_metric(np.diag(np.arange(1.0, problem.K * problem.d + 1.0)))
    np.testing.assert_array_equal(bent.fit(problem.algebra.p), problem.fit(problem.algebra.p))


def test_sparse_rows_are_taken_without_a_copy() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((50, 7), density=0.3, rng=rng, format="csr")
    order = rng.permutation(50)
    thin, full = sorted_design(X, order, True), sorted_design(X.toarray(), order, True)
    W, S, v = rng.normal(size=(2, 8)), rng.normal(size=(2, 20)), rng.uniform(size=20)
    assert np.shares_memory(thin.taken(5, 25).data, thin.X.data)
    assert thin.X.indices.dtype == np.int32
    np.testing.assert_allclose(thin.scores(5, 25, W), full.scores(5, 25, W))
    np.testing.assert_allclose(thin.pull(5, 25, S), full.pull(5, 25, S))
    np.testing.assert_allclose(np.triu(thin.weighted(5, 25, v)), np.triu(full.weighted(5, 25, v)))
    np.testing.assert_allclose(thin.squares(5, 25, v), full.squares(5, 25, v))


@pytest.mark.parametrize("weighted", [False, True])
def test_some_rows_lead_near_the_fit_of_all(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    X, group = rng.normal(size=(6000, 3)), rng.integers(0, 3, 6000)
    y, weight = rng.poisson(np.exp(X @ [0.4, -0.2, 0.1])), rng.uniform(0.2, 2.0, 6000) if weighted else None
    problem = linear_problem(
        X, y, sensitive_features=group, loss="poisson", notion="link_scale_parity", sample_weight=weight
    )
    monkeypatch.setattr(samples, "PER_WEIGHT", 500)
    assert samples.on_few(problem) is None
    monkeypatch.undo()
    few = samples.on_few(problem)
    assert few is not None
    assert 300 < few.piece.n < 500
    p, W = problem.algebra.p, problem.fit(problem.algebra.p)
    totals = [np.bincount(few.layout.cells.of_sorted, few.layout.cells.row_weight), few.layout.cells.weight]
    np.testing.assert_allclose(totals[0], totals[1])
    near = few.fit(p)
    assert 1e-3 < np.abs(near - W).max() < 0.2
    np.testing.assert_allclose(problem.fit(p, near), W, atol=1e-6)


def test_sums_of_linear_measures_are_kept_and_equal_to_fresh_ones() -> None:
    X, y, columns = draw("regression")
    problem = assemble(X, y, columns["sex"], "regression", ("link_scale_parity",), None)
    W = np.random.default_rng(5).normal(size=(3, 1, problem.d))
    asked = (problem.measures, problem.layout.k, problem.inner(W), True)
    for _ in range(2):
        for kept, fresh in zip(problem.piece.cell_sums(*asked), problem.piece.fresh_sums(*asked), strict=True):
            np.testing.assert_allclose(kept, fresh, rtol=1e-12, atol=1e-9)
    assert problem.piece.kept
