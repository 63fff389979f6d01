"""The printed algorithms: one step equals a transcription of Algorithms 1 and 2 on explicit gradients."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairfront as ff
from fairfront.problems import FunctionProblem
from tests.support.people import people
from tests.support.twins import Function, assert_common_descent, cohort, smallest_in_hull

Status = ff.Status
READINGS = [(gradients, inner) for gradients in ("raw", "normalised") for inner in ("projected_gradient", "exact")]
few = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 10**6)


def on_simplex(v: np.ndarray) -> np.ndarray:
    """Project by bisection on the threshold."""
    low, high = v.min() - 1.0, v.max()
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.maximum(v - middle, 0.0).sum() > 1.0 else (low, middle)
    return np.maximum(v - low, 0.0)


def descent_direction(J: np.ndarray, gradients: str, inner: str, rho: float, K: int) -> np.ndarray:
    """DescentDirection of Algorithm 2, which is lines 4 to 8 of Algorithm 1."""
    if gradients == "normalised":
        J = J / np.linalg.norm(J, axis=1, keepdims=True)
    if inner == "exact":
        return smallest_in_hull(J)
    alpha = np.full(len(J), 1.0 / len(J))
    for _ in range(K):
        alpha = on_simplex(alpha - rho * 2.0 * J @ (J.T @ alpha))
    return alpha @ J


def kl_gradient(pi: np.ndarray, h: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Proposition 1."""
    sigma = np.exp(pi * h) / np.exp(pi * h).sum()
    logs = np.log(len(h) * sigma)
    return (pi * sigma * (logs - sigma @ logs)) @ J


def algorithm_1(w: np.ndarray, f: Function, solver: ff.PaperPDO) -> np.ndarray:
    return w - solver.eta * descent_direction(f(w)[1], solver.gradients, solver.inner, solver.rho, solver.K)


def algorithm_2(w: np.ndarray, f: Function, solver: ff.PaperPBPDO, pi: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the next weights and which case it was: I, II, both or neither."""
    h, J = f(w)
    g_kl = kl_gradient(pi, h, J)
    case = "I" if np.linalg.norm(g_kl) <= solver.epsilon_1 else ""
    rows = J if case else np.vstack([J, g_kl])
    d = descent_direction(rows, solver.gradients, solver.inner, solver.rho, solver.K)
    if np.linalg.norm(d) <= solver.epsilon_2 * np.linalg.norm(g_kl):
        d, case = g_kl, case + "II"
    return w - solver.eta * d, case


def quadratics(seed: int, m: int, d: int) -> Function:
    rng = np.random.default_rng(seed)
    curvature, centre = rng.uniform(0.2, 2.0, (m, d)), rng.normal(size=(m, d))

    def f(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 0.5 * (curvature * (w - centre) ** 2).sum(axis=1), curvature * (w - centre)

    return f


def assert_same_step(problem: object, solver: ff.PaperPDO, w: np.ndarray, expected: np.ndarray, **aim: object) -> None:
    outcome = ff.solve(problem, solver, w[None, None], **aim)
    np.testing.assert_allclose(outcome.W[0, 0], expected, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize(("gradients", "inner"), READINGS)
@few
@given(seeds, st.integers(2, 5), st.integers(2, 6))
def test_one_step_of_algorithm_1_on_functions(gradients: str, inner: str, seed: int, m: int, d: int) -> None:
    f, w = quadratics(seed, m, d), np.random.default_rng(seed + 1).normal(size=d)
    solver = ff.PaperPDO(T=1, eta=0.1, K=7, rho=0.05, inner=inner, gradients=gradients)
    assert_same_step(FunctionProblem(f, w, jac=True), solver, w, algorithm_1(w, f, solver))


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize(("gradients", "inner"), READINGS)
def test_one_step_of_algorithm_1_on_cells(gradients: str, inner: str, groups: int) -> None:
    """From cell coordinates the same step comes out as from explicit gradients of the objectives."""
    plain = cohort(0, groups)
    problem = plain.problem()
    solver = ff.PaperPDO(T=1, eta=0.3, K=7, rho=0.05, inner=inner, gradients=gradients)
    for seed in range(6):
        w = np.random.default_rng(seed).normal(size=plain.d)
        assert_same_step(problem, solver, w, algorithm_1(w, plain.objectives, solver))


@pytest.mark.slow
@pytest.mark.parametrize(("gradients", "inner"), READINGS)
def test_one_step_of_algorithm_2_in_all_its_cases(gradients: str, inner: str) -> None:
    """Thresholds are wide, and some points are taken near the line or near the front, so that all cases occur."""
    seen = set()
    solver = ff.PaperPBPDO(T=1, eta=0.1, K=40, rho=0.1, inner=inner, gradients=gradients, epsilon_1=0.05, epsilon_2=0.3)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        f, w = quadratics(seed, 2 + seed % 2, 4), rng.normal(size=4)
        if seed % 3 == 0:
            w = ff.minimize(f, w, jac=True).x + 0.02 * rng.normal(size=4)
        pi = 1.0 / f(w)[0] * (1.02 if seed % 4 == 1 else np.exp(rng.normal(size=2 + seed % 2)))
        expected, case = algorithm_2(w, f, solver, pi)
        seen.add(case)
        assert_same_step(FunctionProblem(f, w, jac=True), solver, w, expected, preferences=pi)
    assert {"", "I", "II"} <= seen


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize(("gradients", "inner"), READINGS)
def test_one_step_of_algorithm_2_on_cells(gradients: str, inner: str, groups: int) -> None:
    plain = cohort(3, groups)
    problem, seen = plain.problem(), set()
    solver = ff.PaperPBPDO(T=1, eta=0.3, K=30, rho=0.1, inner=inner, gradients=gradients, epsilon_1=0.02, epsilon_2=0.2)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        w, spread = rng.normal(size=plain.d), (0.01, 2.0)[seed % 2]
        pi = np.exp(spread * rng.normal(size=1 + len(plain.gaps(w)[0]))) / plain.objectives(w)[0]
        expected, case = algorithm_2(w, plain.objectives, solver, pi)
        seen.add(case)
        assert_same_step(problem, solver, w, expected, preferences=pi)
    assert {"", "I"} <= seen


@few
@given(seeds, st.integers(2, 4))
def test_exact_directions_are_common_descent(seed: int, groups: int) -> None:
    """Lemma 1 for the printed algorithm with its inner level solved exactly, in both readings."""
    plain = cohort(1, groups)
    w = np.random.default_rng(seed).normal(size=plain.d)
    for gradients in ("raw", "normalised"):
        solver = ff.PaperPDO(T=1, eta=1.0, inner="exact", gradients=gradients)
        moved = ff.solve(plain.problem(), solver, w[None, None]).W[0, 0]
        assert_common_descent(plain.objectives(w)[1], w - moved)


def test_inner_weights_can_be_given_and_kept() -> None:
    f = quadratics(0, 3, 4)
    w = np.ones(4)
    one = ff.PaperPDO(T=1, K=0, alpha0=(0.2, 0.3, 0.5))
    assert_same_step(FunctionProblem(f, w, jac=True), one, w, w - 0.1 * np.array([0.2, 0.3, 0.5]) @ f(w)[1])
    cold, warm = (ff.PaperPDO(T=30, K=1, rho=0.01, warm_alpha=kept) for kept in (False, True))
    ends = [ff.minimize(f, w, jac=True, solver=solver).x for solver in (cold, warm)]
    assert np.abs(ends[0] - ends[1]).max() > 1e-3


def test_the_uneven_gap_exists_in_paper_mode_only() -> None:
    plain = cohort(0)
    data = {"sensitive_features": plain.group, "gap": "paper_exponential", "progress": False, "random_state": 0}
    for solver in (ff.PaperPDO(T=20), ff.PaperPBPDO(T=20)):
        front = ff.trace(plain.X, plain.y, solver=solver, preferences=2, **data)
        assert front.objectives.shape[1] == 3  # both orders of the pair
        assert np.isfinite(front.objectives).all()
    for solver in ("pdo", "pb_pdo"):
        with pytest.raises(ff.InputError, match="exists in paper mode only, found solver"):
            ff.trace(plain.X, plain.y, solver=solver, **data)


def test_printed_runs_take_every_step_and_name_it() -> None:
    """T is where a printed run ends; its status does not speak of max_iter, which it does not take (N6)."""
    plain = cohort(0)
    outcome = ff.solve(plain.problem(), ff.PaperPDO(T=25, eta=0.1), random_state=0)
    assert outcome.status[0] is Status.STEPS_TAKEN
    assert "T" in outcome.status[0].split()
    assert "max_iter" not in outcome.status[0]
    assert not outcome.status[0].solved
    assert outcome.history[0].objectives.shape == (26, 2)
    assert outcome.history[0].alpha.shape == (26, 2)
    assert outcome.passes == 26


@pytest.mark.parametrize("gap", ["squared", "absolute"])
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("gradients", ["raw", "normalised"])
def test_iterates_of_both_algorithms_are_those_of_a_literal_implementation(
    gradients: str, groups: int, gap: str
) -> None:
    """30 steps from rows of data, with loops over the objectives, against runs in cell coordinates."""
    plain = cohort(2, groups)
    w0 = 0.3 * np.random.default_rng(groups).normal(size=plain.d)
    f = partial(plain.objectives, gap=gap)
    m = len(f(w0)[0])
    pi = np.exp(0.3 * np.random.default_rng(1).normal(size=m))
    one = ff.PaperPDO(T=30, eta=0.2, K=9, rho=0.04, gradients=gradients)
    two = ff.PaperPBPDO(T=30, eta=0.2, K=9, rho=0.04, gradients=gradients, epsilon_1=0.01, epsilon_2=0.2)
    first, second = w0, w0
    for _ in range(30):
        first = algorithm_1(first, f, one)
        second = algorithm_2(second, f, two, pi)[0]
    problem = plain.problem(gap=gap)
    start = w0[None, None]
    np.testing.assert_allclose(ff.solve(problem, one, start).W[0, 0], first, rtol=0.0, atol=2e-14)
    np.testing.assert_allclose(ff.solve(problem, two, start, preferences=pi).W[0, 0], second, rtol=0.0, atol=2e-14)


def test_the_history_has_the_direction_of_every_step() -> None:
    f = quadratics(1, 3, 4)
    w = np.ones(4)
    found = ff.minimize(f, w, jac=True, solver=ff.PaperPDO(T=12, eta=0.05, inner="exact"))
    seen = []
    for _ in range(13):
        d = smallest_in_hull(f(w)[1])
        seen.append(np.linalg.norm(d))
        w = w - 0.05 * d
    np.testing.assert_allclose(found.history.direction_norm, seen, rtol=1e-8)
    assert found.direction_norm == found.history.direction_norm[-1]


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("eta", [0.1, 0.5])
def test_automatic_preferences_do_not_lead_far_away_in_silence(loss: str, eta: float) -> None:
    """Case II steps by pi: ends far above the loss of a model without weights are marked, and told (N8)."""
    X, y, group = people(900)
    data = {"sensitive_features": group, "loss": loss, "held_out": False, "random_state": 0, "progress": False}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        front = ff.trace(X, y, solver=ff.PaperPBPDO(T=200, eta=eta), preferences=4, **data)
    diverged = np.array([status is Status.DIVERGED for status in front.status])
    problem = ff.linear_problem(X, y, sensitive_features=group, loss=loss)
    without = problem.algebra.loss(problem.values(np.zeros((1, 1, 5))))[0]
    np.testing.assert_array_equal(diverged, front.loss > 1.1 * without)
    assert any("diverged" in str(each.message) for each in told) == diverged.any()


def test_a_step_that_is_far_too_long_is_marked() -> None:
    X, y, group = people(300)
    solver = ff.PaperPDO(T=20, eta=1e3)
    with pytest.warns(ff.FairfrontWarning, match="marked as diverged"):
        front = ff.trace(X, y, sensitive_features=group, solver=solver, held_out=False, random_state=0)
    assert Status.DIVERGED in front.status
    assert not Status.DIVERGED.solved
