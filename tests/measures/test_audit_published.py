"""An audit as it is published: everybody is in it, small counts are rounded, tables agree with one another."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairfront as ff
from fairfront.measures.disclosure import POOLED

FEW = "not defined: fewer than 10 people"


def published(*sizes: int, seed: int = 0, wrong: float = 0.3) -> tuple[ff.Audit, dict[str, Any]]:
    """Return an audit of decisions in groups a, b, c... of such sizes, and the table that it publishes."""
    random = np.random.default_rng(seed)
    group = np.repeat(list("abcdefgh")[: len(sizes)], sizes)
    y = random.integers(0, 2, len(group))
    decided = np.where(random.random(len(group)) < wrong, 1 - y, y)
    found = ff.audit(y, decided, sensitive_features={"g": group}, groups=ff.Groups(min_size=10))
    return found, found.to_dict()["tables"]["g"]


def counts_of(table: dict[str, Any], line: int) -> list[float]:
    """Return the counts that a reader can work out of a line: rows, labels, decisions and mistakes."""
    n, positives, negatives = (table[name][line] for name in ("n", "positives", "negatives"))
    found = [n, positives, negatives, table["selected"][line], n - table["selected"][line]]
    for rate, whole in (("tpr", positives), ("fpr", negatives)):
        if whole:
            found += [table[rate][line] * whole, (1.0 - table[rate][line]) * whole]
    return found


@given(st.lists(st.integers(10, 120), min_size=2, max_size=5), st.integers(0, 1000), st.sampled_from([0.02, 0.1, 0.4]))
@settings(max_examples=60, deadline=None)
def test_no_small_count_can_be_worked_out_of_a_line(sizes: list[int], seed: int, wrong: float) -> None:
    if max(sizes) < 30:
        sizes[0] = 30
    _, table = published(*sizes, seed=seed, wrong=wrong)
    for line in range(len(table["group"])):
        for count in counts_of(table, line):
            assert count > 9.5 or abs(count - 5 * round(count / 5)) < 1e-6, (table["group"][line], count)


def test_a_small_group_is_pooled_and_takes_nobody_with_it() -> None:
    exact, table = published(6, 200, 300, 400)
    place = table["group"].index
    assert "a" not in table["group"]
    assert table["n"][place(POOLED)] == 5
    assert table["selection"][place(POOLED)] == FEW
    assert table["n"][place("(all rows)")] == 906
    assert sum(table["n"][:-1]) == 906
    for name in "bcd":
        assert isinstance(table["tpr"][place(name)], float)
        before = exact.tables["g"]["n"][exact.tables["g"]["group"].tolist().index(name)]
        assert table["n"][place(name)] == pytest.approx(before, abs=2)
    shown = exact.published()
    assert shown.worst["g"]["tpr_gap"].value == pytest.approx(exact.worst["g"]["tpr_gap"].value, abs=0.02)
    assert shown.published() is shown


def test_groups_of_a_few_people_that_are_many_together_have_figures() -> None:
    exact, table = published(6, 7, 8, 300, 400)
    line = table["group"].index(POOLED)
    assert table["n"][line] in (20, 25)
    assert isinstance(table["selection"][line], float)
    assert exact.to_dict(small=0)["tables"]["g"]["group"][:3] != table["group"][:3]


def test_large_groups_are_shown_as_they_are() -> None:
    exact, table = published(400, 300)
    assert table == exact.to_dict(small=0)["tables"]["g"]
    assert exact.to_dict()["small"] == 10


def test_the_line_of_all_rows_is_the_same_in_every_table() -> None:
    """All rows less the other groups of another table would be the small count."""
    random = np.random.default_rng(0)
    n = 2000
    race, sex = np.repeat(["a", "b", "c"], [40, 900, 1060]), random.choice(["f", "m"], n)
    y, p = random.integers(0, 2, n), random.random(n)
    y[:40] = 0
    y[:4] = 1
    tables = ff.audit(y, p, sensitive_features={"race": race, "sex": sex}).to_dict()["tables"]
    for column in ("n", "positives", "negatives", "selected", "tpr", "fpr", "error"):
        assert tables["race"][column][-1] == tables["sex"][column][-1]
    assert tables["race"]["positives"][tables["race"]["group"].index("a")] == 5
    assert sum(tables["race"]["positives"][:-1]) == sum(tables["sex"]["positives"][:-1])
    assert "fewer than 10 people with one of the labels" in json.dumps(tables["race"]["auc"])


def test_base_rates_of_calibration_are_those_of_published_counts() -> None:
    random = np.random.default_rng(3)
    group = np.repeat(["a", "b", "c"], [60, 500, 600])
    p = random.random(len(group))
    y = (random.random(len(group)) < p).astype(int)
    y[:60] = np.arange(60) < 6
    table = ff.audit(y, p, sensitive_features={"g": group}).to_dict()["tables"]["g"]
    for line in range(len(table["group"])):
        base = table["in_the_large"][line] + table["mean_score"][line]
        assert base == pytest.approx(table["positives"][line] / table["n"][line])


def test_levels_of_control_features_add_up_to_all_rows() -> None:
    random = np.random.default_rng(1)
    n = 1200
    group, y, p = random.choice(["a", "b"], n), random.integers(0, 2, n), random.random(n)
    level = np.where((group == "a") & (np.cumsum(group == "a") <= 5), "small", random.choice(["x", "y"], n))
    level[(group == "b") & (np.cumsum(group == "b") <= 50)] = "small"
    shown = ff.audit(y, p, sensitive_features={"g": group}, control_features={"l": level}).to_dict()
    every = [tables["g"] for tables in shown["strata"].values()]
    for name in ("n", "positives", "selected"):
        known = [[value for value in table[name] if not isinstance(value, str)] for table in every]
        assert all(value >= 10 or value % 5 == 0 for values in known for value in values)
    np.testing.assert_array_equal(np.sum([table["n"] for table in every], axis=0), shown["tables"]["g"]["n"])
    table = shown["strata"]["small"]["g"]
    assert table["selection"][table["group"].index("a")] == FEW
    assert isinstance(shown["pooled"]["g"]["selection_gap"][0], float)


def test_means_of_a_few_people_are_not_published() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], [4, 200, 300])
    y = random.normal(size=len(group)) + 50.0 * (group == "a")
    found = ff.audit(y, y + random.normal(size=len(y)), sensitive_features={"g": group}, task="regression")
    table = found.to_dict()["tables"]["g"]
    line = table["group"].index(POOLED)
    assert table["n"][line] == 5
    assert table["prediction"][line] == FEW
    assert sum(table["n"][:-1]) == 504


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
    assert any("weighted by the sample weights" in sentence for sentence in found.sentences)


def test_a_ratio_to_a_rate_that_may_be_zero_has_no_bound_and_is_json() -> None:
    rng = np.random.default_rng(0)
    group, y = np.where(np.arange(200) < 60, "a", "b"), rng.integers(0, 2, 200)
    decided = np.where(group == "a", rng.integers(0, 2, 200), 0)
    decided[150] = 1
    found = ff.audit(y, decided, sensitive_features={"g": group}, favourable=1)
    table = json.loads(json.dumps(found.to_dict(), allow_nan=False))["tables"]["g"]
    assert "no bound" in table["selection_over_reference_most"][0]
    assert table["p_value_least"][0] < table["p_value_most"][0]
