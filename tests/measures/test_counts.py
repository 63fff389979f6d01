"""Counts by model, group, label and decision against plain loops; columns and entries as records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairfront as ff
from fairfront.measures.audit_record import audits
from fairfront.measures.counts import Counts, count, sums_of
from fairfront.measures.cutoffs import Operating
from fairfront.measures.figures import FIGURES, Column, figure_of, larger_is_better
from fairfront.measures.judged import read_judged
from fairfront.measures.table_columns import Cell
from fairfront.objectives import Groups, Task


def rows_of(seed: int, n: int, K: int, c: int, N: int = 3) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "decided": random.integers(0, K, (N, n)),
        "truth": random.integers(0, K, n),
        "codes": random.integers(-1, c, n),
        "weight": random.uniform(0.2, 3.0, n),
    }


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(2, 4), st.integers(1, 4))
def test_counts_are_those_of_a_plain_loop(seed: int, n: int, K: int, c: int) -> None:
    data = rows_of(seed, n, K, c)
    found = count(data["decided"], data["truth"], K, data["codes"], c, data["weight"])
    expected = np.zeros((3, 3, c + 1, K, K))
    for model in range(3):
        for row in range(n):
            place = (model, data["codes"][row], data["truth"][row], data["decided"][model, row])
            for power in range(3):
                expected[(power, *place)] += data["weight"][row] ** power
    np.testing.assert_array_equal(found.rows, expected[0])
    np.testing.assert_allclose(found.weight, expected[1])
    np.testing.assert_allclose(found.squared, expected[2])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_shares_of_0_and_1_are_counted_as_groups_are(seed: int, weighted: bool) -> None:
    data = rows_of(seed, 80, 3, 2)
    weight = data["weight"] if weighted else None
    shares = (data["codes"][:, None] == np.arange(2)).astype(float)
    by_code = count(data["decided"], data["truth"], 3, data["codes"], 2, weight)
    by_share = count(data["decided"], data["truth"], 3, shares, 2, weight)
    for name in ("rows", "weight", "squared"):
        np.testing.assert_allclose(getattr(by_code, name), getattr(by_share, name), atol=1e-12)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_sums_of_two_parts_are_those_of_all_rows(kind: str) -> None:
    data = rows_of(3, 200, 3 if kind == "multiclass" else 2, 2)
    task = Task("regression") if kind == "regression" else Task(kind, tuple(range(data["truth"].max() + 1)), 1)
    sex = np.where(data["codes"] < 0, None, np.where(data["codes"] == 1, "m", "f")).astype(object)
    attributes = Groups().resolve({"sex": sex}, 200)

    def part(rows: Any) -> Any:
        some = tuple(attribute.take(rows) for attribute in attributes)
        return sums_of(data["decided"][:, rows], data["truth"][rows], task, some, data["weight"][rows])

    whole, parts = part(np.arange(200)), part(np.arange(70)) + part(np.arange(70, 200))
    np.testing.assert_allclose(whole.total, parts.total)
    for one, other in zip((whole.everyone, *whole.groups), (parts.everyone, *parts.groups), strict=True):
        for name in vars(one):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name))


def test_counts_without_weights_are_one_array() -> None:
    data = rows_of(1, 50, 2, 2)
    found = count(data["decided"], data["truth"], 2, data["codes"], 2)
    for counts in (found, found + found, found.together(), found.take(1)):
        assert isinstance(counts, Counts)
        assert counts.weight is counts.rows
        assert counts.squared is counts.rows
    np.testing.assert_array_equal(found.sizes, np.bincount(np.where(data["codes"] < 0, 2, data["codes"]), minlength=3))


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("error", Column("error")),
        ("tpr_gap", Column("tpr", gap=True)),
        ("sex.tpr_gap", Column("tpr", "sex", gap=True)),
        ("person.sex.selection_ratio", Column("selection_ratio", "person.sex")),
        ("recall[a]_gap_lower", Column("recall", label="a", gap=True, end="lower")),
        ("recall[a.b]_gap", Column("recall", label="a.b", gap=True)),
        ("precision[x]y]", Column("precision", label="x]y")),
        ("auc[]", Column("auc", label="")),
        ("in_the_large_upper", Column("in_the_large", end="upper")),
        ("Loss", Column("Loss")),
    ],
)
def test_the_text_of_a_column_is_its_name(name: str, column: Column) -> None:
    assert Column.of(name) == column
    assert str(column) == name
    assert column.kind == (name if not column.attribute else name.removeprefix(f"{column.attribute}."))


def test_columns_of_an_audit_are_read_and_written_alike() -> None:
    random = np.random.default_rng(0)
    y, scores = random.choice(["a", "b.c", "d[e]"], 300), random.random((300, 3))
    found = ff.audit(y, scores, sensitive_features={"sex": random.choice(["f", "m"], 300)})
    for name in found.tables["sex"]:
        assert str(Column.of(name)) == name
    for worst in found.worst["sex"].values():
        column = Column.of(worst.figure)
        assert column.figure in {*FIGURES, "odds"}


def test_larger_is_better_is_never_said_of_gaps() -> None:
    assert larger_is_better("auc")
    assert larger_is_better("sex.selection_ratio")
    assert not any(larger_is_better(f"{name}_gap") for name in FIGURES)
    assert not larger_is_better("error")
    assert not larger_is_better("loss")
    assert figure_of("fpr[a]").missing == "no rows of other classes than a"


def test_an_entry_is_a_value_or_a_reason() -> None:
    assert Cell(0.5).plain == 0.5
    assert Cell(reason="no rows").plain == "not defined: no rows"
    assert Cell(reason="reference group", meant=False).plain == "reference group"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scores", "classes", "values"])
@pytest.mark.parametrize("weighted", [False, True])
def test_models_audited_together_are_audited_as_one_by_one(kind: str, weighted: bool) -> None:
    random = np.random.default_rng(5)
    n = 400
    groups = {"sex": random.choice(["f", "m"], n), "race": random.choice(["a", "b", "c"], n, p=[0.6, 0.38, 0.02])}
    weight = random.uniform(0.5, 2.0, n) if weighted else None
    y = {"scores": random.integers(0, 2, n), "classes": random.integers(0, 3, n), "values": random.normal(size=n)}[kind]
    given = [random.random((n, 3)) if kind == "classes" else random.random(n) for _ in range(3)]
    models = [read_judged(y, each, operating=Operating(), sample_weight=weight) for each in given]
    together = audits(models, groups, Groups(), n_resamples=20, random_state=1)
    for each, found in zip(given, together, strict=True):
        alone = ff.audit(y, each, sensitive_features=groups, sample_weight=weight, n_resamples=20, random_state=1)
        said, expected = found.to_dict(), alone.to_dict()
        for table in expected["tables"].values():  # cards show no tests of single pairs
            for name in [each for each in table if each.startswith(("p_value", "deviations", "detectable_gap"))]:
                del table[name]
        sentences = [key for key in said if key != "sentences"]
        assert {key: said[key] for key in sentences} == {key: expected[key] for key in sentences}


def test_which_way_figures_are_better() -> None:
    """Ends of the bounds that are kept lie on the other side."""
    rising = {"tpr", "precision", "npv", "f_score", "balanced_accuracy", "auc", "selection_ratio", "tpr_ratio"}
    others = {"selection", "fpr", "fnr", "error", "favourable_errors", "brier", "mean_score", "approval_rate"}
    assert {name for name in rising | others if larger_is_better(name)} == rising
    assert not any(larger_is_better(f"{name}_gap") for name in rising | others)
