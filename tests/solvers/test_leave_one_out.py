"""Leave-one-out scores in closed form against models that are solved without the rows, with the caps kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import fairfront as ff
from fairfront.objectives import Algebra, take_groups
from fairfront.problems import LinearProblem, threads
from fairfront.problems.factorisation import BorderedInverse
from fairfront.solvers.leave_one_out import LeaveOneOut, place_stations
from fairfront.solvers.left_out_people import people_blocks
from fairfront.solvers.training import with_constraints
from tests.support.places import DATA
from tests.support.points import TracedPoint, newton_path, point_solver


@dataclass
class Rows:
    """Rows with groups and labels that depend on them, and what is asked of them."""

    X: np.ndarray
    y: np.ndarray
    groups: Any
    weight: np.ndarray | None = None

    def problem(self, kept: np.ndarray | None = None, ridge: float | None = None, **asked: Any) -> LinearProblem:
        rows = np.arange(len(self.y)) if kept is None else np.flatnonzero(kept)
        groups = take_groups(self.groups, rows, len(self.y))
        weight = None if self.weight is None else self.weight[rows]
        known = {"sensitive_features": groups, "sample_weight": weight, "groups": ff.Groups(min_size=1), **asked}
        return ff.linear_problem(self.X[rows], self.y[rows], ridge=ridge, **known)


def drawn(n: int = 240, groups: int = 2, classes: int = 2, columns: int = 4, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=n)
    X = rng.normal(size=(n, columns)) + 0.4 * group[:, None] * (np.arange(columns) % 2)
    if classes == 0:
        return Rows(X, X.sum(axis=1) + group + rng.normal(size=n), group.astype(str))
    score = X[:, :1] * (np.arange(classes) - 1.0) + 0.5 * (group[:, None] == np.arange(classes))
    return Rows(X, np.argmax(score + rng.gumbel(size=(n, classes)), axis=1), group.astype(str))


def traced(rows: Rows, newton: ff.Newton, **asked: Any) -> tuple[LinearProblem, Algebra, list[TracedPoint]]:
    problem = rows.problem(**asked).framed()
    points = newton_path(problem, newton, 5)
    return problem, point_solver(newton, problem).constraints, points


def left_out(problem: LinearProblem, algebra: Algebra, points: list[TracedPoint], person: Any = None) -> np.ndarray:
    W, x = np.stack([point.W for point in points]), np.stack([point.multipliers for point in points])
    return LeaveOneOut(problem, algebra, person).scores(W, x).scores


def solved_without(
    rows: Rows, gone: np.ndarray, problem: LinearProblem, newton: ff.Newton, point: TracedPoint, **asked: Any
) -> np.ndarray:
    """Solve a point again without some rows, holding the gaps that bind where they were: scores (K, gone) of those."""
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    kept = ~np.isin(np.arange(len(rows.y)), gone)
    ridge = float(problem.algebra.p[-1]) * weight.sum() / weight[kept].sum()
    other = rows.problem(kept, **{**asked, "ridge": ridge})
    algebra, user = other.algebra, problem.to_user(point.W)
    here = problem.algebra
    if newton.no_group_worse is not None:
        parts = [each.values(user[None])[0] for each in (other, problem._with(inside=False))]
        algebra, here = (with_constraints(*each, 0.0) for each in zip((other, problem), parts, strict=True))
    W, x = user, point.multipliers.copy()
    binds = np.abs(x) > 1e-9 * np.abs(x).max(initial=1e-300)
    stay = here.B[binds] @ point.L
    for _ in range(50):
        point = other.cells(W[None])
        H, G = other.hessian(W, algebra.p + x @ algebra.B), point.D[0]
        A = algebra.B[binds] @ G
        residual = np.concatenate([(algebra.p + x @ algebra.B) @ G, algebra.B[binds] @ point.L[0] - stay])
        whole = np.block([[H, A.T], [A, np.zeros((len(A), len(A)))]])
        step = np.linalg.lstsq(whole, -residual, rcond=1e-13)[0]
        W = W + step[: W.size].reshape(W.shape)
        x[binds] += step[W.size :]
        if np.abs(step).max() < 1e-11:
            break
    X = rows.X[gone]
    return np.asarray(W[:, :-1] @ X.T + W[:, -1:])


CASES: dict[str, tuple[Callable[[], Rows], dict[str, Any], ff.Newton]] = {
    "two groups": (drawn, {}, ff.Newton()),
    "past zero": (drawn, {}, ff.Newton(overshoot=0.6)),
    "three groups": (lambda: drawn(groups=3), {}, ff.Newton()),
    "two notions": (drawn, {"notion": ["equalized_odds", "demographic_parity"]}, ff.Newton()),
    "averages of several cells": (drawn, {"notion": ["equal_opportunity", "disparate_mistreatment"]}, ff.Newton()),
    "guards": (lambda: drawn(seed=3), {"notion": "disparate_mistreatment"}, ff.Newton(no_group_worse=0.001)),
    "rates": (drawn, {"surrogate": "rate", "ridge": 0.05}, ff.Newton()),
    "several classes": (lambda: drawn(classes=3), {}, ff.Newton()),
    "squared hinge": (drawn, {"loss": "squared_hinge"}, ff.Newton()),
    "squared": (lambda: drawn(classes=0), {"loss": "squared", "notion": "disparate_mistreatment"}, ff.Newton()),
    "no ridge": (drawn, {"ridge": 0.0}, ff.Newton()),
}


def several_attributes() -> Rows:
    rows = drawn(360, columns=10)
    other = np.random.default_rng(7).integers(2, size=360).astype(str)
    return replace(rows, groups={"one": rows.groups, "two": other})


def soft_groups() -> Rows:
    rows = drawn()
    share = np.random.default_rng(5).uniform(0.05, 0.95, 240)
    return replace(rows, groups=ff.GroupProbabilities({"a": share, "b": 1.0 - share}))


def weighted() -> Rows:
    return replace(drawn(), weight=np.random.default_rng(6).uniform(0.2, 3.0, 240))


CASES |= {
    "several attributes": (several_attributes, {"notion": "equalized_odds"}, ff.Newton()),
    "soft groups": (soft_groups, {}, ff.Newton()),
    "weights": (weighted, {}, ff.Newton()),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::fairfront.exceptions.ProxyWarning")
def test_scores_are_those_of_points_solved_without_the_row(name: str) -> None:
    """Of the shifts of 25 rows a twentieth is left in the median, and a tenth in the mean, at every point."""
    make, asked, newton = CASES[name]
    rows = make()
    problem, algebra, points = traced(rows, newton, **asked)
    found = left_out(problem, algebra, points)
    some = np.random.default_rng(1).choice(len(rows.y), 25, replace=False)
    last = len(points) - (2 if points[-1].status is ff.Status.FLOOR else 1)
    for j in (0, 2, last):
        own = problem.to_user(points[j].W)
        plain = own[:, :-1] @ rows.X[some].T + own[:, -1:]
        exact = np.hstack(
            [solved_without(rows, some[i : i + 1], problem, newton, points[j], **asked) for i in range(25)]
        )
        if len(own) > 1:  # a shift of all classes' scores is no decision
            exact, plain = exact - exact.mean(axis=0), plain - plain.mean(axis=0)
        mine = found[j][:, some]
        mine = mine - mine.mean(axis=0) if len(own) > 1 else mine
        moved, off = np.abs(exact - plain).max(axis=0), np.abs(exact - mine).max(axis=0)
        assert np.median(off / np.maximum(moved, 1e-9)) <= 0.05  # a row beyond the margin moves nothing
        assert off.mean() <= 0.1 * moved.mean()


@pytest.mark.parametrize("rows", [drawn(classes=0), replace(drawn(classes=0), weight=np.linspace(0.5, 2.0, 240))])
@pytest.mark.parametrize("ridge", [None, 0.0, 0.1])
@pytest.mark.parametrize("of", ["row", "person"])
def test_a_squared_loss_with_linear_gaps_is_exact(rows: Rows, ridge: float | None, of: str) -> None:
    newton, asked = ff.Newton(), {"loss": "squared", "notion": "demographic_parity", "ridge": ridge}
    problem, algebra, points = traced(rows, newton, **asked)
    person = np.random.default_rng(2).integers(90, size=240) if of == "person" else np.arange(240)
    found = left_out(problem, algebra, points, person if of == "person" else None)
    for j in (0, 2, 4):
        for each in person[:5]:
            gone = np.flatnonzero(person == each)
            exact = solved_without(rows, gone, problem, newton, points[j], **asked)
            np.testing.assert_allclose(found[j][:, gone], exact, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_weight_is_a_row_that_is_there_so_often(classes: int) -> None:
    """Leaving out a row of weight 2 is leaving out a person with two equal rows."""
    rows = drawn(classes=classes)
    often = np.random.default_rng(3).integers(1, 4, 240)
    again = np.repeat(np.arange(240), often)
    repeated = Rows(rows.X[again], rows.y[again], rows.groups[again])
    weighed = replace(rows, weight=often.astype(float))
    one = left_out(*traced(weighed, ff.Newton()))
    two = left_out(*traced(repeated, ff.Newton()), again)
    if classes > 2:  # a shift of all classes' scores is no decision
        one, two = (each - each.mean(axis=1, keepdims=True) for each in (one, two))
    np.testing.assert_allclose(two, one[:, :, again], rtol=0.0, atol=1e-5)


def test_people_are_left_out_whole() -> None:
    rows, newton = drawn(300), ff.Newton()
    problem, algebra, points = traced(rows, newton)
    person = np.random.default_rng(4).integers(120, size=300)
    found = left_out(problem, algebra, points, person)
    for each in np.unique(person)[:60:4]:
        gone = np.flatnonzero(person == each)
        own = problem.to_user(points[3].W)
        plain = own[:, :-1] @ rows.X[gone].T + own[:, -1:]
        exact = solved_without(rows, gone, problem, newton, points[3])
        assert np.abs(found[3][:, gone] - exact).max() <= 0.15 * np.abs(exact - plain).max()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "group", "most"), [("german_credit", "age_group", 1000), ("compas", "race", 1500)])
def test_hardly_a_decision_differs_from_exact_refits(name: str, group: str, most: int) -> None:
    if not (DATA / name).is_dir():
        pytest.skip(f"{name} is not in {DATA}: set FAIRFRONT_DATA")
    data = ff.datasets.load(name, folder=DATA)
    some = np.random.default_rng(0).permutation(len(data))[:most]
    X = data.matrix("one_hot")[0][some]
    y = (np.asarray(data.y) == data.favourable).astype(int)[some]
    rows, newton = Rows(X, y, np.asarray(data.columns[group]).astype(str)[some]), ff.Newton(overshoot=0.5)
    problem = rows.problem().framed()
    points = newton_path(problem, newton)
    found = left_out(problem, problem.algebra, points)
    plus, minus = (problem.algebra.signs[:, 0] * sign > 0 for sign in (1, -1))
    member = LeaveOneOut(problem, problem.algebra).in_averages
    inside = [problem.layout.cells.unsorted(member[each][0]) for each in (plus, minus)]
    design, sign, places = np.column_stack([X, np.ones(most)]), 2.0 * y - 1.0, (4, 11, len(points) - 2)
    different = 0
    for j in places:
        w, x = problem.to_user(points[j].W)[0], float(points[j].multipliers[0])
        gap = float(problem.algebra.gaps(points[j].L[None])[0, 0])
        near = np.flatnonzero(np.abs(design @ w) < 5 * np.abs(found[j][0] - design @ w).max())
        for i in near:
            kept = np.arange(most) != i
            exact = _without(design[kept], sign[kept], [each[kept] for each in inside], gap, w, x)
            different += bool((design[i] @ exact > 0) != (found[j][0, i] > 0))
    assert different <= len(places) * most / 1000


def _without(X: np.ndarray, y: np.ndarray, inside: list[np.ndarray], gap: float, w: np.ndarray, x: float) -> np.ndarray:
    """Minimise the logistic loss with C = 1 where the mean losses of two sets of rows differ by ``gap``."""
    n, solid = len(y), np.append(np.ones(X.shape[1] - 1), 0.0) / len(y)
    part = inside[0] / inside[0].sum() - inside[1] / inside[1].sum()
    for _ in range(30):
        p = 1.0 / (1.0 + np.exp(y * (X @ w)))
        count, slope = 1.0 / n + x * part, -y * p
        A = X.T @ (part * slope)
        whole = np.zeros((len(w) + 1, len(w) + 1))
        whole[:-1, :-1] = (X * (count * p * (1.0 - p))[:, None]).T @ X + np.diag(solid)
        whole[-1, :-1] = whole[:-1, -1] = A
        step = np.linalg.solve(whole, -np.append(X.T @ (count * slope) + solid * w, -part @ np.log1p(-p) - gap))
        w, x = w + step[:-1], x + step[-1]
        if np.abs(step).max() < 1e-9:
            break
    return w


def test_a_row_that_alone_tells_a_weight_is_clipped_and_counted() -> None:
    rows = drawn(classes=0)
    lone = replace(rows, X=np.column_stack([rows.X, np.arange(240) == 17]))
    problem, algebra, points = traced(lone, ff.Newton(), loss="squared", notion="demographic_parity", ridge=0.0)
    W, x = np.stack([point.W for point in points]), np.stack([point.multipliers for point in points])
    left = LeaveOneOut(problem, algebra).scores(W, x)
    assert left.clipped[0] == 1
    assert left.clipped.max() == 1
    assert np.isfinite(left.scores).all()
    assert not left.rough.any()


def test_the_inverse_is_that_of_the_bordered_matrix_also_where_the_hessian_is_indefinite() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(2, 6))
    H = np.eye(6) - 3.0 * A.T @ np.linalg.solve(A @ A.T, A)  # negative across the gaps, positive along them
    found = BorderedInverse.of(H, A)
    whole = np.linalg.inv(np.block([[H, A.T], [A, np.zeros((2, 2))]]))
    np.testing.assert_allclose(found.root @ found.root.T, whole[:6, :6], atol=1e-12)
    np.testing.assert_allclose(found.Q, whole[:6, 6:], atol=1e-12)
    np.testing.assert_allclose(found.R, whole[6:, 6:], atol=1e-12)
    assert not found.concave
    assert BorderedInverse.of(-H, A).concave
    twice = BorderedInverse.of(H, np.vstack([A, A[0] - A[1]]))  # a gap that depends on others changes nothing
    np.testing.assert_allclose(twice.root @ twice.root.T, whole[:6, :6], atol=1e-12)


def test_scores_are_the_same_to_the_last_bit_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_cores", lambda: 3)
    rows = drawn(6000, columns=40)
    problem, algebra, points = traced(rows, ff.Newton())
    one = left_out(problem, algebra, points)
    with threadpool_limits(3, user_api="blas"):
        np.testing.assert_array_equal(left_out(problem, algebra, points), one)


def test_points_between_stations_are_interpolated_where_the_same_gaps_bind() -> None:
    problem, algebra, points = traced(drawn(), ff.Newton())
    weights, multipliers = (np.stack([getattr(each, name) for each in points]) for name in ("W", "multipliers"))
    stencils = place_stations(LeaveOneOut(problem, algebra).solved_points(weights, multipliers), 2)
    assert stencils[0].nodes == (0,)  # nothing binds
    assert all(stencil.nodes == (1, 4) for stencil in stencils[1:])
    for stencil, first in zip((stencils[1], stencils[4]), (1.0, 0.0), strict=True):
        np.testing.assert_allclose(stencil.coefficients, [first, 1.0 - first], atol=1e-12)
    assert all(0.0 < stencil.coefficients.min() < 1.0 for stencil in stencils[2:4])
    assert all(stencil.coefficients.sum() == pytest.approx(1.0) for stencil in stencils)


@pytest.mark.parametrize("ends", [[3, 40, 41, 100], [100], [1, 2, 3, 100]])
def test_blocks_of_rows_follow_on_each_other_and_end_with_cells_where_these_are_large(ends: list[int]) -> None:
    blocks = people_blocks(None, np.array(ends), 24)
    rows = [block.rows for block in blocks]
    assert np.concatenate([np.arange(100)[each] for each in rows]).tolist() == list(range(100))
    assert all(0 < block.people <= 24 for block in blocks)
    for end in ends:  # a cell ends inside a block only where too few rows would be before or the block would go on
        inside = [each for each in rows if isinstance(each, slice) and each.start < end < each.stop]
        assert all(end - each.start < 6 or any(each.stop == other for other in ends) for each in inside)
