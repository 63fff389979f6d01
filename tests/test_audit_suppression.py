"""What an audit writes gives no small count away, directly or by subtraction."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairfront as ff
from fairfront.measures.suppression import hidden_lines

TIERS = ("n", "labels", "decisions", "inner")


def margins(rows: np.ndarray) -> dict[str, np.ndarray]:
    """Return, per tier, the counts of every line that its figures give away."""
    L = len(rows)
    return {
        "n": rows.sum(axis=(1, 2)).reshape(L, 1),
        "labels": rows.sum(axis=2),
        "decisions": rows.sum(axis=1),
        "inner": np.hstack([rows.sum(axis=2), rows.sum(axis=1)]),
    }


@given(st.integers(0, 100_000))
@settings(max_examples=150, deadline=None)
def test_no_small_count_is_shown_or_left_over(seed: int) -> None:
    random = np.random.default_rng(seed)
    level = random.choice([1.0, 4.0, 15.0, 60.0], size=(random.integers(2, 7), 1, 1))
    parts = random.poisson(level * np.ones((1, 2, 2)))
    rows = np.concatenate([parts, parts.sum(axis=0, keepdims=True)]).astype(float)
    hidden = hidden_lines(rows, 0)
    for tier, counts in margins(rows).items():
        mask = getattr(hidden, tier)
        assert not ((counts[~mask] > 0) & (counts[~mask] < 10)).any()
        peopled = rows[:-1].sum(axis=(1, 2)) > 0
        left = mask[:-1] & peopled
        if left.any() and not mask[-1] and not left[peopled].all():
            assert left.sum() >= 2
            assert rows[:-1][left].sum() >= 10
    for wider, narrower in (("n", "labels"), ("n", "decisions"), ("labels", "inner"), ("decisions", "inner")):
        assert (getattr(hidden, narrower) >= getattr(hidden, wider)).all()


def small(n: int = 6) -> dict[str, Any]:
    """Return an audit in which one group has n rows."""
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c", "d"], [n, 200, 300, 400])
    y, p = random.integers(0, 2, len(group)), random.random(len(group))
    return ff.audit(y, p, sensitive_features={"g": group}).to_dict()


def test_a_small_group_takes_the_next_smallest_with_it() -> None:
    found = small()
    place = found["tables"]["g"]["group"].index
    for column in ("n", "selection", "tpr", "auc", "mean_score", "selection_gap"):
        values = found["tables"]["g"][column]
        assert str(values[place("a")]).startswith("suppressed")
        assert str(values[place("b")]).startswith("suppressed")
    assert found["tables"]["g"]["n"][place("c")] == 300
    assert found["tables"]["g"]["n"][place("(all rows)")] == 906
    assert "906" in json.dumps(found)
    assert all(str(w["value"]).startswith("suppressed") for w in found["worst"]["g"])
    assert not any("b and" in s or "and b" in s for s in found["sentences"])


def test_large_groups_are_shown_in_full() -> None:
    found = small(100)
    assert "suppressed" not in json.dumps(found, allow_nan=False)
    assert found["tables"]["g"]["n"][:4].count(100.0) == 1


def test_a_hidden_reference_hides_every_contrast() -> None:
    group = np.repeat(["a", "b", "c"], [60, 60, 60])
    y = np.tile([0, 1], 90)
    decided = np.concatenate([np.tile([0, 0, 1, 1], 15), np.tile([0, 1, 1, 0], 15), np.arange(60) < 4]).astype(int)
    table = ff.audit(y, decided, sensitive_features={"g": group}, groups=ff.Groups("c")).to_dict()["tables"]["g"]
    assert all(str(v).startswith("suppressed") for v in table["selection_over_reference"])
    assert all(str(v).startswith("suppressed") for v in table["detectable_gap"])


def test_strata_hide_together() -> None:
    random = np.random.default_rng(1)
    n = 1200
    group, y, p = random.choice(["a", "b"], n), random.integers(0, 2, n), random.random(n)
    level = np.where((group == "a") & (np.cumsum(group == "a") <= 5), "small", random.choice(["x", "y"], n))
    level[(group == "b") & (np.cumsum(group == "b") <= 50)] = "small"
    shown = ff.audit(y, p, sensitive_features={"g": group}, control_features={"l": level}).to_dict()
    for tables in shown["strata"].values():
        assert str(tables["g"]["n"][0]).startswith("suppressed")
    assert str(shown["pooled"]["g"]["selection_gap"][0]).startswith("suppressed")


@pytest.mark.parametrize("tier", TIERS)
def test_nothing_is_hidden_where_nothing_is_small(tier: str) -> None:
    assert not getattr(hidden_lines(np.full((4, 2, 2), 50.0), 0), tier).any()


def test_another_attributes_table_gives_nothing_away() -> None:
    """All rows less the groups shown would be the small count, where another table has the figures of all rows."""
    random = np.random.default_rng(0)
    n = 2000
    race, sex = np.repeat(["a", "b", "c"], [40, 900, 1060]), random.choice(["f", "m"], n)
    y, p = random.integers(0, 2, n), random.random(n)
    y[:40] = 0
    y[:4] = 1
    tables = ff.audit(y, p, sensitive_features={"race": race, "sex": sex}).to_dict()["tables"]
    total = sum(tables["sex"]["positives"][:2])
    shown = [count for count in tables["race"]["positives"][:3] if not isinstance(count, str)]
    assert total - sum(shown) >= 10
    assert len(shown) == 1
    assert tables["race"]["selected"][:3] == [int((p[race == g] >= 0.5).sum()) for g in "abc"]


def test_a_group_with_few_labels_leaves_the_others_readable() -> None:
    random = np.random.default_rng(3)
    group = np.repeat(["a", "b", "c"], [40, 500, 600])
    y = random.integers(0, 2, len(group))
    y[:40] = np.arange(40) < 4
    table = ff.audit(y, random.random(len(group)), sensitive_features={"g": group}).to_dict()["tables"]["g"]
    place = table["group"].index
    assert str(table["tpr"][place("a")]).startswith("suppressed")
    assert str(table["positives"][place("(all rows)")]).startswith("suppressed")
    assert isinstance(table["error"][place("(all rows)")], float)
    for name in ("b", "c"):
        assert isinstance(table["tpr"][place(name)], float)
        assert isinstance(table["error"][place(name)], float)
