"""Reading tables: cells equal Python's csv module, kinds are found, columns are loaded without a string per cell."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfront.exceptions import InputError
from fairfront.tables import infer, load, open_source
from fairfront.tables.statistics import KEPT, Tally, hash_texts
from fairfront.tables.table import MISSING, number_text, to_numbers

CELL = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)
WORD = st.sampled_from(["a", "b", " c ", 'say "hi"', "x,y", "two\nlines", "Zürich", "", "NA", "?", " None"])
NUMBER = st.one_of(st.integers(-5, 5).map(str), st.floats(-1e6, 1e6).map(repr), st.sampled_from(["", " NA", "?"]))


def written(rows: list[list[str]], path: Path, **dialect: object) -> Path:
    text = io.StringIO(newline="")
    csv.writer(text, **dialect).writerows(rows)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def cells_of(source, rows: int) -> dict[str, list]:
    chunks = list(source.chunks(rows=rows))
    return {name: [cell for chunk in chunks for cell in chunk[name].tolist()] for name in source.names}


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=12),
    delimiter=st.sampled_from([",", ";", "\t"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    lineterminator=st.sampled_from(["\r\n", "\n"]),
    ending=st.sampled_from([".csv", ".csv.gz"]),
    size=st.integers(1, 5),
)
def test_cells_equal_the_csv_module(rows, delimiter, quoting, lineterminator, ending, size) -> None:
    if quoting == csv.QUOTE_MINIMAL:  # older versions of Python write a bare carriage return without quotes
        rows = [[cell.replace("\r", "") for cell in row] for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        path = written(
            [["p", "q", "r"], *rows],
            Path(folder) / f"t{ending}",
            delimiter=delimiter,
            quoting=quoting,
            lineterminator=lineterminator,
        )
        found = cells_of(open_source(path, delimiter=delimiter), size)
        raw = path.read_bytes()
    text = (gzip.decompress(raw) if ending.endswith("gz") else raw).decode()
    plain = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True))[1:]
    assert list(zip(*found.values(), strict=True)) == [tuple(row) for row in plain]
    if quoting == csv.QUOTE_ALL:
        assert [list(row) for row in zip(*found.values(), strict=True)] == rows


def kept(cell: str) -> str | None:
    return None if cell.strip() in MISSING else cell.strip()


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(NUMBER, WORD), min_size=1, max_size=40))
def test_load_gives_what_the_cells_say(rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written([["x", "c"], *rows], Path(folder) / "t.csv")
        source = open_source(path)
        schema = infer(source, text=["c"], numbers=["x"])
        table = load(source, schema)
    numbers = [np.nan if kept(x) is None else float(x) for x, _ in rows]
    words = [kept(c) for _, c in rows]
    np.testing.assert_array_equal(table.columns["x"].numbers, numbers)
    assert table.texts("c").tolist() == words
    assert table.columns["c"].levels == tuple(sorted({w for w in words if w is not None}))
    column = schema.column("c")
    assert (column.n_missing, column.n_distinct) == (words.count(None), len({*words} - {None}))
    assert column.constant == (len({*words} - {None}) <= 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(CELL, NUMBER, st.sampled_from(["inf", "NAN", "1_000", "1e3", " 7 ", "١٢"])), max_size=20))
def test_numbers_are_what_float_says_without_its_surprises(cells) -> None:
    values, words = to_numbers(np.array(cells, dtype=object), frozenset(MISSING))
    for row, cell in enumerate(cells):
        text = cell.strip()
        try:
            expected = float(text) if "_" not in text and text not in MISSING else np.nan
        except ValueError:
            expected = np.nan
        expected = expected if np.isfinite(expected) else np.nan
        np.testing.assert_equal(values[row], expected)
        assert (row in words) == (np.isnan(expected) and text not in MISSING)


def test_kinds_are_found(tmp_path: Path) -> None:
    rows = [[str(i), f"{i / 7}", "true" if i % 2 else "false", f"P{i}", "x", "", str(i % 3)] for i in range(30)]
    names = ["row", "share", "flag", "code", "same", "nothing", "few"]
    source = open_source(written([names, *rows], tmp_path / "t.csv"))
    schema = infer(source)
    assert schema.kinds == dict(zip(names, ["number", "number", *["category"] * 4, "number"], strict=True))
    assert [c.name for c in schema.columns if c.unique] == ["row", "code"]
    assert [c.name for c in schema.columns if c.constant] == ["same", "nothing"]
    assert [c.name for c in schema.columns if c.integers] == ["row", "few"]
    assert schema.n == 30
    assert schema.column("few").n_distinct == 3
    assert schema.column("nothing").n_missing == 30
    assert infer(source, text=["few"], columns=["few"]).kinds == {"few": "category"}


def test_schema_goes_through_json_without_values(tmp_path: Path) -> None:
    rows = [[str(i), "secret-word" if i else "NA"] for i in range(50)]
    schema = infer(open_source(written([["x", "c"], *rows], tmp_path / "t.csv")))
    text = json.dumps(schema.to_json())
    assert "secret-word" not in text
    assert json.loads(text)["columns"][1]["n_missing"] == 1


def test_file_is_fingerprinted_and_reread(tmp_path: Path) -> None:
    path = written([["x", "y"], ["1", "2"], ["3", "4"]], tmp_path / "t.csv.gz")
    source = open_source(path)
    assert source.sha256() == hashlib.sha256(path.read_bytes()).hexdigest()
    first, second = (list(source.chunks(["y"])) for _ in range(2))
    assert first[0]["y"].tolist() == second[0]["y"].tolist() == ["2", "4"]
    assert list(first[0]) == ["y"]


def test_byte_order_mark_blank_lines_and_blanks_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes('\ufeffage, work \n\n39,  Private \n\n 40 , "a, b"\n   \n'.encode())
    source = open_source(path)
    table = load(source, infer(source))
    assert source.names == ("age", "work")
    assert table.columns["age"].numbers.tolist() == [39, 40]
    assert table.texts("work").tolist() == ["Private", "a, b"]
    assert next(source.chunks()).lines.tolist()[0] == 3


def test_column_without_a_name_is_called_by_its_place(tmp_path: Path) -> None:
    assert open_source(written([["", "x"], ["0", "1"]], tmp_path / "t.csv")).names == ("column 1", "x")


def test_tab_files_and_spelt_delimiters(tmp_path: Path) -> None:
    path = written([["x", "y"], ["1", "a,b"]], tmp_path / "t.tsv", delimiter="\t")
    for given_one in (None, "tab", "\\t", "\t"):
        assert next(open_source(path, delimiter=given_one).chunks())["y"].tolist() == ["a,b"]


def test_rows_of_a_table_are_taken(tmp_path: Path) -> None:
    rows = [[str(i), "ab"[i % 2]] for i in range(6)]
    source = open_source(written([["x", "c"], *rows], tmp_path / "t.csv"))
    table = load(source, infer(source))
    some = table.take(np.array([5, 0]))
    assert some.n == 2
    assert some.columns["x"].numbers.tolist() == [5, 0]
    assert some.texts("c").tolist() == ["b", "a"]
    assert table.take(np.arange(6) > 3).n == 2
    assert table.texts("x").tolist() == ["0", "1", "2", "3", "4", "5"]
    with pytest.raises(InputError, match="did you mean 'x'"):
        table.column("X")


def test_memory_per_cell_is_that_of_arrays(tmp_path: Path) -> None:
    source = open_source(written([["x", "c"], *([str(i), f"v{i % 9}"] for i in range(500))], tmp_path / "t.csv"))
    table = load(source, infer(source))
    assert table.columns["x"].numbers.nbytes == 8 * 500
    assert table.columns["c"].values.nbytes == 4 * 500
    assert len(table.columns["c"].levels) == 9


def test_very_many_texts_keep_their_codes_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairfront.tables.schema.NAMED_LEVELS", 1)
    monkeypatch.setattr("fairfront.tables.schema.PASS_ROWS", 4)
    rows = [[cell, str(row)] for row, cell in enumerate(["b", " a", "?", "a ", "b", ""])]
    source = open_source(written([["id", "x"], *rows], tmp_path / "t.csv"))
    column = load(source, infer(source)).columns["id"]
    assert column.values.tolist() == [0, 1, -1, 1, 0, -1]
    assert (column.levels, column.n_levels, column.named) == ((), 2, False)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 300), max_size=60), max_size=8))
def test_distinct_counts_are_exact_while_few(chunks) -> None:
    texts, numbers = Tally(), Tally()
    for chunk in chunks:
        texts.add_levels(hash_texts(map(str, chunk)), len(chunk))
        numbers.add_numbers(np.array(chunk, dtype=np.float64))
    expected = len({value for chunk in chunks for value in chunk})
    assert texts.exact
    assert (texts.n_distinct, numbers.n_distinct) == (expected, expected)


def test_distinct_counts_are_near_when_many() -> None:
    counted = Tally()
    for start in range(0, 300_000, 10_000):
        counted.add_numbers(np.arange(start, start + 20_000, dtype=np.float64))
    assert not counted.exact
    assert len(counted.smallest) == KEPT
    assert abs(counted.n_distinct / 310_000 - 1) < 0.04


def test_numbers_are_written_as_people_write_them() -> None:
    assert [number_text(v) for v in (3.0, 0.5, -0.0, 1e300, np.nan)] == ["3", "0.5", "0", "1e+300", None]


def test_progress_is_told_in_units_of_size(tmp_path: Path) -> None:
    source = open_source(written([["x"], *([str(i)] for i in range(9000))], tmp_path / "t.csv"))
    told: list[int] = []
    load(source, infer(source, on_progress=told.append), on_progress=told.append)
    assert max(told) == source.size
    assert all(0 < done <= source.size for done in told)


def test_the_mark_of_utf8_counts_more_than_a_declared_encoding(tmp_path: Path) -> None:
    (tmp_path / "marked.csv").write_bytes("ort,n\nKöln,1\n".encode("utf-8-sig"))
    source = open_source(tmp_path / "marked.csv", encoding="cp1252")
    assert source.names == ("ort", "n")
    assert load(source, infer(source)).texts("ort").tolist() == ["Köln"]
    assert "mark of UTF-8" in source.notes[0]
    assert open_source(tmp_path / "marked.csv").notes == ()
