"""The Newton tracer against closed forms, SciPy's SLSQP and plain numpy: optimal points, slopes, certificates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import fairfront as ff
from fairfront.tracing import trace_problem
from tests.support.points import newton_path, point_solver, solve_caps
from tests.support.twins import cohort, drawn, flat

NOTIONS = ("equal_opportunity", "equalized_odds", "demographic_parity", "group_loss")


def test_one_parameter_in_closed_form() -> None:
    """Without an intercept every group's loss is a parabola in the slope: the best slope is the nearest root."""
    rng = np.random.default_rng(0)
    n, group = 400, np.arange(400) % 2
    x = rng.normal(size=n) * np.where(group, 1.0, 1.6)
    y = np.where(group, 0.4, 1.3) * x + rng.normal(size=n) * np.where(group, 0.8, 1.1)
    parts = [np.array([x[m] @ x[m], -2.0 * x[m] @ y[m], y[m] @ y[m]]) / (2 * m.sum()) for m in (group == 0, group == 1)]
    gap, plain = parts[0] - parts[1], (x @ y) / (x @ x)
    front = ff.trace(
        x[:, None], y, sensitive_features=group.astype(str), loss="squared", notion="disparate_mistreatment", ridge=0.0,
        fit_intercept=False, groups=ff.Groups(reference="1"),
    )  # fmt: skip
    assert front.certified[:-1].all()
    for i in range(len(front)):
        cap = front.gaps[i, 0]
        roots = [r.real for c in (cap, -cap) for r in np.roots(gap - [0, 0, c]) if abs(r.imag) < 1e-6]
        nearest = min(roots, key=lambda r: abs(r - plain))
        assert front.models.coef[i, 0, 0] == pytest.approx(nearest, abs=1e-7)
        assert front.loss[i] == pytest.approx(np.polyval((parts[0] + parts[1]) / 2, nearest), abs=1e-10)


def test_two_parameters_by_a_root_in_the_multiplier() -> None:
    """With an intercept the optimum solves (H + t D) w = h + t e, and t is the root of gap(t) = cap."""
    rng = np.random.default_rng(1)
    n, group = 600, (np.arange(600) % 3 == 0).astype(int)
    x = rng.normal(size=n) + 0.5 * group
    y = x + 1.2 * group * x - 0.5 * group + rng.normal(size=n) * np.where(group, 0.8, 0.7)
    A = np.column_stack([x, np.ones(n)])
    H = [A[group == g].T @ A[group == g] / (group == g).sum() for g in (0, 1)]
    h = [A[group == g].T @ y[group == g] / (group == g).sum() for g in (0, 1)]
    share = np.array([(group == 0).mean(), (group == 1).mean()])

    def at(t: float) -> np.ndarray:
        a, b = share + t * np.array([-1.0, 1.0])
        return np.linalg.solve(a * H[0] + b * H[1], a * h[0] + b * h[1])

    def gap(w: np.ndarray) -> float:
        return float(np.diff([0.5 * ((A[group == g] @ w - y[group == g]) ** 2).mean() for g in (0, 1)])[0])

    front = ff.trace(
        x[:, None], y, sensitive_features=group.astype(str), loss="squared", notion="disparate_mistreatment", ridge=0.0,
        groups=ff.Groups(reference="0"),
    )  # fmt: skip
    for i in range(1, len(front)):
        t = brentq(lambda t, cap: gap(at(t)) - cap, 0.0, share[0] - 1e-9, args=(front.gaps[i, 0],), xtol=1e-14)
        w = np.append(front.models.coef[i, 0], front.models.intercept[i])
        np.testing.assert_allclose(w, at(t), atol=1e-7)
        assert front.multipliers[i, 0] == pytest.approx(t, abs=1e-6)


@pytest.mark.slow
@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 999), groups=st.sampled_from([2, 3]), notion=st.sampled_from(NOTIONS))
def test_points_are_those_of_slsqp_and_multipliers_their_slopes(seed: int, groups: int, notion: str) -> None:
    twin = drawn(seed, groups, notion)
    problem = twin.problem()
    points = newton_path(problem, ff.Newton(), n_points=6)
    solver = point_solver(ff.Newton(), problem, points[0].W)
    losses = np.array([twin.loss(flat(point))[0] for point in points])
    span = losses[-1] - losses[0]
    assert (np.diff(losses) >= -1e-12).all()
    for point, loss in zip(points[1:], losses[1:], strict=True):
        assert point.status.solved
        assert twin.residual(flat(point), point.caps, point.multipliers) <= 1e-8
        best = twin.loss(twin.best(point.caps, flat(points[0]), flat(point)))[0]
        if loss > best + 1e-6 * span:  # zero gaps in few dimensions fall into pieces: then no point claims to be global
            assert point is points[-1]
            assert not point.certified
        else:
            assert loss == pytest.approx(best, abs=1e-6 * span)
    h = 1e-4 * (points[0].caps[0] - points[-1].caps[0])
    for point in points[1:-1]:
        ends = [solve_caps(solver, point, point.caps[: solver.n_gaps] + step) for step in (h, -h)]
        slope = (twin.loss(flat(ends[0]))[0] - twin.loss(flat(ends[1]))[0]) / (2.0 * h)
        assert np.abs(point.multipliers).sum() == pytest.approx(-slope, rel=1e-3, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("notion", NOTIONS)
def test_certified_points_beat_feasible_perturbations_and_restarts(notion: str) -> None:
    twin = drawn(3, 3, notion)
    problem = twin.problem()
    points = [point for point in newton_path(problem, ff.Newton(), n_points=6)[1:-1] if point.certified]
    assert points
    rng = np.random.default_rng(0)
    point = points[-1]
    far = 10.0 ** rng.uniform(-5, -1, size=40_000)
    W = point.W + far[:, None, None] * rng.normal(size=(len(far), *point.W.shape))
    L = problem.values(W)
    z = problem.algebra.gaps(L)
    within = (np.where(problem.algebra.two_sided, np.abs(z), z) <= point.caps).all(axis=1)
    assert within.sum() >= 1000
    best = twin.loss(flat(point))[0]
    assert problem.algebra.loss(L[within]).min() >= best - 1e-12
    starts = rng.normal(size=(5, *point.W.shape))
    others = [twin.loss(twin.best(point.caps, w.reshape(-1), np.zeros(5)))[0] for w in starts]
    assert min(others) >= best - 1e-9


def test_what_is_never_certified() -> None:
    front = trace_problem(drawn(0, 2, "equal_opportunity").problem(surrogate="rate"), "newton")
    assert not front.certified[np.abs(front.multipliers).max(axis=1) > 0].any()
    front = trace_problem(drawn(4, 2, "demographic_parity").problem(), "newton")
    price = np.abs(front.multipliers[:, 0])
    np.testing.assert_array_equal(front.certified, price <= 0.5)  # the share of either group
    assert (price > 0.5).any()


@pytest.mark.parametrize("gap", ["squared", "absolute", "exponential"])
def test_preferences_of_two_groups_are_met_as_lines(gap: str) -> None:
    problem = drawn(1, 2, "equal_opportunity").problem(gap=gap)
    plain = ff.solve(problem, max_gap=9.0).objectives[0]
    pi = plain[0] / plain * np.array([[1.0, ratio] for ratio in (0.5, 2.0, 10.0, 100.0)])
    outcome = ff.solve(problem, preferences=pi)
    h = pi * outcome.objectives
    assert outcome.status == (ff.Status.NEAREST, *[ff.Status.LINE] * 3)
    np.testing.assert_allclose(outcome.objectives[0], plain, rtol=1e-9)
    np.testing.assert_allclose(h[1:, 0], h[1:, 1], rtol=1e-6)
    assert (np.diff(outcome.objectives, axis=0) * [1.0, -1.0] > 0).all()


def test_preferences_of_three_groups_are_chebyshev_points() -> None:
    plain = cohort(7, groups=3)
    for ratio in (50.0, 500.0):
        pi = np.array([1.0, ratio, 2 * ratio, ratio])
        outcome = ff.solve(plain.problem(), preferences=pi[None])
        assert outcome.status == (ff.Status.CHEBYSHEV,)
        worst = (pi * outcome.objectives[0]).max()
        assert worst == pytest.approx(plain.chebyshev(pi, plain.plain_fit, outcome.W.reshape(-1)), rel=1e-6)
