"""The Newton tracer where it is hard (separable, wide, badly scaled, indefinite, out of reach), and its options."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairfront as ff
from fairfront.problems import LinearProblem, factorisation, linear
from fairfront.solvers import sqp
from fairfront.solvers.sqp import ExactTolerances, PointSolver, Units
from tests.support.points import TracedPoint, newton_path
from tests.support.twins import Twin, drawn, flat, slsqp

LOSS_OF = {"classes": "logistic", "values": "squared"}


def traced(twin: Twin, X: np.ndarray | None = None, y: np.ndarray | None = None, **options: object) -> ff.Frontier:
    given = {"groups": ff.Groups(min_size=1), "ridge": twin.ridge, "notion": twin.notion, "held_out": False, **options}
    rows = (twin.X if X is None else X, twin.y if y is None else y)
    return ff.trace(*rows, sensitive_features=twin.group.astype(str), **given)


def assert_ended_well(front: ff.Frontier, tol: float = 1e-8) -> None:
    """Every point converged, and the front is one: no point has a larger loss and a larger gap than its neighbour."""
    assert all(status.solved for status in front.status)
    assert front.kkt.max() <= tol
    assert np.isfinite(front.models.coef).all()
    assert (np.diff(front.gaps.max(axis=1)) <= 1e-7).all()


@pytest.mark.slow
@pytest.mark.parametrize("notion", ["equal_opportunity", "equalized_odds", "demographic_parity", "group_loss"])
@pytest.mark.parametrize("ridge", [0.0, 1e-8, 1e-3])
@pytest.mark.filterwarnings("ignore:unconstrained training has no certain optimum at ridge 0:")
def test_separable_data(notion: str, ridge: float) -> None:
    twin = drawn(0, 2, notion)
    front = traced(twin, y=np.where(twin.X[:, 0] + 0.3 * twin.X[:, 1] > 0, 1.0, -1.0), ridge=ridge)
    assert_ended_well(front)
    assert front.loss[0] < (1e-12 if ridge == 0.0 else 0.2)
    assert ridge > 0.0 or not front.certified[0]  # no optimum exists


def test_the_last_bits_of_a_gap_are_not_a_violation() -> None:
    """Where plain losses vanish and gaps are large, a gap one bit above its cap stopped the solver on some machines."""
    twin = drawn(0, 2, "demographic_parity")
    y, ahead = np.where(twin.X[:, 0] + 0.3 * twin.X[:, 1] > 0, 1.0, -1.0), np.array([[1.0, 0.3, 0.0, 0.0, 0.0]])
    known = {"sensitive_features": twin.group.astype(str), "notion": twin.notion, "ridge": 0.0}
    problem = ff.linear_problem(twin.X, y, **known)
    units = Units.of(problem, problem.algebra, 1e-6)
    solver = PointSolver(problem, problem.algebra, units, ExactTolerances())
    none = np.zeros(len(problem.algebra.b))
    (at,) = solver.evaluate(1e5 * ahead[None], none[None], none[None])
    caps = solver.sizes(at.L)
    assert solver.residual(at.L, at.G, none, np.nextafter(caps, 0.0)) <= 1e-9
    assert solver.residual(at.L, at.G, none, (1.0 - 1e-12) * caps) > 1e-3


@pytest.mark.parametrize("kind", LOSS_OF)
@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_collinear_and_constant_features_change_nothing_but_weights(kind: str, ridge: float) -> None:
    twin = drawn(1, 2, "disparate_mistreatment")
    y = twin.y if kind == "classes" else twin.X @ [1.0, -1.0, 0.5, 0.0] * (1.0 + twin.group) + twin.y
    X = np.column_stack([twin.X, twin.X[:, 0] - twin.X[:, 1], np.ones(len(twin.X)), np.zeros(len(twin.X))])
    one = traced(twin, y=y, loss=LOSS_OF[kind], ridge=ridge, n_points=6)
    two = traced(twin, X, y, loss=LOSS_OF[kind], ridge=ridge, n_points=6)
    assert_ended_well(two)
    if ridge == 0.0:
        np.testing.assert_allclose(two.models.scores(X), one.models.scores(twin.X), atol=1e-5)
        np.testing.assert_allclose(two.loss, one.loss, atol=1e-9)


def test_a_cell_with_one_row() -> None:
    twin = drawn(2, 2, "equalized_odds")
    twin = replace(twin, group=twin.group.copy())
    twin.group[[np.flatnonzero(twin.y == label)[0] for label in (1.0, -1.0)]] = 2
    for notion in ("equalized_odds", "demographic_parity", "group_loss"):
        assert_ended_well(traced(twin, notion=notion))


@pytest.mark.parametrize("kind", LOSS_OF)
@pytest.mark.parametrize("ridge", [0.0, 1e-2])
@pytest.mark.filterwarnings("ignore:unconstrained training has no certain optimum at ridge 0:")
def test_more_features_than_rows(kind: str, ridge: float) -> None:
    twin = drawn(3, 2, "disparate_mistreatment", n=60)
    wide = np.column_stack([twin.X, np.random.default_rng(0).normal(size=(60, 90))])
    y = twin.y if kind == "classes" else twin.X[:, 0] + twin.y
    for notion in ("disparate_mistreatment", "demographic_parity", "group_loss"):
        front = traced(twin, wide, y, loss=LOSS_OF[kind], ridge=ridge, notion=notion)
        assert all(status.solved for status in front.status)
        assert front.kkt.max() <= 1e-8
        assert ridge > 0.0 or front.loss[0] < 1e-12


@pytest.mark.parametrize("notion", ["equal_opportunity", "group_loss", "demographic_parity"])
def test_conjugate_gradients_above_the_dense_limit(monkeypatch: pytest.MonkeyPatch, notion: str) -> None:
    twin = drawn(4, 3, notion)
    dense = traced(twin, n_points=6)
    for module in (linear, sqp):
        monkeypatch.setattr(module, "DENSE_LIMIT", 2)
    monkeypatch.setattr(LinearProblem, "hessian", None)
    sparse = traced(twin, n_points=6)
    assert_ended_well(sparse, 1e-6)
    np.testing.assert_allclose(sparse.objectives, dense.objectives, atol=1e-6)
    np.testing.assert_allclose(sparse.models.coef, dense.models.coef, atol=1e-5)


@pytest.mark.parametrize("notion", ["equal_opportunity", "demographic_parity", "group_loss"])
def test_units_of_columns_and_labels_do_not_matter(notion: str) -> None:
    twin = drawn(5, 2, notion, d=5)
    scale = 10.0 ** np.array([-8.0, -4.0, 0.0, 4.0, 8.0])
    one, two = traced(twin, ridge=0.0), traced(twin, twin.X * scale, ridge=0.0)
    assert_ended_well(two)
    np.testing.assert_allclose(two.models.scores(twin.X * scale), one.models.scores(twin.X), atol=1e-6)
    y = twin.X @ np.arange(5.0) * (1.0 + twin.group) + twin.y
    if notion != "equal_opportunity":
        given = {"loss": "squared", "n_points": 6}
        one, two = traced(twin, y=y, **given), traced(twin, y=1e5 * y, **given)
        np.testing.assert_allclose(two.models.coef, 1e5 * one.models.coef, rtol=1e-6)
        assert two.status == one.status
        np.testing.assert_allclose(two.loss, 1e10 * one.loss, rtol=1e-9)


def assert_locally_best(problem: LinearProblem, point: TracedPoint) -> None:
    """SLSQP, started at the point, finds no smaller loss within its caps; neither does it from plain training."""
    a, shape = problem.algebra, (1, problem.K, problem.d)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        at = problem.cells(w.reshape(shape))
        return float(a.loss(at.L)[0]), a.p @ at.D[0]

    def room(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = problem.cells(w.reshape(shape))
        z, J = a.gaps(at.L)[0], a.B @ at.D[0]
        return np.concatenate([point.caps - z, point.caps + z]), np.vstack([-J, J])

    starts = [flat(point), problem.fit(a.p).reshape(-1)]
    assert float(a.p @ point.L) == pytest.approx(loss(slsqp(loss, room, starts))[0], rel=1e-6)


def test_an_indefinite_hessian_is_augmented_on_the_active_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight groups, squared loss: omega / p far below 0, the Hessian indefinite, the reduced one positive."""
    rng = np.random.default_rng(0)
    n, d, group = 640, 8, np.arange(640) % 8
    X = rng.normal(size=(n, d)) + 0.4 * rng.normal(size=(8, d))[group]
    y = (X * (rng.normal(size=d) + 0.8 * rng.normal(size=(8, d)))[group]).sum(axis=1) + rng.normal(size=n) * (
        1 + 0.5 * group
    )
    problem = ff.linear_problem(
        X, y, sensitive_features=group.astype(str), loss="squared", notion="disparate_mistreatment"
    )
    used = []
    monkeypatch.setattr(factorisation.Factor, "corrected", _counted(factorisation.Factor.corrected, used))
    points = newton_path(problem, ff.Newton(), n_points=6)
    assert used
    negative = 0
    for point in points[1:]:
        assert point.status.solved
        assert point.kkt <= 1e-8
        omega = problem.algebra.p + point.multipliers @ problem.algebra.B
        values = np.linalg.eigvalsh(problem.hessian(point.W, omega))
        if values[0] < -1e-3 * values[-1]:
            negative += 1
            active = problem.algebra.B[point.multipliers != 0] @ point.G
            null = np.linalg.svd(active)[2][np.linalg.matrix_rank(active) :]
            assert np.linalg.eigvalsh(null @ problem.hessian(point.W, omega) @ null.T)[0] > 0
            assert (omega / np.maximum(problem.algebra.p, 1e-300))[:8].min() < -1.0
            assert not point.certified
            assert_locally_best(problem, point)
    assert negative >= 2


def _counted(function, seen: list[int]):
    def counted(*given):
        seen.append(1)
        return function(*given)

    return counted


@pytest.mark.parametrize(("seed", "groups"), [(0, 2), (1, 3), (2, 5)])
def test_what_is_out_of_reach_ends_at_the_minimax_loss(seed: int, groups: int) -> None:
    twin = drawn(seed, groups, "group_loss")
    plain = newton_path(twin.problem(), ff.Newton(), n_points=2)
    worst = twin.gaps(flat(plain[0]))[0].max()

    def room(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z, J = twin.gaps(v[:-1])
        return v[-1] - z, np.column_stack([-J, np.ones(len(z))])

    last = np.eye(6)[-1]
    least = slsqp(lambda v: (v[-1], last), room, [np.append(flat(plain[0]), worst)])[-1]
    assert plain[-1].status is ff.Status.FLOOR
    assert least <= plain[-1].caps.max() <= least + 0.02 * (worst - least)
    asked = ff.solve(twin.problem(), max_gap=0.5 * least)
    assert asked.status == (ff.Status.OUT_OF_REACH,)
    liked = ff.solve(twin.problem(), preferences=np.array([[1.0] + [1e4] * groups]))
    assert liked.status == (ff.Status.OUT_OF_REACH,)
    for found in (asked, liked):
        assert twin.gaps(found.W.reshape(-1))[0].max() == pytest.approx(least, rel=0.01)


@pytest.mark.parametrize(("surrogate", "worse"), [("loss", 1.0), ("rate", -1.0)])
@pytest.mark.parametrize("allowed", [0.0, 0.02])
def test_no_group_gets_worse_than_allowed(surrogate: str, worse: float, allowed: float) -> None:
    problem = drawn(1, 3, "equal_opportunity").problem(surrogate=surrogate)
    a = problem.algebra
    free, held = (newton_path(problem, ff.Newton(no_group_worse=most)) for most in (None, allowed))
    paid = [(worse * (np.array([k.L for k in ks]) - ks[0].L) @ a.means.T).max() for ks in (free, held)]
    assert paid[0] > 0.05
    assert paid[1] <= allowed + 1e-8
    assert max(held[-1].caps.max(), held[-1].kkt) <= 1e-8
    assert a.p @ held[-1].L > a.p @ free[-1].L


def test_overshoot_ends_at_the_stated_share_of_the_other_sign() -> None:
    twin = drawn(1, 2, "equal_opportunity")
    front = traced(twin, solver=ff.Newton(overshoot=0.5), n_points=7)
    past = np.array([status is ff.Status.PAST for status in front.status])
    share = -front.signed_gaps[past, 0] / front.signed_gaps[0, 0]
    np.testing.assert_allclose(share, np.linspace(0.0, 0.5, past.sum() + 1)[1:], atol=1e-7)
    np.testing.assert_array_equal(front.objectives[~past], traced(twin, n_points=7).objectives)
    assert front.kkt.max() <= 1e-8


def test_restarts_never_make_a_rate_surrogate_worse() -> None:
    problem = drawn(3, 3, "equalized_odds").problem(surrogate="rate")
    one, two = (newton_path(problem, ff.Newton(restarts=count), n_points=6) for count in (0, 4))
    losses = np.array([[problem.algebra.p @ point.L for point in points] for points in (one, two)])
    assert (losses[1] <= losses[0] + 1e-9).all()
    assert all(point.status.solved and point.kkt <= 1e-8 for point in two)
