"""PB-PDO: preferences met, missed and replaced by Chebyshev points; one level for the whole run."""

from __future__ import annotations

import numpy as np
import pytest

import fairfront as ff
from fairfront.solvers import Outcome, Target, descend
from tests.support.twins import Function, Twin, assert_kkt, assert_on_line, cohort, slsqp

Status = ff.Status
EFFICIENT = (Status.LINE, Status.CHEBYSHEV, Status.NEAREST)


def at_fit(plain: Twin) -> np.ndarray:
    """Return the objectives of the unconstrained model."""
    return plain.objectives(plain.plain_fit)[0]


def preferences(plain: Twin, *factors: float) -> np.ndarray:
    """Return preferences (R, 2) that ask for gaps by factors smaller than the unconstrained ones."""
    h = at_fit(plain)
    return np.column_stack([np.ones(len(factors)), np.array(factors) * h[0] / h[1]])


def solved(plain: Twin, pi: np.ndarray, gap: str = "squared", **settings: float) -> Outcome:
    return ff.solve(plain.problem(gap=gap), ff.PBPDO(**settings), preferences=pi)


def assert_least_loss(plain: Twin, w: np.ndarray, caps: np.ndarray) -> None:
    """Within the caps, balanced by multipliers, and no better than SLSQP from there."""
    assert_kkt(plain, w, caps)
    best = plain.best(caps, w, plain.plain_fit)
    np.testing.assert_allclose(plain.loss(w)[0], plain.loss(best)[0], atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_reachable_preferences_end_on_their_line(seed: int) -> None:
    """The front runs from plain training to gap 0: every ratio above that of plain training is met."""
    plain = cohort(seed)
    pi = preferences(plain, 1.2, 2.0, 8.0, 60.0, 1e4)
    outcome = solved(plain, pi)
    assert all(status is Status.LINE for status in outcome.status)
    for W, p, found in zip(outcome.W, pi, outcome.objectives, strict=True):
        assert_on_line(p, found, 1e-4)
        assert_least_loss(plain, W[0], np.abs(plain.gaps(W[0])[0]))


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_preferences_beyond_plain_training_stay_there(seed: int) -> None:
    plain = cohort(seed)
    outcome = solved(plain, preferences(plain, 0.01, 0.9))
    assert outcome.status == (Status.NEAREST, Status.NEAREST)
    np.testing.assert_allclose(outcome.W[:, 0], np.tile(plain.plain_fit, (2, 1)), atol=1e-5)
    np.testing.assert_allclose(outcome.alpha, [[1.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize("seed", range(6))
def test_three_groups_end_at_the_chebyshev_point(seed: int) -> None:
    """z_13 = z_12 + z_23, so that a generic line does not meet the front (design, item 10)."""
    plain = cohort(seed, 3)
    h, rng = at_fit(plain), np.random.default_rng(seed)
    pi = np.column_stack([np.ones(3), 10.0 ** rng.uniform(-0.3, 1.5, (3, 3)) * h[0] / h[1:].max()])
    outcome = solved(plain, pi)
    for W, p, found, status in zip(outcome.W, pi, outcome.objectives, outcome.status, strict=True):
        assert status in (Status.CHEBYSHEV, Status.NEAREST)
        assert (status is Status.NEAREST) == (p[0] * h[0] >= (p * h)[1:].max())
        np.testing.assert_allclose((p * found).max(), plain.chebyshev(p, plain.plain_fit, W[0]), rtol=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_three_groups_on_a_line_that_meets_the_front(seed: int) -> None:
    plain = cohort(seed, 3)
    caps = 0.5 * np.abs(plain.gaps(plain.plain_fit)[0])
    there = plain.objectives(plain.best(caps))[0]
    outcome = solved(plain, there[0] / there[None])
    assert outcome.status == (Status.LINE,)
    np.testing.assert_allclose(outcome.objectives[0], there, rtol=1e-4)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_group_losses_that_no_weights_reach(seed: int, groups: int) -> None:
    """Where group losses have a floor above what is asked, the end is the Chebyshev point, certified."""
    plain = cohort(seed, groups, "group_loss")
    h, rng = at_fit(plain), np.random.default_rng(seed)
    for factor in (1.5, 30.0):
        pi = np.append(1.0, factor * h[0] / h[1:].max() * np.exp(0.5 * rng.normal(size=groups)))
        outcome = solved(plain, pi[None])
        level = (pi * outcome.objectives[0]).max()
        best = plain.chebyshev(pi, plain.plain_fit, outcome.W[0, 0])
        np.testing.assert_allclose(level, best, rtol=1e-5)
        assert outcome.status[0] in EFFICIENT


@pytest.mark.parametrize(("seed", "groups"), [(0, 2), (3, 3)])
@pytest.mark.parametrize("gap", ["absolute", "exponential"])
def test_gap_functions_change_the_path_and_not_the_points(gap: str, seed: int, groups: int) -> None:
    """A preference for one function of the gaps is one for another: the end is where its line passes."""
    plain = cohort(seed, groups)
    h = at_fit(plain)
    first = solved(plain, np.append(1.0, np.full(len(h) - 1, 4.0 * h[0] / h[1:].max()))[None])
    worst = np.abs(plain.gaps(first.W[0, 0])[0]).max()
    penalty = {"absolute": worst, "exponential": np.cosh(worst) - 1.0}[gap]
    pi = np.append(1.0, np.full(len(h) - 1, first.objectives[0, 0] / penalty))
    np.testing.assert_allclose(solved(plain, pi[None], gap).W, first.W, atol=1e-4)


@pytest.mark.parametrize("groups", [2, 3])
def test_a_batch_of_runs_equals_single_runs(groups: int) -> None:
    plain = cohort(3, groups)
    h = at_fit(plain)
    pi = np.column_stack([np.ones(4), np.outer([0.5, 3.0, 20.0, 500.0], h[0] / h[1:])])
    together = solved(plain, pi)
    for r in range(4):
        alone = solved(plain, pi[r : r + 1])
        np.testing.assert_allclose(together.W[r], alone.W[0], atol=1e-8)
        assert together.status[r] is alone.status[0]
        np.testing.assert_allclose(together.history[r].alpha[-1], alone.history[0].alpha[-1], atol=1e-4)


@pytest.mark.parametrize("groups", [2, 3])
def test_the_highest_of_five_levels_only_falls(groups: int) -> None:
    """One merit for the whole run: that is why runs cannot go in circles."""
    for seed in range(5):
        plain = cohort(seed, groups)
        h = at_fit(plain)
        pi = np.append(1.0, np.full(len(h) - 1, 30.0 * h[0] / h[1:].max()))
        rng = np.random.default_rng(seed)
        outcome = ff.solve(plain.problem(), "pb_pdo", 2.0 * rng.normal(size=(1, 1, plain.d)), preferences=pi)
        level = (pi * outcome.history[0].objectives).max(axis=1)
        for t in range(1, len(level)):
            assert level[t] <= level[max(0, t - 5) : t].max() * (1.0 + 1e-12)


def test_directions_vanish_at_the_end() -> None:
    plain = cohort(1)
    outcome = solved(plain, preferences(plain, 4.0, 40.0))
    for run, history in enumerate(outcome.history):
        assert history.alpha.shape == history.objectives.shape
        assert len(history.direction_norm) == len(history) <= outcome.n_iter[run] + 1
        np.testing.assert_allclose(history.alpha.sum(axis=1), 1.0)
        J = plain.objectives(outcome.W[run, 0])[1]
        assert np.linalg.norm(outcome.alpha[run] @ J) <= 1e-4 * np.linalg.norm(J, axis=1).max()
        assert outcome.direction_norm[run] <= 1e-4 * history.direction_norm.max()


def test_slides_are_short_and_many() -> None:
    plain = cohort(0)
    largest = np.abs(plain.gaps(plain.plain_fit)[0]).max()
    for slide in (0.2, 0.02):
        outcome = solved(plain, preferences(plain, 1e6), slide=slide)
        gaps = np.sqrt(2.0 * outcome.history[0].objectives[:, 1])
        assert np.abs(np.diff(gaps)).max() <= 1.5 * slide * largest
        assert len(gaps) >= 0.8 / slide


def test_sliding_stays_on_the_frontier() -> None:
    """What runs pass is the frontier itself: SLSQP finds no smaller loss at their gaps."""
    plain = cohort(1)
    outcome = solved(plain, preferences(plain, 300.0))
    for loss, penalty in outcome.history[0].objectives[3::5]:
        gap = np.array([np.sqrt(2.0 * penalty)])
        best = plain.loss(plain.best(gap))[0]
        assert loss - best <= 1e-3 * plain.span


def test_the_iteration_limit_is_told() -> None:
    plain = cohort(0)
    outcome = solved(plain, preferences(plain, 1e4), max_iter=3)
    assert outcome.status == (Status.LIMIT,)
    assert outcome.n_iter[0] <= 3
    assert len(outcome.history[0]) <= 4 == outcome.passes
    none = solved(plain, preferences(plain, 1e-3), max_iter=0)
    assert none.n_iter[0] == 0
    assert none.status[0].solved


def test_caps_are_for_newton() -> None:
    with pytest.raises(ff.InputError, match="use solver='newton' for caps"):
        ff.solve(cohort(0).problem(), "pb_pdo", max_gap=0.1)


def test_modules_without_a_start_are_refused() -> None:
    plain = cohort(0)
    problem = plain.problem()
    bare = type("Bare", (), {"cells": problem.cells, "move": problem.move, "algebra": problem.algebra})()
    with pytest.raises(ff.InputError, match="start is None"):
        descend(bare, ff.PBPDO(), target=Target.from_preferences(np.ones((1, 2))))


def quadratics(rng: np.random.Generator, m: int, d: int) -> Function:
    """Return m random convex quadratics of d variables, not aligned with the axes, at least 0.1."""
    roots = rng.normal(size=(m, d, d))
    H = np.einsum("mij,mkj->mik", roots, roots) / d + 0.1 * np.eye(d)
    centre = rng.normal(size=(m, d))

    def functions(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slopes = np.einsum("mij,mj->mi", H, w - centre)
        return 0.1 + 0.5 * (slopes * (w - centre)).sum(axis=1), slopes

    return functions


def smallest_level(f: Function, pi: np.ndarray, *starts: np.ndarray) -> float:
    """Return SLSQP's smallest max_i pi_i h_i, the best from several starts."""
    last = np.eye(len(starts[0]) + 1)[-1]

    def room(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        h, J = f(v[:-1])
        return v[-1] - pi * h, np.column_stack([-pi[:, None] * J, np.ones(len(pi))])

    lifted = [np.append(w, (pi * f(w)[0]).max()) for w in starts]
    return float(slsqp(lambda v: (v[-1], last), room, lifted)[-1])


def test_convex_functions_end_at_the_smallest_level() -> None:
    """Floors are certified like any other end: no run circles, stalls, or stops short."""
    excess = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        m, d = int(rng.integers(2, 5)), int(rng.integers(2, 7))
        f = quadratics(rng, m, d)
        x0, pi = 3.0 * rng.normal(size=d), np.exp(1.5 * rng.normal(size=m))
        found = ff.minimize(f, x0, pi, jac=True)
        assert found.status in EFFICIENT
        assert found.nfev <= 200
        excess.append((pi * found.fun).max() / smallest_level(f, pi, x0, found.x) - 1.0)
    assert max(excess) <= 5e-6
    assert np.mean(np.array(excess) <= 1e-6) >= 0.98


def test_example_1_ends_on_its_lines() -> None:
    """500 random starts of the paper's Example 1, five preferences."""
    d = 20
    nu = np.full(d, np.sqrt(2.0 / d))
    rng = np.random.default_rng(0)
    start = rng.normal(size=(500, d))
    start *= rng.uniform(0.0, 2.0 * np.sqrt(2.0), (500, 1)) / np.linalg.norm(start, axis=1, keepdims=True)
    pi = np.array([[1.0, 4.0], [1.0, 2.0], [1.0, 1.0], [2.0, 1.0], [4.0, 1.0]])[np.arange(500) % 5]

    def bumps(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        away = np.stack([W - nu, W + nu], axis=-2)
        height = np.exp(-(away**2).sum(axis=-1) / 1.5**2)
        return 1.0 - height, 2.0 * away * height[..., None] / 1.5**2

    class Bumps(ff.problems.FunctionProblem):
        """All runs at once."""

        def cells(self, W: np.ndarray) -> ff.problems.Point:
            L, G = bumps(W[:, 0])
            return ff.problems.Point(W, L, np.einsum("rid,rjd->rij", G, G), G)

    outcome = descend(Bumps(bumps, nu, jac=True), ff.PBPDO(), start[:, None], Target.from_preferences(pi))
    assert all(status is Status.LINE for status in outcome.status)
    levels = pi * outcome.objectives
    assert (levels.max(axis=1) <= 1.001 * levels.min(axis=1)).all()
    along = outcome.W[:, 0] @ nu / (nu @ nu)
    assert np.abs(along).max() <= 1.0
    assert np.linalg.norm(outcome.W[:, 0] - along[:, None] * nu, axis=1).max() <= 1e-3
