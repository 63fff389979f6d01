"""Notation: money, percentages, separators and dates are read where a column allows one reading, and codes are not."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pytest

from fairfront.exceptions import InputError
from fairfront.tables import TableEncoder, coerce, infer, load, open_source
from fairfront.tables.findings import reading_findings
from fairfront.tables.notation import Notation

CASES = {
    "€": (["€62,801", "€ 104,250", "EUR 5", "0"], [62801, 104250, 5, 0], Notation("point", "€")),
    "$ after": (["1,234.50 $", "$7", "(2,000.25) $"], [1234.5, 7, np.nan], None),
    "accounts": (["1,234.50", "(2,000.25)", "-3"], [1234.5, -2000.25, -3], Notation("point")),
    "German €": (["1.234,50 €", "12 €", "-3,5 €"], [1234.5, 12, -3.5], Notation("comma", "€")),
    "thousands of €": (["€ 1.234", "€ 12.500", "€ 999"], [1234, 12500, 999], Notation("comma", "€")),
    "CHF": (["CHF 1'234.50", "CHF 9"], [1234.5, 9], Notation("point", "CHF")),
    "percent": (["12.5 %", "3%", "0"], [12.5, 3, 0], Notation("point", "%")),
    "blanks": (["1 234,50", "9,5", "1\u202f000"], [1234.5, 9.5, 1000], Notation("comma")),
    "millions": (["1,234,567", "5,001", "12"], [1234567, 5001, 12], Notation("point")),
    "decided by the rest": (["1,234", "0,5", "7"], [1.234, 0.5, 7], Notation("comma")),
    "minus": (["−5,5", "+2,25"], [-5.5, 2.25], Notation("comma")),  # noqa: RUF001
    "plain": (["1e3", "0.5", "0", "-7"], [1000, 0.5, 0, -7], Notation()),
}
DATES = {
    "ISO": (["2024-01-31", "2023-12-01"], "ISO"),
    "dots": (["31.01.2024", "01.12.2023"], "%d.%m.%Y"),
    "day first": (["31/01/2024", "01/12/2023"], "%d/%m/%Y"),
    "month first": (["01/31/2024", "12/01/2023"], "%m/%d/%Y"),
    "names": (["31 Jan 2024", "1 Dec 2023"], "%d %b %Y"),
    "short years": (["31.01.24", "01.12.23"], "%d.%m.%y"),
    "year first": (["2024/01/31", "2023/12/01"], "%Y/%m/%d"),
}


def written(path: Path, cells: list[str], name: str = "x", delimiter: str = "|") -> Path:
    path.write_text("\n".join([f"{name}{delimiter}y", *(f"{cell}{delimiter}1" for cell in cells)]), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_read_in_the_one_notation_that_fits(name: str, tmp_path: Path) -> None:
    cells, values, notation = CASES[name]
    source = open_source(written(tmp_path / "t.csv", cells), delimiter="|")
    if notation is None:  # a bracket around a number and its sign outside is not read
        with pytest.raises(InputError, match=r"words in 1 .such as '\(2,000.25\) \$' in line 4"):
            infer(source)
        return
    schema = infer(source, columns=["x"])
    assert (schema.kinds, schema.column("x").notation) == ({"x": "number"}, notation)
    np.testing.assert_array_equal(load(source, schema).columns["x"].numbers, values)


@pytest.mark.parametrize("name", DATES)
def test_dates_are_read_where_one_form_fits(name: str, tmp_path: Path) -> None:
    cells, form = DATES[name]
    source = open_source(written(tmp_path / "t.csv", cells), delimiter="|")
    schema = infer(source)
    assert schema.column("x").notation == Notation("date", form=form)
    table = load(source, schema, ["x"], times=["x"])
    days = [dt.datetime(2024, 1, 31, tzinfo=dt.UTC), dt.datetime(2023, 12, 1, tzinfo=dt.UTC)]
    assert table.columns["x"].numbers.tolist() == [day.timestamp() for day in days]


def test_dates_of_two_readings_need_a_format(tmp_path: Path) -> None:
    source = open_source(written(tmp_path / "t.csv", ["01/02/2024", "03/04/2024"]), delimiter="|")
    assert infer(source).column("x").notation == Notation("dates")
    schema = infer(source, dates={"x": "%d/%m/%Y"})
    first = load(source, schema, ["x"], times=["x"]).columns["x"].numbers[0]
    assert dt.datetime.fromtimestamp(first, dt.UTC).month == 2
    with pytest.raises(InputError, match=r"'01/02/2024' in line 2, expected a date written as %d\.%m\.%Y"):
        infer(source, dates={"x": "%d.%m.%Y"})
    with pytest.raises(InputError, match="dates has '%q' for 'x', expected a format of dates"):
        infer(source, dates={"x": "%q"})


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["00614", "10115", "1067"], "category"),
        (["07", "12"], "category"),
        (["0", "10", "0.5"], "number"),
        (["-0", "0e3", "0.07"], "number"),
    ],
)
def test_leading_zeros_make_codes(cells: list[str], kind: str, tmp_path: Path) -> None:
    source = open_source(written(tmp_path / "t.csv", cells), delimiter="|")
    schema = infer(source)
    assert schema.kinds["x"] == kind
    assert (schema.column("x").notation.kind == "code") == (kind == "category")
    assert infer(source, numbers=["x"]).kinds["x"] == "number"
    if kind == "category":
        assert set(load(source, schema).columns["x"].levels) == set(cells)


def test_codes_that_begin_late_are_codes_from_the_start(tmp_path: Path) -> None:
    cells = [str(10_000 + i) for i in range(6_000)] + ["00614"]
    source = open_source(written(tmp_path / "t.csv", cells), delimiter="|")
    schema = infer(source)
    assert (schema.kinds["x"], schema.column("x").n_distinct) == ("category", 6_001)


def test_numbers_of_two_readings_are_text_unless_somebody_says(tmp_path: Path) -> None:
    source = open_source(written(tmp_path / "t.csv", ["1,234", "5,678"]), delimiter="|")
    assert infer(source).column("x").notation == Notation("amounts")
    assert infer(source).kinds["x"] == "category"
    for decimal, value in (("point", 1234.0), ("comma", 1.234)):
        schema = infer(source, decimal=decimal)
        assert load(source, schema).columns["x"].numbers[0] == value
    with pytest.raises(InputError, match=r"'x' has numbers that can be read in two ways .* give --decimal point"):
        infer(source, numbers=["x"])


def test_the_decimal_mark_holds_for_plain_looking_numbers_too(tmp_path: Path) -> None:
    source = open_source(written(tmp_path / "t.csv", ["1.234", "999"]), delimiter="|")
    assert load(source, infer(source)).columns["x"].numbers.tolist() == [1.234, 999.0]
    assert load(source, infer(source, decimal="comma")).columns["x"].numbers.tolist() == [1234.0, 999.0]
    assert infer(source, decimal="comma").column("y").notation == Notation()


@pytest.mark.parametrize(("cells", "words"), [(["€5", "$6"], "in [$] and €"), (["5 %", "0.5"], "with and without %")])
def test_several_units_are_not_mixed(cells: list[str], words: str, tmp_path: Path) -> None:
    source = open_source(written(tmp_path / "t.csv", cells), delimiter="|")
    assert infer(source).kinds["x"] == "category"
    with pytest.raises(InputError, match=f"'x' has numbers {words}, expected one unit"):
        infer(source, numbers=["x"])


def test_what_cannot_be_read_is_named_with_its_lines(tmp_path: Path) -> None:
    cells = ["€5", "n.k.", "€6", "tbd", "€7", "€8", "later", "€9", "€1", "soon"]
    source = open_source(written(tmp_path / "t.csv", cells), delimiter="|")
    words = r"'n\.k\.' in line 3, 'tbd' in line 5, 'later' in line 8"
    for options in ({}, {"numbers": ["x"]}):
        with pytest.raises(InputError, match=rf"numbers in 6 rows and words in 4 .such as {words}.*--missing 'n\.k\.'"):
            infer(source, **options)


def test_typed_text_is_read_by_its_notation_only_where_it_is_no_plain_number() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": ["€1,000", "€2"], "b": ["1.5", "2"], "c": ["00614", "10115"], "d": ["x", "1"]})
    schema = infer(open_source(frame))
    assert schema.kinds == {"a": "number", "b": "category", "c": "category", "d": "category"}


def test_later_files_are_read_in_the_notation_of_training(tmp_path: Path) -> None:
    cells = [f"{1000 + i:,} €".replace(",", ".") for i in range(40)] + ["12,5 €"]
    source = open_source(written(tmp_path / "t.csv", cells), delimiter="|")
    schema = infer(source)
    encoder = TableEncoder.fit(load(source, schema), ["x"], notations=schema.notations)
    again = TableEncoder.from_content(*encoder.to_content())
    assert again == encoder
    assert coerce({"x": np.array(["1.000,5 €", "7"], dtype=object)}, again).columns["x"].numbers.tolist() == [1000.5, 7]
    with pytest.raises(InputError, match=r"'\$7' in row 1.*expected a number written as 1\.234,50 €"):
        coerce({"x": np.array(["$7"], dtype=object)}, again)
    content, arrays = encoder.to_content()
    content["columns"][0]["notation"]["kind"] = 3
    with pytest.raises(InputError, match="the encoder cannot be read"):
        TableEncoder.from_content(content, arrays)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-8", "utf-8-sig"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("name,x\nZürich,1\nGraz,2\n".encode(encoding))
    found = next(open_source(path, encoding=encoding).chunks())
    assert (list(found), found["name"].tolist()) == (["name", "x"], ["Zürich", "Graz"])


def test_bad_encodings(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"name,x\nZ\x81,1\n")
    with pytest.raises(InputError, match=r"line 2: the byte 0x81 .byte 9 of the file. is not cp1252.*another"):
        next(open_source(path, encoding="cp1252").chunks())
    for bad in ("nonsense", "base64", "", 3):
        with pytest.raises(InputError, match=r"encoding is .*expected an encoding such as utf-8"):
            open_source(path, encoding=bad)


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_delimiters_are_guessed_from_the_header(delimiter: str, tmp_path: Path) -> None:
    source = open_source(written(tmp_path / "t.csv", ["1", "2"], delimiter=delimiter))
    assert source.names == ("x", "y")
    assert "as the header is; --delimiter says otherwise" in source.notes[0]
    with pytest.raises(InputError, match="one column when it is cut at ':', expected several"):
        open_source(tmp_path / "t.csv", delimiter=":")


def test_columns_of_one_name_are_numbered(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,a,a (2),\n1,2,3,4,5\n")
    source = open_source(tmp_path / "t.csv")
    assert source.names == ("a", "b", "a (2)", "a (2) (2)", "column 5")
    assert source.copies == {"a (2)": "a", "a (2) (2)": "a (2)"}


def columns(path: Path, **cells: list[str]) -> Path:
    rows = [";".join(row) for row in zip(*cells.values(), strict=True)]
    path.write_text("\n".join([";".join(cells), *rows]), encoding="utf-8")
    return path


THOUSANDS = ["194.832", "917", "1.250"]


@pytest.mark.parametrize(
    ("beside", "value", "notation", "otherwise"),
    [
        (["1.234,50 €", "12 €", "-3,5 €"], 194832.0, Notation("comma"), "point"),  # German money
        (["12,5 %", "3,25 %", "1 %"], 194832.0, Notation("comma"), "point"),
        (["12.5", "3.25", "1"], 194.832, Notation(), ""),  # the file has decimal points
        (["12", "3", "1"], 194.832, Notation(), "comma"),  # nothing tells
        (["x", "y", "z"], 194.832, Notation(), "comma"),
    ],
)
def test_points_are_read_as_the_other_columns_tell(
    beside: list[str], value: float, notation: Notation, otherwise: str, tmp_path: Path
) -> None:
    source = open_source(columns(tmp_path / "t.csv", x=THOUSANDS, y=beside))
    schema = infer(source)
    assert (schema.column("x").notation, schema.column("x").otherwise) == (notation, otherwise)
    assert load(source, schema).columns["x"].numbers[0] == value
    said = [each.sentence for each in reading_findings([schema.column("x")])]
    assert [f"--decimal {otherwise} says otherwise" in each for each in said] == [True] * bool(otherwise)
    for decimal, expected in (("comma", 194832.0), ("point", 194.832)):
        known = infer(source, decimal=decimal)
        assert load(source, known).columns["x"].numbers[0] == expected
        assert known.column("x").otherwise == ""
    again = infer(source, numbers=["x"], columns=["x"], notations={"x": notation})  # as known from another file
    assert load(source, again).columns["x"].numbers[0] == value


def test_columns_that_disagree_settle_nothing(tmp_path: Path) -> None:
    path = columns(tmp_path / "t.csv", x=THOUSANDS, y=["1,5", "2", "3"], z=["1.5", "2", "3"])
    found = infer(open_source(path)).column("x")
    assert (found.notation, found.otherwise) == (Notation(), "comma")


def test_commas_before_three_digits_follow_the_file(tmp_path: Path) -> None:
    source = open_source(columns(tmp_path / "t.csv", x=["1,234", "5,678"], y=["0.5", "12.25"]))
    schema = infer(source)
    assert load(source, schema).columns["x"].numbers.tolist() == [1234.0, 5678.0]
    assert schema.column("x").otherwise == "comma"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.200,00-", -1200),
        ("$ (1,200.50)", -1200.5),
        ("(1 200)", -1200),
        ("1'200", 1200),
        ("-5,00 €", -5),
        ("€-5", -5),
    ],
)
def test_amounts_as_accounts_write_them(text: str, value: float, tmp_path: Path) -> None:
    source = open_source(written(tmp_path / "t.csv", [text, text]), delimiter="|")
    assert load(source, infer(source)).columns["x"].numbers.tolist() == [value, value]


@pytest.mark.parametrize("text", ["-(5,00)", "-5-", "1(200)", "(5", "5)"])
def test_two_signs_or_half_a_bracket_are_no_number(text: str, tmp_path: Path) -> None:
    source = open_source(written(tmp_path / "t.csv", [text, text]), delimiter="|")
    assert infer(source).kinds["x"] == "category"


def test_the_line_of_excel_names_the_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbfsep=;\r\na,b;c\r\n1,5;x\r\n2;"y\r\nz"\r\n')
    source = open_source(path)
    (chunk,) = source.chunks()
    assert (source.names, chunk["a,b"].tolist(), chunk.lines.tolist()) == (("a,b", "c"), ["1,5", "2"], [3, 4])
    path.write_text("sep=;\na;b;c\n1;2\n")
    with pytest.raises(InputError, match="line 3: 2 cells, expected 3 as in the header"):
        next(open_source(path).chunks())


def test_rows_may_end_with_a_delimiter_that_the_header_lacks(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;2;\n3;4;\n")
    source = open_source(path)
    (chunk,) = source.chunks()
    assert (chunk["b"].tolist(), "the empty cell behind it is passed over" in source.notes[-1]) == (["2", "4"], True)
    path.write_text("a;b\n1;2;\n3;4;5\n")
    with pytest.raises(InputError, match="line 3: 3 cells, expected 2"):
        list(open_source(path).chunks())
