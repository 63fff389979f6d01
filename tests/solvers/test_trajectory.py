"""Extraction: the non-dominated points that runs pass, against brute force."""

from __future__ import annotations

import numpy as np
import pytest

import fairfront as ff
from fairfront.problems import Point
from fairfront.solvers import trajectory
from fairfront.solvers.trajectory import Trajectory
from tests.support.people import people
from tests.support.twins import cohort


def collected(algebra: object, batches: int, seed: int = 0) -> tuple[Trajectory, np.ndarray]:
    """Return a trajectory of random points, and all their axes."""
    rng = np.random.default_rng(seed)
    found, axes = Trajectory(algebra), []
    for step in range(batches):
        L = rng.uniform(0.2, 1.0, (7, len(algebra.p)))
        found(step, np.arange(7), Point(rng.normal(size=(7, 1, 3)), L, L, L))
        axes.append(np.column_stack([algebra.loss(L), algebra.worst(L)]))
    return found, np.concatenate(axes)


@pytest.mark.parametrize("pile", [10, 10**6])
def test_what_is_kept_is_what_no_other_point_dominates(pile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectory, "PILE", pile)
    algebra = cohort(0, 3).problem().algebra
    collector, axes = collected(algebra, 30)
    visited = collector.visited()
    expected = [p for p in axes if not ((axes <= p).all(axis=1) & (axes < p).any(axis=1)).any()]
    found = np.column_stack([visited.loss, visited.gaps])
    np.testing.assert_array_equal(found, np.array(sorted(expected, key=lambda p: p[0])))
    places = [np.flatnonzero((axes == p).all(axis=1))[0] for p in found]
    np.testing.assert_array_equal(7 * visited.step + visited.run, places)


@pytest.mark.parametrize(
    "solver", [ff.PBPDO(visited=True, slide=0.01), ff.PDO(visited=True), ff.PaperPBPDO(visited=True, T=300, eta=1.0)]
)
def test_a_frontier_keeps_what_runs_visit(solver: object) -> None:
    X, y, group = people(600)
    data = {"sensitive_features": group, "held_out": False, "random_state": 0, "progress": False}
    front = ff.trace(X, y, solver=solver, preferences=3, **data)
    visited = front.visited
    assert len(visited) >= (3 if isinstance(solver, ff.PDO) else 20)  # runs of PDO end below what they pass
    assert (np.diff(visited.loss) > 0.0).all()
    assert ff.pareto.nondominated(np.column_stack([visited.loss, visited.gaps])).all()
    problem = ff.linear_problem(X, y, sensitive_features=group)
    L = problem.values(visited.weights)  # in the user's units
    np.testing.assert_allclose(problem.algebra.loss(L), visited.loss, rtol=1e-9)
    np.testing.assert_allclose(problem.algebra.worst(L), visited.gaps, atol=1e-9)


def test_sliding_runs_extract_the_exact_frontier() -> None:
    X, y, group = people(600)
    data = {"sensitive_features": group, "held_out": False, "progress": False}
    exact = ff.trace(X, y, n_points=60, **data)
    visited = ff.trace(X, y, solver=ff.PBPDO(visited=True, slide=0.01), preferences=4, **data).visited
    gaps = exact.gaps[:, 0]
    inside = visited.gaps[:, 0] >= gaps.min()
    best = np.interp(visited.gaps[inside, 0], gaps[::-1], exact.loss[::-1])
    assert np.quantile(visited.loss[inside] - best, 0.9) <= 1e-3 * np.ptp(exact.loss)
    assert np.diff(np.sort(visited.gaps[inside, 0])).max() <= 0.05 * gaps.max()


def test_without_being_asked_nothing_is_kept() -> None:
    X, y, group = people(600)
    front = ff.trace(X, y, sensitive_features=group, solver="pb_pdo", preferences=3, held_out=False)
    assert front.visited is None
    assert len(front) == 4
    assert front.status[0] is ff.Status.EFFICIENT
