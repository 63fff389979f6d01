"""Kinds of Dask input: frames, arrays, sparse or empty partitions, groups of every type, as in memory."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import fairfront as ff
from fairfront.exceptions import GroupWarning
from fairfront.problems import LinearProblem, linear_problem
from tests.support.dask_rows import assert_same, da, dask, far, given

dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.usefixtures("on_dask")


def test_frames_from_parquet(tmp_path: Path) -> None:
    X, y, rows, _ = given(n=500)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype({"a": "float32"})
    frame["y"], frame["sex"] = np.where(y == 1, "yes", "no"), rows["sensitive_features"]["sex"]
    frame["weight"] = 1.0 + (frame.index % 3 == 0)
    for i in range(3):
        frame.iloc[i::3].to_parquet(tmp_path / f"{i}.parquet")
    frame = pd.concat([frame.iloc[i::3] for i in range(3)])
    stored = dd.read_parquet(tmp_path)
    names = ["a", "b", "c"]
    options = {"favourable": "yes", "n_points": 4, "progress": False}
    near, away = (
        ff.trace(f[names], f["y"], sensitive_features=f[["sex"]], sample_weight=f["weight"], **options)
        for f in (frame, stored)
    )
    assert_same(near, away)
    assert list(away.models.build(0).feature_names_in_) == names
    series = ff.trace(stored[names], stored["y"], sensitive_features=stored["sex"], **options)
    assert series.facts.sensitive[0][0] == "sex"


def test_frames_and_arrays_mix() -> None:
    X, y, rows, _ = given(n=300)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=2)
    sizes = tuple(frame.map_partitions(len).compute())
    groups = da.from_array(rows["sensitive_features"]["sex"], chunks=(sizes,))
    problem = linear_problem(frame, da.from_array(y, chunks=(sizes,)), sensitive_features=groups)
    expected = linear_problem(X, y, sensitive_features=rows["sensitive_features"]["sex"])
    W = np.ones((1, 1, 4))
    np.testing.assert_allclose(problem.values(W), expected.values(W), rtol=1e-12)


def test_partitions_may_be_empty() -> None:
    X, y, rows, _ = given(n=300)
    sizes = ((100, 0, 200),)
    problem = linear_problem(
        da.from_array(X, chunks=(*sizes, 3)),
        da.from_array(y, chunks=sizes),
        sensitive_features=da.from_array(rows["sensitive_features"]["sex"], chunks=sizes),
    )
    assert problem.layout.cells.n == 300
    assert np.isfinite(problem.values(np.ones((1, 1, 4)))).all()


@pytest.mark.parametrize("keep", ["auto", "source"])
def test_sparse_partitions(keep: str) -> None:
    X, y, rows, options = given(n=300)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    thin = da.from_array(X, chunks=(100, 3)).map_blocks(sparse.csr_matrix)
    with dask.config.set({"fairfront.keep": keep}):
        problem = linear_problem(thin, far(y, 100), **far(rows, 100), **options)
    near = linear_problem(sparse.csr_array(X), y, **rows, **options)
    W = np.ones((1, 1, 4))
    np.testing.assert_allclose(problem.cells(W).D, near.cells(W).D, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(problem.column_scale(), near.column_scale())


def test_numbers_as_groups_with_missing_values() -> None:
    X, y, _, _ = given(n=600)
    groups = np.random.default_rng(0).choice([1.0, 2.5, 10.0, np.nan], 600)
    near = linear_problem(X, y, sensitive_features=groups)
    away = linear_problem(far(X), far(y), sensitive_features=far(groups))
    assert near.objectives.attributes[0].levels == away.objectives.attributes[0].levels
    assert near.objectives.attributes[0].n_missing == away.objectives.attributes[0].n_missing


@pytest.mark.parametrize(
    "groups",
    [
        np.array([True, False, None] * 100, dtype=object),
        np.array([1.0, 2.0, None] * 100, dtype=object),
        np.array([*[1.0, 2.0] * 100, *[1.0, None] * 50], dtype=object),  # partitions with and without None
        np.array([*[1, 2] * 100, *[None, 1] * 50], dtype=object),
        pd.Series([True, False, None] * 100, dtype="boolean", name="sex"),
        pd.Series([*[True, False] * 100, *[None, True] * 50], dtype="boolean", name="sex"),
        pd.Series([1, 2, None] * 100, dtype="Int64", name="sex"),
        pd.Series(["a", "b", None] * 100, dtype="string", name="sex"),
    ],
    ids=["truths", "floats", "floats in parts", "numbers", "boolean", "boolean in parts", "Int64", "string"],
)
def test_groups_with_missing_values_have_the_names_that_they_have_in_memory(groups: Any) -> None:
    X, y, _, _ = given(n=300)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    series = groups if isinstance(groups, pd.Series) else pd.Series(groups, name="sex")
    with dask.config.set({"dataframe.convert-string": False}):
        parts = dd.from_pandas(series, npartitions=3)
    near = linear_problem(X, y, sensitive_features=groups)
    sizes = (tuple(frame.map_partitions(len).compute()),)
    for many in (parts, groups if isinstance(groups, pd.Series) else da.from_array(groups, chunks=sizes)):
        rows = frame if many is parts else da.from_array(X, chunks=(*sizes, 3))
        away = linear_problem(rows, da.from_array(y, chunks=sizes), sensitive_features=many)
        assert list(map(repr, near.objectives.attributes[0].levels)) == list(
            map(repr, away.objectives.attributes[0].levels)
        )
        assert near.objectives.attributes[0].n_missing == away.objectives.attributes[0].n_missing
        np.testing.assert_array_equal(near.layout.cells.offsets, away.layout.cells.offsets)


def test_frames_in_memory_keep_the_names_of_their_columns() -> None:
    X, y, _, _ = given("two notions, two attributes", n=300)
    groups = pd.DataFrame({"sex": ["m", "f"] * 150, "age": [1, 2, 3] * 100})
    near = linear_problem(X, y, sensitive_features=groups)
    away = linear_problem(far(X), far(y), sensitive_features=groups)
    assert near.algebra.names == away.algebra.names
    series = linear_problem(far(X), y, sensitive_features=groups["sex"])
    assert series.objectives.attributes[0].name == "sex"


def test_one_weight_for_all() -> None:
    X, y, rows, _ = given(n=300)
    near = linear_problem(X, y, **rows, sample_weight=2.0)
    away = linear_problem(far(X), far(y), **far(rows), sample_weight=2.0)
    assert near.objectives.question.ridge == away.objectives.question.ridge
    W = np.ones((1, 1, 4))
    np.testing.assert_allclose(near.values(W), away.values(W), rtol=1e-12)


def test_small_groups_are_left_out_with_the_same_words() -> None:
    X, y, _, _ = given(n=300)
    groups = np.array(["a"] * 150 + ["b"] * 130 + ["c"] * 20, dtype=object)
    with pytest.warns(GroupWarning) as near:
        linear_problem(X, y, sensitive_features=groups)
    with pytest.warns(GroupWarning) as away:
        linear_problem(far(X), far(y), sensitive_features=far(groups))
    assert str(near[0].message) == str(away[0].message)


def test_small_data_are_brought_to_memory(caplog: pytest.LogCaptureFixture) -> None:
    X, y, rows, options = given(n=300)
    with dask.config.set({"fairfront.small_bytes": 1e6}), caplog.at_level(logging.INFO, logger="fairfront"):
        problem = linear_problem(far(X), far(y), **far(rows), **options)
    assert type(problem) is LinearProblem
    assert "brought to memory" in caplog.text
    near = linear_problem(X, y, **rows, **options)
    W = np.ones((1, 1, 4))
    np.testing.assert_array_equal(problem.cells(W).L, near.cells(W).L)
