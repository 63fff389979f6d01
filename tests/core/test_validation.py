"""Validation: every refusal is one sentence that says what, expected and found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fairfront.exceptions import FairfrontError, InputError
from fairfront.solvers.base import Request
from fairfront.validation import check_favourable, check_path, check_positive, counted, is_missing
from fairfront.validation.inputs import (
    as_columns,
    as_numbers,
    check_labels,
    check_matrix,
    check_preferences,
    check_weights,
    factorize,
    find_classes,
)
from tests.support.extras import need, optional

pd = optional("pandas")
pl = optional("polars")
pa = optional("pyarrow")

OUT_OF_RANGE = sparse.csr_array(np.eye(3))
OUT_OF_RANGE.indices[1] = 99
NAMES = ["loss", "Female - Male | y=1"]
REFUSED = [
    (
        lambda: as_columns(None, "sensitive_features"),
        r"sensitive_features is None, .*enable_metadata_routing=True",
    ),
    (lambda: as_columns({}, "s"), "s has no columns, expected at least one"),
    (lambda: as_columns(pd.DataFrame(index=range(3)), "s"), "s has no columns"),
    (lambda: as_columns([1, 2], "s", n=3), "s column 'group' has 2 rows, expected 3, as many as X"),
    (
        lambda: as_columns({"a": [1, 2], "b": [1]}, "s"),
        "s column 'b' has 1 row, expected 2, as many as the first",
    ),
    (lambda: as_columns(np.zeros((2, 2, 2)), "s"), r"s has shape \(2, 2, 2\), expected \(n,\) or \("),
    (lambda: as_columns("abc", "s"), r"s has shape \(\), expected \(n,\) or \(n, columns\)"),
    (lambda: as_columns(np.eye(2), "s", names=["a"]), "s has 2 columns, expected 1, one per name"),
    (lambda: as_columns({"a": np.eye(2)}, "s"), r"s\['a'\] has shape \(2, 2\), expected one value per row"),
    (
        lambda: as_columns([np.eye(2), np.zeros((2, 3))], "s"),
        r"s cannot be read as an array \(.*\), expected",
    ),
    (
        lambda: factorize(np.array([[1], [2, 3]], dtype=object)),
        r"found a row with no single value \(unhashable",
    ),
    (
        lambda: check_path("a\0b"),
        r"path is 'a\\x00b', which cannot be used \(embedded null byte\), expected the name of a",
    ),
    (lambda: check_path("\ud800"), r"path is '\\ud800', which cannot be used \(.*surrogates not allowed\), expected"),
    (lambda: check_path("x" * 300, "data"), r"data is 'x+ \.\.\., which cannot be used \(.*\), expected the name of a"),
    (lambda: check_matrix([1.0, 2.0]), r"X has shape \(2,\), expected \(n, d\): one row per sample"),
    (lambda: check_matrix(None), r"X has shape \(\), expected \(n, d\)"),
    (lambda: check_matrix(np.zeros((0, 2))), "X has 0 rows, expected at least one sample"),
    (lambda: check_matrix(np.zeros((2, 0))), "X has 0 columns, expected at least one feature"),
    (lambda: check_matrix(sparse.csr_array((0, 2))), "X has 0 rows"),
    (lambda: check_matrix([["a", "b"]]), r"X has entries that are not numbers \(.*'a'.*\); encode cat"),
    (lambda: check_matrix(pd.DataFrame({"a": ["x", "y"]})), "X has entries that are not numbers"),
    (lambda: check_matrix(np.array([[1j]])), "X has complex numbers, expected real ones"),
    (lambda: check_matrix([[1.0], [1.0, 2.0]]), "X cannot be read as an array"),
    (lambda: check_matrix([[1.0, np.nan]]), r"X contains NaN or infinity \(first in column 1\), expected"),
    (
        lambda: check_matrix([[np.inf, 1.0], [-np.inf, 1.0]]),
        r"X contains NaN or infinity \(first in column 0\)",
    ),
    (lambda: check_matrix(sparse.csr_array([[np.nan, 0.0]])), "X contains NaN or infinity, exp"),
    (lambda: check_matrix(np.full((2, 2), np.datetime64("2020"))), "X has dates, .* such as days since a date"),
    (lambda: check_matrix(np.ma.masked_array([[1.0, 2.0]], [[True, False]])), "X is a masked array with 1 masked"),
    (lambda: check_matrix(sparse.coo_array(np.ones(3))), r"X has shape \(3,\), expected \(n, d\)"),
    (lambda: check_matrix(sparse.csr_array([[1j, 0.0]])), "X has complex numbers"),
    (lambda: check_matrix(OUT_OF_RANGE), "X is a damaged sparse matrix .* expected indices inside its shape"),
    (lambda: check_matrix(pd.DataFrame(np.eye(2), columns=["a", "a"])), "X has two columns 'a', expected different"),
    (lambda: check_labels(np.array([1j, 0]), 2), "y has complex numbers"),
    (lambda: check_labels(np.array([b"a", b"b"]), 2), "y has bytes, expected text or numbers; decode them"),
    (lambda: check_labels(np.array([{1}, {2}]), 2), "y has {.}, a set, expected labels that are text or numbers"),
    (lambda: check_labels([0, 1], 3), "y has 2 rows, expected 3, as many as X"),
    (lambda: check_labels(np.eye(2), 2), r"y has shape \(2, 2\), expected one value per row"),
    (lambda: check_labels(None, 2), r"y has shape \(\), expected one value per row"),
    (lambda: check_labels([0.0, np.nan], 2), "y contains NaN or infinity, expected a label or a"),
    (lambda: check_labels(["a", None], 2), "y has missing labels, expected a label in every row"),
    (lambda: find_classes(np.array([0.5, 1.25])), r"y has values that are not classes .*loss='squared'"),
    (lambda: find_classes(np.array(["a", "a"])), r"y has one class only \('a'\), expected 2 or more"),
    (lambda: check_weights([1.0, 2.0], 3), r"sample_weight has shape \(2,\), expected \(3,\), as"),
    (lambda: check_weights([1.0, -1.0], 2), "sample_weight has negative, missing or infinite entries"),
    (lambda: check_weights([1.0, None], 2), "sample_weight has negative, missing or infinite entries"),
    (lambda: check_weights([0.0, 0.0], 2), "sample_weight is zero in every row, expected a positive total"),
    (lambda: check_weights(["a", "b"], 2), "sample_weight has entries that are not numbers"),
    (
        lambda: check_preferences(np.ones((10, 3)), NAMES),
        r"preferences has shape \(10, 3\), expected \(n_runs, 2\): one column per objective "
        r"\(loss, Female - Male \| y=1\)\.",
    ),
    (lambda: check_preferences(np.ones((2, 2, 2)), NAMES), r"preferences has shape \(2, 2, 2\)"),
    (
        lambda: check_preferences([1.0, 0.0], NAMES),
        "preferences must be positive and finite, found 0 to 1; expected",
    ),
    (
        lambda: check_preferences([1.0, np.inf], NAMES),
        "preferences must be positive and finite, found 1 to inf",
    ),
    (lambda: check_preferences(["a", "b"], NAMES), "preferences has entries that are not numbers"),
    (lambda: check_positive(0.0, "tol"), r"tol is 0\.0, expected a finite number above 0\."),
    (
        lambda: check_positive(-1, "ridge", zero=True),
        r"ridge is -1, expected a finite number of at least 0\.",
    ),
    (lambda: check_positive(np.inf, "ridge"), "ridge is inf, expected a finite number above 0"),
    (lambda: check_positive(None, "ridge"), "ridge is None, expected a finite number above 0"),
    (lambda: check_favourable(np.str_("bad"), ["a", "b"]), "favourable is 'bad', expected one of the labels 'a', 'b'"),
    (lambda: check_positive([np.int64(1), np.str_("a")], "ridge"), r"ridge is \[1, 'a'\], expected a finite number"),
    (lambda: find_classes(np.array([np.int64(3)], dtype=object)), r"y has one class only \(3\), expected 2 or more"),
    (lambda: check_positive("many", "ridge"), "ridge is 'many', expected a finite number above 0"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED, ids=[text[:40] for _, text in REFUSED])
def test_refusals(call, text: str) -> None:
    with pytest.raises(InputError, match=text) as caught:
        call()
    assert isinstance(caught.value, FairfrontError)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).endswith(".")


LABELS = [1, 0, 1, 1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: LABELS,
        lambda: np.array(LABELS),
        lambda: np.array(LABELS)[:, None],
        lambda: np.array(LABELS, dtype=np.float32),
        lambda: pd.Series(LABELS, index=[5, 6, 7, 8]),
        lambda: pd.Series(LABELS, dtype="Int64"),
        lambda: pd.DataFrame({"y": LABELS}),
        lambda: pl.Series(LABELS),
        lambda: pa.chunked_array([LABELS]),
        lambda: [True, False, True, True],
        lambda: ["b", "a", "b", "b"],
        lambda: pd.Series(["b", "a", "b", "b"], dtype="category"),
    ],
)
def test_labels_of_every_kind(make) -> None:
    classes, codes = find_classes(check_labels(make(), 4))
    assert classes in ([0, 1], [False, True], ["a", "b"])
    assert all(type(c) in (int, bool, str) for c in classes)
    np.testing.assert_array_equal(codes, LABELS)


@pytest.mark.parametrize(
    "make",
    [
        lambda: [[1, 2], [3, 4]],
        lambda: np.array([[1, 2], [3, 4]], dtype=np.int8),
        lambda: np.array([[1, 2], [3, 4]], dtype=np.float32),
        lambda: pd.DataFrame([[1, 2], [3, 4]]),
        lambda: pd.DataFrame({"a": pd.array([1, 3], dtype="Int64"), "b": [2.0, 4.0]}),
        lambda: pl.DataFrame({"a": [1, 3], "b": [2, 4]}),
        lambda: pa.table({"a": [1, 3], "b": [2, 4]}),
        lambda: sparse.csc_matrix([[1, 2], [3, 4]]),
        lambda: sparse.coo_array([[1, 2], [3, 4]]),
    ],
)
def test_matrices_of_every_kind(make) -> None:
    X = make()
    found = check_matrix(X)
    assert found.shape == (2, 2)
    assert sparse.issparse(found) == sparse.issparse(X)
    np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, [[1, 2], [3, 4]])


def test_matrices_keep_their_precision_and_large_numbers_are_finite() -> None:
    small = np.array([[3e38], [3e38]], dtype=np.float32)
    assert check_matrix(small) is small
    assert check_matrix(np.array([[1e308], [1e308]])).max() == 1e308


def test_weights() -> None:
    assert check_weights(None, 3) is None
    assert check_weights(np.ones(3), 3) is None
    np.testing.assert_array_equal(check_weights(2, 3), [2.0, 2.0, 2.0])
    for form in (pd.Series([1, 0]), pl.Series([1, 0]), [1, 0]):
        np.testing.assert_array_equal(check_weights(form, 2), [1.0, 0.0])


def test_preferences_and_numbers() -> None:
    np.testing.assert_array_equal(check_preferences([1, 2], NAMES), [[1.0, 2.0]])
    assert check_preferences(np.ones((4, 2)), NAMES).shape == (4, 2)
    assert check_positive(0, "ridge", zero=True) == 0.0
    assert check_positive(np.float32(0.5), "ridge") == 0.5
    assert as_numbers([1, True], "x").dtype == np.float64


def test_missing_values() -> None:
    need("pandas")
    assert all(is_missing(v) for v in (None, float("nan"), np.nan, pd.NA, pd.NaT))
    assert not any(is_missing(v) for v in (0, "", "nan", False, 1.5))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.none(), st.integers(-5, 5), st.sampled_from("xyz"), st.just(float("nan"))), max_size=20))
def test_factorize_round_trip(values: list) -> None:
    column = as_columns({"c": np.array([*values, None], dtype=object)}, "s")["c"]
    codes, distinct = factorize(column)
    assert len(set(distinct)) == len(distinct)
    for value, code in zip(values, codes, strict=False):
        assert code == -1 if is_missing(value) else distinct[code] == value


def test_counts_and_what_is_counted_agree() -> None:
    assert [counted(n, "row") for n in (0, 1, 2, 1.0)] == ["0 rows", "1 row", "2 rows", "1 row"]


def test_ten_thousand_points_are_the_most() -> None:
    assert Request(n_points=10_000).n_points == 10_000
    with pytest.raises(InputError, match="n_points is 10001, expected a whole number from 2 to 10000"):
        Request(n_points=10_001)
