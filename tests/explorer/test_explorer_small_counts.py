"""What a page hides with several classes, after saving, and when few points or groups can be shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.explorer import describe_points, write_explorer
from tests.support.pages import loans, record_of, unpacked
from tests.support.searches import trace


def students() -> tuple[ff.Frontier, Any, Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 3))
    group = np.array(["a", "b"])[(rng.random(3000) < 0.4).astype(int)]
    latent = X[:, 0] + 0.5 * (group == "a") + rng.normal(size=3000)
    y = np.array(["fail", "pass", "rare"])[np.digitize(latent, [0.0, 3.1])]
    front = ff.trace(X[:1500], y[:1500], sensitive_features={"group": group[:1500]}, favourable="pass", n_points=4)
    rows = X[1500:], y[1500:], {"group": group[1500:]}
    return front.evaluate(*rows[:2], sensitive_features=rows[2]), *rows


@pytest.mark.slow
def test_a_rare_class_hides_nothing(visit: Any, tmp_path: Path) -> None:
    front, X, y, groups = students()
    path = write_explorer(front, tmp_path / "a.html", X=X, y=y, sensitive_features=groups)
    (attribute,) = record_of(path)["parts"][0]["attributes"]
    rates = front.evaluations["validation"].groups["group"]
    shown = unpacked(attribute["rates"]["tpr"]).reshape(-1, 2)
    np.testing.assert_allclose(shown, rates.rate("tpr"), atol=1e-6)
    found = visit(path)
    assert "“pass”" in found.text("#bars")
    assert "NaN" not in found.text("main")
    found.check_quiet()


def test_every_class_is_shown_on_an_open_page(tmp_path: Path) -> None:
    front, *_ = students()
    part = record_of(front.to_html(tmp_path / "a.html", hide_below=0))["parts"][0]
    np.testing.assert_array_equal(unpacked(part["columns"]["recall_gap"]), front.column("recall_gap"))
    np.testing.assert_array_equal(unpacked(part["upper"]["recall_gap"]), front.column("recall_gap", confidence=0.95))
    recall = front.evaluations["validation"].groups["group"].rate("recall")
    for k in range(3):
        values = unpacked(part["attributes"][0]["recalls"]["rates"][f"recall:{k}"]).reshape(-1, 2)
        np.testing.assert_allclose(values, recall[:, :, k], atol=1e-6)


def small_third() -> tuple[ff.Frontier, Any, Any, Any]:
    data = ff.datasets.load_loans(n=2400, seed=0)
    X, _ = data.matrix("one_hot")
    group = data.columns["group"]
    front = ff.trace(X[:1600], data.y[:1600], sensitive_features={"group": group[:1600]}, n_points=4)
    rows = X[1600:], data.y[1600:], {"group": group[1600:]}
    return front.evaluate(*rows[:2], sensitive_features=rows[2]), *rows


def test_a_saved_frontier_gives_the_page_of_the_fresh_one(visit: Any, tmp_path: Path) -> None:
    front, *_ = small_third()
    front.save(tmp_path / "run")
    fresh = record_of(front.to_html(tmp_path / "a.html"))["parts"][0]
    path = ff.load(tmp_path / "run").to_html(tmp_path / "b.html")
    assert record_of(path)["parts"][0] == fresh
    found = visit(path)
    assert "C" in found.text("#bars")
    found.check_quiet()


@pytest.mark.slow
def test_candidates_open(visit: Any, tmp_path: Path) -> None:
    data = ff.datasets.load_loans(n=2400, seed=0)
    (X, _), y, groups = data.matrix("one_hot"), data.y, {"group": data.columns["group"]}
    models = {f"model {c}": LogisticRegression(C=c).fit(X, y) for c in (1e-6, 0.1, 10.0)}
    front = ff.Frontier.from_models(models, X, y, sensitive_features=groups)
    found = visit(write_explorer(front, tmp_path / "a.html", X=X, y=y, sensitive_features=groups))
    assert "Most accurate candidate" in found.text("#cards")
    assert "unconstrained model" not in found.text("main").lower()
    found.fill("#cap", "5")
    found.page.locator("#picture").focus()
    found.page.keyboard.press("End")
    found.check_quiet()


@pytest.mark.slow
def test_learners_that_give_probabilities_are_calibrated() -> None:
    front, X, y, groups = loans()
    learner = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=4)
    boosted = trace(X, y, sensitive_features=groups, favourable="repaid", estimator=learner, max_fits=3)
    own = ff.Frontier.from_models({"one": learner.fit(X, y)}, X, y, sensitive_features=groups, favourable="repaid")
    for each in (boosted, own, front):
        (attribute,) = describe_points(each, X, y, sensitive_features=groups).attributes
        assert attribute["calibration"] is not None
    (bins,) = describe_points(own, X, y, sensitive_features=groups).attributes[0]["calibration"]
    favourable = list(learner.classes_).index("repaid")
    inside = groups["group"] == next(iter(own.evaluations.values())).groups["group"].levels[0]
    assert np.average(bins[0]["predicted"], weights=bins[0]["n"]) == pytest.approx(
        learner.predict_proba(X)[inside, favourable].mean(), abs=1e-3
    )
