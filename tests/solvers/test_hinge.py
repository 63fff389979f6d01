"""The hinge itself, solved by every default solver: against support vector machines that know nothing of fairfront."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from sklearn.svm import SVC, LinearSVC

import fairfront as ff
from benchmarks.cases import adult, folder, loaded
from fairfront.datasets import load_compas
from fairfront.objectives.losses import MarginLoss, SmoothedHinge
from fairfront.objectives.surrogates import Centred

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
        assert front.status[i] is ff.Status.EFFICIENT
        gap, loss = front.gaps[i, 0], front.objectives[i, 0]
        tangents = sure.objectives[:, 0] - np.abs(np.asarray(sure.multipliers)[:, 0]) * (gap - sure.gaps[:, 0])
        assert tangents.max() - off <= loss
        assert loss <= np.interp(gap, sure.gaps[::-1, 0], sure.objectives[::-1, 0]) + off


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("width", [0.002, 0.1])
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


@dataclass(frozen=True)
class Abrupt(MarginLoss):
    """A hinge that is hardly rounded and does not say so: it has no wider twin to begin with."""

    name = "abrupt"

    def margin(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return SmoothedHinge(0.002).margin(u)

    def margin_curvature(self, u: np.ndarray) -> np.ndarray:
        return SmoothedHinge(0.002).margin_curvature(u)


def test_a_trace_that_cannot_place_its_points_says_so() -> None:
    X, y, group = rows("german")
    with pytest.warns(
        ff.FairfrontWarning, match=r"10 points were asked for, and [1-9] different ones were solved: the"
    ):
        front = ff.trace(X, y, sensitive_features=group, loss=Abrupt(), n_points=10)
    assert len(front) < 10


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


@pytest.mark.parametrize("label", [None, 1.0, -1.0])
def test_kinks_are_rounded_around_slopes(label: float | None) -> None:
    rng = np.random.default_rng(0)
    score, target, centre = 2.0 * rng.normal(size=(1, 500)), rng.choice([-1.0, 1.0], 500), rng.random(500)
    sign = target if label is None else label
    hinge = np.maximum(0.0, 1.0 - sign * score[0])
    for width in (0.01, 0.3, 2.0):
        measure = Centred(width, centre, label)
        value, slope = measure.value_slope(score, target)
        assert (value <= hinge + 1e-12).all()
        step = 1e-6
        ahead, behind = (measure.value_slope(score + move, target)[0] for move in (step, -step))
        np.testing.assert_allclose((ahead - behind) / (2 * step), slope[0], atol=1e-3)
        np.testing.assert_array_equal(measure.rows(10, 20).value_slope(score[:, 10:20], target[10:20])[0], value[10:20])
        again = Centred(width, -slope[0] * sign, label)
        kinked = SmoothedHinge(width) if label is None else None
        if kinked is not None:
            zero = Centred(width, np.zeros(500))
            np.testing.assert_allclose(zero.value_slope(score, target)[0], kinked.value_slope(score, target)[0])
            np.testing.assert_array_equal(zero.curvature(score, target), kinked.curvature(score, target))
        settled = np.abs(sign * score[0] - 1.0) > width
        np.testing.assert_allclose(again.value_slope(score, target)[0][settled], hinge[settled], atol=1e-12)
