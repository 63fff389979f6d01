"""Posteriors: equal to weighted fits where both are exact, scaled as they are right, and shipped like other models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

import fairfront as ff
from fairfront.exceptions import InputError
from fairfront.frontier.frontier_columns import subset
from fairfront.objectives import GroupProbabilities
from fairfront.problems import estimator_problem
from fairfront.problems.fit_rows import label_weights
from fairfront.problems.posteriors import PosteriorClassifier, Scaling, fit_scaling, weighted_posterior
from fairfront.solvers import Status
from fairfront.storage.foreign import read_estimator, untrusted_types, write_estimator
from tests.support.searches import searching, trace


class Broken(GaussianNB):
    """Fails at its second kind of labels, or gives no numbers."""

    def __init__(self, how: str = "nan") -> None:
        super().__init__()
        self.how = how

    def fit(self, X: Any, y: Any) -> Any:
        if self.how == "raise" and len(y) < 180:
            raise ValueError("no")
        return super().fit(X, y)

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.full_like(super().predict_proba(X), np.nan)


def draw(classes: int = 2, groups: int = 2, n: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of 40 kinds, whose label and group a tree of one leaf per kind knows as well as can be known."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 40, n)
    chance = rng.dirichlet(np.ones(classes * groups), 40)
    both = np.array([rng.choice(classes * groups, p=chance[k]) for k in kind])
    return kind[:, None].astype(float), both % classes, np.array(list("abc"))[both // classes]


@pytest.mark.parametrize("notion", ["equal_opportunity", "equalized_odds", "demographic_parity"])
@pytest.mark.parametrize(("classes", "groups"), [(2, 2), (2, 3), (3, 2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_posteriors_are_weighted_fits_where_both_are_exact(
    notion: str, classes: int, groups: int, weighted: bool
) -> None:
    X, y, group = draw(classes, groups)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(y)) if weighted else None
    known: dict[str, Any] = {
        "sensitive_features": group, "notion": notion, "estimator": DecisionTreeClassifier(), "cv": "train",
        "sample_weight": weight,
    }  # fmt: skip
    fits, posteriors = estimator_problem(X, y, **known), estimator_problem(X, y, **known, posteriors=True)
    rng = np.random.default_rng(2)
    for _ in range(5):
        multipliers = rng.normal(size=len(fits.algebra.b))
        moved = multipliers @ fits.algebra.B
        multipliers *= 0.5 * np.min(fits.shares[moved != 0] / np.abs(moved[moved != 0]))  # weights stay positive
        expected, found = fits.refit(multipliers), posteriors.refit(multipliers)
        np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-9)
        first, second = fits.read(multipliers), posteriors.read(multipliers)
        assert second.loss == pytest.approx(first.loss, abs=1e-9)
        np.testing.assert_allclose(second.gaps, first.gaps, atol=1e-9)


def test_decisions_minimise_the_weighted_error_also_with_negative_weights() -> None:
    X, y, group = draw()
    problem = estimator_problem(
        X, y, sensitive_features=group, estimator=DecisionTreeClassifier(), cv="train", posteriors=True
    )
    weights = label_weights(problem.objectives.layout, problem.omega(np.array([0.9])), problem.rows.cells)
    assert weights.min() < 0.0
    decided = problem.refit(np.array([0.9])).predict(X)
    cells, rows = problem.rows.cells, problem.rows
    own = {(j, c): i for i, (j, c) in enumerate((j, c) for j, each in enumerate(cells) for c in each)}
    gain = weights[[own[pair] for pair in zip(rows.label.tolist(), rows.cell.tolist(), strict=True)]]
    for kind in np.unique(X):
        here = X[:, 0] == kind
        assert gain[here].sum(axis=0).argmax() == decided[here][0]


def test_scaling_is_the_best_one() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(size=(4000, 3))
    P = np.exp(true - true.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(3, p=row) for row in P])
    sure = Scaling(2.5, np.array([0.3, -0.2, 0.0])).apply(P)
    found = fit_scaling(sure, codes)
    assert found.slope == pytest.approx(1 / 2.5, abs=0.03)
    np.testing.assert_allclose(found.apply(sure), P, atol=0.05)
    weight = rng.uniform(0.1, 2.0, len(codes))
    heavy = fit_scaling(sure, codes, weight)

    def loss(theta: np.ndarray) -> float:
        Q = Scaling(theta[0], theta[1:]).apply(sure)
        return float(-np.average(np.log(Q[np.arange(len(codes)), codes]), weights=weight))

    start = np.append(heavy.slope, heavy.bias)
    assert minimize(loss, start, method="BFGS").fun > loss(start) - 1e-6
    assert check_grad(loss, lambda t: np.zeros(4), start) < 1e-3  # flat there, but for what one row tells


@pytest.mark.parametrize(
    "learner", [GaussianNB(), LinearDiscriminantAnalysis(), HistGradientBoostingClassifier(max_iter=10)]
)
def test_any_classifier_with_probabilities_also_without_weights(learner: Any) -> None:
    data = ff.datasets.load_loans(seed=0)
    X, _ = data.matrix("one_hot")
    train, held = np.arange(0, 2000), np.arange(2000, 3000)
    group = data.columns["group"]
    known: dict[str, Any] = {"favourable": "repaid", "estimator": learner, "posteriors": True, "cv": 3}
    front = trace(X[train], data.y[train], sensitive_features=group[train], max_fits=20, **known)
    assert set(front.status) == {Status.POSTERIOR}
    assert front.gaps[:, 0].min() < 0.6 * front.gaps[0, 0]
    assert "guess" in front.facts.used_for
    judged = front.evaluate(X[held], data.y[held], sensitive_features=group[held])
    model = judged.select(least="tpr_gap", within={"error": 0.05})
    assert isinstance(model, PosteriorClassifier)
    again = trace(X[train], data.y[train], sensitive_features=group[train], max_fits=20, **known)
    np.testing.assert_array_equal(front.objectives, again.objectives)
    np.testing.assert_array_equal(front.models.scores(X[held]), again.models.scores(X[held]))


def small(**more: Any) -> tuple[np.ndarray, np.ndarray, ff.Frontier]:
    X, y, group = draw(n=600)
    known: dict[str, Any] = {"estimator": LogisticRegression(), "cv": 2, "max_fits": 5, "posteriors": True, **more}
    return X, group, trace(X, np.array(["no", "yes"])[y], sensitive_features=group, **known)


def test_models_are_scikit_learns() -> None:
    X, _, front = small()
    model = front.select(id=int(front.ids[2]))
    check_is_fitted(model)
    assert model.n_features_in_ == 1
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(clone(model).predict(X), model.predict(X))
    np.testing.assert_array_equal(model.predict(X) == "yes", front.models.scores(X)[2, 0] > 0)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert ((model.predict(X) == "yes") == (P[:, 1] > P[:, 0])).all()


def test_saved_and_loaded(tmp_path: Path) -> None:
    X, _, front = small()
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front")
    np.testing.assert_array_equal(again.models.scores(X), front.models.scores(X))
    assert len(list((tmp_path / "front").rglob("*.skops"))) == 2  # label, and group given the favourable label
    np.testing.assert_array_equal(subset(front, [0, 2]).models.scores(X), front.models.scores(X)[[0, 2]])
    model = front.select(id=int(front.ids[-1]))
    write_estimator(tmp_path / "model.skops", model)
    assert untrusted_types(tmp_path / "model.skops") == ()
    np.testing.assert_array_equal(read_estimator(tmp_path / "model.skops").predict_proba(X), model.predict_proba(X))


def test_behind_scikit_learns_interface() -> None:
    X, y, group = draw(n=900)
    many = ff.FrontierClassifier(**searching(estimator=LogisticRegression(), posteriors=True, max_fits=6, cv=2))
    many.fit(X, y, sensitive_features=group)
    assert many.status_ is Status.POSTERIOR
    assert many.predict(X).shape == y.shape
    one = ff.ParetoFairClassifier(**searching(estimator=LogisticRegression(), posteriors=True, max_rate_gap=0.05, cv=2))
    one.fit(X, y, sensitive_features=group)
    assert one.status_ is Status.POSTERIOR
    assert isinstance(one.model_, PosteriorClassifier)


def test_killed_runs_end_the_same(tmp_path: Path) -> None:
    X, _, front = small()
    _, _, kept = small(checkpoint=tmp_path / "run")
    _, _, resumed = small(checkpoint=tmp_path / "run", resume=True)
    for other in (kept, resumed):
        np.testing.assert_array_equal(other.objectives, front.objectives)
        np.testing.assert_array_equal(other.models.scores(X), front.models.scores(X))
    with pytest.raises(InputError, match="kind of fits"):
        small(checkpoint=tmp_path / "run", resume=True, posteriors=False)


def test_rows_of_one_group_only_in_a_fold() -> None:
    pairs = np.array([[0.7, 0.3]])
    np.testing.assert_allclose(weighted_posterior(pairs, np.zeros((2, 2))), [[0.5, 0.5]])
    X, y, group = draw(n=300)
    found = []
    for names in ({"a": "a", "b": "b"}, {"a": "z", "b": "b"}):  # the class that a fold lacks is the last, or the first
        named = np.array([names[g] for g in group])
        first = np.flatnonzero((group == "a") | (y == 0))
        cv = [(first, np.setdiff1d(np.arange(300), first)), (np.arange(300), first)]
        known = {"sensitive_features": named, "estimator": GaussianNB(), "posteriors": True, "cv": cv, "max_fits": 3}
        found.append(trace(X, y, **known))
    np.testing.assert_allclose(found[0].objectives, found[1].objectives, rtol=1e-6)


def test_few_people_are_not_given_away(tmp_path: Path) -> None:
    X, y, group = draw(n=600)
    small = np.where((np.arange(600) % 90 == 0) & (y == 1), "z", group)
    assert 0 < (small == "z").sum() < 10
    known: dict[str, Any] = {"estimator": GaussianNB(), "posteriors": True, "cv": 2, "max_fits": 3}
    with pytest.raises(InputError, match="a group has fewer than 10 rows of a label, expected more for posteriors"):
        trace(X, y, sensitive_features=small, groups=ff.Groups(min_size=1), **known)
    with pytest.warns(ff.GroupWarning):
        front = trace(X, y, sensitive_features=small, groups=ff.Groups(min_size=10), **known)
    counted = [guess.model.class_count_ for guess in front.models.posteriors.guesses if guess.model is not None]
    assert len(counted) == 2
    assert min(map(min, counted)) >= 10


@pytest.mark.filterwarnings("ignore::fairfront.ProxyWarning")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"estimator": Ridge()}, "found a regressor"),
        ({"estimator": RidgeClassifier()}, "found no predict_proba"),
        ({"estimator": None}, "a Weighting searches the weights of an estimator, found none"),
        ({"loss": "hinge"}, "measured by log loss"),
        (
            {"estimator": HistGradientBoostingClassifier(), "shared_trees": 0.5},
            "shared_trees is for weighted fits, found posteriors",
        ),
        ({"lazy": True}, "lazy puts weighted fits off, found posteriors"),
        ({"fit_params": {"eval_set": []}}, "fit_params is for weighted fits, found posteriors"),
        ({"estimator": KNeighborsClassifier()}, "keeps the rows that it was trained on"),
        ({"estimator": make_pipeline(StandardScaler(), KNeighborsClassifier())}, "keeps the rows"),
        ({"estimator": LogisticRegression(class_weight="balanced")}, "found class_weight='balanced'"),
        ({"estimator": HistGradientBoostingClassifier(monotonic_cst=[1])}, r"found monotonic_cst=\[1\]"),
        ({"estimator": Broken("nan")}, "Broken gave probabilities that are not finite"),
        (
            {"estimator": Broken("raise")},
            r"not be fitted to 2 groups of the rows of one label \(ValueError: no",
        ),
        ({"estimator": LogisticRegression}, "expected an instance with fit"),
        ({"groups_as": "probabilities"}, "found GroupProbabilities"),
        ({"estimator": LinearDiscriminantAnalysis(), "sample_weight": np.full(300, 2.0)}, "takes no sample_weight"),
    ],
)
def test_bad_input(given: dict[str, Any], says: str) -> None:
    X, y, group = draw(n=300)
    known: dict[str, Any] = {"estimator": LogisticRegression(), "posteriors": True, **given}
    if known.pop("groups_as", None):
        group = GroupProbabilities(np.column_stack([group == "a", group == "b"]).astype(float), ("a", "b"), "group")
    with pytest.raises(InputError, match=says):
        trace(X, y, sensitive_features=group, **known)
