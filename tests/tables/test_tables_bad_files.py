"""Bad files: each is refused with one sentence that says where and what helps."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from fairfront.exceptions import InputError, MissingExtraError
from fairfront.tables import infer, load, open_source

GOOD = b"age,job\n39,clerk\n40,cook\n"
SOURCES = {
    "empty": (b"", "is empty"),
    "blank": (b"\n\n  \n", "is empty"),
    "header only": (b"a,b\n", "no rows"),
    "long row": (b"a,b\n1,2\n\n1,2,3\n", "line 4: 3 cells, expected 2"),
    "short row": (b"a,b\n1,2\n3\n", "line 3: 1 cells, expected 2"),
    "ragged over lines": (b'a,b\n1,"2\n3"\n4,"5\n6",7\n', "lines 4 to 5: 3 cells"),
    "Latin-1": ("a,b\n1,2\n3,Zürich\n".encode("latin-1"), "line 3: the byte 0xfc (byte 12 of the file) is not UTF-8"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "is not UTF-8, expected text in UTF-8; give --encoding utf-16"),
    "cut character": (b"a,b\n1,\xc3", "the file ends within a character"),
    "NUL": (b"a,b\n1,2\n3,\x00\n", "line 3: a NUL byte"),
    "unclosed quote": (b'a,b\n1,x\n2,"y\n' + b"3,z\n" * 50, "line 3: a quote is opened and not closed"),
    "unclosed quote, large": (b'a,b\n1,x\n2,"y\n' + b"3,z\n" * 400_000, "line 3: a quote is opened and not closed"),
    "huge field": (b"a,b\n1,2\n3," + b"x" * 1_100_000 + b"\n", "line 3: a cell of more than 1048576 characters"),
    "quotes within": (b'a,b\n1,2\n3,"x"y\n', "line 3: the quotes do not fit"),
    "mixed": (
        b"a,b\n1,2\n2,2\noops,3\n4,4\n",
        "'a' has numbers in 3 rows and words in 1 (such as 'oops' in line 4)",
    ),
    "infinite": (b"a,b\n1,2\n2,2\ninf,3\n", "--missing 'inf'"),
}


def read(path: Path, **options: object) -> None:
    source = open_source(path, **options)
    load(source, infer(source))


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_bad_text_is_refused_with_a_sentence(name: str, packed: bool, tmp_path: Path) -> None:
    content, words = SOURCES[name]
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(InputError) as caught:
        read(path)
    sentence = str(caught.value)
    assert words in sentence
    assert "expected" in sentence
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence


def test_long_fields_are_read_and_the_limit_of_the_process_stays(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    (tmp_path / "t.csv").write_bytes(b"a,b\n1," + b"x" * 900_000 + b"\n")
    assert len(next(open_source(tmp_path / "t.csv").chunks())["b"][0]) == 900_000
    assert csv.field_size_limit() == before


def test_a_quote_closed_much_later_names_both_lines(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'a,b\n1,"x\n2,y\n3,z"\n4,"w\n5",v,u\n')
    with pytest.raises(InputError, match="lines 5 to 6: 4 cells, expected 2"):
        read(tmp_path / "t.csv")


def test_truncated_gzip(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = b"a,b\n" + b"".join(b"%d,%d\n" % tuple(pair) for pair in rng.integers(0, 10**6, (20_000, 2)))
    whole = gzip.compress(rows)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="ends before its time, expected a whole gzip file"):
        read(path)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    path.write_bytes(bytes(damaged))
    with pytest.raises(InputError, match=r"t\.csv\.gz"):
        read(path)


def test_paths_that_are_no_table(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(GOOD)
    (tmp_path / "people.xlsx").write_bytes(b"PK\x03\x04")
    (tmp_path / "plain.csv.gz").write_bytes(GOOD)
    for name, words in {
        "peeple.csv": "did you mean",
        ".": "is a folder",
        "people.xlsx": "ending '.xlsx', expected one of .csv",
        "plain.csv.gz": "is not a gzip file",
        "nowhere/t.csv": "does not exist, expected a CSV",
    }.items():
        with pytest.raises(InputError, match="expected") as caught:
            open_source(tmp_path / name)
        assert words in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes by name are not there on this system")
def test_a_pipe_cannot_be_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(InputError, match="not a regular file"):
        open_source(tmp_path / "t.csv")


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(GOOD)
    source = open_source(tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"target names 'Age', but .* has no such column; did you mean 'age'"):
        source.check_column("Age", "target")
    with pytest.raises(InputError, match=r"text names 'zzz'.*expected one of age, job"):
        infer(source, text=["zzz"])
    with pytest.raises(InputError, match="named in two of text, numbers and dates"):
        infer(source, text=["age"], numbers=["age"])
    with pytest.raises(InputError, match="no such column"):
        next(source.chunks(["salary"]))


def test_words_in_forced_numbers_and_numbers_among_words(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"x,1\n" * 8 + b"7,2\n" * 3)
    source = open_source(path)
    assert infer(source).kinds == {"a": "category", "b": "number"}
    with pytest.raises(InputError, match=r"words in 8 .such as 'x' in line 2, 'x' in line 3, 'x' in line 4."):
        infer(source, numbers=["a"])
    assert infer(open_source(path, missing=["x"])).kinds == {"a": "number", "b": "number"}


def test_several_mixed_columns_are_named_together(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,1\n2,x\ny,2\n3,3\n")
    source = open_source(tmp_path / "t.csv")
    with pytest.raises(InputError, match="the same holds for b"):
        infer(source)
    assert infer(source, text=["a", "b"]).kinds == {"a": "category", "b": "category"}
    assert infer(source, columns=[], text=[]).columns == ()


def test_a_file_that_changes_between_the_passes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(GOOD)
    source = open_source(path)
    schema = infer(source)
    path.write_bytes(GOOD + b"41,smith\n")
    with pytest.raises(InputError, match="has 3 rows, expected 2 as a moment ago"):
        load(source, schema)
    path.write_bytes(b"age,job\n39,clerk\nold,cook\n")
    with pytest.raises(InputError, match="'age' has 'old' in line 3"):
        load(source, schema)


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n"])
def test_delimiters_that_are_none(delimiter: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(GOOD)
    with pytest.raises(InputError, match="expected one character"):
        open_source(tmp_path / "t.csv", delimiter=delimiter)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
def test_arrow_files_that_are_none(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(GOOD * 10)
    with pytest.raises(InputError, match=r"cannot be read as a .* file"):
        open_source(tmp_path / name)


def test_parquet_without_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"fairfront\[parquet\]"):
        open_source(tmp_path / "t.parquet")
