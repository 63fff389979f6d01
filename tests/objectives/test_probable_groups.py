"""Groups given as probabilities: copies of rows, objectives and gradients in closed form, and people as they are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.objectives import Groups
from fairfront.objectives.groups import Copies
from fairfront.problems.fit_rows import row_sums
from fairfront.problems.weighted_fits import estimator_problem

pytestmark = pytest.mark.filterwarnings("ignore::fairfront.exceptions.ProxyWarning")
N = 300
LEVELS = ("p", "q", "r")


def people(groups: int) -> tuple[np.ndarray, np.ndarray, ff.GroupProbabilities, np.ndarray]:
    """Return features, labels, groups of which some are certain, and weights."""
    rng = np.random.default_rng(groups)
    table = rng.dirichlet(np.ones(groups), N)
    table[:60] = np.eye(groups)[rng.integers(groups, size=60)]
    X = rng.normal(size=(N, 3)) + 0.5 * table[:, :1]
    y = (X[:, 0] - 0.5 * X[:, 1] + rng.logistic(size=N) > 0).astype(int)
    return X, y, ff.GroupProbabilities(table, LEVELS[:groups], name="race"), rng.uniform(0.3, 2.0, N)


def closed_form(
    X: np.ndarray, y: np.ndarray, table: np.ndarray, weight: np.ndarray, w: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the loss and z^2 / 2 of every pair of groups under equal opportunity, (m,), and gradients (m, d).

    And the sizes (m, 2) of the terms that each value, and each gradient, is the sum or difference of.
    """
    X, w, weight, table = (np.asarray(each, dtype=np.longdouble) for each in (X, w, weight, table))
    design, sign = np.column_stack([X, np.ones(N, dtype=np.longdouble)]), 2 * y - 1
    margin = sign * (design @ w)
    loss, slope = np.log1p(np.exp(-margin)), (-sign / (1 + np.exp(margin)))[:, None] * design
    solid = np.append(w[:-1], 0)
    values = [weight @ loss / weight.sum() + ridge / 2 * (solid @ solid)]
    gradients = [weight @ slope / weight.sum() + ridge * solid]
    sizes = [(values[0], np.abs(gradients[0]).max())]
    largest = int(table.sum(axis=0).argmax())
    order = [j for j in range(table.shape[1]) if j != largest] + [largest]
    inside = (weight * (y == 1))[:, None] * table[:, order]
    means, pulls = inside.T @ loss / inside.sum(axis=0), inside.T @ slope / inside.sum(axis=0)[:, None]
    for i in range(len(order)):
        for j in range(i + 1, len(order)):
            z = means[i] - means[j]
            values.append(z**2 / 2)
            gradients.append(z * (pulls[i] - pulls[j]))
            whole, pull = means[i] + means[j], np.abs(pulls[[i, j]]).max()
            sizes.append((whole**2 / 2, whole * pull))
    return np.array(values), np.array(gradients), np.array(sizes)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_objectives_and_gradients_are_those_of_means_weighted_by_probabilities(groups: int, weighted: bool) -> None:
    X, y, soft, weight = people(groups)
    weight = weight if weighted else np.ones(N)
    known: dict[str, Any] = {"sensitive_features": soft, "sample_weight": weight if weighted else None}
    problem = ff.linear_problem(X, y, **known)
    assert problem.objectives.question.ridge == pytest.approx(1.0 / weight.sum(), rel=1e-15)
    assert problem.rows.n == np.count_nonzero(soft.shares)
    for w in np.random.default_rng(7).normal(size=(3, 4)):
        point = problem.cells(w.reshape(1, 1, -1))
        h, jacobian = problem.algebra.objectives(point.L)[0], problem.algebra.jacobian(point.L)[0] @ point.D[0]
        ridge = float(problem.objectives.question.ridge or 0.0)
        values, gradients, sizes = closed_form(X, y, soft.shares, weight, w, ridge)
        assert (np.abs(h - values) <= 1e-15 * sizes[:, 0]).all()
        assert (np.abs(jacobian - gradients).max(axis=1) <= 1e-15 * sizes[:, 1]).all()


def test_certain_rows_have_one_copy_and_others_one_per_group() -> None:
    table = np.array([[1.0, 0.0], [0.25, 0.75], [0.0, 1.0]])
    (attribute,) = Groups(min_size=1).resolve(ff.GroupProbabilities(table, ("a", "b")), 3)
    copies = Copies.of(attribute)
    np.testing.assert_array_equal(copies.row, [0, 1, 1, 2])
    np.testing.assert_array_equal(copies.probability, [1.0, 0.25, 0.75, 1.0])
    np.testing.assert_array_equal(copies.attribute.codes, [0, 0, 1, 1])
    np.testing.assert_array_equal(copies.attribute.sizes(), [1.25, 1.75])
    np.testing.assert_array_equal(copies.attribute.take(np.array([1, 2])).sizes(), [0.25, 0.75])


def test_copies_are_no_people() -> None:
    """A group with 20 expected people is left out, although every row has a copy in it, whose weight is in no group."""
    X, y, *_ = people(2)
    table = np.column_stack([np.full(N, 20.0 / N), np.full(N, 0.4), np.full(N, 0.6 - 20.0 / N)])
    soft = ff.GroupProbabilities(table, LEVELS)
    with pytest.warns(ff.GroupWarning, match=r"p \(20"):
        problem = ff.linear_problem(X, y, sensitive_features=soft, notion="demographic_parity")
    assert problem.algebra.names == ("loss", "q - r | as 1")
    assert problem.layout.cells.weight.sum() == pytest.approx(N, rel=1e-14)
    with pytest.raises(ff.InputError, match="groups of at least 30 rows"), warnings.catch_warnings(action="ignore"):
        ff.linear_problem(X[:50], y[:50], sensitive_features=soft.take(np.arange(50)))


def test_a_row_of_a_fit_has_the_weights_of_its_copies_together() -> None:
    X, y, soft, weight = people(3)
    known: dict[str, Any] = {"sensitive_features": soft, "sample_weight": weight, "cv": "train"}
    problem = estimator_problem(X, y, estimator=LogisticRegression(), **known)
    (quantity,) = dict(problem.objectives.layout.quantities)
    x = np.array([0.02, -0.01, 0.03])
    plain = row_sums(problem.objectives, quantity, problem.omega(0.0 * x))
    np.testing.assert_allclose(plain, weight, rtol=1e-14)
    inside = (weight * (y == 1))[:, None] * soft.shares
    signs = np.array([[1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, -1.0]])  # of groups in the pairs
    order = [LEVELS.index(name) for name in problem.objectives.attributes[0].levels]
    moved = weight + (weight.sum() * inside[:, order] / inside[:, order].sum(axis=0)) @ (signs @ x)
    np.testing.assert_allclose(row_sums(problem.objectives, quantity, problem.omega(x)), moved, rtol=1e-12)
    assert problem.read(x).gaps.shape == (3,)


def test_held_out_evaluations_are_of_rows_and_of_people() -> None:
    X, y, soft, _ = people(2)
    person = np.arange(N) // 2
    known: dict[str, Any] = {"sensitive_features": soft, "n_points": 3, "progress": False, "held_out": True}
    front = ff.trace(X, y, **known)
    record = front.record("held_out")
    assert record.n == N
    rates = record.groups["race"]
    np.testing.assert_allclose(sorted(rates.n), sorted(soft.shares.sum(axis=0)))
    people_of = ff.trace(X, y, **known, person=person).record("held_out")
    assert people_of.n == N
    given = ff.trace(X, y, **known, person=np.arange(N)).record("held_out")
    for column in record.columns:
        np.testing.assert_allclose(given[column], record[column], rtol=0.0, atol=1e-12)
