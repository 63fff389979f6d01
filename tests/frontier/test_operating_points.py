"""Operating points of frontiers: one rule, cut-offs placed on validation, applied unchanged on test, in every model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff
from fairfront.frontier.selection import usable
from fairfront.measures.claims import decides_alike, trivial
from tests.support.searches import trace
from tests.support.trial import matrix, students

Parts = tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]


def parts(n: int = 6000, seed: int = 1) -> Parts:
    """Return train, validation and test of the students: X, labels and races."""
    drawn = students(n, seed)
    X = matrix(drawn, "lsat", "ugpa", "family_income")
    race = np.where(drawn["race"] == "White", "White", "Black" if n < 10_000 else drawn["race"])
    race = np.where(np.isin(race, ["White", "Black"]), race, "Other")
    first, second = int(0.6 * n), int(0.8 * n)
    cuts = [slice(0, first), slice(first, second), slice(second, n)]
    return tuple((X[c], drawn["outcome"][c], race[c]) for c in cuts)  # type: ignore[return-value]


def traced(rows: tuple[Any, ...], **options: Any) -> ff.Frontier:
    X, y, race = rows
    known = {"favourable": "passed", "held_out": False, **options}
    return trace(X, y, sensitive_features=race, progress=False, **known)


def judged(front: ff.Frontier, rows: tuple[Any, ...], **options: Any) -> ff.Frontier:
    X, y, race = rows
    return front.evaluate(X, y, sensitive_features=race, **options)


def test_the_knee_of_skewed_rows_is_fair_at_one_half_only() -> None:
    """At 0.5 nearly everyone is approved and the gap is next to nothing; at an approval rate of 0.8 it is not."""
    train, held, _ = parts(22_000, 0)
    front = traced(train)
    knee = front.place(front.choose(knee=True))
    half, rate = judged(front, held), judged(front, held, approval_rate=0.8)
    assert half.column("approval_rate")[knee] > 0.99
    assert half.column("tpr_gap")[knee] < 0.01
    assert rate.column("approval_rate")[knee] == pytest.approx(0.8, abs=1e-3)
    assert rate.column("tpr_gap")[knee] > 0.25
    np.testing.assert_array_equal(half.column("auc"), rate.column("auc"))


@pytest.mark.parametrize("favourable", ["passed", "failed"])
@pytest.mark.parametrize(
    ("rule", "loss"),
    [
        ({"approval_rate": 0.8}, "logistic"),
        ({"cutoff": 0.3}, "logistic"),
        ({"costs": {"false_positive": 4.0, "false_negative": 1.0}}, "logistic"),
        ({"approval_rate": 0.3}, "squared_hinge"),
        ({"cutoff": 0.0}, "squared_hinge"),
    ],
)
def test_the_chosen_model_decides_as_it_was_judged(rule: dict[str, Any], loss: str, favourable: str) -> None:
    train, held, test = parts()
    front = judged(traced(train, loss=loss, favourable=favourable, n_points=4), held, **rule)
    front = judged(front, test, name="test")
    record, on_test = front.evaluations["validation"], front.evaluations["test"]
    assert on_test.operating is record.operating
    for place, id in enumerate(front.ids):
        model, plain = front.select(id=int(id)), front.models.build(place)
        assert isinstance(model, FixedThresholdClassifier)
        assert is_classifier(model)
        assert model.threshold == record.cutoffs[place]
        np.testing.assert_array_equal(model.estimator.coef_, plain.coef_)
        np.testing.assert_array_equal(model.estimator.intercept_, plain.intercept_)
        if loss == "logistic":
            np.testing.assert_array_equal(model.predict_proba(test[0]), plain.predict_proba(test[0]))
        for rows, name in ((held, "validation"), (test, "test")):
            decided = model.predict(rows[0])
            assert np.mean(decided != rows[1]) == pytest.approx(front.column("error", name)[place], abs=1e-12)
            share = np.mean(decided == favourable)
            assert share == pytest.approx(front.column("approval_rate", name)[place], abs=1e-12)


def test_cutoffs_are_probabilities_of_the_favourable_label() -> None:
    train, held, _ = parts()
    for favourable in ("passed", "failed"):
        front = judged(traced(train, favourable=favourable, n_points=3), held, cutoff=0.3)
        model = front.models.build(0)
        p = model.predict_proba(held[0])[:, list(model.classes_).index(favourable)]
        assert front.column("approval_rate")[0] == np.mean(p >= 0.3)


def test_weights_count_in_the_approval_rate() -> None:
    train, held, _ = parts()
    weight = np.random.default_rng(0).gamma(1.0, 100.0, len(held[1]))
    front = judged(traced(train, n_points=3), held, approval_rate=0.7, sample_weight=weight)
    for place in range(len(front)):
        approved = front.select(id=int(front.ids[place])).predict(held[0]) == "passed"
        assert weight @ approved / weight.sum() == pytest.approx(0.7, abs=weight.max() / weight.sum())
        assert weight @ approved / weight.sum() == pytest.approx(front.column("approval_rate")[place])


def test_estimators_decide_at_their_own_probabilities() -> None:
    """Trees give few different probabilities: a cut-off at one of them approves its whole leaf."""
    train, held, test = parts(1800)
    learner = DecisionTreeClassifier(max_depth=3, min_samples_leaf=20, random_state=0)
    front = traced(train, estimator=learner, max_fits=3, cv=3)
    leaf = float(np.median(front.models.build(0).predict_proba(held[0])[:, 1]))
    for rule in ({"approval_rate": 0.6}, {"cutoff": leaf}):
        front = judged(judged(front, held, **rule), test, name="test")
        for place, id in enumerate(front.ids):
            model = front.select(id=int(id))
            assert np.mean(model.predict(test[0]) != test[1]) == pytest.approx(front.column("error", "test")[place])
            approved = np.mean(model.predict(held[0]) == "passed")
            assert approved == pytest.approx(front.column("approval_rate")[place])


def test_test_rows_never_place_a_cutoff() -> None:
    train, held, test = parts(1800)
    front = traced(train, n_points=3)
    with pytest.raises(ff.InputError, match="approval_rate would place cut-offs on the rows 'test'"):
        judged(front, test, name="test", approval_rate=0.8)
    front = judged(front, held, approval_rate=0.8)
    again = judged(front, test, name="later", like="validation")
    np.testing.assert_array_equal(again.evaluations["later"].cutoffs, front.evaluations["validation"].cutoffs)
    half = judged(front, held)
    assert half.evaluations["validation"].cutoffs is None
    with pytest.raises(ff.InputError, match="like is 'other', expected an evaluation with an operating point"):
        judged(front, test, name="test", like="other")
    with pytest.raises(ff.InputError, match="approval_rate and like='validation' were given"):
        judged(front, test, name="later", approval_rate=0.8, like="validation")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"approval_rate": 0}, "every row would get the same decision"),
        ({"approval_rate": 1.0}, "every row would get the same decision"),
        ({"approval_rate": float("nan")}, "expected a share of people between 0 and 1"),
        ({"approval_rate": 80}, "expected a share of people between 0 and 1"),
        ({"cutoff": float("nan")}, "expected a finite number"),
        ({"cutoff": 1.5}, "expected one within the scores"),
        ({"cutoff": 0.5, "approval_rate": 0.8}, "cutoff and approval_rate were given"),
        ({"costs": {"fp": 1}}, "expected a mapping with 'false_positive'"),
        ({"costs": {"false_positive": 0, "false_negative": 0}}, "both 0"),
    ],
)
def test_rules_that_make_no_sense_are_refused_in_a_sentence(rule: dict[str, Any], said: str) -> None:
    train, held, _ = parts(900)
    with pytest.raises(ff.InputError, match=said):
        judged(traced(train, n_points=3), held, **rule)


def test_several_classes_and_values_have_no_cutoff() -> None:
    train, held, _ = parts(900)
    label = np.where(train[0][:, 0] > 1, "high", train[1])
    front = ff.trace(train[0], label, sensitive_features=train[2], favourable="passed", n_points=3, progress=False)
    with pytest.raises(ff.InputError, match="found multiclass labels"):
        front.evaluate(held[0], held[1], sensitive_features=held[2], approval_rate=0.5)
    value = train[0][:, 0] + 1.0
    notion = "demographic_parity"
    front = ff.trace(
        train[0][:, 1:], value, sensitive_features=train[2], loss="squared", notion=notion, n_points=3, progress=False
    )
    with pytest.raises(ff.InputError, match="found regression labels"):
        front.evaluate(train[0][:, 1:], value, sensitive_features=train[2], cutoff=0.5)


def test_saved_frontiers_keep_their_operating_point(tmp_path: Any) -> None:
    train, held, test = parts(3000)
    front = judged(traced(train, n_points=4), held, costs={"false_positive": 3.0, "false_negative": 1.0})
    front = judged(front, test, name="test")
    front.save(tmp_path / "f")
    found = ff.load(tmp_path / "f")
    one, other = front.evaluations["validation"], found.evaluations["validation"]
    assert other.rule == one.rule
    np.testing.assert_array_equal(one.cutoffs, other.cutoffs)
    np.testing.assert_array_equal(one.alike, other.alike)
    np.testing.assert_array_equal(
        front.select(id=int(front.ids[1])).predict(test[0]), found.select(id=int(front.ids[1])).predict(test[0])
    )
    np.testing.assert_array_equal(
        trivial(one, front.facts.task), trivial(other, found.facts.task), "marks are those of the frontier"
    )


def test_ties_are_decided_alike_and_the_nearest_rate_is_taken() -> None:
    X = np.repeat(np.arange(5.0), 40)[:, None]
    rng = np.random.default_rng(0)
    y, group = rng.random(200) < expit(X[:, 0] - 2.0), np.where(rng.random(200) < 0.5, "a", "b")
    front = ff.trace(X, y, sensitive_features=group, n_points=3, progress=False)
    found = front.evaluate(X, y, sensitive_features=group, approval_rate=0.75)
    assert np.round(found.column("approval_rate"), 6)[:2].tolist() == [0.8, 0.8]
    assert found.column("approval_rate")[2] == 1.0  # the last model has no slope: everyone is tied
    approved = found.select(id=0).predict(X)
    for value in range(5):
        assert len(set(approved[X[:, 0] == value])) == 1


def test_points_that_decide_alike_are_passed_over_by_rules() -> None:
    train, held, _ = parts(22_000, 0)
    front = judged(traced(train), held)
    alike = decides_alike(front.evaluations["validation"])
    assert alike.any()
    assert not alike.all()
    assert not alike[usable(front, None)].any()
    for rule in ({"knee": True}, {"least": "tpr_gap"}, {"least": "tpr_gap", "within": {"error": 0.01}}):
        assert not alike[front.place(front.choose(**rule))]
    with pytest.raises(ff.InputError, match="would, but gives nearly everyone the same decision"):
        front.choose(at_most={"tpr_gap": 0.005}, confidence=None)
    assert front.choose(id=int(front.ids[alike][0])) == front.ids[alike][0]
    with pytest.raises(
        ff.InputError, match=r"comes nearer, but gives nearly everyone the same decision, .*trace further; "
    ):
        front.choose(at_most={"tpr_gap": -1.0}, confidence=None)
    with pytest.raises(ff.InputError, match="choose by expected gaps with confidence=None"):
        front.choose(at_most={"tpr_gap": -1.0})


def test_points_no_better_than_the_majority_label_are_passed_over() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 2))
    y, group = rng.random(2000) < expit(0.4 * X[:, 0] + 0.8), np.where(rng.random(2000) < 0.5, "a", "b")
    useful, useless = 1.0 / (1.0 + np.exp(-0.4 * X[:, 0] - 0.8)), rng.random(2000)
    front = ff.Frontier.from_scores({"useful": useful, "useless": useless}, y, sensitive_features=group)
    assert trivial(front.evaluations["validation"], front.facts.task).tolist() == [False, True]
    rate = ff.Frontier.from_scores(
        {"useful": useful, "against": 1.0 - useful}, y, sensitive_features=group, approval_rate=0.5
    )
    assert (rate.column("error") > min(y.mean(), 1 - y.mean())).all()  # the majority label would approve everyone
    assert trivial(rate.evaluations["validation"], rate.facts.task).tolist() == [False, True]


def test_rules_go_in_both_directions() -> None:
    train, held, _ = parts(22_000, 0)
    front = judged(traced(train), held, approval_rate=0.8)
    ratio, auc = front.column("selection_ratio", confidence=0.95), front.column("auc")
    middle = float(np.sort(ratio)[len(ratio) // 2])
    place = front.place(front.choose(at_least={"selection_ratio": middle}))
    assert ratio[place] >= middle
    assert front.column("error")[place] == front.column("error")[ratio >= middle].min()
    place = front.place(front.choose(at_least={"selection_ratio": middle}, most="auc"))
    assert auc[place] == auc[ratio >= middle].max()
    place = front.place(front.choose(most="selection_ratio", within={"auc": 0.01}))
    near = auc >= auc.max() - 0.01
    assert ratio[place] == ratio[near].max()
    both = front.choose(at_least={"selection_ratio": middle}, at_most={"error": 0.5}, confidence=None)
    assert front.column("selection_ratio")[front.place(both)] >= middle
    assert front.choose(at_most={"approval_rate": 0.9}, at_least={"approval_rate": 0.7}) >= 0
    for rule, said in (
        ({"at_least": {"tpr_gap": 0.1}}, "tpr_gap, which is better when smaller.*use at_most"),
        ({"at_most": {"auc": 0.7}}, "auc, which is better when larger.*use at_least"),
        ({"least": "auc"}, "use most"),
        ({"most": "error"}, "use least"),
        ({"at_least": {"selection_ratio": 1.1}}, "no point has selection_ratio >= 1.1 at 95% confidence; the nearest"),
        ({"within": {"auc": 0.1}}, "it goes with least"),
        ({"least": "error", "most": "auc"}, "exactly one rule"),
        ({"least": "error", "id": 3}, "exactly one rule"),
        ({"least": "eror"}, "did you mean 'error'"),
    ):
        with pytest.raises(ff.InputError, match=said):
            front.choose(**rule)


def test_candidates_store_their_rule_and_decide_by_it() -> None:
    train, held, test = parts(3000)
    given = {
        "champion": LogisticRegression().fit(train[0], train[1]),
        "forest": RandomForestClassifier(20, max_depth=4, random_state=0).fit(train[0], train[1]),
        "machine": LinearSVC().fit(train[0], train[1]),
    }
    front = ff.Frontier.from_models(given, *held[:2], sensitive_features=held[2], approval_rate=0.7)
    front = judged(front, test, name="test")
    record = front.evaluations["validation"]
    assert record.rule == "approval rate 0.7"
    assert record.operating.probability.tolist() == [True, True, False]
    for place in range(3):
        model = front.select(id=place)
        assert isinstance(model, FixedThresholdClassifier)
        assert np.mean(model.predict(test[0]) != test[1]) == pytest.approx(front.column("error", "test")[place])


def test_a_frontier_without_a_rule_gives_the_bare_model() -> None:
    train, held, _ = parts(900)
    front = judged(traced(train, n_points=3), held)
    assert front.evaluations["validation"].rule == "no operating point was given"
    assert isinstance(front.select(id=0), LogisticRegression)


@pytest.mark.parametrize("favourable", ["passed", "failed"])
@pytest.mark.parametrize("fraction", [0.0, 0.3])
def test_the_shell_decides_at_the_operating_point(fraction: float, favourable: str) -> None:
    train, held, _ = parts()
    shell = ff.FrontierClassifier(
        approval_rate=0.7, validation_fraction=fraction, favourable=favourable, random_state=0
    ).fit(train[0], train[1], sensitive_features=train[2])
    front = shell.frontier_
    name = "validation" if fraction else "training"
    assert shell.cutoff_ == front.evaluations[name].cutoffs[front.place(shell.chosen_id_)]
    np.testing.assert_array_equal(shell.predict(held[0]), front.select(id=shell.chosen_id_).predict(held[0]))
    assert np.mean(shell.predict(held[0]) == favourable) == pytest.approx(0.7, abs=0.06)
    shell.use(int(front.ids[0]))
    np.testing.assert_array_equal(shell.predict(held[0]), front.select(id=int(front.ids[0])).predict(held[0]))


def test_the_shell_of_an_estimator_decides_at_the_operating_point() -> None:
    train, held, _ = parts(1800)
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=20, random_state=0)
    shell = ff.FrontierClassifier(
        estimator=tree, solver=ff.Weighting(max_fits=3, cv=3), cutoff=0.9, favourable="passed", random_state=0
    )
    shell.fit(train[0], train[1], sensitive_features=train[2])
    p = shell.model_.predict_proba(held[0])[:, 1]
    np.testing.assert_array_equal(shell.predict(held[0]) == "passed", p >= 0.9)
    with pytest.raises(ff.InputError, match="cutoff and approval_rate were given"):
        ff.FrontierClassifier(cutoff=0.5, approval_rate=0.8).fit(train[0], train[1], sensitive_features=train[2])


def test_the_shells_own_choice_is_not_a_knee_that_decides_everyone_alike() -> None:
    train, _, _ = parts(22_000, 0)
    shell = ff.FrontierClassifier(favourable="passed").fit(train[0], train[1], sensitive_features=train[2])
    decided = shell.predict(train[0])
    assert np.mean(decided == "passed") <= 0.99
    assert not shell.frontier_.evaluations
    assert shell.chosen_id_ != shell.frontier_.choose(knee=True)  # the knee itself lets nearly everyone pass


@pytest.mark.parametrize("favourable", ["passed", "failed"])
def test_dask_rows_are_judged_at_operating_points(favourable: str) -> None:
    array = pytest.importorskip("dask.array")
    train, held, _ = parts(6000)
    front = traced(train, favourable=favourable, n_points=3)
    X, y, race = (array.from_array(np.asarray(each), chunks=(400, -1)[: np.ndim(each)]) for each in held)
    for rule in ({"cutoff": 0.4}, {"approval_rate": 0.6}, {"costs": {"false_positive": 3, "false_negative": 1}}):
        near, far = judged(front, held, **rule), front.evaluate(X, y, sensitive_features=race, **rule)
        np.testing.assert_allclose(far.column("approval_rate"), near.column("approval_rate"), atol=2e-3)
        np.testing.assert_allclose(far.column("error"), near.column("error"), atol=2e-3)
        model = far.select(id=int(front.ids[1]))
        assert np.mean(model.predict(held[0]) != held[1]) == pytest.approx(far.column("error")[1], abs=1e-12)


def test_modules_are_returned_with_a_word_about_their_cutoff() -> None:
    torch = pytest.importorskip("torch")
    train, held, _ = parts(1200)
    module = torch.nn.Linear(3, 1)
    known = {"sensitive_features": train[2], "favourable": "passed", "progress": False}
    few = ff.torch.Training(epochs=1)
    front = ff.torch.trace(module, train[0].astype(np.float32), train[1], preferences=2, training=few, **known)
    front = judged(front, (held[0].astype(np.float32), *held[1:]), approval_rate=0.7)
    assert front.column("approval_rate") == pytest.approx(0.7, abs=0.02)
    with pytest.warns(ff.FairfrontWarning, match="gives scores and decides nothing: compare the probability"):
        front.select(id=int(front.ids[0]))
