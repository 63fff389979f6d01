"""Groups of a few people: counts are exact, figures are given, and tables agree with one another."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

import fairfront as ff
from fairfront.explorer import describe_points
from fairfront.measures.promises import expected
from tests.support.cli import fairfront
from tests.support.trial import matrix, strays, students, write_csv


def test_groups_of_a_few_people_have_a_line_and_figures_of_their_own() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [4, 200, 300])
    y = random.integers(0, 2, len(group))
    decided = np.where(random.random(len(group)) < 0.3, 1 - y, y)
    found = ff.audit(y, decided, sensitive_features={"g": group}, groups=ff.Groups(min_size=1)).to_dict()
    table = found["tables"]["g"]
    assert sorted(table["n"]) == [4, 200, 300, 504]
    line = table["group"].index("a")
    assert table["selected"][line] == decided[group == "a"].sum()
    assert table["selection"][line] == pytest.approx(decided[group == "a"].mean())
    value = y + 50.0 * (group == "a")
    found = ff.audit(value, value + 1.0, sensitive_features={"g": group}, task="regression").to_dict()
    table = found["tables"]["g"]
    assert table["prediction"][table["group"].index("a")] == pytest.approx(value[group == "a"].mean() + 1.0)
    assert table["n"][table["group"].index("a")] == 4


def test_the_line_of_all_rows_is_the_same_in_every_table() -> None:
    random = np.random.default_rng(0)
    n = 2000
    race, sex = np.repeat(["a", "b", "c"], [40, 900, 1060]), random.choice(["f", "m"], n)
    y, p = random.integers(0, 2, n), random.random(n)
    y[:40] = np.arange(40) < 4
    tables = ff.audit(y, p, sensitive_features={"race": race, "sex": sex}).to_dict()["tables"]
    for column in ("n", "positives", "negatives", "selected", "tpr", "fpr", "error", "auc"):
        assert tables["race"][column][-1] == tables["sex"][column][-1]
    assert tables["race"]["positives"][tables["race"]["group"].index("a")] == 4
    assert sum(tables["race"]["positives"][:-1]) == sum(tables["sex"]["positives"][:-1]) == y.sum()


def test_levels_of_control_features_add_up_to_all_rows() -> None:
    random = np.random.default_rng(1)
    n = 1200
    group, y, p = random.choice(["a", "b"], n), random.integers(0, 2, n), random.random(n)
    level = np.where((group == "a") & (np.cumsum(group == "a") <= 5), "small", random.choice(["x", "y"], n))
    level[(group == "b") & (np.cumsum(group == "b") <= 50)] = "small"
    found = ff.audit(y, p, sensitive_features={"g": group}, control_features={"l": level}).to_dict()
    every = [tables["g"] for tables in found["strata"].values()]
    for name in ("n", "positives", "negatives", "selected"):
        np.testing.assert_array_equal(np.sum([table[name] for table in every], axis=0), found["tables"]["g"][name])
    table = found["strata"]["small"]["g"]
    inside = (level == "small") & (group == "a")
    assert table["n"][table["group"].index("a")] == 5
    assert table["selection"][table["group"].index("a")] == pytest.approx((p[inside] >= 0.5).mean())


def test_weights_are_no_people() -> None:
    """Counts are rows; weighted rates and the effective rows behind them follow their rows."""
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b"], [300, 700])
    y, decided = random.integers(0, 2, 1000), random.integers(0, 2, 1000)
    weight = random.gamma(3.0, 580.0, 1000)
    found = ff.audit(y, decided, sensitive_features={"g": group}, sample_weight=weight)
    table = found.to_dict()["tables"]["g"]
    assert sorted(table["n"]) == [300, 700, 1000]
    assert table["selected"][-1] == decided.sum()
    assert abs(table["shortfall"][0]) < 300
    assert table["selection"][-1] == pytest.approx(np.average(decided, weights=weight))
    assert found.weighted


def test_ratios_to_a_rate_of_zero_and_of_one_are_json() -> None:
    group, y = np.repeat(["a", "b"], [60, 140]), np.tile([0, 1], 100)
    level = np.tile(["x", "y"], 100)
    for nobody in ("a", "b"):
        decided = np.where(group == nobody, 0, np.arange(200) % 3 == 0).astype(int)
        options = {"favourable": 1, "groups": ff.Groups("b"), "control_features": {"l": level}}
        found = ff.audit(y, decided, sensitive_features={"g": group}, **options)
        record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        table, pooled = record["tables"]["g"], record["pooled"]["g"]
        if nobody == "a":
            assert table["selection_over_reference"][0] == 0.0
            assert pooled["selection_over_reference"] == [0.0]
            assert pooled["selection_over_reference_lower"] == [0.0]
            assert pooled["selection_over_reference_upper"] == ["no bound: nobody of the other group may have it"]
        else:
            assert table["selection_over_reference"][0].startswith("not defined")
            assert pooled["selection_over_reference"] == ["not defined: nobody of the reference group has it"]


def test_messages_give_the_sizes_of_all_groups() -> None:
    y, p = np.tile([0, 1], 33), np.linspace(0.1, 0.9, 66)
    with pytest.raises(ff.InputError, match=r"b 7, a 59"):
        ff.audit(y, p, sensitive_features=np.repeat(["a", "b"], [59, 7]))
    group = np.repeat(["A", "B", "C"], 40)
    label = np.tile(["low", "middle"], 60).astype(object)
    label[[*range(17), 40, 41]] = "top"
    X = np.random.default_rng(0).normal(size=(120, 2))
    with pytest.raises(ff.InputError, match="weight per group: B 2, C 0, A 17"):
        ff.trace(X, label.astype(str), sensitive_features=group, loss="softmax", favourable="low")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_an_audit_and_an_evaluation_of_the_same_rows_are_equal(classes: int, weighted: bool) -> None:
    rng = np.random.default_rng(classes)
    for n in (90, 240):
        group, y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1]), rng.choice(classes, n)
        scores = rng.dirichlet(np.ones(classes), n) + 0.5 * np.eye(classes)[y]
        scores = scores / scores.sum(axis=1, keepdims=True)
        known = {
            "sensitive_features": group,
            "favourable": 1,
            "groups": ff.Groups(min_size=2),
            "sample_weight": rng.integers(1, 4, n) if weighted else None,
        }
        front = ff.Frontier.from_scores({"mine": scores}, y, **known)
        record = front.evaluations["validation"].groups["group"]
        table = ff.audit(y, scores, n_resamples=1, **known).groups["group"]
        lines = [table.lines.names.index(level) for level in record.levels]
        np.testing.assert_array_equal(table.columns["n"][lines], record.n)
        for rate in ("selection", "tpr", "fpr", "error"):
            np.testing.assert_allclose(table.columns[rate][lines], record.rate(rate)[0], rtol=1e-12)
        for k in range(classes if classes > 2 else 0):
            np.testing.assert_allclose(table.columns[f"recall[{k}]"][lines], record.rate("recall")[0, :, k], rtol=1e-12)


def test_moves_of_labels_add_up_to_those_of_all_people() -> None:
    rows = students(3_000)
    X = matrix(rows, "lsat", "ugpa")
    front = ff.trace(X, rows["outcome"], sensitive_features=rows["sex"], favourable="passed", n_points=5)
    details = describe_points(front, X, rows["outcome"], sensitive_features=rows["sex"])
    (attribute,) = details.attributes
    of = {
        rate: {side: np.array(record[side]) for side in ("gained", "lost")}
        for rate, record in attribute["rates"].items()
    }
    np.testing.assert_array_equal(of["selection"]["gained"], of["tpr"]["gained"] + of["fpr"]["gained"])
    np.testing.assert_array_equal(of["error"]["gained"], of["tpr"]["lost"] + of["fpr"]["gained"])


@pytest.mark.filterwarnings("ignore::fairfront.exceptions.GroupWarning")
def test_three_strays_leave_a_choice_and_gaps(tmp_path: Path) -> None:
    """A tiny third group makes no gap undefined and is not blamed for what it did not do."""
    rows = strays(2_000)
    front = ff.trace(
        matrix(rows, "lsat", "ugpa"), rows["outcome"], sensitive_features=rows["race"], favourable="passed", n_points=4
    )
    front = front.evaluate(matrix(rows, "lsat", "ugpa"), rows["outcome"], sensitive_features=rows["race"])
    assert np.isfinite(front.column("tpr_gap")).all()
    file = write_csv(rows, tmp_path / "rows.csv")
    base = ("--target", "outcome", "--favourable", "passed", "--groups", "race", "--points", 4)
    assert "not defined" not in fairfront("trace", file, *base, "-o", tmp_path / "run")
    chosen = fairfront("select", tmp_path / "run", "--least-gap", "tpr", "--within", "error=0.01", "-o", tmp_path / "m")
    assert "the smallest tpr_gap" in chosen
    refused = fairfront("select", tmp_path / "run", "--at-most", "tpr_gap=0.00001", "-o", tmp_path / "n", code=2)
    assert "no gap below about" in refused


def test_a_part_of_a_few_people_is_refused(tmp_path: Path) -> None:
    file = write_csv(strays(300), tmp_path / "rows.csv")
    base = ("--target", "outcome", "--favourable", "passed", "--groups", "sex", "--split", "90/8/2")
    assert "test part of the split has fewer than 10 rows" in fairfront(
        "trace", file, *base, "-o", tmp_path / "run", code=2
    )
    assert not (tmp_path / "run").exists()


def test_the_expected_gap_of_an_added_rate_counts_the_people_of_each_group() -> None:
    """Of two groups it is the mean of a folded normal, whose variance is that of two shares."""
    rng = np.random.default_rng(4)
    group = np.where(rng.random(3000) < 0.1, "few", "many")
    X = rng.normal(size=(3000, 2))
    y = (X[:, 0] + 0.5 * (group == "few") + rng.logistic(size=3000) > 0).astype(int)
    front = ff.trace(X, y, sensitive_features=group, n_points=3, held_out=False, progress=False)
    record = front.evaluate(X, y, sensitive_features=group, notion="precision").evaluations["validation"]
    decided = front.models.scores(X)[:, 0] > 0
    mean, variance = np.zeros((2, 3, 2))
    for place, name in enumerate(("few", "many")):
        chosen = decided & (group == name)
        mean[:, place] = (chosen & (y == 1)).sum(axis=1) / chosen.sum(axis=1)
        variance[:, place] = mean[:, place] * (1.0 - mean[:, place]) / chosen.sum(axis=1)
    gap, error = mean[:, 0] - mean[:, 1], np.sqrt(variance.sum(axis=1))
    folded = error * np.sqrt(2 / np.pi) * np.exp(-0.5 * (gap / error) ** 2) + gap * (1 - 2 * norm.cdf(-gap / error))
    np.testing.assert_allclose(expected(record, "precision_gap"), folded, rtol=1e-3)
