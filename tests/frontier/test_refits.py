"""Refits on many samples at once are the refits of each sample on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import fairfront as ff
from fairfront.frontier.linear_frontier import path_caps_of, same_problem
from fairfront.problems import LinearProblem
from fairfront.problems.samples import Samples
from fairfront.solvers import Newton, Status
from fairfront.solvers.knots import first_knot, knot_solver
from fairfront.solvers.newton import follow
from fairfront.solvers.refits import TOL, refit
from tests.support.trial import census, matrix, students

pytestmark = pytest.mark.filterwarnings("ignore::fairfront.GroupWarning")

Made = tuple[LinearProblem, Newton, np.ndarray, np.ndarray, int]


def weighted() -> tuple[Any, Any, dict[str, Any]]:
    rows = census(4_000)
    given = {"sensitive_features": {"race": rows["race"], "sex": rows["sex"]}, "favourable": "50000+."}
    X = matrix(rows, "age", "study", "weeks", "kind")
    given |= {"sample_weight": rows["instance_weight"], "groups": ff.Groups(min_size=4), "n_points": 6}
    given |= {"ridge": 1.0 / float(np.sum(rows["instance_weight"]))}
    return X, rows["income"], given


def skewed() -> tuple[Any, Any, dict[str, Any]]:
    rows = students(3_000)
    given = {"sensitive_features": rows["race"], "favourable": "passed", "n_points": 5}
    given |= {"notion": "equalized_odds", "groups": ff.Groups(min_size=10)}
    return matrix(rows, "lsat", "ugpa", "family_income"), rows["outcome"], given


def classes() -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(4)
    group = rng.integers(2, size=900)
    X = rng.normal(size=(900, 3)) + 0.5 * group[:, None]
    y = np.digitize(X[:, 0] + rng.normal(size=900), [-0.3, 0.8])
    return X, y, {"sensitive_features": group, "loss": "softmax", "n_points": 4}


def values() -> tuple[Any, Any, dict[str, Any]]:
    rng = np.random.default_rng(5)
    group = rng.integers(3, size=800)
    X = rng.normal(size=(800, 4))
    y = 1e3 * (X[:, 0] + 0.5 * group + rng.normal(size=800))
    return X, y, {"sensitive_features": group, "loss": "squared", "notion": "group_loss", "n_points": 4}


def guarded() -> tuple[Any, Any, dict[str, Any]]:
    X, y, given = weighted()
    return X, y, given | {"solver": ff.Newton(no_group_worse=0.01)}


def thin() -> tuple[Any, Any, dict[str, Any]]:
    X, y, given = weighted()
    return sparse.csr_array(X), y, given


def made(draw: Callable[[], tuple[Any, Any, dict[str, Any]]]) -> Made:
    X, y, given = draw()
    front = ff.trace(X, y, progress=False, **given)
    problem = same_problem(front, (X, y, given["sensitive_features"], given.get("sample_weight")))
    newton = replace(front.facts.newton, tol=1e-7)
    problem = newton.working(problem)
    W = problem.from_user(front.models.weights)
    return problem, newton, W, path_caps_of(front, problem), int(np.argmin(front.loss))


def refitted_alone(sample: LinearProblem, newton: Newton, W: np.ndarray, caps: np.ndarray, plain: int) -> np.ndarray:
    """Follow the path on one sample by the tracer itself."""
    newton = replace(newton, tol=1e-9)
    weights = sample.fit(sample.algebra.p, W[plain])
    solver = knot_solver(newton, sample, weights)
    first = first_knot(solver, weights)
    knot, found = replace(first, caps=np.maximum(first.caps, caps.max(axis=0))), []
    for place, row in enumerate(caps):
        if place != plain and (knot.status is not Status.FLOOR or (row >= knot.caps).all()):
            knot = follow(solver, knot, row[None])[-1]
        found.append(weights if place == plain else knot.W)
    return np.stack(found)


def settled(W: np.ndarray, problem: LinearProblem) -> np.ndarray:
    """Return weights whose classes' intercepts sum to 0: their common shift changes nothing."""
    shift = (problem.penalised == 0) * W.mean(axis=-2, keepdims=True)
    return W - shift if problem.K > 1 else W


@pytest.mark.slow
@pytest.mark.parametrize("draw", [weighted, thin, skewed, classes, values, guarded])
def test_refits_are_those_of_each_sample_alone(draw) -> None:
    problem, newton, W, caps, plain = made(draw)
    samples = Samples.draw(problem, 4, np.random.default_rng(1))
    found = refit(problem, newton, samples, W, caps, plain)
    assert found.solved.all()
    alone = np.stack([refitted_alone(samples.single(s), newton, W, caps, plain) for s in range(4)])
    for s in range(4):
        sample = samples.single(s)
        size = float(problem.algebra.loss(sample.values(alone[s]))[plain])
        np.testing.assert_allclose(found.L[s], sample.values(found.W[s]), rtol=1e-10, atol=1e-12 * size)
        np.testing.assert_allclose(found.everyone[s], problem.values(found.W[s]), rtol=1e-10, atol=1e-12 * size)
        known = problem.algebra.loss(sample.values(alone[s]))
        np.testing.assert_allclose(problem.algebra.loss(found.L[s]), known, atol=10 * TOL * size)
    alone, again = (settled(W, problem) for W in (alone, found.W))
    spread = np.maximum(alone.std(axis=0), 1e-3 * np.abs(alone).max())
    assert np.abs((again - alone) / spread).max() < 0.02  # a fiftieth of what drawing rows again does


def test_a_sample_is_the_rows_that_were_drawn() -> None:
    X, y, given = skewed()
    given |= {"notion": "equal_opportunity", "groups": ff.Groups(min_size=1)}
    front = ff.trace(X, y, **given)
    problem = same_problem(front, (X, y, given["sensitive_features"], None))
    newton = replace(front.facts.newton, tol=1e-7)
    samples = Samples.draw(problem, 2, np.random.default_rng(2))
    caps = path_caps_of(front, problem)
    found = refit(problem, newton, samples, front.models.weights, caps, 0)
    rows = np.repeat(problem.layout.cells.order, samples.counts[1])
    assert len(rows) == len(y)
    for place in (1, 2):
        drawn = ff.ParetoFairClassifier(
            max_loss_gap=float(caps[place].max()), groups=given["groups"], favourable="passed", ridge=1.0 / len(y)
        ).fit(X[rows], y[rows], sensitive_features=given["sensitive_features"][rows])
        np.testing.assert_allclose(found.W[1, place, 0, :-1], drawn.coef_[0], atol=2e-4)


@pytest.mark.parametrize("draw", [weighted, thin, classes])
def test_samples_evaluate_and_bend_as_problems_do(draw) -> None:
    problem, _, W, _, _ = made(draw)
    samples = Samples.draw(problem, 3, np.random.default_rng(0))
    which = np.array([2, 0])
    L, G, everyone = samples.cells(W[:2], which)
    omega = np.random.default_rng(1).uniform(size=problem.layout.k)
    for i, s in enumerate(which):
        sample = samples.single(s)
        np.testing.assert_allclose(sample.layout.cells.weight, problem.layout.cells.weight)
        point = sample.cells(W[i : i + 1])
        np.testing.assert_allclose(L[i], point.L[0], rtol=1e-11)
        np.testing.assert_allclose(G[i], point.D[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(everyone[i], problem.values(W[i : i + 1])[0], rtol=1e-11)
        H = np.tensordot(omega, samples.hessians(W[i], int(s)), 1)
        np.testing.assert_allclose(H, sample.hessian(W[i], omega), rtol=1e-9, atol=1e-12)


def test_thinned_samples_keep_small_cells_and_the_weight_of_all() -> None:
    problem, _, W, _, _ = made(weighted)
    samples = Samples.draw(problem, 2, np.random.default_rng(0))
    part = samples.thinned(100)
    sizes, kept = np.diff(problem.layout.cells.offsets), np.diff(part.piece.cells.offsets)
    np.testing.assert_array_equal(kept[sizes < 200], sizes[sizes < 200])
    assert ((kept >= 100) & (kept < 200))[sizes >= 200].all()
    whole, some = samples.hessians(W[0], 1), part.hessians(W[0], 1)
    small = np.flatnonzero(sizes < 200)
    np.testing.assert_allclose(some[small], whole[small], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(np.trace(some, axis1=1, axis2=2), np.trace(whole, axis1=1, axis2=2), rtol=0.5)


def test_points_too_large_for_side_by_side_are_solved_one_by_one(monkeypatch) -> None:
    problem, newton, W, caps, plain = made(skewed)
    samples = Samples.draw(problem, 2, np.random.default_rng(1))
    together = refit(problem, newton, samples, W, caps, plain)
    for room in (1, 1 << 13):
        monkeypatch.setattr("fairfront.solvers.refits.ROOM", room)
        apart = refit(problem, newton, samples, W, caps, plain)
        np.testing.assert_allclose(problem.algebra.loss(apart.L), problem.algebra.loss(together.L), rtol=1e-5)
        assert apart.solved.all()
