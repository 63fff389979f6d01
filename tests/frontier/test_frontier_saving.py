"""A frontier comes back from its folder exactly as it was, and gives the same answers."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff
from fairfront.frontier import Frontier
from fairfront.frontier.points import ARRAYS
from fairfront.frontier.store import load_frontier
from fairfront.objectives.losses import SmoothedHinge
from fairfront.objectives.notions import GroupLoss
from tests.support.extras import optional
from tests.support.searches import trace

pd = optional("pandas")

NAMES = ["income", "debt", "years", "noise"]


def draw(seed: int, n: int = 900, kind: str = "binary") -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.choice(["A", "B", "C"], size=n, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(n, 4))
    X[:, 0] += 0.9 * (group == "A") - 0.4 * (group == "C")
    score = X @ [1.0, -0.6, 0.4, 0.0] + 0.5 * (group == "B")
    y = {
        "binary": np.where(rng.random(n) < expit(score), "yes", "no"),
        "numbers": (rng.random(n) < expit(score)).astype(int),
        "multiclass": np.digitize(score + rng.logistic(size=n), [-1.0, 1.0]),
        "regression": score + rng.normal(size=n),
    }
    return pd.DataFrame(X, columns=NAMES), y[kind], group


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("binary", {}),
    "numbers": ("numbers", {"favourable": 0, "fit_intercept": False}),
    "hinge": ("binary", {"loss": "hinge", "solver": "pb_pdo", "n_points": 8}),
    "smoothed hinge": ("binary", {"loss": SmoothedHinge(width=0.7), "gap": "exponential"}),
    "squared hinge": ("numbers", {"loss": "squared_hinge", "notion": "predictive_equality", "gap": "absolute"}),
    "classes": ("multiclass", {"notion": ["equal_opportunity", "demographic_parity"]}),
    "regression": ("regression", {"loss": "squared", "notion": ("group_loss", "disparate_mistreatment")}),
    "rates": ("binary", {"surrogate": "rate", "notion": "equalized_odds", "n_points": 3}),
    "floor": ("binary", {"notion": GroupLoss(floor=0.1), "ridge": 0.01}),
    "options": ("binary", {"solver": ff.Newton(no_group_worse=0.05, tol=1e-8, restarts=1), "n_points": 4}),
    "preferences": ("binary", {"preferences": [[1, 5, 5, 5], [1, 50, 40, 30]]}),
}


def traced(name: str) -> tuple[Frontier, tuple[Any, Any, Any], dict[str, Any]]:
    kind, options = CASES[name]
    X, y, group = draw(0, kind=kind)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, len(y)) if name == "floor" else None
    options = {"n_points": 5, **options}
    if name == "preferences":
        options.pop("n_points")
    front = trace(X, y, sensitive_features=group, sample_weight=weight, progress=False, **options)
    more = draw(1, kind=kind)
    for part, data in (("validation", more), ("train", (X, y, group))):
        front = front.evaluate(
            data[0], data[1], sensitive_features=data[2], name=part, sample_weight=weight if part == "train" else None
        )
    return front, (X, y, group), {"sample_weight": weight}


def same_array(one: Any, two: Any) -> None:
    assert one.dtype == two.dtype
    assert one.shape == two.shape
    assert one.tobytes() == two.tobytes()


def same_record(one: Any, two: Any) -> None:
    """Compare records field by field: arrays by bytes, the order of mappings too."""
    assert type(one) is type(two)
    if isinstance(one, np.ndarray):
        same_array(one, two)
    elif hasattr(one, "__dataclass_fields__"):
        for each in fields(one):
            same_record(getattr(one, each.name), getattr(two, each.name))
    elif isinstance(one, tuple):
        assert len(one) == len(two)
        for left, right in zip(one, two, strict=True):
            same_record(left, right)
    elif isinstance(one, dict):
        assert list(one) == list(two)
        for key in one:
            same_record(one[key], two[key])
    else:
        assert one == two


@pytest.fixture(scope="module", params=CASES)
def pair(request, tmp_path_factory) -> tuple[Frontier, Frontier, tuple[Any, Any, Any], dict[str, Any]]:
    front, data, options = traced(request.param)
    path = tmp_path_factory.mktemp("front") / "saved"
    assert front.save(path) == path
    return front, load_frontier(path), data, options


def test_every_field_comes_back(pair) -> None:
    front, found, *_ = pair
    for name in ARRAYS:
        same_array(getattr(front, name), getattr(found, name))
    for name in ("objective_names", "multiplier_names", "status", "facts"):
        assert getattr(front, name) == getattr(found, name)
    assert [type(label) for label in front.facts.task.classes] == [type(label) for label in found.facts.task.classes]
    same_record(dict(front.evaluations), dict(found.evaluations))
    same_record(front.models, found.models)
    same_record(front.points, found.points)
    assert repr(front) == repr(found)


def test_models_are_the_same(pair) -> None:
    front, found, (X, *_), _ = pair
    for id in front.ids:
        one, two = front.select(id=id), found.select(id=id)
        assert type(one) is type(two)
        assert one.get_params() == two.get_params()
        same_array(np.asarray(one.predict(X)), np.asarray(two.predict(X)))


def test_tables_and_choices_are_the_same(pair) -> None:
    front, found, *_ = pair
    for (name, values), (other, more) in zip(front.table().items(), found.table().items(), strict=True):
        assert name == other
        assert np.array_equal(values, more, equal_nan=values.dtype.kind == "f")
    regression = front.facts.task.kind == "regression"
    error, gap = ("mse", "mse_gap") if regression else ("error", "error_gap")
    rules: list[dict[str, Any]] = [
        {"knee": True},
        {"preference": np.ones(len(front.objective_names))},
        {"least": gap, "within": {error: 0.01}},
        {"least": gap, "within": {error: 0.01}, "confidence": None, "on": "train"},
        {"at_most": {error: 2.0}},
    ]
    for rule in rules:
        assert front.choose(**rule) == found.choose(**rule)
    for on in front.evaluations:
        for name in front.column_names(on):
            same_array(front.column(name, on, 0.9), found.column(name, on, 0.9))


def test_evaluating_and_explaining_are_the_same(pair) -> None:
    front, found, (X, y, group), _ = pair
    one, two = (f.evaluate(X, y, sensitive_features=group, name="again") for f in (front, found))
    same_record(one.evaluations["again"], two.evaluations["again"])
    ends = int(front.ids[0]), int(front.ids[-1])
    same_record(
        front.explain(*ends, X, y, sensitive_features=group), found.explain(*ends, X, y, sensitive_features=group)
    )


def test_the_picture_is_the_same(pair) -> None:
    from matplotlib import pyplot

    front, found, *_ = pair
    drawn = [[c.get_offsets().data.tolist() for c in f.plot().collections] for f in (front, found)]
    pyplot.close("all")
    assert drawn[0] == drawn[1]


def test_equal_frontiers_give_equal_files_and_saving_again_changes_nothing(tmp_path) -> None:
    front, *_ = traced("plain")
    front.save(tmp_path / "a")
    load_frontier(tmp_path / "a").save(tmp_path / "b")
    for name in ("frontier.json", "frontier.npz"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["frontier.json", "frontier.npz"]


@pytest.mark.filterwarnings("ignore::fairfront.ProxyWarning")
def test_probabilities_of_groups_and_weights_come_back(tmp_path) -> None:
    X, y, group = draw(0)
    member = pd.DataFrame({level: 0.8 * (group == level) + 0.2 / 3 for level in "BCA"})
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    soft = ff.GroupProbabilities(member)
    front = ff.trace(X, y, sensitive_features=soft, n_points=3, sample_weight=weight, progress=False)
    front = front.evaluate(X, y, sensitive_features=soft, sample_weight=weight)
    assert front.evaluations["validation"].sizes
    front.save(tmp_path / "f")
    same_record(dict(front.evaluations), dict(load_frontier(tmp_path / "f").evaluations))


def approve_all(X: Any) -> np.ndarray:
    return np.full(len(X), "yes")


def test_candidates_come_back_with_their_models(tmp_path) -> None:
    pytest.importorskip("skops", minversion="0.13")
    X, y, group = draw(0)
    X = X.to_numpy()
    models = {
        "champion": LogisticRegression().fit(X, y),
        "machine": LinearSVC().fit(X, y),
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y),
    }
    front = Frontier.from_models(models, X, y, sensitive_features=group, favourable="yes", approval_rate=0.6)
    more, labels, groups = draw(1)
    front = front.evaluate(more.to_numpy(), labels, sensitive_features=groups, name="later")
    front.save(tmp_path / "f")
    with pytest.raises(ff.InputError, match=r"Tree.*confirm them with trusted=\["):
        load_frontier(tmp_path / "f")
    found = load_frontier(tmp_path / "f", trusted=["sklearn.tree._tree.Tree"])
    assert found.facts == front.facts
    assert found.models.names == tuple(models)
    for name in ("validation", "later"):
        one, other = front.evaluations[name].operating, found.evaluations[name].operating
        assert one.rule == other.rule
        assert other.placed_on == "validation"
        same_array(one.cutoffs, other.cutoffs)
        same_array(one.probability, other.probability)
    same_array(front.models.scores(X), found.models.scores(X))
    same_record(dict(front.evaluations), dict(found.evaluations))
    for name in ARRAYS:
        same_array(getattr(front, name), getattr(found, name))
    assert front.choose(knee=True) == found.choose(knee=True)
    assert type(found.select(id=2).estimator) is DecisionTreeClassifier


def test_a_function_comes_back_by_its_name(tmp_path) -> None:
    pytest.importorskip("skops", minversion="0.13")
    X, y, group = draw(0)
    models = {"all": approve_all, "plain": LogisticRegression().fit(X, y)}
    front = Frontier.from_models(models, X, y, sensitive_features=group)
    front.save(tmp_path / "f")
    name = f"{approve_all.__module__}.approve_all"
    with pytest.raises(ff.InputError, match=name):
        load_frontier(tmp_path / "f")
    found = load_frontier(tmp_path / "f", trusted=[name])
    same_array(front.models.scores(X), found.models.scores(X))


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_candidates_given_as_scores_come_back(tmp_path, kind) -> None:
    X, y, group = draw(0, kind=kind)
    if kind == "binary":
        scores: Any = {"a": expit(X["income"].to_numpy()), "b": expit(X["income"].to_numpy() - X["debt"].to_numpy())}
    elif kind == "regression":
        scores = {"a": LinearRegression().fit(X, y).predict(X), "b": np.zeros(len(y))}
    else:
        scores = {"a": LogisticRegression().fit(X, y).predict(X), "b": LogisticRegression(C=1e-3).fit(X, y).predict(X)}
    notion = "demographic_parity"
    task = "regression" if kind == "regression" else "classification"
    front = Frontier.from_scores(scores, y, sensitive_features=group, notion=notion, task=task)
    front.save(tmp_path / "f")
    found = load_frontier(tmp_path / "f")
    assert found.facts == front.facts
    same_record(dict(front.evaluations), dict(found.evaluations))
    same_array(front.objectives, found.objectives)
    assert front.status == found.status
    with pytest.raises(ff.InputError, match="given as scores"):
        found.select(id=0)


def test_weighted_fits_of_a_learner_come_back(tmp_path) -> None:
    pytest.importorskip("skops", minversion="0.13")
    X, y, group = draw(0)
    X = X.to_numpy()
    learner = DecisionTreeClassifier(max_depth=3, random_state=0)
    front = trace(X, y, sensitive_features=group, estimator=learner, max_fits=4, progress=False)
    front.save(tmp_path / "f")
    front = front.evaluate(X, y, sensitive_features=group)
    found = load_frontier(tmp_path / "f", trusted=["sklearn.tree._tree.Tree"])
    assert found.facts == front.facts
    found = found.evaluate(X, y, sensitive_features=group)
    same_record(dict(front.evaluations), dict(found.evaluations))
    for name in ARRAYS:
        same_array(getattr(front, name), getattr(found, name))
