"""What a page hides with several classes, after saving, and when few points or groups can be shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from explorer_visits import browser_fixture, visit_fixture  # noqa: F401
from fairfront.explorer import describe_points, write_explorer
from fairfront.explorer.classes import recalls_of
from fairfront.explorer.hiding import RARELY, Veil, veil_of
from fairfront.measures.rates import class_rates
from fairfront.objectives import Task
from test_explorer import loans, record_of, unpacked

LIMIT = 10


def test_the_most_hidden_group_leaves_the_gap_and_two_stay() -> None:
    full = np.array([[True, False, False], [True, True, False]])
    nothing = np.zeros_like(full)
    veil = Veil(nothing[0], nothing[0], full, nothing, "tpr")
    assert veil.everywhere("tpr").tolist() == [True, False, False]


@given(st.lists(st.lists(st.tuples(*[st.integers(0, 30)] * 3), min_size=3, max_size=3), min_size=2, max_size=3))
def test_no_small_count_of_a_class_can_be_read_off(cells: list[list[tuple[int, ...]]]) -> None:
    """A reader knows a group's size, error, favourable class and shown recalls; what is left over is not small."""
    codes, labels, decided = [], [], []
    for g, by_label in enumerate(cells):
        for label, counts in enumerate(by_label):
            for decision, count in enumerate(counts):
                codes += [g] * count
                labels += [label] * count
                decided += [decision] * count
    if not codes:
        return
    names = [str(g) for g in range(len(cells))]
    task = Task("multiclass", (0, 1, 2), favourable=2)
    rates = class_rates(np.array([decided]), np.array(labels), 3, 2, np.array(codes), names)
    veil = veil_of(rates, 1, LIMIT, "recall")
    recalls = recalls_of(rates, task, veil.full, veil.everywhere("recall"), LIMIT, RARELY)
    for g, by_label in enumerate(cells):
        if veil.full[0, g]:
            assert recalls.hidden[0, g].all()
            continue
        table = np.array(by_label)
        right = np.diag(table)
        hidden = recalls.hidden[0, g]
        for counts in (right, table.sum(axis=1) - right, table.sum(axis=1)):
            assert not any(0 < count < LIMIT for count in counts[~hidden])
            assert not 0 < counts[hidden].sum() < LIMIT
        assert hidden.sum() != 1 or not table[hidden].sum()


def students() -> tuple[ff.Frontier, Any, Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 3))
    group = np.array(["a", "b"])[(rng.random(3000) < 0.4).astype(int)]
    latent = X[:, 0] + 0.5 * (group == "a") + rng.normal(size=3000)
    y = np.array(["fail", "pass", "rare"])[np.digitize(latent, [0.0, 3.1])]
    front = ff.trace(X[:1500], y[:1500], sensitive_features={"group": group[:1500]}, favourable="pass", n_points=4)
    rows = X[1500:], y[1500:], {"group": group[1500:]}
    return front.evaluate(*rows[:2], sensitive_features=rows[2]), *rows


def test_a_rare_class_does_not_hide_the_others(visit: Any, tmp_path: Path) -> None:
    front, X, y, groups = students()
    path = write_explorer(front, tmp_path / "a.html", X=X, y=y, sensitive_features=groups)
    (attribute,) = record_of(path)["parts"][0]["attributes"]
    rates = front.evaluations["validation"].groups["group"]
    shown = unpacked(attribute["rates"]["tpr"]).reshape(-1, 2)
    np.testing.assert_allclose(shown, rates.rate("tpr"), atol=1e-6)
    assert 2 in attribute["recalls"]["classes_out"]
    assert np.isneginf(unpacked(attribute["recalls"]["rates"]["recall:2"])).any()
    found = visit(path)
    assert "“pass”" in found.text("#bars")
    assert "label “rare”" in found.text("#rule-note")
    assert "NaN" not in found.text("main")
    found.check_quiet()


def test_every_class_is_shown_on_an_open_page(tmp_path: Path) -> None:
    front, *_ = students()
    part = record_of(front.to_html(tmp_path / "a.html", small=0))["parts"][0]
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


def test_a_saved_frontier_hides_what_the_fresh_one_hides(visit: Any, tmp_path: Path) -> None:
    front, *_ = small_third()
    with pytest.warns(ff.GroupWarning, match="has no figures"):
        front.save(tmp_path / "run")
    fresh = record_of(front.to_html(tmp_path / "a.html"))["parts"][0]
    with pytest.warns(ff.GroupWarning, match="has no figures"):
        again = ff.load(tmp_path / "run")
    path = again.to_html(tmp_path / "b.html")
    loaded = record_of(path)["parts"][0]
    for rate in ("tpr", "selection"):
        one, other = (unpacked(p["attributes"][0]["rates"][rate]) for p in (fresh, loaded))
        assert not np.isnan(other).any()
        assert (np.isneginf(one) <= np.isneginf(other)).all()
    assert set(fresh["attributes"][0]["left_out"]["tpr"]) <= set(loaded["attributes"][0]["left_out"]["tpr"])
    found = visit(path)
    assert "not defined" not in found.text("#bars")
    assert "Group" in found.text("#notices")
    found.check_quiet()


@pytest.mark.parametrize("small", [10, 10_000])
def test_candidates_open_even_where_no_gap_can_be_shown(visit: Any, tmp_path: Path, small: int) -> None:
    data = ff.datasets.load_loans(n=2400, seed=0)
    (X, _), y, groups = data.matrix("one_hot"), data.y, {"group": data.columns["group"]}
    models = {f"model {c}": LogisticRegression(C=c).fit(X, y) for c in (1e-6, 0.1, 10.0)}
    front = ff.Frontier.from_models(models, X, y, sensitive_features=groups)
    found = visit(write_explorer(front, tmp_path / "a.html", X=X, y=y, sensitive_features=groups, small=small))
    assert "Most accurate candidate" in found.text("#cards")
    assert "plain model" not in found.text("main").lower()
    assert "front.select in Python" in found.text("#rule-note")
    found.fill("#cap", "5")
    found.page.locator("#picture").focus()
    found.page.keyboard.press("End")
    found.check_quiet()


def test_means_of_hidden_groups_are_not_in_the_gap(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1200, 2))
    group = np.repeat(["a", "b", "c", "d"], [600, 500, 94, 6])
    y = X[:, 0] + 40.0 * (group == "d") + rng.normal(size=1200)
    train = np.isin(group, ["a", "b", "c"])
    front = ff.trace(
        X[train], y[train], sensitive_features={"group": group[train]}, notion="disparate_mistreatment", loss="squared"
    )
    with pytest.warns(ff.GroupWarning, match="did not have"):
        front = front.evaluate(X, y, sensitive_features={"group": group})
    part = record_of(front.to_html(tmp_path / "a.html"))["parts"][0]
    means = front.evaluations["validation"].groups["group"]
    shown = [means.levels.index(g) for g in ("a", "b")]
    expected = np.abs(np.diff(means.rate("mse")[:, shown], axis=1))[:, 0]
    np.testing.assert_allclose(unpacked(part["columns"]["mse_gap"]), expected)


def test_learners_that_give_probabilities_are_calibrated() -> None:
    front, X, y, groups = loans()
    learner = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=4)
    boosted = ff.trace(X, y, sensitive_features=groups, favourable="repaid", estimator=learner, max_fits=3)
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
