"""Rules in rates behind every interface: exact where posteriors are, scaled, shipped like other models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad, linprog, minimize
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

import fairfront as ff
from fairfront.exceptions import InputError
from fairfront.frontier.rate_frontier import Rates
from fairfront.measures.claims import no_better
from fairfront.objectives import NOTIONS as REGISTERED
from fairfront.objectives import GroupProbabilities
from fairfront.problems.guesses import Scaling, fit_scaling
from fairfront.problems.posteriors import RuleClassifier
from fairfront.solvers import Status
from fairfront.storage.foreign import read_estimator, untrusted_types, write_estimator


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


NOTIONS = ["equal_opportunity", "predictive_equality", "equalized_odds", "demographic_parity", "disparate_mistreatment"]


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(("classes", "groups"), [(2, 2), (2, 3), (3, 2)])
def test_expected_rates_are_measured_ones_where_posteriors_are_exact(notion: str, classes: int, groups: int) -> None:
    X, y, group = draw(classes, groups)
    known: dict[str, Any] = {"sensitive_features": group, "notion": notion, "estimator": DecisionTreeClassifier()}
    front = ff.trace(X, y, units=Rates(cv="train"), n_points=6, **known)
    np.testing.assert_allclose(front.models.expected, front.models.measured, atol=2e-3)
    assert front.models.duality_gap.max() < 1e-5
    assert not front.certified.any()
    assert set(front.status) == {Status.POSTERIOR}
    worst = front.gaps.max(axis=1)
    assert worst.min() <= max(0.4 * worst[0], 0.05)  # rules on 40 kinds of rows move in steps
    for place in (0, len(front) - 1):  # figures are those of the models' own decisions
        decided = front.models.build(place).predict(X)
        assert front.loss[place] == pytest.approx(np.mean(decided != y))
    judged = front.evaluate(X, y, sensitive_features=group, name="training")
    if classes == 2:
        rates = {"equal_opportunity": "tpr", "predictive_equality": "fpr", "demographic_parity": "selection"}
        if notion in rates:
            np.testing.assert_allclose(judged.column(f"{rates[notion]}_gap", "training"), front.gaps[:, 0], atol=1e-12)


@pytest.mark.parametrize("groups", [2, 3])
def test_the_frontier_is_the_known_limit_where_posteriors_are_exact(groups: int) -> None:
    X, y, group = draw(2, groups, n=4000)
    known: dict[str, Any] = {"sensitive_features": group, "estimator": DecisionTreeClassifier(), "n_points": 10}
    front = ff.trace(X, y, units=Rates(cv="train"), **known)
    kinds, levels = X[:, 0].astype(int), np.unique(group)
    gain = np.array([(2.0 * y[kinds == k] - 1.0).sum() / len(y) for k in range(40)])  # of deciding 1 for a kind
    cells = [(y == 1) & (group == level) for level in levels]
    rates = np.array([[(cell & (kinds == k)).sum() / cell.sum() for k in range(40)] for cell in cells])
    pairs = np.array([rates[i] - rates[j] for i in range(groups) for j in range(i)])
    for place in range(len(front)):
        gap = front.gaps[place].max()
        if groups == 2 and front.signed_gaps[place, 0] * front.signed_gaps[0, 0] < 0.0:
            continue  # past zero, on purpose
        best = linprog(-gain, A_ub=np.vstack([pairs, -pairs]), b_ub=np.full(2 * len(pairs), gap), bounds=(0.0, 1.0))
        limit = y.mean() + best.fun  # of any random rule of the kinds
        tied = 1e-9 if groups == 2 else 0.003  # part of one kind of rows, which a rule does not cut in two
        assert limit - 1e-9 <= front.loss[place] <= limit + tied


def test_several_notions_at_once() -> None:
    X, y, group = draw(groups=3)
    front = ff.trace(
        X, y, sensitive_features=group, notion=["equal_opportunity", "demographic_parity"], n_points=8,
        estimator=DecisionTreeClassifier(), units=Rates(cv="train"),
    )  # fmt: skip
    assert front.gaps.shape == (len(front), 2)
    assert front.gaps[-1].max() < 0.5 * front.gaps[0].max()


def test_weights_are_repeated_rows() -> None:
    X, y, group = draw(n=700)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    known: dict[str, Any] = {"estimator": DecisionTreeClassifier(random_state=0), "units": Rates(cv="train")}
    heavy = ff.trace(X, y, sensitive_features=group, sample_weight=times.astype(float), **known)
    many = ff.trace(X[rows], y[rows], sensitive_features=group[rows], **known)
    np.testing.assert_allclose(heavy.loss, many.loss, atol=1e-9)
    np.testing.assert_allclose(heavy.gaps, many.gaps, atol=1e-9)
    np.testing.assert_allclose(heavy.models.rules, many.models.rules, atol=1e-9)


@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_an_approval_rate_is_kept(rate: float) -> None:
    rng = np.random.default_rng(1)
    X, y, group = rng.normal(size=(900, 3)), rng.integers(0, 2, 900), rng.choice(["a", "b"], 900)
    X[:, 0] += y + (group == "a")
    front = ff.trace(X, y, sensitive_features=group, units=Rates(approval_rate=rate, cv="train"), n_points=5)
    for scores in front.models.scores(X):
        assert abs((scores[0] > 0).mean() - rate) <= 1.0 / 900
    assert "approval rate" in front.facts.rule


@pytest.mark.parametrize("asked", [{"approval_rate": 0.2}, {"costs": {"false_positive": 5.0, "false_negative": 1.0}}])
def test_what_has_to_be_beaten_is_that_of_what_was_asked_for(asked: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    X, y, group = rng.normal(size=(1200, 2)), (rng.random(1200) < 0.7).astype(int), rng.choice(["a", "b"], 1200)
    X[:, 0] += 1.1 * y + 0.3 * (group == "a")
    front = ff.trace(X, y, sensitive_features=group, units=Rates(**asked), n_points=5)
    record = front.evaluations["held_out"]
    assert record["error"][0] > 0.3  # more mistakes than the majority label makes, because that is not what was asked
    assert not no_better(record, front.facts.task, front.facts.operating)[0]
    assert no_better(record, front.facts.task)[0]
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front")
    assert again.facts.operating == front.facts.operating == Rates(**asked).operating
    assert ff.trace(X, y, sensitive_features=group, n_points=3).facts.operating is None


def test_a_cutoff_is_a_cost() -> None:
    X, y, group = draw()
    known: dict[str, Any] = {"sensitive_features": group, "estimator": DecisionTreeClassifier()}
    one = ff.trace(X, y, units=Rates(cutoff=0.3, cv="train"), **known)
    costs = {"false_positive": 3.0, "false_negative": 7.0}
    other = ff.trace(X, y, units=Rates(costs=costs, cv="train"), **known)
    np.testing.assert_allclose(10.0 * one.loss, other.loss, atol=1e-9)
    plain = one.models.build(0)
    np.testing.assert_array_equal(plain.predict(X), (plain.predict_proba(X)[:, 1] > 0.3).astype(int))
    assert one.objective_names[0] == "cost"


def test_scaling_is_the_best_one() -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(size=(4000, 3))
    P = np.exp(true - true.max(axis=1, keepdims=True))
    P /= P.sum(axis=1, keepdims=True)
    codes = np.array([rng.choice(3, p=row) for row in P])
    sure = Scaling(2.5 * np.eye(3), np.array([0.3, -0.2, 0.0])).apply(P)
    found = fit_scaling(sure, codes)
    assert found.slope[0, 0] == pytest.approx(1 / 2.5, abs=0.03)
    np.testing.assert_allclose(found.apply(sure), P, atol=0.05)
    weight = rng.uniform(0.1, 2.0, len(codes))
    heavy = fit_scaling(sure, codes, weight)

    def loss(theta: np.ndarray, shape: tuple[int, ...] = (1,)) -> float:
        slope = theta[0] * np.eye(3) if shape == (1,) else theta[:9].reshape(3, 3)
        Q = Scaling(slope, theta[-3:]).apply(sure)
        return float(-np.average(np.log(Q[np.arange(len(codes)), codes]), weights=weight))

    start = np.append(heavy.slope[0, 0], heavy.bias)
    assert minimize(loss, start, method="BFGS").fun > loss(start) - 1e-6
    assert check_grad(loss, lambda t: np.zeros(4), start) < 1e-3  # flat there, but for what one row tells
    joint = fit_scaling(sure, codes, weight, joint=True)
    whole = np.append(joint.slope.ravel(), joint.bias)
    assert loss(whole, (9,)) < loss(start)
    assert minimize(loss, whole, args=((9,),), method="BFGS").fun > loss(whole, (9,)) - 1e-4


@pytest.mark.parametrize(
    "learner",
    [
        GaussianNB(),
        LinearDiscriminantAnalysis(),
        HistGradientBoostingClassifier(max_iter=10),
        StackingClassifier(
            [("plain", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=3))],
            final_estimator=LogisticRegression(),
        ),
    ],
)
def test_any_classifier_with_probabilities_also_without_weights(learner: Any) -> None:
    data = ff.datasets.load_loans(seed=0)
    X, _ = data.matrix("one_hot")
    train, held = np.arange(0, 2000), np.arange(2000, 3000)
    group = np.where(data.columns["group"] == "C", "B", data.columns["group"])
    known: dict[str, Any] = {"favourable": "repaid", "estimator": learner, "units": "rates"}
    front = ff.trace(X[train], data.y[train], sensitive_features=group[train], **known)
    assert len(front) > 10
    assert front.gaps[:, 0].min() < 0.2 * front.gaps[0, 0]
    assert front.signed_gaps[0, 0] * front.signed_gaps[-1, 0] < 0.0  # measured, past zero
    assert "guess" in front.facts.used_for
    judged = front.evaluate(X[held], data.y[held], sensitive_features=group[held])
    model = judged.select(least="tpr_gap", within={"error": 0.05})
    assert isinstance(model, RuleClassifier)
    again = ff.trace(X[train], data.y[train], sensitive_features=group[train], **known)
    assert front.objectives.tobytes() == again.objectives.tobytes()
    assert front.models.scores(X[held]).tobytes() == again.models.scores(X[held]).tobytes()


def small(**more: Any) -> tuple[np.ndarray, np.ndarray, ff.Frontier]:
    X, y, group = draw(n=600)
    known: dict[str, Any] = {"units": Rates(cv=2), "n_points": 6, **more}
    return X, group, ff.trace(X, np.array(["no", "yes"])[y], sensitive_features=group, **known)


def test_models_are_scikit_learns() -> None:
    X, _, front = small()
    model = front.select(id=int(front.ids[2]))
    check_is_fitted(model)
    assert model.n_features_in_ == 1
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(clone(model).predict(X), model.predict(X))
    np.testing.assert_array_equal(model.predict(X) == "yes", front.models.scores(X)[2, 0] > 0)
    np.testing.assert_array_equal(model.decision_function(X), front.models.scores(X)[2, 0])
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_array_equal(P, front.select(id=0).predict_proba(X))  # of the label, whatever the rule


def test_saved_and_loaded(tmp_path: Path) -> None:
    for name, estimator in (("plain", None), ("foreign", GaussianNB())):
        X, _, front = small(estimator=estimator)
        front.save(tmp_path / name)
        again = ff.load(tmp_path / name)
        np.testing.assert_array_equal(again.models.scores(X), front.models.scores(X))
        np.testing.assert_array_equal(again.models.expected, front.models.expected)
        assert again.facts.rule == front.facts.rule
        files = list((tmp_path / name).rglob("*.skops"))  # label, and group given the favourable label
        assert len(files) == (0 if estimator is None else 2)
        np.testing.assert_array_equal(front.models.take([0, 2]).scores(X), front.models.scores(X)[[0, 2]])
    model = front.select(id=int(front.ids[-1]))
    write_estimator(tmp_path / "model.skops", model)
    assert untrusted_types(tmp_path / "model.skops") == ()
    np.testing.assert_array_equal(read_estimator(tmp_path / "model.skops").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("estimator", [None, LogisticRegression(), GaussianNB()])
def test_behind_scikit_learns_interface(estimator: Any) -> None:
    X, y, group = draw(n=900)
    known: dict[str, Any] = {"estimator": estimator, "units": "rates"}
    many = ff.FrontierClassifier(n_points=6, **known).fit(X, y, sensitive_features=group)
    assert many.status_ is Status.POSTERIOR
    np.testing.assert_array_equal(many.predict(X), many.model_.predict(X))
    one = ff.ParetoFairClassifier(max_rate_gap=0.05, **known).fit(X, y, sensitive_features=group)
    assert one.status_ is Status.POSTERIOR
    assert isinstance(one.model_, RuleClassifier)
    assert np.abs(one.rate_gaps_).max() <= 0.05
    np.testing.assert_array_equal(one.predict(X), one.model_.predict(X))
    np.testing.assert_array_equal(one.predict_proba(X), one.model_.predict_proba(X))
    np.testing.assert_allclose(one.predict_log_proba(X), np.log(one.predict_proba(X)))
    with pytest.raises(InputError, match="units='rates' compares decisions, found a regression"):
        ff.FrontierRegressor(units="rates").fit(X, y.astype(float), sensitive_features=group)


def test_rows_of_one_group_only_in_a_fold() -> None:
    X, y, group = draw(n=300)
    found = []
    for names in ({"a": "a", "b": "b"}, {"a": "z", "b": "b"}):  # the class that a fold lacks is the last, or the first
        named = np.array([names[g] for g in group])
        first = np.flatnonzero((group == "a") | (y == 0))
        cv = [(first, np.setdiff1d(np.arange(300), first)), (np.arange(300), first)]
        found.append(ff.trace(X, y, sensitive_features=named, estimator=GaussianNB(), units=Rates(cv=cv), n_points=4))
    np.testing.assert_allclose(found[0].loss, found[1].loss, rtol=1e-6)


def test_few_people_are_not_given_away() -> None:
    X, y, group = draw(n=600)
    few = np.where((np.arange(600) % 40 == 0) & (y == 1), "z", group)
    assert 0 < (few == "z").sum() < 16
    known: dict[str, Any] = {"estimator": GaussianNB(), "units": Rates(cv=2), "n_points": 3}
    with pytest.raises(InputError, match=r"a group has fewer than 16 rows of a label.*merge groups, or leave some out"):
        ff.trace(X, y, sensitive_features=few, groups=ff.Groups(min_size=1), **known)
    with pytest.warns(ff.GroupWarning):
        front = ff.trace(X, y, sensitive_features=few, groups=ff.Groups(min_size=16), **known)
    both = {"one": group, "other": np.where(np.arange(600) % 20 == 0, "z", "u")}
    with pytest.raises(InputError, match=r"a combination of groups of several columns.*or give one column at a time"):
        ff.trace(X, y, sensitive_features=both, groups=ff.Groups(min_size=10), **known)
    counted = [guess.model.class_count_ for guess in front.models.guesses if guess.model is not None]
    assert len(counted) == 2
    assert min(map(min, counted)) >= 10


@pytest.mark.filterwarnings("ignore::fairfront.ProxyWarning")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"estimator": Ridge()}, "found a regressor"),
        ({"estimator": RidgeClassifier()}, "found no predict_proba"),
        ({"estimator": [GaussianNB()]}, "expected an instance with fit"),
        ({"loss": "hinge"}, "units='rates' decides by probabilities"),
        ({"surrogate": "rate"}, "surrogate is for units='losses', found units='rates'"),
        ({"solver": ff.Weighting(criterion="rate_gap")}, "solver is for units='losses', found units='rates'"),
        ({"preferences": 3}, "preferences is for units='losses'"),
        ({"ridge": 0.1, "estimator": GaussianNB()}, "ridge is for logistic posteriors"),
        ({"notion": "group_loss"}, "'group_loss' compares no rates of decisions"),
        ({"notion": "score_covariance"}, "'score_covariance' compares no rates of decisions"),
        ({"units": "errors"}, "units is 'errors', expected 'losses', 'rates' or a Rates"),
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
    known: dict[str, Any] = {"units": "rates", **given}
    if known.pop("groups_as", None):
        group = GroupProbabilities(np.column_stack([group == "a", group == "b"]).astype(float), ("a", "b"), "group")
    with pytest.raises(InputError, match=says):
        ff.trace(X, y, sensitive_features=group, **known)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"cutoff": 1.5}, "cutoff is 1.5, expected a probability"),
        ({"cutoff": 0.5, "approval_rate": 0.5}, "expected one way to turn scores into decisions"),
        ({"approval_rate": 1.0}, "every row would get the same decision"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_bad_settings(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Rates(**given)


def test_approval_rates_and_costs_are_for_two_classes() -> None:
    X, y, group = draw(3)
    with pytest.raises(InputError, match="approval_rate is for two classes, found 3"):
        ff.trace(X, y, sensitive_features=group, units=Rates(approval_rate=0.5))


@pytest.mark.parametrize("name", sorted(REGISTERED))
def test_notions_are_traced_in_rates_or_refused(name: str) -> None:
    """What is lowered is what the notion compares: rates that are linear in decisions, and nothing else."""
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(3000, 3)), rng.choice(["a", "b"], 3000)
    y = (X[:, 0] + 0.7 * (group == "a") + rng.logistic(size=3000) > 0).astype(int)
    known = {"sensitive_features": group, "notion": name, "units": "rates", "n_points": 4, "progress": False}
    if name not in NOTIONS:
        with pytest.raises(ff.InputError, match="compares"):
            ff.trace(X, y, **known)
        return
    front = ff.trace(X, y, **known)
    record = front.evaluations["held_out"]
    found = np.max([record[f"{rate}_gap"] for rate in REGISTERED[name].rates], axis=0)
    np.testing.assert_allclose(front.gaps[:, 0], found, atol=1e-12)
