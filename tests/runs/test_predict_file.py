"""Predictions as a CSV file: no cell is executed by a spreadsheet, and no file is lost for it."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.runs import TableModel, predict_file
from fairfront.storage.documents import FORMULA, column_names, safe_cell
from tests.support.extras import optional
from tests.support.pages import record_of
from tests.support.trial import students

pd = optional("pandas")

LABELS = {"passed": "- 50000.", "failed": '=HYPERLINK("http://x")'}
HOSTILE = ["=1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3", "\t=1", "\r=1", " =1", "\uff1d1", "- 50000."]
PLAIN = ["-5", "+5", "-1.5e-3", "-.5", "a=b", "5-6", "", "'=1", "x@y.org"]


@pytest.mark.parametrize("text", HOSTILE)
def test_formulas_get_a_quote(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", [*PLAIN, -5, -0.5, None, True])
def test_other_cells_stay(value: Any) -> None:
    assert safe_cell(value) is value


def test_names_of_columns_have_no_blanks_and_are_all_different() -> None:
    names = column_names("probability_", ["- 50000.", "-\t50000.", "a,b;\"c'", ">50K", 1, True, "=1"])
    assert names == [
        "probability_-_50000.",
        "probability_-_50000._2",
        "probability_a_b_c_",
        "probability_>50K",
        "probability_1",
        "probability_True",
        "probability_=1",
    ]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    found = pd.DataFrame(students(600))
    found["outcome"] = found["outcome"].map(LABELS)
    return found.assign(**{"=note": np.resize(HOSTILE + PLAIN, len(found))})


@pytest.fixture(scope="module")
def run(table: pd.DataFrame) -> Any:
    known = {"target": "outcome", "groups": "sex", "favourable": "- 50000.", "stability": 0, "progress": False}
    return ff.trace_table(table.drop(columns="=note"), n_points=2, **known)


@pytest.fixture(scope="module")
def model(run: Any) -> TableModel:
    found = run.select(id=0)
    assert isinstance(found, TableModel)
    return found


def test_no_cell_of_predictions_is_a_formula(model: TableModel, table: pd.DataFrame, tmp_path: Path) -> None:
    predict_file(model, table, tmp_path / "out.csv", keep=["=note", "lsat"])
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    labels = [name.removeprefix("probability_") for name in head[3:]]
    assert head[:3] == ["'=note", "lsat", "prediction"]
    assert sorted(labels) == ["-_50000.", "=HYPERLINK(_http://x_)"]
    assert {row[0] for row in rows} == {*(f"'{each}" for each in HOSTILE), *PLAIN}
    assert {row[2] for row in rows} == {"'- 50000."} | {f"'{LABELS['failed']}" for row in rows if "HYPER" in row[2]}
    assert not [cell for row in (head, *rows) for cell in row if safe_cell(cell) != cell]


def test_the_explorer_has_the_same_rule(run: Any, tmp_path: Path) -> None:
    assert record_of(run.to_html(tmp_path / "page.html"))["formula"] == FORMULA


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_file_that_is_read_is_never_replaced(
    model: TableModel, table: pd.DataFrame, overwrite: bool, tmp_path: Path
) -> None:
    """Not even where it looks like predictions, nor under another of its names."""
    source = tmp_path / "new.csv"
    table.drop(columns="=note").assign(prediction="theirs").to_csv(source, index=False)
    before = source.read_bytes()
    os.link(source, tmp_path / "hard.csv")
    (tmp_path / "soft.csv").symlink_to("new.csv")
    (tmp_path / "way").symlink_to(tmp_path)
    for name in ("new.csv", "hard.csv", "soft.csv", "way/new.csv", "way/soft.csv"):
        for data in (source, str(source), tmp_path / "soft.csv"):
            with pytest.raises(ff.InputError, match="is the file that is read, expected another for the predictions"):
                predict_file(model, data, tmp_path / name, overwrite=overwrite)
    assert source.read_bytes() == before == (tmp_path / "hard.csv").read_bytes()
    assert (tmp_path / "soft.csv").is_symlink()


def test_only_predictions_are_replaced(model: TableModel, table: pd.DataFrame, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    predict_file(model, table, out)
    with pytest.raises(ff.InputError, match="exists already"):
        predict_file(model, table, out)
    predict_file(model, table, out, keep=["lsat"], overwrite=True)
    for text in ("name,age\nA,5\n", "dear diary", "\x00\x01", "prediction,notes\n1,mine\n", "a,prediction\r1,2\r"):
        (tmp_path / "notes").write_bytes(text.encode())
        with pytest.raises(ff.InputError, match="is not a file that fairfront writes under such a name, and stays"):
            predict_file(model, table, tmp_path / "notes", overwrite=True)
        assert (tmp_path / "notes").read_bytes() == text.encode()
    with pytest.raises(ff.InputError, match="make it first"):
        predict_file(model, table, tmp_path / "none" / "out.csv")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["notes", "out.csv"]
