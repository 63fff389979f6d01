"""Data frames, Parquet and Feather: the same table as from a CSV file, with the types that columns have."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairfront.exceptions import InputError
from fairfront.tables import Source, infer, load, open_source

DATA: dict[str, list[Any]] = {
    "age": [39, 40, 41, 42],
    "hours": [40.5, None, 38.0, 40.0],
    "children": [1, None, 2, 0],
    "job": ["clerk", None, "cook", "?"],
    "zip": ["0123", "0123", "9999", "0123"],
    "member": [True, False, None, True],
    "since": [dt.date(2024, 1, 31), None, dt.date(2023, 5, 1), dt.date(2024, 1, 31)],
    "nothing": [None, None, None, None],
}
KINDS = {
    **{"age": "number", "hours": "number", "children": "number", "job": "category", "zip": "category"},
    **{"member": "category", "since": "category"},
}


def sources(folder: Path, name: str) -> Source:
    if name == "pandas":
        pandas = pytest.importorskip("pandas")
        return open_source(pandas.DataFrame(DATA))
    if name == "polars":
        polars = pytest.importorskip("polars")
        return open_source(polars.DataFrame(DATA))
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(DATA)
    if name == "pyarrow":
        return open_source(table)
    if name == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, folder / "t.parquet", row_group_size=3)
        return open_source(folder / "t.parquet")
    if name == "feather":
        from pyarrow import feather

        feather.write_feather(table, str(folder / "t.feather"))
        return open_source(folder / "t.feather")
    with arrow.OSFile(str(folder / "t.arrow"), "wb") as file, arrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return open_source(str(folder / "t.arrow"))


ALL = ["pandas", "polars", "pyarrow", "parquet", "feather", "arrow stream"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("rows", [2, 50_000])
def test_typed_columns_are_read_alike(name: str, rows: int, tmp_path: Path) -> None:
    source = sources(tmp_path, name)
    assert source.names == tuple(DATA)
    assert source.size == 4
    assert sum(chunk.n for chunk in source.chunks(rows=rows)) == 4
    schema = infer(source)
    assert {key: kind for key, kind in schema.kinds.items() if key != "nothing"} == KINDS
    table = load(source, schema)
    np.testing.assert_array_equal(table.columns["hours"].numbers, [40.5, np.nan, 38, 40])
    np.testing.assert_array_equal(table.columns["children"].numbers, [1, np.nan, 2, 0])
    assert table.texts("job").tolist() == ["clerk", None, "cook", None]
    assert table.texts("zip").tolist() == DATA["zip"]
    assert table.texts("member").tolist() == ["true", "false", None, "true"]
    assert [text and text[:10] for text in table.texts("since")] == ["2024-01-31", None, "2023-05-01", "2024-01-31"]
    assert table.texts("nothing").tolist() == [None] * 4
    assert schema.column("nothing").constant
    assert schema.column("children").n_missing == 1


@pytest.mark.parametrize("name", ALL)
def test_chunks_hold_only_what_is_asked(name: str, tmp_path: Path) -> None:
    source = sources(tmp_path, name)
    chunks = list(source.chunks(["zip", "age"], rows=3))
    assert [list(chunk) for chunk in chunks] == [["zip", "age"]] * len(chunks)
    assert [value for chunk in chunks for value in chunk["age"].tolist()] == DATA["age"]
    assert chunks[0]["age"].dtype.kind == "i"
    assert chunks[-1].places(np.array([0])).startswith("row ")
    assert (source.sha256() is None) == (name in ("pandas", "polars", "pyarrow"))


def test_times_are_loaded_as_seconds(tmp_path: Path) -> None:
    source = sources(tmp_path, "polars")
    table = load(source, infer(source), ["since"], times=["since"])
    utc = [
        dt.datetime(2024, 1, 31, tzinfo=dt.UTC).timestamp(),
        np.nan,
        dt.datetime(2023, 5, 1, tzinfo=dt.UTC).timestamp(),
    ]
    np.testing.assert_array_equal(table.columns["since"].numbers[:3], utc)
    assert table.columns["since"].time
    with pytest.raises(InputError, match="'job' has 'clerk' in row 1, expected an ISO date"):
        load(source, infer(source), ["job"], times=["job"])


def test_frames_that_cannot_be_used() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame, words in [
        (polars.DataFrame({"a": [1]}).lazy(), "collect a lazy frame first"),
        ({"a": [1]}, "has? the type dict|have the type dict"),
        (None, "have the type NoneType"),
        (pandas.DataFrame([[1, 2]], columns=["a", "a"]), "expected different column names"),
        (pandas.DataFrame({"a": []}), r"shape \(0, 1\)"),
        (pandas.DataFrame({1: [1], "1": [2]}), "twice"),
    ]:
        with pytest.raises(InputError, match=words):
            open_source(frame)
    with pytest.raises(InputError, match="'a' has the type List"):
        infer(open_source(polars.DataFrame({"a": [[1, 2]]})))
    with pytest.raises(InputError, match="cell of the type dict"):
        infer(open_source(pandas.DataFrame({"a": [{"b": 1}, "x"]}, dtype=object)))


def test_mixed_objects_and_infinities_are_noticed() -> None:
    pandas = pytest.importorskip("pandas")
    assert infer(open_source(pandas.DataFrame({"a": [1, 2.5, None]}, dtype=object))).kinds == {"a": "number"}
    assert infer(open_source(pandas.DataFrame({"a": [1, "x", True]}, dtype=object))).kinds == {"a": "category"}
    with pytest.raises(InputError, match=r"words in 1 .such as 'inf' in row 2"):
        infer(open_source(pandas.DataFrame({"a": [1.0, np.inf, 2.0, 3.0]})))


def test_numbers_as_text_and_text_as_numbers() -> None:
    polars = pytest.importorskip("polars")
    source = open_source(polars.DataFrame({"code": [1, 2, 1], "size": ["1.5", "NA", "2"]}))
    schema = infer(source, text=["code"], numbers=["size"])
    table = load(source, schema)
    assert table.texts("code").tolist() == ["1", "2", "1"]
    np.testing.assert_array_equal(table.columns["size"].numbers, [1.5, np.nan, 2])


def test_empty_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(arrow.table({"a": arrow.array([], arrow.int64())}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="no rows"):
        open_source(tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(content[:-20])
    with pytest.raises(InputError, match="cannot be read as a Parquet file"):
        open_source(tmp_path / "t.parquet")
