"""The comparators against what is known independently: closed-form fronts of quadratics, SLSQP, KKT conditions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import fairfront as ff
from benchmarks.paper import bumps, comparators
from benchmarks.paper.comparators.gradient import balance, on_interval
from fairfront.exceptions import InputError
from fairfront.objectives.notions import ScoreCovariance
from tests.support.twins import cohort

D = 5
C1, C2 = np.full(D, 0.4), -np.full(D, 0.4)
APART = float((C1 - C2) @ (C1 - C2))
START = np.array([0.9, -0.3, 0.5, 0.1, -0.8])


def quadratics(*centres: np.ndarray):
    """Return h_i(w) = |w - c_i|^2 / 2 with its Jacobian; of two, the front is the line between the centres."""

    def f(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        away = np.array([w - c for c in centres])
        return 0.5 * (away**2).sum(axis=1), away

    return f


PAIR = quadratics(C1, C2)


def on_line(share: float) -> np.ndarray:
    """Return the efficient point that lies ``share`` of the way from the first centre to the second."""
    return C1 + share * (C2 - C1)


def smallest_maximum(f, m: int, pi: np.ndarray, start: np.ndarray) -> float:
    """Return min over w of max_i pi_i h_i by SLSQP in (w, t)."""
    unit = np.append(np.zeros(len(start)), 1.0)
    found = minimize(
        lambda x: x[-1],
        np.append(start, (pi * f(start)[0]).max()),
        jac=lambda x: unit,
        method="SLSQP",
        constraints=[
            {
                "type": "ineq",
                "fun": lambda x: x[-1] - pi * f(x[:-1])[0],
                "jac": lambda x: np.column_stack([-pi[:, None] * f(x[:-1])[1], np.ones(m)]),
            }
        ],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return float(found.x[-1])


@pytest.mark.parametrize("a", [0.1, 0.5, 0.8])
def test_weighted_sum_ends_where_the_weighted_centres_are(a: float) -> None:
    found = comparators.weighted_sum(PAIR, np.array([a, 1 - a]), START)
    np.testing.assert_allclose(found.w, on_line(1 - a), atol=1e-7)
    np.testing.assert_allclose(found.path[-1], found.h)
    assert found.evaluations == len(found.path) - 1


@pytest.mark.parametrize("b", [0.2, 0.5, 0.9])
def test_nbi_cuts_the_front_evenly(b: float) -> None:
    found = comparators.nbi(PAIR, [C1, C2], np.array([b, 1 - b]), START)
    np.testing.assert_allclose(found.w, on_line(1 - b), atol=1e-6)


@pytest.mark.parametrize("cap", [0.01, 0.3])
def test_epsilon_constraint_stops_at_its_cap(cap: float) -> None:
    found = comparators.epsilon_constraint(PAIR, np.array([cap]), START)
    np.testing.assert_allclose(found.w, on_line(1 - np.sqrt(2 * cap / APART)), atol=1e-6)


@pytest.mark.parametrize("ratio", [0.25, 1.0, 5.0])
class TestPreferences:
    """pi_1 h_1 = pi_2 h_2 on the line: s / (1 - s) = sqrt(pi_2 / pi_1)."""

    def wanted(self, ratio: float) -> np.ndarray:
        return on_line(np.sqrt(ratio) / (1 + np.sqrt(ratio)))

    @pytest.mark.slow
    def test_epo(self, ratio: float) -> None:
        found = comparators.epo(PAIR, np.array([1.0, ratio]), START, eta=0.05, steps=3000)
        np.testing.assert_allclose(found.w, self.wanted(ratio), atol=0.03)

    def test_smooth_chebyshev(self, ratio: float) -> None:
        pi = np.array([1.0, ratio])
        found = comparators.smooth_chebyshev(PAIR, pi, START, widths=(1e-1, 1e-2, 1e-3, 1e-4))
        np.testing.assert_allclose((pi * found.h).max(), smallest_maximum(PAIR, 2, pi, START), rtol=1e-3)
        np.testing.assert_allclose(found.w, self.wanted(ratio), atol=5e-3)


def test_epo_first_lowers_the_imbalance_and_may_raise_an_objective() -> None:
    h, J = PAIR(on_line(0.02))
    pi = np.array([1.0, 1.0])
    direction = balance(h, J @ J.T, pi) @ J
    after = PAIR(on_line(0.02) - 1e-3 * direction)[0]
    assert after[1] < h[1]
    assert after[0] > h[0]
    assert abs(after[1] - after[0]) < abs(h[1] - h[0])


@pytest.mark.parametrize("sector", [0, 2, 4])
def test_pareto_mtl_ends_efficient_inside_its_sector(sector: int) -> None:
    turned = comparators.sectors(5)
    found = comparators.pareto_mtl(PAIR, turned, sector, START, eta=0.1, steps=2000)
    share = float((C1 - found.w) @ (C1 - C2) / APART)
    np.testing.assert_allclose(found.w, on_line(share), atol=1e-4)
    assert -1e-6 <= share <= 1 + 1e-6
    assert (turned @ found.h <= turned[sector] @ found.h + 0.02).all()


def test_weight_perturbation_follows_the_weighted_sums() -> None:
    weights = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    found = comparators.weight_perturbation(PAIR, weights, START, steps=100)
    for answer, (_, second) in zip(found, weights, strict=True):
        np.testing.assert_allclose(answer.w, on_line(second), atol=1e-6)
    assert found[1].evaluations < 40


class TestWalks:
    """Both methods that walk along a front, on the quadratics' line and on the bent front of Example 1."""

    UNIT = np.full(2, APART / 2)

    def hessian(self, w: np.ndarray, a: np.ndarray) -> np.ndarray:
        return a.sum() * np.eye(D)

    def walked(self, name: str, start: np.ndarray) -> list[comparators.Found]:
        if name == "homotopy":
            found, hessians = comparators.homotopy(PAIR, self.hessian, start, self.UNIT, 0.15)
            assert len(found) <= hessians <= 10 * len(found)
            return found
        return comparators.exploration(PAIR, start, self.UNIT, 0.15)

    @pytest.mark.parametrize("name", ["homotopy", "exploration"])
    def test_points_lie_on_the_line_in_order_and_apart(self, name: str) -> None:
        found = self.walked(name, C1)
        shares = np.array([(C1 - point.w) @ (C1 - C2) / APART for point in found])
        for point, share in zip(found, shares, strict=True):
            np.testing.assert_allclose(point.w, on_line(share), atol=1e-6)
        assert (np.diff(shares) > 0).all()
        assert 5 <= len(found) <= 20
        assert shares[-1] > 0.75
        h = np.array([PAIR(C1)[0], *(point.h for point in found)])
        assert (np.linalg.norm(np.diff(h, axis=0) / self.UNIT, axis=1) <= 0.3 + 1e-9).all()

    @pytest.mark.parametrize("name", ["homotopy", "exploration"])
    def test_a_bent_front_is_walked_to_its_other_end(self, name: str) -> None:
        unit = np.ones(2)
        if name == "homotopy":
            found = comparators.homotopy(bumps.example, bumps.curvature, bumps.NU, unit, 0.15)[0]
        else:
            found = comparators.exploration(bumps.example, bumps.NU, unit, 0.15)
        distance, share = bumps.to_front(np.array([point.h for point in found]))
        assert distance.max() < 1e-8
        assert share.max() > 0.5
        assert share.min() < -0.9
        assert (np.diff(share) < 0).all()


def test_epos_program_on_an_interval_is_the_linear_program() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        rows, gain = rng.normal(size=(3, 2)), rng.normal(size=2)
        ends = rng.normal(size=3) - 0.5
        found = on_interval(gain, rows, ends)
        given = {"A_ub": -rows, "b_ub": -ends, "A_eq": np.ones((1, 2)), "b_eq": [1.0], "bounds": (0.0, 1.0)}
        best = linprog(-gain, **given)
        if best.x is not None:
            np.testing.assert_allclose(gain @ found, gain @ best.x, atol=1e-6)
        np.testing.assert_allclose(found.sum(), 1.0)


class TestMinimax:
    centres = tuple(np.random.default_rng(3).normal(size=(3, D)))

    def level(self) -> float:
        return smallest_maximum(quadratics(*self.centres), 3, np.ones(3), np.zeros(D))

    def test_minimax_pareto(self) -> None:
        found = comparators.minimax_pareto(quadratics(*self.centres), 3, np.zeros(D), rounds=300)
        np.testing.assert_allclose(found.h.max(), self.level(), rtol=5e-3)
        inside = np.linalg.lstsq(np.vstack([np.array(self.centres).T, np.ones(3)]), np.append(found.w, 1.0), rcond=None)
        assert (inside[0] >= -1e-6).all()  # efficient: a convex combination of the centres

    def test_almo(self) -> None:
        found = comparators.almo(quadratics(*self.centres), 3, np.zeros(D), steps=4000)
        np.testing.assert_allclose(found.h.max(), self.level(), rtol=2e-2)


class Ridgeless:
    """Squared loss without a penalty, fitted by the normal equations."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Ridgeless:
        w = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), 2.0 * y - 1.0, rcond=None)[0]
        self.coef_, self.intercept_ = w[None, :-1], w[-1:]
        return self


class TestFERM:
    def data(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        plain = cohort(1)
        return plain.X, plain.y > 0, plain.group

    def test_mean_scores_of_positives_are_equal(self) -> None:
        X, positive, group = self.data()
        model = comparators.ferm(X, positive, group, Ridgeless)
        means = [(X[(group == g) & positive] @ model[:-1] + model[-1]).mean() for g in (0, 1)]
        np.testing.assert_allclose(means[0], means[1], atol=1e-12)

    def test_it_is_least_squares_under_that_constraint(self) -> None:
        """The KKT system of least squares with w.u = 0, solved as one linear system."""
        X, positive, group = self.data()
        model = comparators.ferm(X, positive, group, Ridgeless)
        Z = np.column_stack([X, np.ones(len(X))])
        u = np.append(X[(group == 0) & positive].mean(axis=0) - X[(group == 1) & positive].mean(axis=0), 0.0)
        kkt = np.block([[Z.T @ Z, u[:, None]], [u[None], np.zeros((1, 1))]])
        w = np.linalg.solve(kkt, np.append(Z.T @ np.where(positive, 1.0, -1.0), 0.0))[:-1]
        np.testing.assert_allclose(model, w, atol=1e-8)

    def test_three_groups_are_refused(self) -> None:
        with pytest.raises(ValueError, match="two groups, found 3"):
            comparators.ferm(np.ones((3, 2)), [1, 0, 1], [0, 1, 2], Ridgeless)

    def test_no_difference_leaves_the_learner_alone(self) -> None:
        X = np.vstack([np.eye(3), np.eye(3)])
        group = np.repeat([0, 1], 3)
        model = comparators.ferm(X, np.ones(6), group, Ridgeless)
        np.testing.assert_allclose(X @ model[:-1] + model[-1], 1.0, atol=1e-8)


def test_against_own_best_is_each_groups_loss_minus_its_own_optimum() -> None:
    plain = cohort(2)
    problem, best = comparators.against_own_best(
        plain.X, plain.y, sensitive_features=plain.group.astype(str), ridge=plain.ridge
    )
    levels = [int(name) for name in problem.algebra.mean_names]
    for g, found in zip(levels, best, strict=True):
        rows = plain.group == g
        own = type(plain)(plain.X[rows], plain.y[rows], plain.group[rows])
        w = own.plain_fit
        np.testing.assert_allclose(found, own.losses(w, own.y)[0].mean(), atol=1e-6)
    front = ff.tracing.trace_problem(problem, "newton", n_points=5, progress=False)
    assert (front.gaps[:, 0] > 0).all()  # nobody does better than alone, up to the penalty
    w = np.append(front.models.coef[0, 0], front.models.intercept[0])
    losses = np.array([plain.losses(w, plain.y)[0][plain.group == g].mean() for g in levels])
    np.testing.assert_allclose(front.gaps[0, 0], (losses - best).max(), atol=1e-8)


class TestScoreCovariance:
    def test_gap_is_zafars_covariance(self) -> None:
        plain = cohort(3)
        problem = ff.linear_problem(
            plain.X, plain.y, sensitive_features=plain.group.astype(str), notion=ScoreCovariance(), ridge=plain.ridge
        )
        w = np.random.default_rng(0).normal(size=plain.d)
        z = problem.algebra.gaps(problem.values(w[None, None]))[0, 0]
        share = (plain.group == 0).mean()
        covariance = np.cov(plain.group == 0, plain.design @ w, bias=True)[0, 1]
        np.testing.assert_allclose(abs(share * (1 - share) * z), abs(covariance), rtol=1e-10)

    def test_zero_covariance_costs_what_slsqp_says(self) -> None:
        plain = cohort(3)
        problem = ff.linear_problem(
            plain.X, plain.y, sensitive_features=plain.group.astype(str), notion=ScoreCovariance(), ridge=plain.ridge
        )
        ours = ff.solve(problem, "newton", max_gap=0.0).objectives[0, 0]
        means = [plain.design[plain.group == g].mean(axis=0) for g in (0, 1)]
        flat = {"type": "eq", "fun": lambda w: (means[0] - means[1]) @ w, "jac": lambda w: means[0] - means[1]}
        found = minimize(
            plain.loss,
            plain.plain_fit,
            jac=True,
            constraints=[flat],
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(ours, found.fun, atol=1e-8)

    def test_rates_are_refused(self) -> None:
        plain = cohort(3)
        with pytest.raises(InputError, match="compares mean scores, found surrogate='rate'"):
            ff.linear_problem(
                plain.X,
                plain.y,
                sensitive_features=plain.group.astype(str),
                notion=ScoreCovariance(),
                surrogate="rate",
            )
