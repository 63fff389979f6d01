"""Targets and groups: types are kept, and what cannot be used is refused with the remedy."""

from __future__ import annotations

import numpy as np
import pytest

from fairfront.exceptions import InputError
from fairfront.tables import Table, read_groups, read_target
from fairfront.tables.table import Column
from tests.support.tables import table_of


def words(*values: str | None) -> Table:
    return table_of({"y": np.array(values, dtype=object)})


def test_labels_keep_their_type() -> None:
    text = read_target(words("no", None, "yes", "no"), "y", "yes")
    assert text.labels.tolist() == ["no", "yes", "no"]
    assert (text.favourable, text.rows.tolist(), text.dropped) == ("yes", [0, 2, 3], 1)
    whole = read_target(table_of({"y": [1.0, 0.0, np.nan, 1.0]}), "y", "1")
    assert whole.labels.dtype == np.int64
    assert (whole.favourable, type(whole.favourable)) == (1, int)
    assert read_target(table_of({"y": [1.0, 0.0]}), "y", "1.0").favourable == 1
    halves = read_target(table_of({"y": [0.5, 1.0]}), "y", "0.5")
    assert halves.labels.dtype == np.float64
    assert halves.favourable == 0.5
    assert read_target(words("a", "b"), "y").favourable is None


def test_regression_targets() -> None:
    found = read_target(table_of({"y": [0.5, np.nan, 7.0]}), "y", regression=True)
    assert found.labels.tolist() == [0.5, 7.0]
    assert found.favourable is None
    with pytest.raises(InputError, match="has 2 categories, expected numbers"):
        read_target(words("a", "b"), "y", regression=True)
    with pytest.raises(InputError, match="one value in all rows"):
        read_target(table_of({"y": [3.0, 3.0]}), "y", regression=True)


@pytest.mark.parametrize(
    ("table", "favourable", "sentence"),
    [
        (words("yes", "yes"), "yes", r"one value only \('yes'\), expected 2 to 20 labels"),
        (words(None, None), "yes", "missing in all 2 rows"),
        (table_of({"y": np.arange(50.0)}), "1", "has 50 values, expected 2 to 20 labels; .*--loss squared"),
        (words(*map(str, "abcdefghijklmnopqrstuvwxyz")), "a", "has 26 values.*merge its values"),
        (words(">50K", "<=50K"), ">50k", "expected one of '<=50K', '>50K'; did you mean '>50K'"),
        (table_of({"y": [0.0, 1.0]}), "yes", "expected one of '0', '1'"),
    ],
)
def test_targets_that_cannot_be_used(table: Table, favourable: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_target(table, "y", favourable)


def test_groups_are_texts() -> None:
    table = table_of({"sex": np.array(["F", None, "M"], dtype=object), "band": [1.0, 2.0, np.nan]})
    found = read_groups(table, ["sex", "band"])
    assert found["sex"].take().tolist() == ["F", None, "M"]
    assert found["band"].take().tolist() == ["1", "2", None]


def test_groups_that_cannot_be_used() -> None:
    many = np.array([f"v{i}" for i in range(10_000)], dtype=object)
    numbers = np.array([str(i) for i in range(80)], dtype=object)
    with pytest.raises(InputError, match="'g' has 10000 values in 10000 rows, expected at most 50 groups; merge"):
        read_groups(table_of({"g": many}), ["g"])
    with pytest.raises(InputError, match="expected at most 12 groups; cut the numbers"):
        read_groups(table_of({"g": numbers}), ["g"])
    with pytest.raises(InputError, match="expected at most 12 groups; cut the numbers"):
        read_groups(table_of({"g": np.linspace(0, 1, 99)}), ["g"])
    with pytest.raises(InputError, match=r"one value only \('F'\)"):
        read_groups(table_of({"g": np.array(["F", None], dtype=object)}), ["g"])
    with pytest.raises(InputError, match="no value at all"):
        read_groups(table_of({"g": np.array([None, None], dtype=object)}), ["g"])
    with pytest.raises(InputError, match="did you mean 'sex'"):
        read_groups(table_of({"sex": numbers}), ["Sex"])
    nameless = Column(np.arange(60, dtype=np.int32), "category", n_levels=60)
    with pytest.raises(InputError, match="60 values"):
        read_groups(Table(60, {"id": nameless}), ["id"])
    with pytest.raises(InputError, match="looks like an identifier"):
        Table(60, {"id": nameless}).texts("id")
