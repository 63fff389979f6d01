"""Tracing whole frontiers, and what a frontier offers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import fairfront as ff
from tests.support.extras import optional

pd = optional("pandas")
pl = optional("polars")

N = 900


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    group = np.where(rng.random(N) < 0.4, "B", "A")
    X = rng.normal(size=(N, 5))
    X[:, 0] += 0.8 * (group == "A")
    score = X @ np.array([1.0, -0.5, 0.3, 0.0, 0.2]) + 0.4 * (group == "B")
    y = np.where(rng.random(N) < 1 / (1 + np.exp(-score)), "yes", "no")
    return X, y, group


@pytest.fixture(scope="module")
def front(data):
    X, y, group = data
    return ff.trace(X, y, sensitive_features=group)


def test_frontier_runs_from_plain_training_to_no_gap(front, data) -> None:
    from sklearn.linear_model import LogisticRegression

    X, y, _ = data
    plain = LogisticRegression(tol=1e-12).fit(X, y)
    p = plain.predict_proba(X)[np.arange(N), (y == "yes").astype(int)]
    objective = -np.log(p).mean() + (plain.coef_**2).sum() / (2 * N)
    assert front.loss[0] == pytest.approx(objective, abs=1e-8)
    assert front.gaps[-1].max() < 1e-6
    assert (np.diff(front.loss) >= 0).all()
    assert (np.diff(front.gaps.max(axis=1)) <= 1e-9).all()
    assert ff.pareto.nondominated(np.column_stack([front.loss, front.gaps]), keep_equal=True).all()
    np.testing.assert_allclose(front.objectives[:, 1], front.signed_gaps[:, 0] ** 2 / 2)


def test_same_input_same_bytes(front, data) -> None:
    X, y, group = data
    again = ff.trace(X, y, sensitive_features=group)
    assert again.objectives.tobytes() == front.objectives.tobytes()
    assert again.models.coef.tobytes() == front.models.coef.tobytes()


def test_containers_give_the_same_frontier(front, data) -> None:
    X, y, group = data
    names = list("abcde")
    for given in (
        (X.tolist(), y.tolist(), group.tolist()),
        (pd.DataFrame(X, columns=names), pd.Series(y), pd.DataFrame({"g": group})),
        (pl.DataFrame(X, schema=names), pl.Series(y), pl.DataFrame({"g": group})),
    ):
        other = ff.trace(given[0], given[1], sensitive_features=given[2])
        np.testing.assert_array_equal(other.objectives, front.objectives)
    scarce = ff.trace(sparse.csr_matrix(X), y, sensitive_features=group)
    ends = [0, -1]
    np.testing.assert_allclose(scarce.objectives[ends], front.objectives[ends], atol=1e-8)
    half = ff.trace(X.astype(np.float32), y, sensitive_features=group)
    np.testing.assert_allclose(half.objectives[ends], front.objectives[ends], atol=1e-5)


def test_preferences_are_met_and_kept(data) -> None:
    X, y, group = data
    pi = np.array([[1.0, 1e-3], [1.0, 200.0], [1.0, 5000.0]])
    front = ff.trace(X, y, sensitive_features=group, preferences=pi)
    for row in pi:
        place = int(np.flatnonzero((front.preferences == row).all(axis=1))[0])
        h = front.objectives[place] * row
        if front.status[place] is ff.Status.LINE:
            assert h.max() / h.min() < 1.005
        else:
            assert front.status[place] is ff.Status.NEAREST
            assert place == 0
        assert front.choose(preference=row) == place or h.max() <= (front.objectives * row).max(axis=1).min() + 1e-9


def test_selected_models_are_stock(front, data) -> None:
    X, y, group = data
    held = front.evaluate(X, y, sensitive_features=group, name="validation")
    for rule in (
        {"knee": True},
        {"id": 3},
        {"at_most": {"tpr_gap": 0.05}, "confidence": None},
        {"least": "tpr_gap", "within": {"error": 0.01}},
    ):
        model = held.select(**rule)
        assert type(model).__module__.startswith("sklearn.")
        place = held.choose(**rule)
        error = (model.predict(X) != y).mean()
        assert error == pytest.approx(held.column("error")[place])
        assert set(model.predict_proba(X).shape) == {N, 2}
    gap = held.column("tpr_gap")
    assert gap[held.choose(at_most={"tpr_gap": 0.05}, confidence=None)] <= 0.05
    with pytest.raises(ff.InputError, match="the nearest is"):
        held.select(at_most={"tpr_gap": -1.0})
    with pytest.raises(ff.InputError, match="exactly one rule"):
        held.select(knee=True, id=1)
    with pytest.raises(ff.InputError, match=r"call front = front\.evaluate"):
        replace(front, evaluations={}).select(at_most={"tpr_gap": 0.05})
    with pytest.raises(ff.InputError, match="is not on this frontier"):
        front.select(id=10_000)


def test_tables_and_words(front) -> None:
    assert "favourable label 'yes'" in repr(front)
    frame = front.to_frame()
    assert list(frame["id"]) == list(front.ids)
    assert front.to_frame("polars").shape == frame.shape
    assert front.facts.sentences == (
        "Equal opportunity compares true positive rates: among people labelled 'yes', the share predicted 'yes'.",
    )
    assert front.facts.sensitive == (("group", ("B", "A")),)


@pytest.mark.parametrize("loss", ["hinge", "smoothed_hinge", "squared_hinge"])
def test_hinges_trace_too(data, loss) -> None:
    X, y, group = data
    front = ff.trace(X, y, sensitive_features=group, loss=loss, preferences=5)
    assert front.gaps[-1].max() < 0.02
    assert type(front.select(id=0)).__name__ == "LinearSVC"


@pytest.mark.parametrize(
    "notion", ["equalized_odds", "demographic_parity", "group_loss", ["equal_opportunity", "predictive_equality"]]
)
def test_notions_trace(data, notion) -> None:
    X, y, group = data
    front = ff.trace(X, y, sensitive_features=group, notion=notion, preferences=4)
    assert front.gaps[-1].max() < front.gaps[0].max()
    assert all(status.solved or status is ff.Status.VISITED for status in front.status)


def test_several_classes_and_regression(data) -> None:
    X, _, group = data
    rng = np.random.default_rng(1)
    classes = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + rng.normal(size=N), [-0.5, 0.8])]
    front = ff.trace(X, classes, sensitive_features=group, preferences=4)
    model = front.select(id=0)
    assert list(model.classes_) == ["low", "mid", "top"]
    assert front.gaps[-1].max() < 1e-4
    values = X @ np.arange(5.0) + rng.normal(size=N) * np.where(group == "A", 1, 2)
    front = ff.trace(
        X, values, sensitive_features=group, loss="squared", notion="disparate_mistreatment", preferences=4
    )
    assert type(front.select(id=0)).__name__ == "Ridge"
    front = front.evaluate(X, values, sensitive_features=group)
    assert front.column("mse_gap")[0] > front.column("mse_gap")[-1]


def test_groups_unseen_in_training_are_evaluated_with_a_warning(front, data) -> None:
    X, y, group = data
    strange = group.copy()
    strange[:50] = "Z"
    with pytest.warns(ff.GroupWarning, match="that training did not have"):
        front.evaluate(X, y, sensitive_features=strange)
    with pytest.raises(ff.InputError, match="expected those of training"):
        front.evaluate(X, np.where(y == "yes", "maybe", y), sensitive_features=group)
