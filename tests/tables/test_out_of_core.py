"""Files larger than memory: read in parts, with the split, the encoder and the frontier of the same rows in memory."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairfront as ff
from fairfront.exceptions import GroupWarning, InputError
from fairfront.runs import preparation
from fairfront.runs.preparation import Prepared, bytes_needed, prepare
from fairfront.runs.settings import Settings
from fairfront.tables import Table, TableEncoder, TrainingRows, infer, load, open_source
from fairfront.tables.arrow import ParquetBlocks
from fairfront.tables.encoder import NumberBlock
from fairfront.tables.statistics import MedianSearch, Moments
from fairfront.tables.table import Column
from tests.support.cli import command

pytest.importorskip("dask.array", reason="needs the extra dask")
pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
pd = pytest.importorskip("pandas", reason="needs pandas")


def frame_of(n: int | None = None) -> Any:
    """Return embedded data with every kind of column: gaps, rare levels, truth values, dates, weights, persons."""
    data = ff.datasets.load_loans(seed=0)
    frame = pd.DataFrame(data.columns)
    frame["outcome"] = data.y
    rng = np.random.default_rng(0)
    size = len(frame)
    frame["odd"] = rng.normal(size=size)
    frame.loc[rng.random(size) < 0.05, "odd"] = np.nan
    frame["flag"] = rng.random(size) < 0.3
    frame["place"] = rng.choice(["north", " south", "south", "?", "isle"], size, p=[0.5, 0.2, 0.2, 0.098, 0.002])
    frame["code"] = pd.Categorical(rng.choice(["x", "y", None], size))
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, size), unit="D")
    frame["person"] = rng.integers(0, size // 3, size)
    frame["importance"] = rng.integers(0, 3, size).astype(float)
    frame["amount"] = rng.normal(3.0, 1.0, size) + frame["income"] / 1e4
    frame.loc[rng.random(size) < 0.01, "outcome"] = None
    return frame if n is None else frame.iloc[:n]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "loans.parquet"
    frame_of().to_parquet(path, row_group_size=1300)
    return path


PLAIN: dict[str, Any] = {
    "target": "outcome",
    "favourable": "repaid",
    "groups": ("group", "sex"),
    "reference": (("group", "A"),),
    "drop": ("applied", "amount", "day", "person"),
}
ASKED: dict[str, dict[str, Any]] = {
    "at random": {},
    "weights": {"weight": "importance"},
    "by person": {"split": "by:person", "drop": ("applied", "amount", "day")},
    "by time": {"split": "time:day:2021-06-01,2022-01-01", "drop": ("applied", "amount", "person")},
    "regression": {"target": "amount", "favourable": None, "loss": "squared", "drop": ("applied", "day", "outcome")},
    "sensitive": {"use_sensitive": True, "cross": True, "groups": ("sex", "flag"), "reference": ()},
}


def both(path: Path, monkeypatch: pytest.MonkeyPatch, **asked: Any) -> tuple[Prepared, Prepared]:
    """Prepare a file in memory and in parts."""
    known = Settings(**(PLAIN | asked))
    source = open_source(path)
    one = prepare(source, known, False)
    monkeypatch.setattr(preparation, "IN_MEMORY", 0.0)
    return one, prepare(source, known, False)


@pytest.mark.parametrize("name", ASKED)
def test_parts_have_the_split_encoder_and_rows_of_memory(
    name: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = both(file, monkeypatch, **ASKED[name])
    assert (one.split_digest, one.sizes, one.people.unlabelled) == (two.split_digest, two.sizes, two.people.unlabelled)
    assert (one.encoder.columns, one.findings, one.people.favourable) == (
        two.encoder.columns,
        two.findings[1:],
        two.people.favourable,
    )
    assert one.encoder.feature_names == two.encoder.feature_names
    assert one.encoder.missing == two.encoder.missing
    for a, b in zip(one.encoder.blocks, two.encoder.blocks, strict=True):
        if isinstance(a, NumberBlock) and isinstance(b, NumberBlock):
            assert (a.median, a.indicator) == (b.median, b.indicator)
            assert b.factor == pytest.approx(a.factor, rel=1e-12)
            assert b.mean * a.factor == pytest.approx(a.mean * a.factor, abs=1e-12)
        else:
            assert a == b
    for part in ("train", "validation", "test"):
        here, there = one.part(part), two.part(part)
        for read in (lambda x: x.compute(), None):
            seen = there if read else there.seen()
            get = read or (lambda x: x)
            np.testing.assert_allclose(get(seen.X), here.X, rtol=0, atol=1e-11)
            np.testing.assert_array_equal(get(seen.y), here.y)
            for key, values in here.groups.items():
                np.testing.assert_array_equal(get(seen.groups[key]), values)
            if here.weight is not None:
                np.testing.assert_array_equal(get(seen.weight), here.weight)


def test_what_is_done_is_said_in_the_findings(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, two = both(file, monkeypatch)
    assert two.findings[0].kind == "noted"
    assert "it is read from the file in parts" in two.findings[0].sentence


def test_other_files_and_models_are_read_into_memory(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preparation, "IN_MEMORY", 0.0)
    frame_of(2000).to_csv(tmp_path / "loans.csv", index=False)
    for path, asked in ((file, PLAIN | {"model": "boosting"}), (tmp_path / "loans.csv", PLAIN)):
        assert isinstance(prepare(open_source(path), Settings(**asked), False).rows, Table)


def test_large_parts_are_sampled_for_the_card(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairfront.runs.rows.SEEN_BYTES", 100_000)
    one, two = both(file, monkeypatch)
    most = 100_000 // (8 * len(two.encoder.feature_names))
    seen, whole = two.part("validation").seen(), one.part("validation")
    assert seen.n == len(seen.X) == most
    assert f"random samples ({most} of {whole.n} validation rows" in two.findings[0].sentence
    rows = {tuple(np.round(row, 9)) for row in whole.X}
    assert all(tuple(np.round(row, 9)) in rows for row in seen.X)


def test_any_block_of_a_file_can_be_read(file: Path) -> None:
    source = open_source(file)
    schema = infer(source)
    table = load(source, schema)
    blocks = ParquetBlocks.of(source, schema)
    cut = blocks.cut(500)
    assert sum(block.n for block in cut) == schema.n
    assert max(block.n for block in cut) <= 500
    names = [name for name in schema.names if schema.column(name).n_distinct < 1000]
    for block in cut[:3] + cut[-2:]:
        wanted = np.arange(0, block.n, 3)
        found, rows = blocks.read(block, names, wanted), np.arange(schema.n)[block.rows][wanted]
        for name in names:
            np.testing.assert_array_equal(found.texts(name), table.take(rows).texts(name))


def test_a_file_that_shrinks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame_of(600).to_parquet(path)
    source = open_source(path)
    blocks = ParquetBlocks.of(source, infer(source))
    block = blocks.cut(300)[-1]
    frame_of(400).to_parquet(path)
    with pytest.raises(InputError, match="it is being written to"):
        blocks.read(block, ["income"], np.arange(5))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 500), st.integers(1, 40), st.booleans())
def test_streamed_medians_are_exact_and_moments_close(seed: int, n: int, blocks: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, n).astype(float) if ties else rng.normal(size=n) * 10.0 ** rng.integers(-8, 9)
    sample = rng.choice(values, max(1, n // 5))
    search, moments = MedianSearch(sample, n), Moments()
    for part in np.array_split(values, blocks):
        moments.add(part)
    while True:
        for part in np.array_split(values, blocks):
            search.add(part)
        if search.settled():
            break
    assert search.median() == float(np.median(values))
    scale = np.abs(values).max()
    assert abs(moments.mean - values.mean()) <= 1e-13 * scale
    assert abs(moments.spread - values.std()) <= 1e-13 * scale


def plain(values: np.ndarray) -> tuple[float, float, float]:
    """Return median, mean and spread of all rows at once; the median stands for missing values."""
    median = float(np.nanmedian(values))
    filled = np.where(np.isnan(values), median, values)
    return median, float(filled.mean()), float(filled.std())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(10, 500), st.integers(1, 40), st.booleans())
def test_tables_in_a_stream_give_the_block_of_all_rows(seed: int, n: int, chunks: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, n) ** 3.0 if ties else rng.normal(size=n) * 10.0 ** rng.integers(-8, 9)
    values = np.concatenate([values, np.full(7, np.nan)])
    tables = [Table(len(part), {"x": Column(part)}) for part in np.array_split(values, chunks)]
    streamed = TrainingRows(lambda _: tables, {"x": "number"}, (), len(values))
    whole = TrainingRows.of(Table(len(values), {"x": Column(values)}), ["x"])
    median, mean, spread = plain(values)
    for rows in (streamed, whole):
        (block,) = TableEncoder.fit(rows, ["x"]).blocks
        assert isinstance(block, NumberBlock)
        assert block.median == median
        assert abs(block.mean - mean) <= 1e-13 * np.nanmax(np.abs(values))
        assert block.factor == pytest.approx(1 / spread if spread else 0.0, rel=1e-9)


def test_the_estimate_grows_with_rows_and_levels(file: Path) -> None:
    known = Settings(**PLAIN)
    whole = bytes_needed(infer(open_source(file)), known)
    half = bytes_needed(infer(open_source(frame_of(3000))), known)
    assert 1.5 < whole / half < 2.5


def traced(path: Path, **asked: Any) -> Any:
    """Trace a file without a word."""
    given = PLAIN | {"groups": "group:ref=A,sex", "n_points": 4} | asked
    del given["reference"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GroupWarning)
        return ff.trace_table(path, progress=False, **given)


def far(one: Any, two: Any) -> float:
    """Return the largest difference between two records of figures; infinite where they have other words or keys."""
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        return max((far(one[key], two[key]) for key in one), default=0.0)
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)) and len(one) == len(two):
        return max((far(a, b) for a, b in zip(one, two, strict=True)), default=0.0)
    if isinstance(one, float) and isinstance(two, float):
        return 0.0 if one == two or one != one != two else abs(one - two)
    return 0.0 if one == two else np.inf


@pytest.mark.slow
@pytest.mark.parametrize("name", ["at random", "weights", "regression", "sensitive"])
def test_runs_agree_with_those_in_memory(name: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = traced(file, **ASKED[name])
    monkeypatch.setattr(preparation, "IN_MEMORY", 0.0)
    two = traced(file, **ASKED[name])
    np.testing.assert_allclose(two.frontier.loss, one.frontier.loss, rtol=0, atol=1e-8)
    np.testing.assert_allclose(two.frontier.gaps, one.frontier.gaps, rtol=0, atol=1e-8)
    np.testing.assert_allclose(two.frontier.models.coef, one.frontier.models.coef, rtol=0, atol=1e-8)
    assert two.frontier.models.feature_names == one.frontier.models.feature_names
    for column in one.frontier.column_names():
        limit = 1e-4 if column == "auc" else 1e-8
        np.testing.assert_allclose(two.frontier.column(column), one.frontier.column(column), rtol=0, atol=limit)
    assert far(dict(one.tested), dict(two.tested)) <= 1e-8
    assert far(json.loads(one.details.to_json()), json.loads(two.details.to_json())) <= 1e-6
    assert {**one.manifest, "findings": 0, "settings": 0} == {**two.manifest, "findings": 0, "settings": 0}


@pytest.mark.slow
def test_the_command_line_says_that_it_reads_parts(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["trace", file, "--target", "outcome", "--favourable", "repaid", "--groups", "group:ref=A", "--points", 4]
    dropped = [each for name in ("applied", "amount", "day", "person", "importance") for each in ("--drop", name)]
    near = command(*words, *dropped, "-o", tmp_path / "one")
    monkeypatch.setattr(preparation, "IN_MEMORY", 0.0)
    parts = command(*words, *dropped, "-o", tmp_path / "two")
    assert (near.returncode, parts.returncode) == (0, 0)
    assert "read from the file in parts" not in " ".join(near.stdout.split())
    assert "read from the file in parts" in " ".join(parts.stdout.split())
    one, two = ff.load(tmp_path / "one"), ff.load(tmp_path / "two")
    np.testing.assert_allclose(two.frontier.models.coef, one.frontier.models.coef, rtol=0, atol=1e-8)
    model = two.select(least="tpr_gap", within={"error": 0.01})
    assert "read from the file in parts" in model.card


def test_wide_categories_stay_sparse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    n = 12_000
    frame = pd.DataFrame({"town": rng.choice([f"town {i}" for i in range(300)], n), "x": rng.normal(size=n)})
    frame["group"] = rng.choice(["a", "b"], n)
    frame["y"] = (frame["x"] + rng.normal(size=n) + (frame["group"] == "b") > 0).astype(int)
    frame.to_parquet(tmp_path / "wide.parquet", row_group_size=5000)
    asked = {"target": "y", "favourable": 1, "groups": "group", "drop": ()}
    one = traced(tmp_path / "wide.parquet", **asked)
    monkeypatch.setattr(preparation, "IN_MEMORY", 0.0)
    two = traced(tmp_path / "wide.parquet", **asked)
    assert one.encoder.sparse
    assert two.encoder.sparse
    np.testing.assert_allclose(two.frontier.models.coef, one.frontier.models.coef, rtol=0, atol=1e-8)
    np.testing.assert_allclose(two.frontier.column("error"), one.frontier.column("error"), rtol=0, atol=1e-12)
