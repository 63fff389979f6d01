"""The hinge itself, solved by every default solver: against support vector machines that know nothing of fairfront."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.svm import SVC, LinearSVC

import fairfront as ff
from benchmarks.cases import adult, folder, loaded
from fairfront.datasets import load_compas
from fairfront.objectives.losses import SmoothedHinge
from fairfront.solvers import hinge_problem as rooms
from fairfront.solvers.hinge import HingePoint, HingeSolver
from fairfront.solvers.hinge_path import HingeSettings, Restarts, follow, hinge_path, improved
from tests.support.hinge_oracles import People, duality_gap, hard, one_hot, people, stationarity

Data = tuple[np.ndarray, np.ndarray, np.ndarray]
SOLVERS = ("newton", "pb_pdo", "pdo")
SHARE = 1e-3  # of the range of losses on the front that a point may be off


@cache
def rows(name: str) -> Data:
    """Return features without intercept, labels of 0 and 1, and groups of a data set."""
    if not folder().exists():
        pytest.skip("the raw data are not here")
    if name == "adult":
        whole = adult("sex")
        return whole.X, whole.y, np.asarray(whole.groups)
    data, column = (loaded("german"), "age_group") if name == "german" else (load_compas(folder()), name)
    y = np.asarray(data.y == data.favourable, dtype=np.intp)
    return data.matrix("one_hot")[0], y, np.asarray(data.columns[column]).astype(str)


def cells(data: Data, w: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the mean hinge with scikit-learn's ridge at C = 1, and the mean hinge of the favoured in each group."""
    X, y, group = data
    hinge = np.maximum(0.0, 1.0 - (2 * y - 1) * (X @ w[:-1] + w[-1]))
    means = np.array([hinge[(group == g) & (y == 1)].mean() for g in np.unique(group)])
    return float(hinge.mean() + w[:-1] @ w[:-1] / (2 * len(y))), means


def weighted_optimum(data: Data, price: float) -> float:
    """Return the smallest loss + price * (gap between the two groups), by libsvm with weighted rows."""
    X, y, group = data
    weight = np.ones(len(y))
    for g, sign in zip(np.unique(group), (1.0, -1.0), strict=True):
        cell = (group == g) & (y == 1)
        weight[cell] += sign * price * len(y) / cell.sum()
    assert (weight >= 0.0).all(), "only a convex Lagrangian has an optimum that libsvm finds"
    found = SVC(kernel="linear", C=1.0, tol=1e-7).fit(X, y, sample_weight=weight)
    loss, means = cells(data, np.append(found.coef_[0], found.intercept_))
    return loss + price * float(means[0] - means[1])


def weights_of(front: ff.Frontier) -> np.ndarray:
    return np.column_stack([front.models.coef[:, 0], front.models.intercept[:, 0]])


@cache
def traced(name: str, solver: str, n: int = 5) -> ff.Frontier:
    X, y, group = rows(name)
    options: dict[str, Any] = {"n_points": n} if solver == "newton" else {"preferences": n, "random_state": 0}
    return ff.trace(X, y, sensitive_features=group, loss="hinge", solver=solver, **options)


def priced(data: Data, front: ff.Frontier, i: int) -> tuple[float, float]:
    """Return the multiplier of the first group's mean minus the second's, and that gap."""
    means = cells(data, weights_of(front)[i])[1]
    gap, price = float(means[0] - means[1]), float(np.asarray(front.multipliers)[i, 0])
    return price if np.sign(gap) == np.sign(front.signed_gaps[i, 0]) else -price, gap


def restricted_optimum(data: Data, w: np.ndarray, larger: int, reach: float = 0.05) -> float:
    """Return a bound below the loss of all models near w whose gap is at most that of w, by HiGHS.

    ``larger`` is the group with the larger mean in plain training.

    The gap is a difference of two convex means. The one that it is taken from is a linear program's; the other one is
    replaced by its tangent at w, which lies below it, and so is the ridge. What is left is convex, so that a point that
    cannot be improved here is a local optimum; where the Lagrangian is convex, libsvm says more.
    """
    X, y, group = data
    n, Z = len(y), np.column_stack([X, np.ones(len(y))]) * (2 * y - 1)[:, None]
    _, means = cells(data, w)
    mine, other = ((group == np.unique(group)[g]) & (y == 1) for g in (larger, 1 - larger))
    below = other & (Z @ w < 1.0 - 1e-9)
    tangent = -Z[below].sum(axis=0) / other.sum()
    A = sparse.vstack(
        [
            sparse.hstack([-Z, -sparse.eye(n)]),  # 1 - u <= xi
            sparse.hstack([-tangent[None], sparse.csr_matrix(mine / mine.sum())]),
        ]
    )
    b = np.append(-np.ones(n), means[larger] - tangent @ w)
    ridge = np.append(w[:-1], 0.0) / n
    found = linprog(
        np.concatenate([ridge, np.full(n, 1.0 / n)]), A_ub=A, b_ub=b, method="highs",
        bounds=[*((v - reach, v + reach) for v in w), *([(0.0, None)] * n)],
    )  # fmt: skip
    assert found.success, found.message
    return float(found.fun - ridge @ w + w[:-1] @ w[:-1] / (2 * n))


COMPAS = [pytest.param(name, marks=pytest.mark.slow) for name in ("sex", "race")]


@pytest.mark.parametrize("name", ["german", *COMPAS])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_ends_at_the_optimum_of_the_hinge(name: str, solver: str) -> None:
    data, front = rows(name), traced(name, solver)
    newton = traced(name, "newton")
    span, larger = np.ptp(newton.objectives[:, 0]), int(np.argmax(cells(data, weights_of(newton)[0])[1]))
    assert len(front) == (5 if solver == "newton" else 6)  # the unconstrained model, and where five runs end
    for i in range(len(front)):
        assert front.status[i] in (ff.Status.EFFICIENT, ff.Status.LINE)
        w = weights_of(front)[i]
        assert cells(data, w)[0] == pytest.approx(front.objectives[i, 0], rel=1e-9)
        if i or solver != "newton":
            assert front.objectives[i, 0] <= restricted_optimum(data, w, larger) + SHARE * span


@pytest.mark.parametrize("name", ["german", *COMPAS])
def test_certified_points_are_those_of_support_vector_machines(name: str) -> None:
    """At its multiplier a certified point minimises a weighted hinge, of which libsvm finds the optimum."""
    data, front = rows(name), traced(name, "newton")
    assert front.certified[0]
    assert name != "german" or front.certified.all()
    for i in np.flatnonzero(front.certified):
        price, gap = priced(data, front, i)
        least = weighted_optimum(data, price) - price * gap
        assert front.objectives[i, 0] <= least + 1e-6
        assert front.objectives[i, 0] >= least - SHARE * np.ptp(front.loss)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_plain_training_on_adult_is_no_worse_than_liblinear() -> None:
    """It penalises the intercept and stops early, so that it is above the optimum by about 0.6 % of the range."""
    data, front = rows("adult"), traced("adult", "newton", 4)
    found = LinearSVC(loss="hinge", tol=1e-6, max_iter=20_000).fit(*data[:2])
    above = cells(data, np.append(found.coef_[0], found.intercept_))[0] - front.objectives[0, 0]
    assert front.certified.all()
    assert 0.0 <= above <= 0.01 * np.ptp(front.objectives[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["pb_pdo", "pdo"])
def test_every_solver_ends_on_the_certified_front_of_adult(solver: str) -> None:
    """A certified point's tangent, of its own multiplier, lies below the whole front, and a chord above it."""
    front, sure = traced("adult", solver, 4), traced("adult", "newton", 4)
    off = SHARE * np.ptp(sure.objectives[:, 0])
    for i in [i for i, status in enumerate(front.status) if status is not ff.Status.VISITED]:
        assert front.status[i] in (ff.Status.EFFICIENT, ff.Status.LINE)
        gap, loss = front.gaps[i, 0], front.objectives[i, 0]
        tangents = sure.objectives[:, 0] - np.abs(np.asarray(sure.multipliers)[:, 0]) * (gap - sure.gaps[:, 0])
        assert tangents.max() - off <= loss
        assert loss <= np.interp(gap, sure.gaps[::-1, 0], sure.objectives[::-1, 0]) + off


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("width", [0.02, 0.1])
def test_a_narrowly_rounded_hinge_is_solved_as_it_is(solver: str, width: float) -> None:
    X, y, group = rows("german")
    options: dict[str, Any] = {"n_points": 5} if solver == "newton" else {"preferences": 5, "random_state": 0}
    front = ff.trace(X, y, sensitive_features=group, loss=SmoothedHinge(width), solver=solver, **options)
    hinge = traced("german", solver)
    assert all(status in (ff.Status.EFFICIENT, ff.Status.LINE) for status in front.status)
    assert len(front) == len(hinge)
    if solver == "newton":
        assert front.certified.all()
        assert (front.objectives[:, 0] <= hinge.objectives[:, 0] + 1e-9).all() or width == 0.1
        assert np.abs(front.objectives[:, 0] - hinge.objectives[:, 0]).max() <= width


def test_a_trace_that_cannot_place_its_points_says_so() -> None:
    X, y, group = rows("german")
    with pytest.warns(ff.FairfrontWarning, match=r"10 points were asked for, and [0-9] different ones"):
        ff.trace(X, y, sensitive_features=group, n_points=10, solver=ff.Newton(max_iter=1))


def test_preferences_and_points_past_zero_are_of_the_hinge() -> None:
    X, y, group = rows("german")
    aimed = ff.trace(X, y, sensitive_features=group, loss="hinge", preferences=[[1.0, 100.0], [1.0, 1000.0]])
    for i in (1, 2):
        assert aimed.status[i] in (ff.Status.LINE, ff.Status.EFFICIENT)
    beyond = ff.trace(X, y, sensitive_features=group, loss="hinge", n_points=4, solver=ff.Newton(overshoot=0.5))
    past = [i for i, status in enumerate(beyond.status) if status is ff.Status.PAST]
    assert past
    assert not beyond.certified[past].any()
    assert (np.sign(beyond.signed_gaps[past, 0]) == -np.sign(beyond.signed_gaps[0, 0])).all()


def test_the_smallest_group_loss_is_that_of_the_hinge() -> None:
    """Of the largest mean hinge of a group, a linear program knows the smallest value (up to the ridge)."""
    X, y, group = rows("german")
    front = ff.trace(X, y, sensitive_features=group, loss="hinge", notion="group_loss", n_points=4)
    assert front.status[-1] is ff.Status.FLOOR
    n, Z = len(y), np.column_stack([X, np.ones(len(y))]) * (2 * y - 1)[:, None]
    member = np.stack([(group == g) / (group == g).sum() for g in np.unique(group)])
    A = sparse.vstack(
        [
            sparse.hstack([-Z, -sparse.eye(n), sparse.csr_matrix((n, 1))]),
            sparse.hstack([sparse.csr_matrix((2, Z.shape[1])), sparse.csr_matrix(member), -np.ones((2, 1))]),
        ]
    )
    costs, free = np.zeros(Z.shape[1] + n + 1), [(None, None)] * Z.shape[1]
    costs[-1] = 1.0
    least = linprog(costs, A, np.append(-np.ones(n), [0.0, 0.0]), bounds=[*free, *([(0, None)] * n), (None, None)]).fun
    assert least <= front.gaps[-1, 0] <= least + 1e-3


NOTIONS = (
    "equal_opportunity",
    "predictive_equality",
    "equalized_odds",
    "disparate_mistreatment",
    "demographic_parity",
    "score_covariance",
)


def solved_path(data: People, n_points: int = 5, **question: Any) -> tuple[HingeSolver, list[HingePoint]]:
    """Return the path without further starts, on framed columns."""
    solver = HingeSettings().solver(data.problem(**question).framed())
    return solver, hinge_path(solver, n_points, lambda _: None)


@pytest.mark.parametrize("ridge", [1e-3, 0.05])
def test_plain_training_is_that_of_libsvm(ridge: float) -> None:
    data = one_hot()
    solver, (plain, *_) = solved_path(data, 2, ridge=ridge)
    model = SVC(kernel="linear", C=1.0 / (ridge * len(data.y)), tol=1e-8).fit(data.X, data.y)
    w, b = model.coef_[0], model.intercept_[0]
    margin = (2 * data.y - 1) * (data.X @ w + b)
    loss = np.maximum(0.0, 1.0 - margin).mean() + 0.5 * ridge * w @ w
    assert solver.loss(plain) == pytest.approx(loss, rel=1e-6)
    assert solver.loss(plain) <= loss + 1e-9


def test_plain_training_without_an_intercept_is_that_of_liblinear() -> None:
    data = people()
    front = data.traced(fit_intercept=False, ridge=0.01, n_points=2)
    model = LinearSVC(loss="hinge", C=1.0 / (0.01 * len(data.y)), fit_intercept=False, tol=1e-10, max_iter=100_000)
    w = model.fit(data.X, data.y).coef_[0]
    loss = np.maximum(0.0, 1.0 - (2 * data.y - 1) * (data.X @ w)).mean() + 0.005 * w @ w
    assert front.loss[0] == pytest.approx(loss, rel=1e-6)


def test_without_a_ridge_plain_training_is_a_linear_program() -> None:
    """Columns that depend on others, and labels that nearly can be separated, leave many optima of one value."""
    data = people(n=80, d=4, noise=0.1)
    data = replace(data, X=np.hstack([data.X, data.X @ np.ones((4, 1)), np.ones((80, 1))]))
    front = data.traced(ridge=0.0, n_points=3)
    Z = np.column_stack([data.X, np.ones(80)]) * (2 * data.y - 1)[:, None]
    costs = np.append(np.zeros(Z.shape[1]), np.full(80, 1 / 80))
    bounds = [(None, None)] * Z.shape[1] + [(0, None)] * 80
    least = linprog(costs, np.hstack([-Z, -np.eye(80)]), -np.ones(80), bounds=bounds).fun
    assert front.loss[0] == pytest.approx(least, abs=1e-8)
    assert all(status.solved for status in front.status)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("n_groups", [2, 4])
def test_every_point_of_a_path_is_stationary(notion: str, n_groups: int) -> None:
    weight = np.random.default_rng(5).integers(0, 3, 400).astype(float)
    solver, points = solved_path(one_hot(n_groups=n_groups), notion=notion, sample_weight=weight)
    for point in points:
        assert point.status.solved
        assert (solver.sizes(point.L) <= point.caps + 1e-9).all()
        assert stationarity(solver.problem, point) <= 1e-6
    assert (np.diff([solver.loss(point) for point in points]) >= -1e-9).all()


@pytest.mark.parametrize("notion", NOTIONS)
def test_certified_points_have_no_duality_gap(notion: str) -> None:
    solver, points = solved_path(one_hot(), 8, notion=notion, ridge=0.002)
    sure = [point for point in points if point.certified]
    assert max(duality_gap(solver.problem, point) for point in sure) <= 1e-7
    assert len(sure) > 1 or notion == "demographic_parity"  # whose cells the loss does not count


def test_several_notions_and_columns_are_capped_together() -> None:
    data = people(n=400)
    columns = {"group": data.group, "other": np.random.default_rng(2).choice(["x", "y", "z"], 400)}
    notion = ["equal_opportunity", "demographic_parity"]
    front = data.traced(sensitive_features=columns, notion=notion, n_points=4)
    assert all(status.solved for status in front.status)
    assert front.gaps[-1].max() <= 1e-8
    assert (np.diff(front.loss) >= -1e-9).all()


@settings(max_examples=25)
@given(seed=st.integers(0, 9999), notion=st.sampled_from(NOTIONS[:5]), ridge=st.sampled_from([1e-5, 1e-3, 0.1]))
def test_hard_data_do_not_stop_a_path(seed: int, notion: str, ridge: float) -> None:
    solver, points = solved_path(hard(seed), 4, notion=notion, ridge=ridge)
    for point in points:
        assert point.status.solved or point.status in (ff.Status.STALLED, ff.Status.OUT_OF_REACH)
        if point.status.solved:
            assert (solver.sizes(point.L) <= point.caps + 1e-6 * solver.size).all()
        if point.certified:
            assert duality_gap(solver.problem, point) <= 1e-6
    assert points[0].certified


def test_hard_data_are_nearly_always_solved() -> None:
    paths = [solved_path(hard(seed), 4, ridge=1e-3)[1] for seed in range(40)]
    unsolved = sum(not point.status.solved for points in paths for point in points)
    assert unsolved <= 2


@pytest.mark.parametrize("notion", ["equal_opportunity", "demographic_parity"])
def test_points_of_one_column_are_the_best_of_a_grid(notion: str) -> None:
    data = people(seed=3, n=80, d=1)
    front = data.traced(notion=notion, n_points=6, ridge=0.01)
    slope, intercept = np.meshgrid(np.linspace(-3, 3, 401), np.linspace(-3, 3, 401))
    scores = slope.reshape(-1, 1) * data.X[:, 0] + intercept.reshape(-1, 1)
    sign = 2 * data.y - 1
    losses = np.maximum(0.0, 1.0 - scores * sign).mean(axis=1) + 0.005 * slope.ravel() ** 2
    compared = np.maximum(0.0, 1.0 - scores)
    rows = [(data.group == g) & ((data.y == 1) | (notion != "equal_opportunity")) for g in (0, 1)]
    gaps = np.abs(compared[:, rows[0]].mean(axis=1) - compared[:, rows[1]].mean(axis=1))
    for i in range(len(front) - 1):
        assert front.loss[i] <= losses[gaps <= front.gaps[i, 0]].min() + 1e-9


@pytest.mark.parametrize("notion", ["equal_opportunity", "demographic_parity"])
def test_units_do_not_matter(notion: str) -> None:
    """Columns in other units with a ridge to match, offsets, and weights in other units give the same losses."""
    data, scale = people(n=200), 2.0 ** np.array([-8, 3, 0, 11, 20])
    one = data.traced(notion=notion, n_points=4, ridge=0.0)
    other = replace(data, X=data.X * scale + 3.0 * scale).traced(notion=notion, n_points=4, ridge=0.0)
    np.testing.assert_allclose(other.loss, one.loss, rtol=1e-7)
    plain, weighed = (data.traced(n_points=4, ridge=0.01, sample_weight=w) for w in (None, np.full(200, 7.0)))
    np.testing.assert_allclose(weighed.loss, plain.loss, rtol=1e-9)


def test_a_weight_is_a_row_that_is_there_as_often() -> None:
    data, weight = people(n=150), np.random.default_rng(0).integers(0, 4, 150)
    weighed = data.traced(n_points=4, ridge=0.01, sample_weight=weight.astype(float))
    often = People(*(np.repeat(part, weight, axis=0) for part in (data.X, data.y, data.group)))
    np.testing.assert_allclose(weighed.loss, often.traced(n_points=4, ridge=0.01).loss, rtol=1e-8)


def test_sparse_rows_are_those_of_dense_ones() -> None:
    data = one_hot()
    dense = data.traced(n_points=4)
    thin = ff.trace(
        sparse.csr_array(data.X), data.y, sensitive_features=data.group, loss="hinge", n_points=4, progress=False
    )
    np.testing.assert_allclose(thin.loss, dense.loss, rtol=1e-8)


def test_no_group_gets_worse_where_that_is_asked() -> None:
    data = people(n=400)
    free, guarded = (data.traced(n_points=5, solver=ff.Newton(no_group_worse=at)) for at in (None, 0.01))
    sign = 2 * data.y - 1

    def means(front: ff.Frontier) -> np.ndarray:
        scores = data.X @ front.models.coef[:, 0].T + front.models.intercept[:, 0]
        hinge = np.maximum(0.0, 1.0 - sign[:, None] * scores)
        return np.stack([hinge[(data.group == g) & (data.y == 1)].mean(axis=0) for g in (0, 1)])

    assert (means(guarded) <= means(guarded)[:, :1] + 0.01 + 1e-8).all()
    assert means(free).max(axis=1).sum() > means(guarded).max(axis=1).sum() + 1e-4
    assert all(status.solved for status in guarded.status)


def test_a_cap_that_does_not_bind_gives_plain_training() -> None:
    problem = people().problem(ridge=0.01)
    outcome = ff.solve(problem, "newton", max_gap=10.0)
    plain = people().traced(ridge=0.01, n_points=2).loss[0]
    assert outcome.objectives[0, 0] == pytest.approx(plain, rel=1e-9)


def test_single_caps_and_preferences_lie_on_the_path() -> None:
    problem = people(n=400).problem(ridge=0.01)
    front = people(n=400).traced(ridge=0.01, n_points=5)
    capped = ff.solve(problem, "newton", max_gap=float(front.gaps[2, 0]))
    assert capped.objectives[0, 0] == pytest.approx(front.loss[2], rel=1e-7)
    pi = np.array([[1.0, front.loss[2] / front.objectives[2, 1]]])
    preferred = ff.solve(problem, "newton", preferences=pi)
    assert preferred.status[0] is ff.Status.LINE
    np.testing.assert_allclose(preferred.objectives[0], front.objectives[2], rtol=1e-6)


def test_a_bound_lies_below_every_model_within_the_caps() -> None:
    data = people(seed=4, n=120, n_groups=3, noise=3.0)
    solver, points = solved_path(data, 6, ridge=0.01)
    points = improved(solver, points, Restarts(5, 0, lambda caps: np.zeros((len(caps), data.X.shape[1] + 1))))
    for point in points:
        assert point.bound <= solver.loss(point)
        if point.certified:
            assert point.bound == pytest.approx(solver.loss(point), rel=1e-5)
    assert np.isfinite([point.bound for point in points]).all()


def test_further_starts_never_raise_a_loss() -> None:
    data = one_hot(seed=2)
    once, often = (data.traced(notion="demographic_parity", n_points=5, solver=ff.Newton(restarts=n)) for n in (0, 2))
    again = data.traced(notion="demographic_parity", n_points=5, solver=ff.Newton(restarts=2))
    assert (often.loss <= once.loss + 1e-8).all()
    np.testing.assert_array_equal(often.loss, again.loss)
    solver, points = solved_path(data, notion="demographic_parity")
    assert (once.loss <= [solver.loss(point) + 1e-8 for point in points]).all()
    walked = follow(solver, points[0], np.stack([point.caps for point in points[1:]]), lambda _: None)
    np.testing.assert_allclose([solver.loss(point) for point in walked], [solver.loss(p) for p in points[1:]])


def test_what_cannot_be_solved_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ff.InputError, match="smooth rates"):
        people().traced(surrogate="rate")
    monkeypatch.setattr(rooms, "MOST_NUMBERS", 100)
    with pytest.raises(ff.InputError, match="dense rows"):
        people().traced()


def test_folds_of_a_hinge_are_plain_refits() -> None:
    """The scores of plain training without each fold, whoever is in it, are those of libsvm without these rows."""
    data, person = people(n=200), np.arange(200) // 2 % 3
    front = data.traced(ridge=0.01, n_points=3, held_out=True, person=person)
    wrong = np.zeros(200, dtype=bool)
    for each in range(3):
        inside = person != each
        compared = np.where(data.y == 1, 1 + data.group, 0)
        weight = np.zeros(200)
        for cell in range(3):  # every cell keeps its weight
            rows = compared == cell
            weight[rows & inside] = rows.sum() / (rows & inside).sum()
        model = SVC(kernel="linear", C=1.0 / (0.01 * 200), tol=1e-8).fit(data.X[inside], data.y[inside], weight[inside])
        wrong[~inside] = model.predict(data.X[~inside]) != data.y[~inside]
    assert front.evaluations["held_out"]["error"][0] == pytest.approx(wrong.mean(), abs=1e-12)
    assert front.evaluations["held_out"].made.startswith("3 folds")
