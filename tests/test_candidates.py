"""A person's own models and scores: judged as they decide, dominated or not, selected, laid over a traced frontier."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff


def data(n: int = 800, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    group = np.where(random.random(n) < 0.4, "f", "m")
    y = (X[:, 0] + 0.6 * (group == "m") + random.logistic(size=n) > 0).astype(int)
    return X, y, group


def models(X: np.ndarray, y: np.ndarray, group: np.ndarray) -> dict[str, Any]:
    tuned = ThresholdOptimizer(estimator=LogisticRegression(), predict_method="predict_proba")
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
    assert [status.name == "EFFICIENT" for status in front.status] == better.tolist()
    assert front.select(least="error") is list(given.values())[int(np.argmin(front.column("error")))]
    assert front.select(least="tpr_gap", confidence=None) is given["always"]
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


def test_candidates_over_a_traced_frontier() -> None:
    X, y, group = data()
    front = ff.trace(X, y, sensitive_features=group, n_points=4, progress=False)
    front = front.evaluate(X, y, sensitive_features=group)
    own = ff.Frontier.from_models(models(X, y, group), X, y, sensitive_features=group)
    table = front.overlay(own, "error", "tpr_gap")
    assert table["source"].tolist() == [0] * len(front) + [1] * len(own)
    axes = np.column_stack([table["error"], table["tpr_gap"]])
    assert table["dominated"].tolist() == (~ff.pareto.nondominated(axes)).tolist()
    assert "champion" in table["name"]
    other = ff.Frontier.from_models(models(X, y, group), X[:400], y[:400], sensitive_features=group[:400])
    with pytest.raises(ff.InputError, match="different rows"):
        front.overlay(other)


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
    with pytest.raises(ff.InputError, match="are no probabilities"):
        ff.Frontier.from_scores({"s": X[:, 0]}, y, sensitive_features=group)
