"""A person's own models and scores: judged as they decide, dominated or not, selected, laid over a traced frontier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff
from fairfront.plots import label_of
from tests.support.extras import optional

pl = optional("polars")
postprocessing = optional("fairlearn.postprocessing")


def data(n: int = 800, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    group = np.where(random.random(n) < 0.4, "f", "m")
    y = (X[:, 0] + 0.6 * (group == "m") + random.logistic(size=n) > 0).astype(int)
    return X, y, group


def models(X: np.ndarray, y: np.ndarray, group: np.ndarray) -> dict[str, Any]:
    tuned = postprocessing.ThresholdOptimizer(estimator=LogisticRegression(), predict_method="predict_proba")
    tuned.fit(X, y, sensitive_features=group)
    return {
        "champion": LogisticRegression().fit(X, y),
        "margin": LinearSVC().fit(X, y),
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y),
        "always": DummyClassifier(strategy="constant", constant=1).fit(X, y),
        "thresholds": lambda rows: tuned.predict(rows, sensitive_features=group[: len(rows)], random_state=0),
    }


def test_candidates_are_judged_as_they_decide() -> None:
    X, y, group = data()
    given = models(X, y, group)
    front = ff.Frontier.from_models(given, X, y, sensitive_features=group)
    expected = [np.mean(getattr(m, "predict", m)(X) != y) for m in given.values()]
    assert front.column("error") == pytest.approx(expected)
    assert front.loss == pytest.approx(expected)
    assert front.facts.unit == "rate gap"
    assert front.table()["name"].tolist() == list(given)
    decided = given["tree"].predict(X)
    tpr = [decided[(group == g) & (y == 1)].mean() for g in "fm"]
    assert front.gaps[2, 0] == pytest.approx(abs(tpr[0] - tpr[1]))


def test_dominance_and_selection() -> None:
    X, y, group = data()
    given = models(X, y, group)
    front = ff.Frontier.from_models(
        given, X, y, sensitive_features=group, notion=("equal_opportunity", "equalized_odds")
    )
    better = ff.pareto.nondominated(front.objectives)
    assert [status.name == "GIVEN" for status in front.status] == better.tolist()
    assert front.select(least="error") is list(given.values())[int(np.argmin(front.column("error")))]
    assert front.select(least="tpr_gap", confidence=None) is given["tree"]  # "always" decides everyone alike
    assert front.select(id=1) is given["margin"]
    later = front.evaluate(X[:300], y[:300], sensitive_features=group[:300], name="later")
    assert later.column("error", "later")[0] == pytest.approx(np.mean(given["champion"].predict(X[:300]) != y[:300]))


@pytest.mark.parametrize("favourable", [0, 1])
def test_models_are_compared_at_the_same_approval_rate(favourable: int) -> None:
    X, y, group = data()
    given = {name: m for name, m in models(X, y, group).items() if name in ("champion", "margin")}
    front = ff.Frontier.from_models(
        given, X, y, sensitive_features=group, approval_rate=0.3, favourable=favourable, notion="demographic_parity"
    )
    rates = front.evaluations["validation"].groups["group"]
    share = (rates.rate("selection") * rates.weight).sum(axis=1) / len(y)
    assert share == pytest.approx(0.3, abs=1e-12)


def test_scores_equal_models_and_cutoffs_are_at_or_above() -> None:
    X, y, group = data()
    model = LogisticRegression().fit(X, y)
    p = np.round(model.predict_proba(X)[:, 1], 2)
    front = ff.Frontier.from_scores({"p": p, "d": (p >= 0.37).astype(int)}, y, sensitive_features=group, cutoff=0.37)
    assert front.column("error")[0] == pytest.approx(np.mean((p >= 0.37) != y))
    assert front.column("error")[1] == front.column("error")[0]
    audit = ff.audit(y, p, sensitive_features=group, cutoff=0.37)
    assert front.column("tpr_gap")[0] == pytest.approx(audit.worst["group"]["tpr_gap"].value)
    assert front.column("auc")[0] == pytest.approx(audit.tables["group"]["auc"][-1])
    many = ff.Frontier.from_scores(
        np.tile(p, (5, 1)), y, sensitive_features=group, costs={"false_positive": 2, "false_negative": 1}
    )
    assert len(many) == 5


def test_several_classes_and_regression() -> None:
    X, y, group = data()
    label = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[:, 1:], label)
    front = ff.Frontier.from_models({"t": lambda rows: tree.predict(rows[:, 1:])}, X, label, sensitive_features=group)
    assert front.column("error")[0] == pytest.approx(np.mean(tree.predict(X[:, 1:]) != label))
    assert ff.Frontier.from_models({"t": tree}, X[:, 1:], label, sensitive_features=group).loss == front.loss
    line = LinearRegression().fit(X, X[:, 0] + y)
    front = ff.Frontier.from_models(
        {"l": line}, X, X[:, 0] + y, sensitive_features=group, task="regression", notion="demographic_parity"
    )
    assert front.column("mse")[0] == pytest.approx(np.mean((line.predict(X) - X[:, 0] - y) ** 2))


def test_scores_of_several_classes_may_be_one_column_per_class() -> None:
    X, _, group = data()
    label = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = LogisticRegression().fit(X[:, 1:], label)
    P = model.predict_proba(X[:, 1:])
    named = ff.Frontier.from_scores({"P": P, "labels": model.predict(X[:, 1:])}, label, sensitive_features=group)
    assert named.column("error") == pytest.approx(np.mean(model.predict(X[:, 1:]) != label))
    own = ff.Frontier.from_models({"m": model}, X[:, 1:], label, sensitive_features=group)
    assert named.column("tpr_gap")[0] == own.column("tpr_gap")[0]
    stacked = ff.Frontier.from_scores(np.stack([P, P[:, ::-1]]), label, sensitive_features=group, favourable="a")
    assert stacked.column("error")[0] == named.column("error")[0]
    assert stacked.table()["name"].tolist() == ["model 0", "model 1"]
    with pytest.raises(ff.InputError, match=r"'P' have shape \(800, 2\), expected \(800,\), or \(800, 3\)"):
        ff.Frontier.from_scores({"P": P[:, :2]}, label, sensitive_features=group)
    with pytest.raises(ff.InputError, match="NaN or infinity"):
        ff.Frontier.from_scores({"P": np.where(P > 0.35, np.nan, P)}, label, sensitive_features=group)
    with pytest.raises(ff.InputError, match="cutoff is for scores of two classes, found multiclass"):
        ff.Frontier.from_scores({"P": P}, label, sensitive_features=group, cutoff=0.5)


def test_scores_may_be_a_frame_or_two_columns() -> None:
    X, y, group = data()
    P = LogisticRegression().fit(X, y).predict_proba(X)
    two = ff.Frontier.from_scores({"two": P, "one": P[:, 1]}, y, sensitive_features=group)
    assert two.column("tpr_gap")[0] == two.column("tpr_gap")[1]
    frame = pl.DataFrame({"one": P[:, 1], "half": P[:, 1] / 2})
    front = ff.Frontier.from_scores(frame, y, sensitive_features=group, approval_rate=0.4)
    assert front.table()["name"].tolist() == ["one", "half"]
    assert front.column("error")[0] == front.column("error")[1]


def test_models_with_a_threshold_of_their_own_are_judged_by_it() -> None:
    X, y, group = data()
    strict = FixedThresholdClassifier(LogisticRegression(), threshold=0.8, response_method="predict_proba").fit(X, y)
    front = ff.Frontier.from_models({"strict": strict}, X, y, sensitive_features=group)
    assert front.column("error")[0] == pytest.approx(np.mean(strict.predict(X) != y))
    later = front.evaluate(X[:300], y[:300], sensitive_features=group[:300], name="later")
    assert later.column("error", "later")[0] == pytest.approx(np.mean(strict.predict(X[:300]) != y[:300]))
    half = ff.Frontier.from_models({"strict": strict}, X, y, sensitive_features=group, cutoff=0.5)
    assert half.column("error")[0] == pytest.approx(np.mean((strict.predict_proba(X)[:, 1] >= 0.5) != y))


def test_unequal_weights_make_candidates_less_sure() -> None:
    X, y, group = data()
    p = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    weight = np.where(np.arange(len(y)) % 10 == 0, 10.0, 0.1)
    even = ff.Frontier.from_scores({"p": p}, y, sensitive_features=group)
    uneven = ff.Frontier.from_scores({"p": p}, y, sensitive_features=group, sample_weight=weight)
    size = weight.sum() ** 2 / (weight**2).sum()
    assert uneven.evaluations["validation"].effective_n == pytest.approx(size)
    slack = [front.column("tpr_gap", confidence=0.95)[0] - front.column("tpr_gap")[0] for front in (even, uneven)]
    assert slack[1] > 2 * slack[0]
    busy = (np.arange(len(y)) % 2 == 0).astype(float)
    half = ff.Frontier.from_scores({"p": p}, y, sensitive_features=group, sample_weight=busy)
    assert half.evaluations["validation"].n == len(y) // 2


def test_bad_candidates_are_one_sentence() -> None:
    X, y, group = data()
    model = LogisticRegression().fit(X, y)
    bring = ff.Frontier.from_models
    with pytest.raises(ff.InputError, match="expected a mapping of names"):
        bring([model], X, y, sensitive_features=group)  # type: ignore[arg-type]
    with pytest.raises(ff.InputError, match="unknown option 'notions'"):
        bring({"m": model}, X, y, sensitive_features=group, notions="x")
    with pytest.raises(ff.InputError, match="notion is 'parity'"):
        bring({"m": model}, X, y, sensitive_features=group, notion="parity")
    with pytest.raises(ff.InputError, match="knows the classes"):
        bring({"m": model}, X, np.where(y == 1, "yes", "no"), sensitive_features=group)
    scores = ff.Frontier.from_scores({"s": model.predict_proba(X)[:, 1]}, y, sensitive_features=group)
    with pytest.raises(ff.InputError, match="given as scores"):
        scores.select(id=0)
    with pytest.raises(ff.InputError, match="scores of fixed rows"):
        scores.evaluate(X, y, sensitive_features=group)
    with pytest.raises(ff.InputError, match="are not probabilities"):
        ff.Frontier.from_scores({"s": X[:, 0]}, y, sensitive_features=group)
    with pytest.raises(ff.InputError, match="expected one within the scores"):
        ff.Frontier.from_scores({"s": np.abs(X[:, 0])}, y, sensitive_features=group, cutoff=99)
    with pytest.raises(ff.InputError, match="scores of 'b' has 5 rows, expected 800, as many as the first"):
        ff.Frontier.from_scores({"a": X[:, 0], "b": X[:5, 0]}, y, sensitive_features=group, cutoff=0)
    with pytest.raises(ff.InputError, match="y has 800 rows, expected 5, as many as scores"):
        ff.Frontier.from_scores({"a": np.full(5, 0.5)}, y, sensitive_features=group)
    with pytest.raises(ff.InputError, match="models is empty, expected a mapping"):
        ff.Frontier.from_models({}, X, y, sensitive_features=group)
    with pytest.raises(ff.InputError, match="rule is 'least_gap', expected one of id, at_most"):
        scores.select(least_gap="tpr")
    with pytest.raises(ff.InputError, match="expected at least one candidate"):
        ff.Frontier.from_scores({}, y, sensitive_features=group)
    with pytest.raises(ff.InputError, match="gives scores of 10 rows, expected 800"):
        bring({"m": lambda rows: model.predict(rows[:10])}, X, y, sensitive_features=group)


def test_the_error_of_candidates_is_called_error() -> None:
    random = np.random.default_rng(0)
    y, group = random.integers(0, 2, 300), random.choice(["a", "b"], 300)
    front = ff.Frontier.from_scores({"one": random.random(300), "two": random.random(300)}, y, sensitive_features=group)
    assert "loss" not in front.table()
    np.testing.assert_array_equal(front.loss, front.column("error"))
    assert ": error 0." in repr(front)
    assert label_of(front, "loss", None) == "error (validation)"


def test_a_bound_with_confidence_is_kept_by_the_upper_ends() -> None:
    X, y, group = data()
    given = {name: each for name, each in models(X, y, group).items() if name != "always"}
    front = ff.Frontier.from_models(given, X, y, sensitive_features=group)
    upper, error = front.column("tpr_gap", confidence=0.95), front.column("error")
    assert (upper > front.column("tpr_gap")).all()
    first = front.place(front.choose(at_most={"tpr_gap": 1.0}, confidence=0.95))
    assert error[first] == error.min()
    bound = float(upper.min())
    assert front.choose(at_most={"tpr_gap": bound}, confidence=0.95) == front.ids[upper.argmin()]
    with pytest.raises(ff.InputError, match="at 95% confidence"):
        front.choose(at_most={"tpr_gap": bound - 1e-6}, confidence=0.95)
