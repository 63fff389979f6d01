"""The encoder: equal to scikit-learn's pieces, the same in chunks, stored as plain values without rare ones."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairfront.exceptions import InputError
from fairfront.tables import Table, TableEncoder, coerce
from fairfront.tables.table import Chunk
from tests.support.tables import table_of

LEVELS = ["a", "b", "Zürich, CH", 'say "x"', "two\nlines", None, "rare-secret", "(other)", "(missing)"]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    n = draw(st.integers(1, 60))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    number = rng.normal(draw(st.floats(-1e6, 1e6)), draw(st.sampled_from([0.0, 1e-3, 1.0, 1e5])), n)
    number[rng.random(n) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = np.nan
    chance = np.array([0.3, 0.2, 0.1, 0.1, 0.05, 0.15, 0.02, 0.04, 0.04])
    words = np.array(LEVELS, dtype=object)[rng.choice(len(LEVELS), n, p=chance)]
    return table_of({"x": number, "c": words, "k": rng.integers(0, 3, n)})


def dense(X: object) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@settings(max_examples=80, deadline=None)
@given(table=tables(), other=tables(), thin=st.booleans(), cut=st.integers(0, 60))
def test_chunks_and_stored_encoders_give_the_same_matrix(table: Table, other: Table, thin: bool, cut: int) -> None:
    encoder = TableEncoder.fit(table, ["x", "c", "k"], min_count=3, sparse=thin)
    content, arrays = encoder.to_content()
    assert all(values.dtype == np.float64 for values in arrays.values())
    again = TableEncoder.from_content(json.loads(json.dumps(content)), arrays)
    assert again == encoder
    whole = dense(again.transform(other))
    assert whole.shape == (other.n, len(encoder.feature_names))
    assert np.isfinite(whole).all()
    parts = [other.take(np.arange(min(cut, other.n))), other.take(np.arange(min(cut, other.n), other.n))]
    np.testing.assert_array_equal(whole, np.vstack([dense(encoder.transform(part)) for part in parts]))
    raw = {"x": other.columns["x"].numbers, "c": other.texts("c"), "k": other.columns["k"].numbers}
    np.testing.assert_array_equal(whole, dense(encoder.transform(coerce(raw, encoder))))


@settings(max_examples=60, deadline=None)
@given(table=tables(), min_count=st.integers(2, 12))
def test_no_rare_value_is_stored(table: Table, min_count: int) -> None:
    encoder = TableEncoder.fit(table, ["x", "c", "k"], min_count=min_count)
    content, arrays = encoder.to_content()
    stored = json.dumps(content, ensure_ascii=False) + repr(arrays) + repr(encoder)
    texts = table.texts("c").tolist()
    for level in ("Zürich, CH", "rare-secret"):
        assert (level in stored) == (texts.count(level) >= max(min_count, 0.001 * table.n))
    assert all(texts.count(level) >= min_count for level in encoder.blocks[1].levels)


def test_equal_to_scikit_learn_where_nothing_is_missing_or_rare() -> None:
    rng = np.random.default_rng(3)
    x, c = rng.normal(5, 3, 200), rng.choice(["p", "q", "r"], 200).astype(object)
    table = table_of({"c": c, "x": x})
    encoder = TableEncoder.fit(table, ["x", "c"])
    expected = np.hstack(
        [
            StandardScaler().fit_transform(x[:, None]),
            OneHotEncoder(sparse_output=False).fit_transform(c[:, None]),
        ]
    )
    np.testing.assert_allclose(encoder.transform(table), expected, atol=1e-12)
    assert encoder.feature_names == ("x", "c=p", "c=q", "c=r")
    assert encoder.columns == ("x", "c")


def test_missing_rare_and_unseen_by_hand() -> None:
    c = np.array(["big"] * 12 + ["one", "two", "three"] * 4 + [None] * 10, dtype=object)
    x = np.r_[np.full(10, np.nan), np.arange(24.0)]
    encoder = TableEncoder.fit(table_of({"c": c, "x": x}), ["x", "c"])
    assert encoder.feature_names == ("x", "x (missing)", "c=big", "c=(other)", "c=(missing)")
    new = table_of({"x": [np.nan, 3.0, 4.0, 5.0], "c": np.array(["big", "one", "never", None], dtype=object)})
    X = encoder.transform(new)
    np.testing.assert_array_equal(X[:, 1:], [[1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    filled = np.where(np.isnan(x), 11.5, x)
    np.testing.assert_allclose(X[:, 0], (np.array([11.5, 3, 4, 5]) - filled.mean()) / filled.std())


def test_columns_that_say_nothing_become_zero() -> None:
    table = table_of(
        {"same": np.full(30, 7.0), "few": np.r_[1.0, 2.0, np.full(28, np.nan)], "huge": np.linspace(0, 1e300, 30)}
    )
    X = TableEncoder.fit(table, ["same", "few", "huge"]).transform(table)
    assert not X[:, :2].any()
    np.testing.assert_array_equal(X[:, 2], [0, 0] + [1] * 28)
    np.testing.assert_allclose([X[:, 3].mean(), X[:, 3].std()], [0, 1], atol=1e-9)
    far = table_of({"same": [1e9], "few": [3.0], "huge": [0.0]})
    assert not TableEncoder.fit(table, ["same", "few"]).transform(far).any()


def test_fewer_than_ten_of_a_kind_have_no_column_of_their_own() -> None:
    c = np.array(["big"] * 40 + ["tiny"] * 4 + [None] * 3, dtype=object)
    x = np.r_[np.arange(44.0), np.full(3, np.nan)]
    encoder = TableEncoder.fit(table_of({"c": c, "x": x}), ["c", "x"])
    assert encoder.feature_names == ("c=big", "x")
    assert not encoder.transform(table_of({"c": np.array(["tiny", None], dtype=object), "x": [0, 1]}))[:, 0].any()


def test_wide_tables_are_sparse() -> None:
    rng = np.random.default_rng(0)
    table = table_of({"c": rng.integers(0, 300, 20_000).astype(str).astype(object), "x": rng.normal(size=20_000)})
    thin = TableEncoder.fit(table, ["c", "x"], rare=0.0)
    assert thin.sparse
    X = thin.transform(table)
    assert isinstance(X, sparse.csr_array)
    assert X.has_sorted_indices
    full = dataclasses.replace(thin, sparse=False)
    np.testing.assert_array_equal(X.toarray(), full.transform(table))
    assert not TableEncoder.fit(table, ["c", "x"], rare=0.005).sparse


def test_stored_statistics_are_no_extremes() -> None:
    x = np.r_[np.arange(100.0), 98765.4321]
    content, arrays = TableEncoder.fit(table_of({"x": x}), ["x"]).to_content()
    assert 98765.4321 not in np.concatenate(list(arrays.values()))
    assert "98765" not in json.dumps(content)


def test_tables_that_do_not_fit_are_told_apart() -> None:
    table = table_of({"age": np.arange(20.0), "job": np.array(["a", "b"] * 10, dtype=object)})
    encoder = TableEncoder.fit(table, ["age", "job"])
    encoder.check(["job", "age", "extra"])
    with pytest.raises(InputError, match="'job' is missing, expected all of age, job; did you mean 'Job'"):
        encoder.check(["age", "Job"])
    with pytest.raises(InputError, match=r"'age' is missing.*add it"):
        encoder.check(["job", "zzz"])
    with pytest.raises(InputError, match="'age' is a category, expected numbers"):
        encoder.transform(table_of({"age": np.array(["old"], dtype=object), "job": np.array(["a"], dtype=object)}))
    with pytest.raises(InputError, match="'job' holds numbers, expected a category"):
        encoder.transform(table_of({"age": [1.0], "job": [2.0]}))
    with pytest.raises(InputError, match="features is empty"):
        TableEncoder.fit(table, [])
    with pytest.raises(InputError, match="no column 'jobs'"):
        TableEncoder.fit(table, ["jobs"])
    with pytest.raises(InputError, match="every value of word is in too few training rows"):
        TableEncoder.fit(table_of({"word": np.array(["a", "b", "c", None], dtype=object)}), ["word"], min_count=5)


def test_new_rows_are_coerced_or_placed() -> None:
    table = table_of({"age": np.arange(20.0), "job": np.array(["1", "b"] * 10, dtype=object)})
    encoder = TableEncoder.fit(table, ["age", "job"])
    raw = {"age": np.array(["3", " ?", "7 "], dtype=object), "job": np.array([" b", "new", "1"], dtype=object)}
    found = coerce(raw, encoder)
    np.testing.assert_array_equal(found.columns["age"].numbers, [3, np.nan, 7])
    assert found.texts("job").tolist() == ["b", "(other)", "1"]
    assert coerce({"age": np.array([1]), "job": np.array([1])}, encoder).texts("job").tolist() == ["1"]
    words = np.array(["3", "old"], dtype=object)
    with pytest.raises(InputError, match="'age' has 'old' in row 102"):
        coerce(Chunk({"age": words, "job": words}, first=100), encoder)
    with pytest.raises(InputError, match="'age' has 'old' in line 9"):
        coerce(Chunk({"age": words, "job": words}, lines=np.array([7, 9])), encoder)
    assert np.isnan(coerce({"age": words, "job": words}, encoder, missing=("old",)).columns["age"].numbers[1])


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"columns": [{"name": "x", "kind": "pickle"}]},
        {"columns": [{"name": "x", "kind": "number", "indicator": False}] * 2},
        {"columns": []},
        {"columns": 3},
        {"sparse": None, "missing": None},
    ],
    ids=str,
)
def test_stored_encoders_that_are_damaged(change: dict) -> None:
    content, arrays = TableEncoder.fit(table_of({"x": np.arange(20.0)}), ["x"]).to_content()
    with pytest.raises(InputError, match="encoder cannot be read"):
        TableEncoder.from_content(content | change, arrays)
    with pytest.raises(InputError, match="encoder cannot be read"):
        TableEncoder.from_content(content, {**arrays, "mean": np.array([np.nan])})
    with pytest.raises(InputError, match="encoder cannot be read"):
        TableEncoder.from_content(content, {})
