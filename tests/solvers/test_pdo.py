"""PDO: Lemma 1 on its directions, monotone runs, ends on the frontier by SciPy's word, and the trap at w = 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairfront as ff
from fairfront.solvers.pdo import common_direction
from fairfront.solvers.simplex import factor
from tests.support.people import people
from tests.support.twins import Twin, assert_common_descent, assert_never_rises, cohort

Status = ff.Status


def excess(plain: Twin, w: np.ndarray) -> float:
    """How much lower SLSQP finds the loss nearby, with gaps as small as those of w, per loss range of the front."""
    best = plain.best(np.abs(plain.gaps(w)[0]), w)
    return (plain.loss(w)[0] - plain.loss(best)[0]) / plain.span


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 9), st.integers(0, 4))
def test_directions_descend_and_keep_what_is_held(seed: int, groups: int, d: int, near_zero: int) -> None:
    """Lemma 1 outside the band; inside, gaps stay to first order and the way back takes them to zero."""
    rng = np.random.default_rng(seed)
    algebra = cohort(0, groups).problem().algebra
    L = rng.uniform(0.1, 1.0, (1, len(algebra.p)))
    G = rng.normal(size=(len(algebra.p), d + groups))
    held = np.zeros(len(algebra.b), dtype=bool)
    held[: min(near_zero, len(held))] = True
    A, z, Q = algebra.jacobian(L)[0], algebra.gaps(L)[0], G @ G.T
    direction = common_direction(A, algebra.B, factor(Q[None])[0], z, held)
    moves, back = direction.down, direction.back
    free = np.concatenate([[True], ~held])
    assert_common_descent((A @ G)[free], moves @ G)
    size = np.linalg.norm(algebra.B @ G, axis=1)[held]
    assert (np.abs(algebra.B[held] @ Q @ moves) <= 1e-9 * size * (1e-3 + np.linalg.norm(moves @ G))).all()
    np.testing.assert_allclose(algebra.B[held] @ Q @ back, z[held], atol=1e-9)
    np.testing.assert_allclose(direction.falls, A @ Q @ moves, atol=1e-9)
    if moves.any():
        np.testing.assert_allclose(direction.alpha.sum(), 1.0)
        assert (direction.alpha >= 0.0).all()
    if not held.any():
        np.testing.assert_allclose(np.linalg.norm(direction.alpha @ A @ G), direction.norm, atol=1e-9)


def test_a_stationary_loss_ends_the_descent() -> None:
    plain = cohort(0)
    outcome = ff.solve(plain.problem(), "pdo", plain.plain_fit[None, None])
    assert outcome.status[0] is Status.EFFICIENT
    np.testing.assert_allclose(outcome.W[0, 0], plain.plain_fit, atol=1e-3)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("scale", [0.1, 6.0])
@pytest.mark.parametrize("seed", [0, 2, 3, 5, 7])
def test_runs_descend_to_the_front(groups: int, scale: float, seed: int) -> None:
    plain = cohort(seed, groups)
    outcome = ff.solve(plain.problem(), ff.PDO(start_scale=scale), random_state=seed)
    history, w = outcome.history[0].objectives, outcome.W[0, 0]
    np.testing.assert_allclose(history[-1], plain.objectives(w)[0], atol=1e-12)
    assert_never_rises(history, band=1e-4 * history[0, 0])
    assert outcome.status[0] is Status.EFFICIENT
    assert excess(plain, w) <= 1e-4


@pytest.mark.parametrize(("seed", "start"), [(0, 1), (7, 0), (8, 0), (9, 0)])
def test_four_groups_with_some_gaps_held(seed: int, start: int) -> None:
    """The way back to zero of a held gap may raise another gap; steps without it go on."""
    plain = cohort(seed, 4)
    outcome = ff.solve(plain.problem(), ff.PDO(start_scale=6.0), random_state=start)
    assert outcome.status[0] is Status.EFFICIENT
    history = outcome.history[0].objectives
    assert_never_rises(history, band=1e-4 * history[0, 0])
    assert excess(plain, outcome.W[0, 0]) <= 1e-3


def test_runs_of_a_batch_are_nothing_to_each_other() -> None:
    """Some hold gaps while others hold none or all; they share the metric, which is that of the first start."""
    plain, rng = cohort(0, 4), np.random.default_rng(0)
    size = np.geomspace(0.1, 6.0, 6)[:, None, None]
    starts = plain.plain_fit + rng.normal(size=(6, 1, plain.d)) * size
    together = ff.solve(plain.problem(), ff.PDO(), starts)
    for r in range(1, 6):
        pair = ff.solve(plain.problem(), ff.PDO(), starts[[0, r]])
        np.testing.assert_allclose(together.W[r], pair.W[1], atol=1e-8)
        assert together.status[r] is pair.status[1]
        assert together.n_iter[r] == pair.n_iter[1]


@pytest.mark.parametrize("gap", ["absolute", "exponential"])
def test_other_gap_functions_end_on_the_same_front(gap: str) -> None:
    plain = cohort(3, 3)
    outcome = ff.solve(plain.problem(gap=gap), ff.PDO(start_scale=3.0), random_state=1)
    assert outcome.status[0] is Status.EFFICIENT
    assert excess(plain, outcome.W[0, 0]) <= 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_group_losses_fall_together(seed: int) -> None:
    """Without a band all objectives fall at every step, and no group is better off at the end with less loss."""
    plain = cohort(seed, 3, "group_loss")
    outcome = ff.solve(plain.problem(), ff.PDO(start_scale=2.0), random_state=0)
    assert_never_rises(outcome.history[0].objectives)
    assert outcome.status[0] is Status.EFFICIENT
    assert ff.pareto.is_efficient(plain.objectives, outcome.W[0, 0], jac=True, tol=2e-3)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("gradients", ["raw", "normalised"])
def test_equal_losses_are_a_trap_for_the_printed_algorithm(groups: int, gradients: str) -> None:
    """At w = 0 all losses are equal: the gaps' gradients are 0 and take all the weight (design, item 5)."""
    plain = cohort(0, groups)
    zero = np.zeros((1, 1, plain.d))
    outcome = ff.solve(plain.problem(), ff.PaperPDO(inner="exact", gradients=gradients), zero)
    assert outcome.status[0] is Status.WEAK
    assert not outcome.status[0].solved
    np.testing.assert_array_equal(outcome.W, zero)


def test_raw_gradients_stop_at_equal_losses_far_from_the_front() -> None:
    plain = cohort(0)
    outcome = ff.solve(plain.problem(), ff.PaperPDO(T=2000, eta=0.5, inner="exact"), random_state=0)
    assert outcome.status[0] is Status.WEAK
    assert outcome.objectives[0, 1] <= 1e-12
    assert excess(plain, outcome.W[0, 0]) > 1.0


def test_default_runs_never_start_in_the_trap() -> None:
    problem = cohort(0).problem()
    starts = [ff.PDO().beginning(problem, None, None, np.random.default_rng(seed)).W for seed in range(3)]
    assert all(np.abs(start).min() > 0.0 for start in starts)
    assert not np.array_equal(starts[0], starts[1])
    same = [ff.solve(problem, "pdo", random_state=4).W for _ in range(2)]
    np.testing.assert_array_equal(*same)


@pytest.mark.parametrize("groups", [2, 3])
def test_from_zero_weights_runs_reach_the_zero_gap_end(groups: int) -> None:
    """Told to start at w = 0, they hold the gaps at 0 and go down the loss along that surface."""
    plain = cohort(0, groups)
    outcome = ff.solve(plain.problem(), "pdo", np.zeros((1, 1, plain.d)))
    w = outcome.W[0, 0]
    assert outcome.status[0] is Status.EFFICIENT
    assert np.abs(plain.gaps(w)[0]).max() <= 1e-4
    assert excess(plain, w) <= 1e-4


def test_directions_vanish_at_efficient_points() -> None:
    """alpha* balances the gradients: Theorem 1's condition, |sum_i alpha_i g_i| = 0 with alpha_i > 0."""
    for seed in range(5):
        plain = cohort(seed)
        rng = np.random.default_rng(seed)
        start = np.append(0.7 * plain.plain_fit[:-1], plain.plain_fit[-1]) + 0.05 * rng.normal(size=plain.d)
        outcome = ff.solve(plain.problem(), ff.PDO(band=0.0), start[None, None])
        history = outcome.history[0]
        assert history.alpha.shape == history.objectives.shape
        np.testing.assert_allclose(history.alpha.sum(axis=1), 1.0)
        J = plain.objectives(outcome.W[0, 0])[1]
        assert np.linalg.norm(outcome.alpha[0] @ J) <= 1e-3 * np.linalg.norm(J, axis=1).max()
        assert outcome.direction_norm[0] <= 1e-3 * history.direction_norm[0] + 1e-6


def test_starts_of_a_trace_are_spread() -> None:
    """Several runs end at different points of the frontier, not at the one without gaps (N7)."""
    X, y, group = people(900)
    front = ff.trace(X, y, sensitive_features=group, solver="pdo", preferences=4, held_out=False, random_state=0)
    gaps = np.sort(front.gaps.max(axis=1))
    assert len(front) == 5  # the unconstrained model is the fifth
    assert (np.diff(gaps)[1:] > 0.01 * gaps[-1]).all()
    assert all(status is Status.EFFICIENT for status in front.status)


def test_runs_that_end_at_one_point_say_so() -> None:
    X, y, group = people(900)
    solver = ff.PaperPDO(T=0, start_scale=1e-12)
    with pytest.warns(ff.FairfrontWarning, match="ended at one point"):
        ff.trace(X, y, sensitive_features=group, solver=solver, preferences=3, held_out=False, random_state=0)
