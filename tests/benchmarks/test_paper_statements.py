"""The paper's statements that numbers can test, and the page that names a test for each of them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: nothing can be drawn")

import fairfront as ff
from benchmarks.paper import convergence, geometry
from benchmarks.paper.bumps import NU, PI, S, curvature, desired, example, on_front, to_front
from benchmarks.paper.example import trajectory
from fairfront.solvers.paper import kl_divergence
from fairfront.solvers.simplex import min_norm, projected_gradient
from tests.support.places import ROOT
from tests.support.twins import cohort, smallest_in_hull

RNG = np.random.default_rng(5)


def weights(J: np.ndarray) -> np.ndarray:
    return min_norm(J[None])[0]


def quadratics(seed: int, m: int = 2, d: int = 4):
    """Return h_i(w) = |A_i (w - c_i)|^2 / 2 with its Jacobian."""
    rng = np.random.default_rng(seed)
    A, c = rng.normal(size=(m, d, d)), rng.normal(size=(m, d))

    def f(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        away = np.einsum("mij,mj->mi", A, w - c)
        return 0.5 * (away**2).sum(axis=1), np.einsum("mij,mi->mj", A, away)

    return f


class TestTheBilevelProblem:
    def test_it_is_solved_by_dominated_points(self) -> None:
        """Theorem 1: with phi = z^2/2 any model without a gap has Psi = 0, the least there is; w = 0 is one of them."""
        plain = cohort(1)
        linear = ff.linear_problem(plain.X, plain.y, sensitive_features=plain.group.astype(str), ridge=plain.ridge)
        fair = ff.solve(linear, "newton", max_gap=0.0).W[0]
        values = []
        for W in (np.zeros_like(fair), fair):
            at = linear.cells(W[None])
            h, J = linear.algebra.objectives(at.L)[0], linear.algebra.jacobian(at.L)[0] @ at.D[0]
            values.append((weights(J) @ h, h))
        assert abs(values[0][0]) < 1e-12
        assert abs(values[1][0]) < 1e-6
        assert values[0][1][0] > values[1][1][0] + 0.01

    def test_a_zero_weight_leaves_a_point_weakly_efficient(self) -> None:
        """Theorem 1's proof needs alpha_i > 0: here h_1 = w_1^2 does not see w_2, which h_2 would like to change."""

        def f(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.array([w[0] ** 2, w[1] ** 2 + 1.0]), np.array([[2 * w[0], 0.0], [0.0, 2 * w[1]]])

        h, J = f(np.array([0.0, 3.0]))
        np.testing.assert_allclose(weights(J) @ J, 0.0, atol=1e-12)
        better = f(np.zeros(2))[0]
        assert (better <= h).all()
        assert (better < h).any()

    def test_a_point_of_a_bent_front_minimises_no_weighted_sum(self) -> None:
        """Section 2.3 takes alpha* with w* = argmin sum alpha_i h_i: in the middle of Example 1 there is none."""
        w = desired()
        alpha = weights(example(w)[1])
        np.testing.assert_allclose(alpha @ example(w)[1], 0.0, atol=1e-12)
        assert NU @ curvature(w, alpha) @ NU < 0.0
        assert min(alpha @ example(t * NU)[0] for t in (-1.0, 1.0)) < alpha @ example(w)[0]

    @pytest.mark.parametrize("seed", range(5))
    def test_the_inner_problem_is_not_strongly_convex_at_a_stationary_point(self, seed: int) -> None:
        """Assumption 2a asks for it everywhere; where sum alpha_i g_i = 0 the Hessian 2 G^T G is singular."""
        f = quadratics(seed, m=3, d=8)
        end = ff.minimize(f, np.random.default_rng(seed).normal(size=8), jac=True)
        J = f(end.x)[1]
        eigenvalues = np.linalg.eigvalsh(2.0 * J @ J.T)
        assert eigenvalues[0] < 1e-9 * eigenvalues[-1]


class TestTheInnerLevel:
    def test_its_hessian_is_twice_the_gram_matrix(self) -> None:
        """Appendix: nabla^2 Phi is written as G^T G."""
        J, alpha, step = RNG.normal(size=(3, 6)), np.full(3, 1 / 3), 1e-3

        def phi(a: np.ndarray) -> float:
            return float(((a @ J) ** 2).sum())

        e = step * np.eye(3)
        H = [[(phi(alpha + p + q) - phi(alpha + p - q) - phi(alpha - p + q) + phi(alpha - p - q)) / (4 * step**2)
              for q in e] for p in e]  # fmt: skip
        np.testing.assert_allclose(H, 2.0 * J @ J.T, rtol=1e-6)

    def test_lemma_2_holds_with_the_condition_number_turned_around(self) -> None:
        found = convergence.inner(K=15)
        away, bound = np.array(found["squared distance"]), np.array(found["bound"])
        assert (away <= bound * (1 + 1e-9)).all()
        ratio = np.log(bound[0] / bound[1])  # mu / L; the lemma prints exp(-K / kappa) with kappa = mu / L
        assert (away[3:] > away[0] * np.exp(-np.arange(3, 16) / ratio)).all()

    def test_lemma_2_needs_a_smaller_step_than_two_over_the_smoothness(self) -> None:
        """Of two orthonormal gradients mu = L = 2: steps of 2 / L swap the weights for ever."""
        M = np.eye(2)[None]
        alpha = np.array([[0.9, 0.1]])
        for K in (1, 2, 51, 100):
            swapped = projected_gradient(M, alpha, 1.0, K)
            np.testing.assert_allclose(swapped, alpha[:, :: -1 if K % 2 else 1], atol=1e-12)
        np.testing.assert_allclose(projected_gradient(M, alpha, 0.5, 1), 0.5, atol=1e-12)

    def test_equation_22_ignores_the_simplex(self) -> None:
        """The derivative of alpha*(w) is not -Phi_wa Phi_aa^-1, which would follow from nabla_alpha Phi = 0."""
        w, step = np.zeros(4), 1e-5
        f = next(f for f in map(quadratics, range(50)) if (weights(f(w)[1]) > 0.1).all())
        J = f(w)[1]
        alpha = weights(J)
        slope = np.array([(weights(f(w + e)[1]) - weights(f(w - e)[1])) / (2 * step) for e in step * np.eye(4)])
        pull = [2 * f(w + e)[1] @ (alpha @ f(w + e)[1]) - 2 * f(w - e)[1] @ (alpha @ f(w - e)[1])
                for e in step * np.eye(4)]  # fmt: skip
        printed = -np.array(pull) / (2 * step) @ np.linalg.inv(2.0 * J @ J.T)
        np.testing.assert_allclose(slope.sum(axis=1), 0.0, atol=1e-6)
        assert np.abs(printed.sum(axis=1)).max() > 0.1
        assert np.abs(2 * J @ (alpha @ J)).min() > 0.1  # nabla_alpha Phi is not 0 at alpha*

    def test_the_inverse_of_a_matrix_is_not_bounded_by_one_over_its_norm(self) -> None:
        """Lemmas 3 and 4 divide by the norm of the Hessian where the norm of its inverse is meant."""
        H = np.diag([1.0, 4.0])
        assert np.linalg.norm(np.linalg.inv(H), 2) > 1.0 / np.linalg.norm(H, 2)

    @pytest.mark.parametrize("seed", range(20))
    def test_inner_weights_are_lipschitz_all_the_same(self, seed: int) -> None:
        """Lemma 4 by strong monotonicity on the simplex: |a_1 - a_2| <= |2 (M_1 - M_2) a_2| / mu."""
        rng = np.random.default_rng(seed)
        first = rng.normal(size=(3, 7))
        second = first + 0.1 * rng.normal(size=(3, 7))
        M = [J @ J.T for J in (first, second)]
        a = [weights(J) for J in (first, second)]
        mu = 2.0 * np.linalg.eigvalsh(M[0])[0]
        assert np.linalg.norm(a[0] - a[1]) <= np.linalg.norm(2 * (M[0] - M[1]) @ a[1]) / mu * (1 + 1e-9)


class TestSectionFour:
    def test_the_total_derivative_is_not_the_direction_of_the_algorithm(self) -> None:
        """Equation (21) differentiates alpha*(w) as well; Algorithm 1 moves along sum alpha_i g_i, a common descent."""
        step, ascents = 1e-6, 0
        for seed in range(20):
            f, w = quadratics(seed), np.zeros(4)

            def psi(w: np.ndarray, f=f) -> float:
                return float(weights(f(w)[1]) @ f(w)[0])

            J = f(w)[1]
            total = np.array([(psi(w + e) - psi(w - e)) / (2 * step) for e in step * np.eye(4)])
            partial = weights(J) @ J
            assert (J @ partial >= partial @ partial * (1 - 1e-9)).all()
            ascents += bool((J @ total < 0).any())
        assert ascents > 0

    @pytest.mark.parametrize(("s", "T", "factor"), [(1e-3, 100, 81), (1e-4, 1000, 816)])
    def test_the_convex_bound_is_exceeded_where_weights_move(self, s: float, T: int, factor: int) -> None:
        found = convergence.moving(T=T, s=s)
        over = np.array(found["mean iterate, weights of the limit"]) / found["bound"]
        assert round(float(over[-1])) == factor

    def test_the_smallest_weights_make_the_convex_bound_empty(self) -> None:
        """Before it is empty, it is exceeded: abar = (0, 1) weighs the flat objective alone."""
        found = convergence.moving(T=1500)
        left = np.array(found["mean iterate, smallest weights (abar)"])
        assert left[-1] == 0.0
        assert (left / found["bound"]).max() > 1.2

    def test_the_bound_without_convexity_can_be_negative(self) -> None:
        found = convergence.offset(T=700, eta=0.5)
        assert found["right"] < 0.0 < found["left"]
        assert found["smooth"] < 1.0 / found["eta"]

    def test_one_step_of_the_proof_drops_a_term_that_can_be_positive(self) -> None:
        """Theorem 3 with eta = 1/2 < 1/L and an inexact gradient: Psi = w^2/2 at w = 1, error -0.9."""
        eta, g, error = 0.5, 1.0, -0.9
        reached = 0.5 * (1.0 - eta * (g + error)) ** 2
        assert reached > 0.5 + (eta**2 / 2 - eta) * g**2 + eta**2 / 2 * error**2
        eta = 1.0
        assert 0.5 * (1.0 - eta * (g + error)) ** 2 <= 0.5 + (eta**2 / 2 - eta) * g**2 + eta**2 / 2 * error**2 + 1e-15

    @pytest.mark.parametrize("s", [1e-2, 1e-3])
    def test_what_holds_instead_of_both_theorems(self, s: float) -> None:
        """Mean weights and the last iterate (convex); the smallest fall of any single objective (not convex)."""
        found = convergence.moving(T=400, s=s)
        assert (np.array(found["last iterate, mean weights"]) <= np.array(found["bound"]) * (1 + 1e-9)).all()
        f, eta, T = convergence.offset_pair(s, 0.1, 5.0), 0.5, 300
        w = convergence.iterates(f, np.array([1.0, 0.0, 0.5]), eta, T)
        squared = np.array([(smallest_in_hull(f(x)[1]) ** 2).sum() for x in w[:T]])
        least = np.min(f(w[0])[0] - [5.0, 0.0])
        assert squared.mean() <= 2.0 / (eta * T) * least


class TestPreferences:
    def test_the_kl_term_falls_as_entropy_rises(self) -> None:
        """Below (13): KL(sigma || uniform) = log m - entropy; the cross entropy with the uniform is always log m."""
        h, pi = RNG.uniform(0.1, 2.0, size=(50, 3)), RNG.uniform(0.5, 2.0, size=(50, 3))
        y = np.exp(pi * h)
        sigma = y / y.sum(axis=1, keepdims=True)
        entropy = -(sigma * np.log(sigma)).sum(axis=1)
        np.testing.assert_allclose(kl_divergence(pi, h), np.log(3) - entropy, atol=1e-12)
        np.testing.assert_allclose(-(sigma * np.log(1 / 3)).sum(axis=1), np.log(3))

    def test_the_softmax_falls_off_the_diagonal(self) -> None:
        """Appendix C prints d sigma_i / d z_j = + sigma_i sigma_j for i != j; Proposition 1 has the right sign."""
        z, step = np.array([0.3, -0.2, 0.9]), 1e-6
        sigma = np.exp(z) / np.exp(z).sum()
        up = np.exp(z + step * np.eye(3)[1])
        np.testing.assert_allclose((up / up.sum() - sigma)[0] / step, -sigma[0] * sigma[1], rtol=1e-4)

    def test_a_larger_preference_brings_a_smaller_objective(self) -> None:
        found = [example(desired(np.array([ratio, 1.0])))[0] for ratio in np.geomspace(0.05, 20.0, 40)]
        assert (np.diff([h[0] for h in found]) < 0).all()
        assert (np.diff([h[1] for h in found]) > 0).all()

    def test_cases_one_and_two_stop_the_preference_vector_alone(self) -> None:
        first, second = (trajectory("h_PB only", start, 2000, 0.25) for start in ("case I", "case II"))
        assert first["to_front"] > 0.05
        assert PI[0] * first["end"][0] == pytest.approx(PI[1] * first["end"][1], rel=1e-3)
        assert second["to_front"] < 1e-6
        assert second["to_aim"] > 0.5

    def test_the_printed_algorithm_leaves_both_and_raises_an_objective_on_its_way(self) -> None:
        for start in ("case I", "case II"):
            found = trajectory("PB-PDO as printed", start, 2000, 0.25)
            assert found["to_aim"] < 1e-6
            assert found["rises"] > 0.05


class TestTheAppendix:
    def test_bounded_objectives_need_not_have_an_efficient_point(self) -> None:
        """Theorem 4 without compactness: (exp(-w), 2 exp(-w)) is dominated further out, everywhere."""
        for w in (-1.0, 0.0, 5.0):
            here, further = (geometry.unattained(np.array([x]))[0] for x in (w, w + 1.0))
            assert (further < here).all()
            assert (here > 0.0).all()

    def test_lines_have_no_efficient_point_and_opposites_have_no_other(self) -> None:
        found = geometry.existence(starts=5)
        assert "without bound" in found["linear"]
        assert found["stayed"] == 5
        assert found["unattained"] == [False] * 3

    @pytest.mark.parametrize("seed", [1, 2])
    def test_multipliers_are_ordered_along_a_convex_front(self, seed: int) -> None:
        """Proposition 2: weight 1 for the loss, the multiplier for the gap."""
        plain = cohort(seed)
        front = ff.trace(plain.X, plain.y, sensitive_features=plain.group.astype(str), n_points=15, progress=False)
        order = np.argsort(front.gaps[:, 0])
        price = np.abs(np.asarray(front.multipliers)).reshape(len(order), -1).max(axis=1)[order]
        assert (np.diff(front.loss[order]) <= 1e-9).all()
        assert (np.diff(price) <= 1e-7).all()

    def test_weights_turn_along_the_front_of_example_1(self) -> None:
        """Proposition 2 needs a convex front."""
        sizes = np.linalg.norm([example(t * NU)[1] for t in np.linspace(0.999, -0.999, 40)], axis=2)
        weight = sizes[:, 0] / sizes.sum(axis=1)
        assert (np.diff(np.sign(np.diff(weight))) != 0).sum() == 2

    def test_no_angle_is_no_weight_on_the_second_objective(self) -> None:
        """Proposition 2's proof: alpha = sin / (sin + cos) is 0 at theta = 0, where it writes 1."""
        alpha = [np.sin(t) / (np.sin(t) + np.cos(t)) for t in (0.0, np.pi / 2)]
        np.testing.assert_allclose(alpha, [0.0, 1.0], atol=1e-12)


def test_distances_to_the_front_of_example_1_are_exact() -> None:
    shares = np.array([-1.0, -0.4, 0.123, 0.9, 1.0])
    on = on_front(shares)
    tangent = np.gradient(on_front(np.linspace(-0.4 - 1e-5, -0.4 + 1e-5, 3)), axis=0)[1]
    normal = np.array([tangent[1], -tangent[0]]) / np.linalg.norm(tangent)
    np.testing.assert_allclose(to_front(on)[0], 0.0, atol=1e-14)
    np.testing.assert_allclose(to_front(on)[1], shares, atol=1e-9)
    distance, share = to_front((on[1] - 0.01 * normal * np.sign(normal[0]))[None])
    np.testing.assert_allclose([distance[0], share[0]], [0.01, -0.4], atol=1e-7)
    assert S == 1.5


PAGE = ROOT / "docs" / "paper" / "statements.md"
NAMED = re.compile(r"`(?P<file>test_\w+)(?:::(?P<case>\w+))?::(?P<test>test_\w+)`")


def test_every_test_named_on_the_page_of_statements_exists() -> None:
    text = PAGE.read_text()
    named = list(NAMED.finditer(text))
    assert len(named) > 30
    files = {path.stem: path.read_text() for path in Path(ROOT, "tests").rglob("test_*.py")}
    for found in named:
        source = files[found["file"]]
        assert f"def {found['test']}(" in source, found[0]
        assert found["case"] is None or f"class {found['case']}" in source, found[0]
    loose = set(re.findall(r"test_\w+", text)) - {part for found in named for part in (found["file"], found["test"])}
    assert not loose, f"not in the form `file::test`: {loose}"
