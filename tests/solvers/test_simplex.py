"""The inner problem against brute force and SciPy, on gradients as fairness makes them: dependent and badly scaled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from fairfront.solvers.simplex import factor, min_norm, project, projected_gradient
from tests.support.twins import assert_common_descent, assert_smallest, fair_rows, smallest_in_hull

few = settings(max_examples=40, deadline=None)
seeds = st.integers(0, 10**6)


def scaled(rng: np.random.Generator, groups: int, d: int, low: float = -6.0, high: float = 2.0) -> np.ndarray:
    """Fairness rows, each times its own power of ten."""
    J = fair_rows(rng, groups, d)
    return J * 10.0 ** rng.uniform(low, high, size=(len(J), 1))


def quadratic_program(J: np.ndarray) -> np.ndarray:
    """SLSQP's smallest vector in the hull of the rows, in weights of unit rows."""
    norms = np.linalg.norm(J, axis=1)
    unit, share = J / norms[:, None], norms.min() / norms
    total = {"type": "eq", "fun": lambda b: share @ b - 1.0, "jac": lambda b: share}
    options = {"ftol": 1e-16, "maxiter": 1000}
    settings = {"method": "SLSQP", "bounds": [(0.0, None)] * len(J), "constraints": total, "options": options}
    gram = unit @ unit.T
    found = minimize(lambda b: (0.5 * b @ gram @ b, gram @ b), np.full(len(J), 1.0 / share.sum()), jac=True, **settings)
    return norms.min() * np.maximum(found.x, 0.0) @ unit


@few
@given(seeds, st.integers(1, 22))
def test_projection_is_the_nearest_point_of_the_simplex(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    v = rng.normal(size=(3, m)) * 10.0 ** rng.uniform(-3, 3)
    p = project(v)
    assert p.min() >= 0.0
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-10)
    # <v - p, q - p> <= 0 for every corner q, hence for every point of the simplex
    assert ((v - p) - ((v - p) * p).sum(axis=1, keepdims=True) <= 1e-10 * (1.0 + np.abs(v).max())).all()
    np.testing.assert_allclose(project(p), p, atol=1e-12)


def test_projection_agrees_with_a_quadratic_program() -> None:
    v = np.random.default_rng(0).normal(size=(8, 5))
    for row, found in zip(v, project(v), strict=True):
        np.testing.assert_allclose(found - row, quadratic_program(np.eye(5) - row), atol=1e-7)


@few
@given(seeds, st.integers(2, 7), st.integers(2, 40), st.booleans())
def test_exact_weights_carry_their_own_proof(seed: int, groups: int, d: int, rescale: bool) -> None:
    rng = np.random.default_rng(seed)
    J = scaled(rng, groups, d) if rescale else fair_rows(rng, groups, d)
    alpha = min_norm(J[None])
    assert_smallest(J, alpha[0])
    assert_common_descent(J, alpha[0] @ J)
    gram = J @ J.T
    products = gram @ alpha[0]  # Lemma 1: |d|^2 <= <d, g_i> for all i
    assert alpha[0] @ products - products.min() <= 1e-13 * np.sqrt(gram.diagonal().max() * gram.diagonal().min())


@pytest.mark.parametrize(("groups", "d"), [(2, 2), (2, 9), (3, 2), (3, 9), (4, 3), (5, 3), (6, 2), (7, 2)])
def test_exact_direction_equals_brute_force(groups: int, d: int) -> None:
    for seed in range(6):
        J = scaled(np.random.default_rng(seed), groups, d)
        found = min_norm(J[None])[0] @ J
        np.testing.assert_allclose(found, smallest_in_hull(J), atol=1e-7 * np.linalg.norm(J, axis=1).min())


@pytest.mark.parametrize(("groups", "d"), [(2, 5), (3, 5), (5, 4), (7, 12)])
def test_exact_direction_equals_a_quadratic_program(groups: int, d: int) -> None:
    for seed in range(5):
        J = scaled(np.random.default_rng(seed), groups, d, -1.0, 1.0)
        found = min_norm(J[None])[0] @ J
        np.testing.assert_allclose(found, quadratic_program(J), atol=1e-4 * np.linalg.norm(J, axis=1).min())


def test_dependent_rows_leave_weights_open_and_fix_the_direction() -> None:
    """Pairs of three groups have rank 2: z_13 = z_12 + z_23 (design, item 4)."""
    rng = np.random.default_rng(3)
    g = rng.normal(size=(2, 6)) + 2.0
    J = np.array([g[0], g[1], g[0] + g[1], 0.5 * (g[0] + g[1])])
    order = [3, 2, 0, 1]
    first, second = min_norm(J[None])[0], min_norm(J[None, order])[0]
    np.testing.assert_allclose(first @ J, second @ J[order], atol=1e-12)
    for alpha, rows in ((first, J), (second, J[order])):
        assert_smallest(rows, alpha)


@pytest.mark.parametrize("m", [2, 3, 11])
def test_a_zero_row_takes_all_the_weight(m: int) -> None:
    """The point is stationary for that objective, so that nothing can be asked of it: the direction is 0."""
    J = np.random.default_rng(0).normal(size=(1, m, 4))
    J[0, 1] = 0.0
    alpha = min_norm(J)
    np.testing.assert_allclose(alpha[0, 1], 1.0)
    np.testing.assert_allclose(alpha[0] @ J[0], 0.0, atol=1e-15)


def test_trivial_hulls() -> None:
    g = np.random.default_rng(0).normal(size=4)
    np.testing.assert_allclose(min_norm(g[None, None]), [[1.0]])
    for m in (2, 5):
        np.testing.assert_allclose(min_norm(np.tile(g, (1, m, 1)))[0] @ np.tile(g, (m, 1)), g)
        np.testing.assert_allclose(min_norm(np.zeros((1, m, 4))).sum(), 1.0)
    opposite = np.array([[g, -3.0 * g]])
    np.testing.assert_allclose(min_norm(opposite), [[0.75, 0.25]])


def test_a_batch_is_solved_run_by_run() -> None:
    J = np.stack([fair_rows(np.random.default_rng(seed), 4, 5) for seed in range(6)])
    np.testing.assert_array_equal(min_norm(J), np.concatenate([min_norm(rows[None]) for rows in J]))
    pairs = J[:, :2]
    np.testing.assert_array_equal(min_norm(pairs), np.concatenate([min_norm(rows[None]) for rows in pairs]))


@settings(max_examples=15, deadline=None)
@given(seeds, st.integers(2, 5))
def test_projected_gradient_tends_to_the_exact_value(seed: int, groups: int) -> None:
    J = fair_rows(np.random.default_rng(seed), groups, 6)
    M = (J @ J.T)[None]
    start = np.full((1, len(J)), 1.0 / len(J))
    least = np.linalg.norm(min_norm(J[None])[0] @ J) ** 2
    found = [projected_gradient(M, start, None, steps)[0] for steps in (5, 50, 1000)]
    values, rounding = [float(a @ M[0] @ a) for a in found], 1e-12 * M[0].max()
    assert values[0] + rounding >= values[1] >= values[2] - rounding >= least - 2.0 * rounding
    # projected gradient on a convex function: (L / 2) |alpha_0 - alpha*|^2 / K, with L = 2 lambda_max
    assert values[2] - least <= 2.0 * np.linalg.eigvalsh(M[0])[-1] / 1000


def test_projected_gradient_steps_as_printed() -> None:
    rng = np.random.default_rng(5)
    J = rng.normal(size=(4, 3))
    M, alpha = J @ J.T, np.array([0.4, 0.3, 0.2, 0.1])
    by_hand = alpha
    for _ in range(3):
        by_hand = project((by_hand - 0.05 * 2.0 * M @ by_hand)[None])[0]
    np.testing.assert_allclose(projected_gradient(M[None], alpha[None], 0.05, 3)[0], by_hand, atol=1e-15)


@few
@given(seeds, st.integers(2, 8), st.integers(1, 8))
def test_factor_gives_back_the_matrix_and_no_spurious_rank(seed: int, k: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(k, d)) * 10.0 ** rng.uniform(-4, 2, size=(k, 1))
    Q, size = G @ G.T, np.linalg.norm(G, axis=1)
    F = factor(Q[None])[0]
    assert (np.abs(F @ F.T - Q) <= 1e-12 * np.outer(size, size)).all()
    assert np.linalg.matrix_rank(F / size[:, None], tol=1e-7) <= min(k, d)
    assert np.linalg.matrix_rank(F / size[:, None], tol=1e-12) == np.linalg.matrix_rank(F / size[:, None], tol=1e-7)
