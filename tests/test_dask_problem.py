"""The same linear problem on Dask collections: same cells, Hessians and frontiers as in memory, same refusals."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

import fairfront as ff
from conftest import draw
from fairfront.exceptions import GroupWarning, InputError
from fairfront.problems import LinearProblem, Setup, linear_problem
from fairfront.problems.dask.problem import DaskProblem
from fairfront.problems.dask.spooling import Spooled
from fairfront.problems.threads import blas_threads, threads_setting
from fairfront.tracing import trace_setup

dask = pytest.importorskip("dask", reason="the extra dask is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

KEEP = ("memory", "disk", "source")
CASES: dict[str, dict[str, Any]] = {
    "equal opportunity": {},
    "equalized odds by rate": {"notion": "equalized_odds", "surrogate": "rate"},
    "two notions, two attributes": {
        "notion": ("demographic_parity", "equal_opportunity"),
        "columns": ("sex", "race"),
    },
    "crossed": {"columns": ("sex", "race"), "groups": ff.Groups(cross=True, min_size=20)},
    "missing groups, reference": {"columns": ("region",), "groups": ff.Groups(reference="south")},
    "weights": {"weight": "some are 0"},
    "unit weights": {"weight": "all are 1"},
    "no intercept": {"fit_intercept": False, "ridge": 0.3},
    "classes": {"kind": "multiclass", "notion": "equalized_odds"},
    "classes by rate": {"kind": "multiclass", "notion": "demographic_parity", "surrogate": "rate"},
    "regression": {"kind": "regression", "notion": "disparate_mistreatment", "loss": "squared"},
    "mean predictions": {"kind": "regression", "notion": "demographic_parity", "loss": "squared", "weight": "some"},
    "covariance": {"notion": "score_covariance"},
    "hinge": {"loss": "hinge"},
}


@pytest.fixture(autouse=True)
def on_dask() -> Iterator[None]:
    """Take Dask for small data too, one task after the other."""
    with dask.config.set({"fairfront.small_bytes": 0, "scheduler": "synchronous"}):
        yield


def given(name: str = "equal opportunity", n: int = 600) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Return X, y, what goes by row (groups, weights), and the options of a case."""
    options = dict(CASES[name])
    kind, columns, weight = (options.pop(k, v) for k, v in (("kind", "binary"), ("columns", ("sex",)), ("weight", "")))
    X, y, known = draw(kind, n=n)
    rows = {"sensitive_features": {column: known[column] for column in columns}}
    if weight:
        drawn = np.random.default_rng(3).integers(0, 4, len(y)).astype(float)
        rows["sample_weight"] = np.ones(len(y)) if weight == "all are 1" else drawn
    return X, y, rows, options


def far(values: Any, chunk: int = 170) -> Any:
    """Return arrays as Dask arrays of some rows per chunk, mappings of them too."""
    if isinstance(values, dict):
        return {name: far(part, chunk) for name, part in values.items()}
    return da.from_array(values, chunks=(chunk, 2) if values.ndim == 2 else chunk)


def both(name: str, n: int = 600, keep: str = "auto") -> tuple[Setup, Setup]:
    X, y, rows, options = given(name, n)
    near = linear_problem(X, y, **rows, **options)
    with dask.config.set({"fairfront.keep": keep}):
        return near, linear_problem(far(X), far(y, 200), **far(rows), **options)


def assert_same(one: ff.Frontier, other: ff.Frontier) -> None:
    assert one.objective_names == other.objective_names
    assert one.status == other.status
    for name in ("objectives", "gaps", "signed_gaps", "multipliers"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8, atol=1e-8, err_msg=name)
    np.testing.assert_allclose(one.points.coef, other.points.coef, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.points.intercept, other.points.intercept, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_cells_and_hessians_are_those_in_memory(name: str) -> None:
    near, away = both(name)
    assert isinstance(away.problem, DaskProblem)
    assert (near.task, near.ridge, near.attributes[0].levels) == (away.task, away.ridge, away.attributes[0].levels)
    assert [a.n_missing for a in near.attributes] == [a.n_missing for a in away.attributes]
    one, two = near.problem, away.problem
    np.testing.assert_array_equal(one.layout.cells.offsets, two.layout.cells.offsets)
    assert one.layout.cells.n == two.layout.cells.n
    np.testing.assert_allclose(one.algebra.B, two.algebra.B, atol=1e-15)
    W = np.random.default_rng(1).normal(size=(3, one.K, one.d))
    omega = np.random.default_rng(2).normal(size=one.layout.k)
    for some in (W, W[:1]):
        for field in ("L", "Q", "D"):
            found, expected = getattr(two.cells(some), field), getattr(one.cells(some), field)
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(two.values(W), one.values(W), rtol=1e-12)
    np.testing.assert_allclose(two.hessian(W[0], omega), one.hessian(W[0], omega), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(two.column_scale(), one.column_scale(), rtol=1e-12)
    spread = one.target_variance() if "squared" in str(one.loss).lower() else 0.0
    np.testing.assert_allclose(two.target_variance(), spread)
    V = np.random.default_rng(4).normal(size=(2, one.K * one.d))
    solved = [p.conjugate(W[0], np.abs(omega)).product(V) for p in (one, two)]
    np.testing.assert_allclose(*solved, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("name", ["weights", "classes", "mean predictions"])
def test_rows_may_be_kept_anywhere(name: str, keep: str) -> None:
    near, away = both(name, keep=keep)
    parts = away.problem.rows.parts
    assert [len(part) for part in parts] == [3 if keep == "source" else 1] * 4
    W = np.random.default_rng(1).normal(size=(1, near.problem.K, near.problem.d))
    omega = np.abs(np.random.default_rng(2).normal(size=near.problem.layout.k))
    np.testing.assert_allclose(away.problem.cells(W).D, near.problem.cells(W).D, rtol=1e-11, atol=1e-11)
    first = away.problem.passes
    found, expected = away.problem.hessian(W[0], omega), near.problem.hessian(W[0], omega)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    assert away.problem.passes - first == (keep != "source")  # what reads its rows each time brings Hessians along
    again = away.problem.cells(W)
    assert away.problem.passes - first == (keep != "source")
    np.testing.assert_array_equal(again.D, away.problem.cells(W).D)


def test_files_on_disk_go_with_the_problem(tmp_path: Path) -> None:
    with dask.config.set({"temporary_directory": str(tmp_path)}):
        _, away = both("equal opportunity", keep="disk")
    (part,) = away.problem.rows.parts[0]
    assert isinstance(part.compute() if hasattr(part, "compute") else part, Spooled)
    (folder,) = tmp_path.iterdir()
    assert len(list(folder.iterdir())) == 8
    del away, part
    assert not list(tmp_path.iterdir())


FULL_DISK = """
import os, resource, sys
import dask, dask.array as da, numpy as np
from fairfront.exceptions import InputError
from fairfront.problems import linear_problem

rng = np.random.default_rng(0)
X, y, groups = rng.normal(size=(3000, 8)), rng.integers(0, 2, 3000), rng.choice(["a", "b"], 3000)
far = [da.from_array(values, chunks=(1000, *values.shape[1:])) for values in (X, y, groups)]
dask.config.set({"fairfront.small_bytes": 0, "fairfront.memory_share": 1e-9, "temporary_directory": sys.argv[1]})
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
for keep in ("disk", "auto"):
    with dask.config.set({"fairfront.keep": keep}):
        try:
            rows = linear_problem(far[0], far[1], sensitive_features=far[2]).problem.rows
            sys.stdout.write(f"{len(rows.parts[0])} things to a part\\n")
        except InputError as error:
            sys.stdout.write(f"{error}\\n")
sys.stdout.write(f"{os.listdir(sys.argv[1])}\\n")
"""


def test_a_disk_that_fills_up_ends_with_a_sentence_or_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="files of limited size stand in for a full disk")
    paths = os.pathsep.join([str(Path(ff.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    said = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=True)
    asked, chosen, left = said.stdout.splitlines()
    assert "was not written because the disk is full" in asked
    assert (chosen, left) == ("3 things to a part", "[]")


def test_a_temporary_folder_that_is_not_there(tmp_path: Path) -> None:
    with (
        dask.config.set({"temporary_directory": str(tmp_path / "nowhere")}),
        pytest.raises(InputError, match=r"temporary_directory is '.*nowhere', expected a folder"),
    ):
        both("equal opportunity", keep="disk")


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("name", ["weights", "classes"])
def test_no_number_depends_on_what_is_remembered(name: str, keep: str) -> None:
    (_, one), (_, two), (_, three) = (both(name, keep=keep) for _ in range(3))
    W = np.random.default_rng(1).normal(size=(1, one.problem.K, one.problem.d))
    omega = np.abs(np.random.default_rng(2).normal(size=one.problem.layout.k))
    found = one.problem.cells(W)  # brings Hessians along where rows are read anew
    values = two.problem.values(W)
    assert found.L.tobytes() == one.problem.values(W).tobytes() == values.tobytes()
    assert found.D.tobytes() == two.problem.cells(W).D.tobytes()
    for half in (False, True):
        hessians = [s.problem.hessian(W[0], omega, half=half).tobytes() for s in (one, two, three)]
        assert hessians[0] == hessians[1] == hessians[2]
    assert found.D.tobytes() == three.problem.cells(W).D.tobytes()


@pytest.mark.parametrize("name", ["equal opportunity", "classes", "regression", "weights", "missing groups, reference"])
def test_newton_traces_the_same_frontier(name: str) -> None:
    near, away = both(name, n=400)
    one, two = (trace_setup(setup, "newton", n_points=4, progress=False) for setup in (near, away))
    assert_same(one, two)
    assert one.facts.sensitive == two.facts.sensitive
    assert one.facts.recipe.keys() == two.facts.recipe.keys()


def test_newton_needs_few_passes() -> None:
    rng = np.random.default_rng(0)
    group = (rng.random(4000) < 0.3).astype(int)
    X = rng.normal(size=(4000, 10))
    X[:, :5] -= 0.6 * group[:, None]
    y = (0.5 * X.sum(axis=1) + rng.logistic(size=4000) > 0).astype(int)
    passes = {}
    for keep in ("memory", "source"):
        with dask.config.set({"fairfront.keep": keep}):
            setup = linear_problem(far(X, 2000), far(y, 2000), sensitive_features=far(group, 2000))
        front = trace_setup(setup, "newton", n_points=12, progress=False)
        assert front.certified.all()
        passes[keep] = setup.problem.passes
    assert passes["source"] < passes["memory"] < 75


def test_pb_pdo_takes_all_preferences_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    near, away = both("equal opportunity", n=400)
    seen: list[int] = []
    before = away.problem.rows.cell_sums

    def counted(measures: Any, k: int, W: Any, gradients: bool) -> Any:
        seen.append(len(W))
        return before(measures, k, W, gradients)

    monkeypatch.setattr(away.problem.rows, "cell_sums", counted)
    preferences = np.array([[1.0, 5.0], [1.0, 50.0], [1.0, 500.0]])
    one, two = (trace_setup(s, "pb_pdo", preferences=preferences, progress=False) for s in (near, away))
    assert max(seen[:-1]) == 3
    np.testing.assert_allclose(one.objectives[:, 0], two.objectives[:, 0], rtol=1e-8)
    assert_same(one, two)


@pytest.mark.parametrize("solver", [ff.Newton(one_sided=True), ff.Newton(no_group_worse=0.05), ff.PDO(max_iter=20)])
def test_other_solvers_run_on_it_as_well(solver: Any) -> None:
    near, away = both("equal opportunity", n=400)
    options = {"n_points": 4, "progress": False, "random_state": 0}
    one, two = (trace_setup(setup, solver, **options) for setup in (near, away))
    np.testing.assert_allclose(one.objectives, two.objectives, rtol=1e-8, atol=1e-8)


def test_hessians_that_are_never_formed_solve_alike() -> None:
    near, away = both("equal opportunity", n=400)
    W, omega = np.zeros((1, near.problem.d)), near.problem.algebra.p
    V = np.random.default_rng(0).normal(size=(2, near.problem.d))
    first = away.problem.passes
    one, two = (setup.problem.conjugate(W, omega).solve(V) for setup in (near, away))
    np.testing.assert_allclose(one, two, rtol=1e-8)
    assert away.problem.passes > first


class TestKindsOfInput:
    def test_frames_from_parquet(self, tmp_path: Path) -> None:
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
        assert list(away.points.build(0).feature_names_in_) == names
        series = ff.trace(stored[names], stored["y"], sensitive_features=stored["sex"], **options)
        assert series.facts.sensitive[0][0] == "sex"

    def test_frames_and_arrays_mix(self) -> None:
        X, y, rows, _ = given(n=300)
        frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=2)
        sizes = tuple(frame.map_partitions(len).compute())
        groups = da.from_array(rows["sensitive_features"]["sex"], chunks=(sizes,))
        setup = linear_problem(frame, da.from_array(y, chunks=(sizes,)), sensitive_features=groups)
        expected = linear_problem(X, y, sensitive_features=rows["sensitive_features"]["sex"])
        W = np.ones((1, 1, 4))
        np.testing.assert_allclose(setup.problem.values(W), expected.problem.values(W), rtol=1e-12)

    def test_partitions_may_be_empty(self) -> None:
        X, y, rows, _ = given(n=300)
        sizes = ((100, 0, 200),)
        setup = linear_problem(
            da.from_array(X, chunks=(*sizes, 3)),
            da.from_array(y, chunks=sizes),
            sensitive_features=da.from_array(rows["sensitive_features"]["sex"], chunks=sizes),
        )
        assert setup.problem.layout.cells.n == 300
        assert np.isfinite(setup.problem.values(np.ones((1, 1, 4)))).all()

    @pytest.mark.parametrize("keep", ["auto", "disk", "source"])
    def test_sparse_partitions(self, keep: str) -> None:
        X, y, rows, options = given(n=300)
        X = np.where(np.abs(X) < 0.7, 0.0, X)
        thin = da.from_array(X, chunks=(100, 3)).map_blocks(sparse.csr_matrix)
        with dask.config.set({"fairfront.keep": keep}):
            setup = linear_problem(thin, far(y, 100), **far(rows, 100), **options)
        near = linear_problem(sparse.csr_array(X), y, **rows, **options)
        W = np.ones((1, 1, 4))
        np.testing.assert_allclose(setup.problem.cells(W).D, near.problem.cells(W).D, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(setup.problem.column_scale(), near.problem.column_scale())

    def test_numbers_as_groups_with_missing_values(self) -> None:
        X, y, _, _ = given(n=300)
        groups = np.random.default_rng(0).choice([1.0, 2.5, 10.0, np.nan], 300)
        near = linear_problem(X, y, sensitive_features=groups)
        away = linear_problem(far(X), far(y), sensitive_features=far(groups))
        assert near.attributes[0].levels == away.attributes[0].levels
        assert near.attributes[0].n_missing == away.attributes[0].n_missing

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
    def test_groups_with_missing_values_have_the_names_that_they_have_in_memory(self, groups: Any) -> None:
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
            assert list(map(repr, near.attributes[0].levels)) == list(map(repr, away.attributes[0].levels))
            assert near.attributes[0].n_missing == away.attributes[0].n_missing
            np.testing.assert_array_equal(near.problem.layout.cells.offsets, away.problem.layout.cells.offsets)

    def test_frames_in_memory_keep_the_names_of_their_columns(self) -> None:
        X, y, _, _ = given("two notions, two attributes", n=300)
        groups = pd.DataFrame({"sex": ["m", "f"] * 150, "age": [1, 2, 3] * 100})
        near = linear_problem(X, y, sensitive_features=groups)
        away = linear_problem(far(X), far(y), sensitive_features=groups)
        assert near.problem.algebra.names == away.problem.algebra.names
        series = linear_problem(far(X), y, sensitive_features=groups["sex"])
        assert series.attributes[0].name == "sex"

    def test_one_weight_for_all(self) -> None:
        X, y, rows, _ = given(n=300)
        near = linear_problem(X, y, **rows, sample_weight=2.0)
        away = linear_problem(far(X), far(y), **far(rows), sample_weight=2.0)
        assert near.ridge == away.ridge
        W = np.ones((1, 1, 4))
        np.testing.assert_allclose(near.problem.values(W), away.problem.values(W), rtol=1e-12)

    def test_small_groups_are_left_out_with_the_same_words(self) -> None:
        X, y, _, _ = given(n=300)
        groups = np.array(["a"] * 150 + ["b"] * 130 + ["c"] * 20, dtype=object)
        with pytest.warns(GroupWarning) as near:
            linear_problem(X, y, sensitive_features=groups)
        with pytest.warns(GroupWarning) as away:
            linear_problem(far(X), far(y), sensitive_features=far(groups))
        assert str(near[0].message) == str(away[0].message)

    def test_small_data_are_brought_to_memory(self, caplog: pytest.LogCaptureFixture) -> None:
        X, y, rows, options = given(n=300)
        with dask.config.set({"fairfront.small_bytes": 1e6}), caplog.at_level(logging.INFO, logger="fairfront"):
            setup = linear_problem(far(X), far(y), **far(rows), **options)
        assert type(setup.problem) is LinearProblem
        assert "brought to memory" in caplog.text
        near = linear_problem(X, y, **rows, **options).problem
        W = np.ones((1, 1, 4))
        np.testing.assert_array_equal(setup.problem.cells(W).L, near.cells(W).L)


class TestAfterTracing:
    def test_refine_lays_the_problem_out_again(self) -> None:
        X, y, rows, options = given(n=400)
        near = ff.trace(X, y, **rows, **options, n_points=3, progress=False)
        away = ff.trace(far(X), far(y), **far(rows), **options, n_points=3, progress=False)
        one = near.refine(X, y, **rows, between=(0, 1), n=1)
        two = away.refine(far(X), far(y), **far(rows), between=(0, 1), n=1)
        assert_same(one, two)
        with pytest.raises(InputError, match="all rows in memory"):
            away.stability(far(X), far(y), **far(rows), n=2, progress=False)

    def test_the_frontier_holds_nothing_of_dask(self) -> None:
        X, y, rows, options = given(n=400)
        front = ff.trace(far(X), far(y), **far(rows), **options, n_points=3, progress=False)
        assert "dask" not in repr(front.facts).lower()


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"X": lambda X: np.where(X > 2.5, np.nan, X)}, "partition . X contains NaN or infinity"),
            ({"y": lambda y: y[:-1]}, "rows, expected 300"),
            ({"y": lambda y: np.where(y == 1, np.nan, 0.0)}, "y contains NaN"),
            ({"y": lambda y: y * 0}, "one class only"),
            ({"y": lambda y: y + 0.5 * np.random.default_rng(0).random(len(y))}, "not classes"),
            ({"groups": lambda g: np.full(len(g), "a", dtype=object)}, "is constant"),
            ({"groups": lambda g: np.arange(len(g))}, "expected groups"),
            ({"weight": lambda g: np.full(len(g), -1.0)}, "negative"),
            ({"weight": lambda g: np.zeros(len(g))}, "0 rows that count"),
        ],
    )
    def test_data_that_cannot_be_used(self, change: dict[str, Any], message: str) -> None:
        X, y, rows, _ = given(n=300)
        groups = rows["sensitive_features"]["sex"]
        same = lambda value: value  # noqa: E731
        weight = far(change["weight"](groups)) if "weight" in change else None
        with pytest.raises(InputError, match=message.replace("partition .", "partition [0-9]+:")):
            linear_problem(
                far(change.get("X", same)(X)),
                far(change.get("y", same)(y)),
                sensitive_features=far(change.get("groups", same)(groups)),
                sample_weight=weight,
            )

    def test_kinds_that_cannot_be_used(self) -> None:
        X, y, rows, _ = given(n=300)
        soft = ff.GroupProbabilities(np.full((300, 2), 0.5), levels=["a", "b"])
        with pytest.raises(InputError, match="GroupProbabilities are for data in memory"):
            linear_problem(far(X), far(y), sensitive_features=soft)
        with pytest.raises(InputError, match="y is a Dask collection and X is in memory"):
            linear_problem(X, far(y), **rows)
        with pytest.raises(InputError, match="expected a Dask array of shape"):
            linear_problem(far(y), far(y), **far(rows))
        with pytest.raises(InputError, match="sensitive_features is None"):
            linear_problem(far(X), far(y), sensitive_features=None)
        with pytest.raises(InputError, match="expected numbers for regression"):
            linear_problem(far(X), far(y.astype(str).astype(object)), **far(rows), loss="squared")
        with pytest.raises(InputError, match=r"X is a Delayed\w*, expected a Dask array"):
            linear_problem(dask.delayed(X), far(y), **far(rows))
        with pytest.raises(InputError, match=r"y is a Delayed\w*, expected a Dask array"):
            linear_problem(far(X), dask.delayed(y), **far(rows))
        with pytest.raises(InputError, match=r"sensitive_features is a list of Dask collections.*\{'sex'"):
            linear_problem(far(X), far(y), sensitive_features=[far(y), far(y)])
        with pytest.raises(InputError, match="sensitive_features is a Dask collection and X is in memory"):
            linear_problem(X, y, sensitive_features=[far(y), far(y)])
        with pytest.raises(InputError, match=r"sample_weight has 200 rows, expected 300"):
            linear_problem(far(X), far(y), **far(rows), sample_weight=np.ones(200))
        with pytest.raises(InputError, match=r"sensitive_features\['b'\] has 200 rows, expected 300"):
            linear_problem(far(X), far(y), sensitive_features={"a": far(y), "b": far(y[:200])})
        frame, labels = dd.from_pandas(pd.DataFrame(X), npartitions=2), dd.from_pandas(pd.Series(y), npartitions=3)
        with pytest.raises(InputError, match="partitions"):
            linear_problem(frame, labels, sensitive_features=labels)

    def test_rows_where_x_has_an_empty_partition(self) -> None:
        X, y, rows, _ = given(n=300)
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "row": np.arange(300)})
        frame["sex"] = rows["sensitive_features"]["sex"]
        stored = dd.from_pandas(frame, npartitions=2)
        with pytest.raises(InputError, match="partition 0: a partition has 0 and 150 rows in two collections"):
            linear_problem(stored[stored["row"] >= 150][["a", "b"]], stored["y"], sensitive_features=stored["sex"])

    @pytest.mark.parametrize("keep", ["memory", "source"])
    @pytest.mark.parametrize(
        "change", [lambda y: y + 5, lambda y: 1 - y, lambda y: y[::-1]], ids=["new", "1-y", "turned"]
    )
    def test_collections_that_change_between_passes(self, change: Any, keep: str) -> None:
        X, y, rows, options = given(n=300)
        calls: list[int] = []

        def drifting(block: np.ndarray) -> np.ndarray:
            calls.append(1)
            return block if len(calls) <= 3 else change(block)

        drift = far(y, 100).map_blocks(drifting, meta=np.empty(0, dtype=int))
        calls.clear()
        with dask.config.set({"fairfront.keep": keep}), pytest.raises(InputError, match="same rows each time"):
            linear_problem(far(X, 100), drift, **far(rows, 100), **options)
        assert len(calls) > 3

    @pytest.mark.parametrize("shell", [ff.ParetoFairClassifier(), ff.ParetoFairRegressor()], ids=["classes", "values"])
    def test_shells_for_scikit_learn(self, shell: Any) -> None:
        X, y, rows, _ = given(n=300)
        with pytest.raises(InputError, match=r"fits to data in memory, found Dask collections; use ff.trace"):
            shell.fit(far(X), far(y), **far(rows))

    @pytest.mark.parametrize(
        ("setting", "value"),
        [("keep", "cloud"), ("memory_share", -1), ("small_bytes", "many"), ("patience", True), ("patience", np.nan)],
    )
    def test_settings_that_mean_nothing(self, setting: str, value: Any) -> None:
        X, y, rows, options = given(n=300)
        with dask.config.set({f"fairfront.{setting}": value}), pytest.raises(InputError, match=setting):
            linear_problem(far(X), far(y), **far(rows), **options)


class TestThreads:
    def blas(self) -> int:
        return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

    def test_the_smallest_limit_holds_and_the_first_is_restored(self) -> None:
        with threadpool_limits(2, user_api="blas"):
            with blas_threads(2):
                with blas_threads(1):
                    assert self.blas() == 1
                assert self.blas() == 2
                with blas_threads(3):
                    assert self.blas() == 2
            assert self.blas() == 2

    def test_the_setting_of_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("FAIRFRONT_THREADS", raising=False)
        assert threads_setting() is None
        monkeypatch.setenv("FAIRFRONT_THREADS", "1")
        with threadpool_limits(2, user_api="blas"):
            with blas_threads():
                assert self.blas() == 1
            assert self.blas() == 2
        for wrong in ("0", "two", "-1"):
            monkeypatch.setenv("FAIRFRONT_THREADS", wrong)
            with pytest.raises(InputError, match="FAIRFRONT_THREADS"):
                threads_setting()
