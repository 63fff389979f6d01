"""Scorers: every gap, ratio and overall figure of the audit by its name, in scikit-learn's searches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import precision_score, roc_auc_score
from sklearn.model_selection import cross_validate
from sklearn.svm import LinearSVC

import fairfront as ff
from fairfront.estimators.scorers import SCORES


@pytest.fixture(autouse=True)
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def data(n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X, group = random.normal(size=(n, 3)), random.choice(["f", "m", "x"], n)
    return X, np.where(X[:, 0] + 0.5 * (group == "m") + random.logistic(size=n) > 0, "paid", "late"), group


@pytest.mark.slow
@pytest.mark.parametrize("favourable", ["late", "paid"])
@pytest.mark.parametrize("name", [n for n in SCORES if SCORES[n].reads != "values" and n != "recall_gap"])
def test_every_name_is_the_audits_figure(name: str, favourable: str) -> None:
    X, y, group = data()
    model = LogisticRegression().fit(X, y)
    found = ff.audit(y, model.predict_proba(X)[:, 1], sensitive_features=group, favourable=favourable)
    score = ff.scorer(name, favourable=favourable)(model, X, y, sensitive_features=group)
    figure = SCORES[name].figure
    worst = found.worst["group"]
    value = worst[figure].value if figure in worst else found.tables["group"][figure][-1]
    assert score == pytest.approx(SCORES[name].better * value)


def test_gaps_agree_with_scikit_learn() -> None:
    X, y, group = data()
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[:, 1]
    areas = [roc_auc_score(y[group == g] == "paid", p[group == g]) for g in "fmx"]
    assert ff.scorer("auc_gap")(model, X, y, sensitive_features=group) == pytest.approx(min(areas) - max(areas))
    shares = [precision_score(y[group == g], model.predict(X[group == g]), pos_label="paid") for g in "fmx"]
    found = ff.scorer("precision_gap", favourable="paid")(model, X, y, sensitive_features=group)
    assert found == pytest.approx(min(shares) - max(shares))
    large = [np.mean((y == "paid")[group == g] - p[group == g]) for g in "fmx"]
    assert ff.scorer("calibration_gap")(model, X, y, sensitive_features=group) == pytest.approx(min(large) - max(large))


def test_cross_validation_reads_scores_where_there_are_no_probabilities() -> None:
    X, y, group = data()
    scoring = {name: ff.scorer(name, favourable="paid") for name in ("auc_gap", "ks", "selection_ratio", "odds_gap")}
    found = cross_validate(LinearSVC(), X, y, scoring=scoring, params={"sensitive_features": group}, cv=3)
    assert all(np.isfinite(found[f"test_{name}"]).all() for name in scoring)
    assert (found["test_auc_gap"] <= 0).all()


def test_classes_and_values() -> None:
    X, _, group = data()
    label = np.digitize(X[:, 0], [-0.5, 0.5])
    model = LogisticRegression().fit(X[:, 1:], label)
    decided = model.predict(X[:, 1:])
    recall = np.array([[np.mean(decided[(group == g) & (label == k)] == k) for g in "fmx"] for k in range(3)])
    score = ff.scorer("recall_gap")(model, X[:, 1:], label, sensitive_features=group)
    assert score == pytest.approx(-np.ptp(recall, axis=1).max())
    line = LinearRegression().fit(X[:, 1:], X[:, 0])
    means = [np.mean((X[:, 0] - line.predict(X[:, 1:]))[group == g]) for g in "fmx"]
    score = ff.scorer("residual_gap")(line, X[:, 1:], X[:, 0], sensitive_features=group)
    assert score == pytest.approx(min(means) - max(means))
    with pytest.raises(ff.InputError, match="two classes"):
        ff.scorer("auc_gap")(model, X[:, 1:], label, sensitive_features=group)
    with pytest.raises(ff.InputError, match="no meaning for binary"):
        ff.scorer("recall_gap")(LogisticRegression().fit(X, label > 0), X, label > 0, sensitive_features=group)


def test_what_cannot_be_scored_is_one_sentence() -> None:
    X, y, group = data()
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ff.InputError, match="did you mean 'tpr_gap'"):
        ff.scorer("trp_gap")
    with pytest.raises(ff.InputError, match="needs sensitive_features"):
        ff.scorer("tpr_gap")(model, X, y)
    late = y == "late"
    with pytest.raises(ff.InputError, match="not defined on these rows"):
        ff.scorer("tpr_gap", favourable="paid")(model, X[late], y[late], sensitive_features=group[late])
    few = np.where(np.arange(len(y)) < 5, "few", group)
    with pytest.warns(ff.GroupWarning, match="are excluded from the gaps: few"):
        ff.scorer("tpr_gap", groups=ff.Groups(min_size=30))(model, X, y, sensitive_features=few)
