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
    known = {"target": "outcome", "groups": "sex", "favourable": "- 50000.", "progress": False}
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
    predict_file(model, table, out, overwrite=True)  # also behind a column that was kept
    for text in ("name,age\nA,5\n", "dear diary", "\x00\x01", "prediction,notes\n1,mine\n", "a,prediction\r1,2\r"):
        (tmp_path / "notes").write_bytes(text.encode())
        with pytest.raises(ff.InputError, match="is not a file that fairfront writes under such a name, and stays"):
            predict_file(model, table, tmp_path / "notes", overwrite=True)
        assert (tmp_path / "notes").read_bytes() == text.encode()
    with pytest.raises(ff.InputError, match="make it first"):
        predict_file(model, table, tmp_path / "none" / "out.csv")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["notes", "out.csv"]


@pytest.fixture(scope="module")
def written(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("parts") / "students.csv"
    table.assign(weight=np.resize([1, 1, 0, 2], len(table)), **{"=note": "x"}).to_csv(file, index=False)
    return file


def test_rows_of_a_part_are_those_that_the_card_was_computed_from(written: Path, tmp_path: Path) -> None:
    """Weights of 0 are in no part; rates are computed here from labels that are joined by the row's number."""
    known = {"target": "outcome", "groups": "sex", "favourable": "- 50000.", "progress": False}
    run = ff.trace_table(written, weight="weight", drop=["=note"], seed=5, split="50/20/30", n_points=3, **known)
    model, rows = run.select(id=1), pd.read_csv(written)
    places = {part: model.part_rows(written, part) for part in ("train", "validation", "test")}
    used = np.concatenate(list(places.values()))
    assert sorted(used) == np.flatnonzero(rows["weight"] > 0).tolist()
    assert {name: len(each) for name, each in places.items()} == run.manifest["split"]["rows"]
    out = tmp_path / "test.csv"
    assert predict_file(model, written, out, part="test", keep=["sex"], rows=70) == len(places["test"])
    found = pd.read_csv(out)
    assert found.columns[:3].tolist() == ["row", "sex", "prediction"]
    own = rows.iloc[found["row"] - 1].reset_index(drop=True)
    assert (found["row"] - 1).tolist() == places["test"].tolist()
    assert own["sex"].tolist() == found["sex"].tolist()
    told = found["prediction"].str.removeprefix("'")
    error = np.average(told != own["outcome"], weights=own["weight"])
    card = model.facts["parts"]["test"]["figures"]["error"]["chosen"]
    least, most = card[3:5] if len(card) > 3 else (card[0] - 0.02, card[0] + 0.02)
    assert least - 1e-6 <= error <= most + 1e-6
    every = predict_file(model, written, tmp_path / "all.csv")
    assert every == len(rows)
    whole = pd.read_csv(tmp_path / "all.csv")["prediction"]
    assert whole.iloc[places["test"]].tolist() == found["prediction"].tolist()


def test_parts_of_other_rows_are_refused(run: Any, table: pd.DataFrame, written: Path, tmp_path: Path) -> None:
    model, frame = run.select(id=0), table.drop(columns="=note")
    assert len(model.part_rows(frame)) == run.manifest["split"]["rows"]["test"]  # a frame has no fingerprint
    with pytest.raises(ff.InputError, match="comes out otherwise than that of the run"):
        model.part_rows(frame.iloc[::-1])
    with pytest.raises(ff.InputError, match=r"part is 'tset', expected one of train, validation, test\."):
        predict_file(model, frame, tmp_path / "out.csv", part="tset")
    with pytest.raises(ff.InputError, match="names 'row', which is the name of a column of predictions"):
        predict_file(model, frame.assign(row=1), tmp_path / "out.csv", part="test", keep=["row"])
    of_file = ff.trace_table(written, target="outcome", groups="sex", favourable="- 50000.", n_points=2,
                             drop=["=note"], split="80/20", progress=False).select(id=0)  # fmt: skip
    with pytest.raises(ff.InputError, match="part is 'validation', expected 'train' or 'test'"):
        of_file.part_rows(written, "validation")
    other = tmp_path / "other.csv"
    pd.read_csv(written).iloc[1:].to_csv(other, index=False)
    with pytest.raises(ff.InputError, match=r"is not the file that the run was traced from \(students.csv"):
        predict_file(of_file, other, tmp_path / "out.csv", part="test")
    with pytest.raises(ff.InputError, match="without a run's manifest"):
        TableModel(of_file.encoder, of_file.points, of_file.task, {}).part_rows(written)
