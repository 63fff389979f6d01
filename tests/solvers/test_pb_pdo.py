"""PB-PDO: preferences met, missed and replaced by Chebyshev points, caps met at the least loss; SciPy has the word."""

from __future__ import annotations

import numpy as np
import pytest

import fairfront as ff
from fairfront.solvers import Outcome, Target, run
from fairfront.solvers.base import Request
from fairfront.solvers.loop import State
from tests.support.twins import Twin, assert_kkt, assert_on_line, cohort

Status = ff.Status


def at_fit(plain: Twin) -> np.ndarray:
    """Return the objectives of plain training."""
    return plain.objectives(plain.plain_fit)[0]


def to_caps(plain: Twin, caps: np.ndarray, gap: str = "squared", **settings: float) -> Outcome:
    return run(plain.problem(gap=gap), ff.PBPDO(**settings), target=Target.from_caps(np.atleast_2d(caps)))


def assert_least_loss(plain: Twin, w: np.ndarray, caps: np.ndarray) -> None:
    """Within the caps, balanced by multipliers, and no better than SLSQP from there nor from plain training."""
    assert_kkt(plain, w, caps)
    best = plain.best(caps, w, plain.plain_fit)
    np.testing.assert_allclose(plain.loss(w)[0], plain.loss(best)[0], atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_reachable_preferences_end_on_their_line(seed: int) -> None:
    """The front runs from plain training to gap 0: every ratio above that of plain training is met on it."""
    plain = cohort(seed)
    h = at_fit(plain)
    pi = np.column_stack([np.ones(5), np.array([1.2, 2.0, 8.0, 60.0, 1e4]) * h[0] / h[1]])
    outcome = ff.solve(plain.problem(), "pb_pdo", preferences=pi)
    assert outcome.status == (Status.LINE,) * 5
    for W, p, found in zip(outcome.W, pi, outcome.objectives, strict=True):
        assert_on_line(p, found)
        assert_least_loss(plain, W[0], np.abs(plain.gaps(W[0])[0]))


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_preferences_beyond_plain_training_stay_there(seed: int) -> None:
    plain = cohort(seed)
    h = at_fit(plain)
    pi = np.column_stack([np.ones(2), np.array([0.01, 0.9]) * h[0] / h[1]])
    outcome = ff.solve(plain.problem(), "pb_pdo", preferences=pi)
    assert outcome.status == (Status.NEAREST, Status.NEAREST)
    assert all(status.solved for status in outcome.status)
    np.testing.assert_allclose(outcome.W[:, 0], np.tile(plain.plain_fit, (2, 1)), atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_three_groups_end_at_the_chebyshev_point(seed: int) -> None:
    """z_13 = z_12 + z_23, so that a generic line does not meet the front (design, item 10)."""
    plain = cohort(seed, 3)
    h, rng = at_fit(plain), np.random.default_rng(seed)
    pi = np.column_stack([np.ones(3), 10.0 ** rng.uniform(-0.3, 1.5, (3, 3)) * h[0] / h[1:].max()])
    outcome = ff.solve(plain.problem(), "pb_pdo", preferences=pi)
    for W, p, found, status in zip(outcome.W, pi, outcome.objectives, outcome.status, strict=True):
        assert status in (Status.CHEBYSHEV, Status.NEAREST)
        assert (status is Status.NEAREST) == (p[0] * h[0] >= (p * h)[1:].max())
        np.testing.assert_allclose((p * found).max(), plain.chebyshev(p, plain.plain_fit, W[0]), rtol=1e-5)


def test_three_groups_on_a_line_that_meets_the_front() -> None:
    plain = cohort(3, 3)
    caps = 0.5 * np.abs(plain.gaps(plain.plain_fit)[0])
    there = plain.objectives(to_caps(plain, caps).W[0, 0])[0]
    outcome = ff.solve(plain.problem(), "pb_pdo", preferences=there[0] / there)
    assert outcome.status == (Status.LINE,)
    np.testing.assert_allclose(outcome.objectives[0], there, rtol=5e-3)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_group_losses_that_no_weights_reach(seed: int, groups: int) -> None:
    """Where group losses have a floor above what is asked, the end is the Chebyshev point all the same."""
    plain = cohort(seed, groups, "group_loss")
    h, rng = at_fit(plain), np.random.default_rng(seed)
    for factor in (1.5, 30.0):
        pi = np.append(1.0, factor * h[0] / h[1:].max() * np.exp(0.5 * rng.normal(size=groups)))
        outcome = ff.solve(plain.problem(), "pb_pdo", preferences=pi)
        found = (pi * outcome.objectives[0]).max()
        np.testing.assert_allclose(found, plain.chebyshev(pi, plain.plain_fit, outcome.W[0, 0]), rtol=1e-3)
        assert outcome.status[0] in (Status.OUT_OF_REACH, Status.CHEBYSHEV, Status.LINE)


@pytest.mark.parametrize("surrogate", ["loss", "rate"])
@pytest.mark.parametrize(("seed", "groups"), [(0, 2), (3, 2), (5, 2), (1, 3), (3, 3), (4, 3), (2, 5)])
def test_caps_are_met_at_the_least_loss(seed: int, groups: int, surrogate: str) -> None:
    plain = cohort(seed, groups, surrogate=surrogate)
    size = np.abs(plain.gaps(plain.plain_fit)[0])
    caps = np.outer([0.8, 0.4, 0.0], np.full(len(size), size.max()))
    outcome = to_caps(plain, caps)
    assert outcome.status == (Status.EFFICIENT,) * 3
    for W, cap in zip(outcome.W, caps, strict=True):
        assert_least_loss(plain, W[0], cap)
    assert outcome.objectives[0, 0] <= outcome.objectives[1, 0] <= outcome.objectives[2, 0]


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_one_sided_caps_on_group_losses(seed: int) -> None:
    plain = cohort(seed, 3, "group_loss")
    highest = plain.gaps(plain.plain_fit)[0].max()
    floor = np.sqrt(2.0 * plain.chebyshev(np.array([1e-9, 1.0, 1.0, 1.0])))
    worst = floor + np.array([1.01, 0.5, 0.1]) * (highest - floor)
    outcome = to_caps(plain, np.tile(worst[:, None], 3))
    assert outcome.status == (Status.EFFICIENT,) * 3
    for W, cap in zip(outcome.W, worst, strict=True):
        assert_least_loss(plain, W[0], np.full(3, cap))
    beyond = to_caps(plain, np.full(3, 0.9 * floor))
    assert beyond.status == (Status.OUT_OF_REACH,)
    np.testing.assert_allclose(plain.gaps(beyond.W[0, 0])[0].max(), floor, rtol=1e-3)


@pytest.mark.parametrize(("seed", "groups"), [(0, 2), (3, 3)])
def test_gap_functions_change_the_path_and_not_the_points(seed: int, groups: int) -> None:
    plain = cohort(seed, groups)
    size = np.abs(plain.gaps(plain.plain_fit)[0])
    caps = np.outer([0.7, 0.3, 0.0], np.full(len(size), size.max()))
    ends = [to_caps(plain, caps, gap).W for gap in ("squared", "absolute", "exponential")]
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-5)
    np.testing.assert_allclose(ends[2], ends[0], atol=1e-5)


def mixed(plain: Twin) -> Target:
    """Return six targets: three caps, three preferences."""
    h = at_fit(plain)
    size = np.abs(plain.gaps(plain.plain_fit)[0])
    caps = Target.from_caps(np.outer([0.9, 0.5, 0.0], np.full(len(size), size.max())))
    pi = Target.from_preferences(np.column_stack([np.ones(3), np.outer([0.5, 3.0, 20.0], h[0] / h[1:])]))
    return Target(np.concatenate([caps.pi, pi.pi]), np.concatenate([caps.caps, pi.caps]))


def only(r: int, runs: int = 6) -> np.ndarray:
    return np.arange(runs) == r


@pytest.mark.parametrize("groups", [2, 3])
def test_one_step_of_a_batch_equals_single_steps(groups: int) -> None:
    plain = cohort(5, groups)
    problem, solver, target = plain.problem(), ff.PBPDO(), mixed(plain)
    work, W, state = solver.prepare(problem, None, target, None)
    point = work.cells(W + 0.1 * np.random.default_rng(0).normal(size=W.shape))
    together, after = solver.plan(work.algebra, point, state)
    for r in range(6):
        alone, one = solver.plan(work.algebra, work.cells(point.W[only(r)]), state.take(only(r)))
        np.testing.assert_allclose(together.beta[r], alone.beta[0], atol=1e-12)
        np.testing.assert_allclose(after.level[r], one.level[0], rtol=1e-12)
        assert together.status[r] is alone.status[0]
    assert isinstance(after, State)


@pytest.mark.parametrize("groups", [2, 3])
def test_a_batch_of_runs_equals_single_runs(groups: int) -> None:
    plain = cohort(3, groups)
    problem, target = plain.problem(), mixed(plain)
    together = run(problem, ff.PBPDO(), target=target)
    for r in range(6):
        alone = run(problem, ff.PBPDO(), target=target.take(only(r)))
        np.testing.assert_allclose(together.W[r], alone.W[0], atol=1e-8)
        assert together.status[r] is alone.status[0]
        assert together.n_iter[r] == alone.n_iter[0]


def test_slides_are_short_and_many() -> None:
    plain = cohort(0)
    largest = np.abs(plain.gaps(plain.plain_fit)[0]).max()
    for slide in (0.2, 0.02):
        outcome = to_caps(plain, np.zeros(1), slide=slide)
        gaps = np.sqrt(2.0 * outcome.history[0][:, 1])
        assert np.abs(np.diff(gaps)).max() <= 1.5 * slide * largest
        assert len(gaps) >= 0.8 / slide


def test_the_iteration_limit_is_told() -> None:
    plain = cohort(0)
    outcome = to_caps(plain, np.zeros(1), max_iter=3)
    assert outcome.status == (Status.LIMIT,)
    assert outcome.n_iter[0] == 3
    assert len(outcome.history[0]) == 4
    loose = to_caps(plain, np.ones(1))
    assert loose.status == (Status.EFFICIENT,)
    assert loose.n_iter[0] == 0


def test_group_losses_are_traced_from_plain_training_to_just_above_the_smallest() -> None:
    """Their floor is above 0: targets go evenly down to it and stop a hundredth of the way before."""
    plain = cohort(0, 3, "group_loss")
    solver, problem = ff.PBPDO(), plain.problem()
    start, target = solver.aim(problem, Request(preferences=4))
    np.testing.assert_allclose(plain.loss(start[0])[0], plain.loss(plain.plain_fit)[0], rtol=1e-8)
    highest = plain.gaps(plain.plain_fit)[0].max()
    floor = np.sqrt(2.0 * plain.chebyshev(np.array([1e-9, 1.0, 1.0, 1.0])))
    assert len(solver.aim(problem, Request())[1].caps) == 12  # where nothing was asked for
    worst = target.caps.max(axis=1)
    np.testing.assert_allclose(worst[0], highest, rtol=1e-8)
    np.testing.assert_allclose(worst[-1], floor + 0.01 * (highest - floor), rtol=1e-3)
    np.testing.assert_allclose(np.diff(worst), (worst[-1] - worst[0]) / 3, rtol=1e-6)


def test_polishing_ends_what_few_steps_began() -> None:
    plain = cohort(0)
    known = {"groups": ff.Groups(min_size=1), "notion": plain.notion, "ridge": plain.ridge, "held_out": False}
    known |= {"sensitive_features": plain.group.astype(str), "progress": False, "preferences": 4}
    rough, front = (
        ff.trace(plain.X, plain.y, solver=ff.PBPDO(max_iter=3, polish=polish), **known) for polish in (False, True)
    )
    assert sum(status is Status.EFFICIENT for status in rough.status) < 4
    ends = [i for i, status in enumerate(front.status) if status is Status.EFFICIENT]
    np.testing.assert_allclose(front.gaps[ends, 0], np.linspace(1.0, 0.0, 4) * front.gaps[0, 0], atol=1e-9)
    for i in ends:
        w = np.append(front.models.coef[i, 0], front.models.intercept[i, 0])
        best = plain.best(front.gaps[i], w, plain.plain_fit)
        np.testing.assert_allclose(plain.loss(w)[0], plain.loss(best)[0], atol=1e-9)
