"""The messy file: from bytes to a card without a wrong type, with every decision about a column listed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import fairfront as ff
from fairfront.exceptions import InputError
from tests.support.cli import command, fairfront
from tests.support.messy import DROPPED, KINDS, write_messy

READ = {"missing": ["", "k. A."], "target": "decision", "favourable": "paid"}
QUICK = {"n_points": 3, "progress": False}
DECISIONS = {
    "zip": "'zip' has leading zeros: read as a category of codes.",
    "income": "'income' has amounts in €: read as numbers with a decimal point.",
    "debt ratio": "'debt ratio' has percentages: read as numbers, 12.5 % as 12.5.",
    "rating": "'rating' has numbers with separators: read as numbers with a decimal comma.",
    "application no": "Dropped 'application no': looks like an identifier (900 distinct values in 900 rows).",
    "application date": "Dropped 'application date': dates in DD.MM.YYYY format; to learn from them, add a column such "
    "as an age or a number of months to the file.",
    "comment": "Dropped 'comment': looks like free text (900 distinct values in 900 rows).",
    "term (2)": "Dropped 'term (2)': the same values as 'term'.",
}
NOTES = (
    "Columns are cut at ';', as the header is; --delimiter says otherwise.",
    "The file has 'term' more than once: another one is called 'term (2)'.",
    "Columns that look sensitive and are read: zip, age, marital status (zip: where people live may stand for groups); "
    "leave them out with --drop zip --drop age --drop 'marital status'.",
)


@pytest.mark.parametrize(("written", "named"), [("cp1252", "cp1252"), ("utf-8-sig", None), ("utf-16", "utf-16")])
def test_every_column_has_its_kind_and_every_decision_is_listed(
    written: str, named: str | None, tmp_path: Path
) -> None:
    path = write_messy(tmp_path / "messy.csv", written)
    run = ff.trace_table(path, groups="race,sex", encoding=named, **READ, **QUICK)
    kinds = {each["name"]: each["kind"] for each in run.manifest["columns"]["columns"]}
    assert {name: kinds[name] for name in run.encoder.columns} == KINDS
    found = {each["columns"][0]: each["sentence"] for each in run.manifest["findings"] if len(each["columns"]) == 1}
    assert {name: found[name] for name in DECISIONS} == DECISIONS
    assert {tuple(each["columns"]) for each in run.manifest["findings"] if each["kind"] == "dropped"} == {
        (name,) for name in DROPPED
    }
    said = [each["sentence"] for each in run.manifest["findings"]]
    assert set(said) == {*DECISIONS.values(), *NOTES}


def test_from_the_messy_file_to_a_card_and_on(tmp_path: Path) -> None:
    path, later = write_messy(tmp_path / "messy.csv"), write_messy(tmp_path / "later.csv", n=300, seed=5)
    words = ["--target", "decision", "--favourable", "paid", "--points", "3"]
    opened = ["--encoding", "cp1252", "--missing", "k. A."]
    split = ["--split", "time:application date:2024-01,2024-07"]
    groups = ["--groups", "race:ref=White,sex"]
    done = command("trace", path, *words, *opened, *split, *groups, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "'application date' has dates in DD.MM.YYYY format. 'zip' has leading zeros" in " ".join(done.stdout.split())
    assert len(done.stdout.splitlines()) < 40
    assert command("select", tmp_path / "run", "--knee", "-o", tmp_path / "model").returncode == 0
    card = (tmp_path / "model/card.md").read_text()
    for sentence in [*list(DECISIONS.values())[:4], *NOTES[:2]]:
        assert sentence in card
    predicted = command("predict", tmp_path / "model", later, "-o", tmp_path / "out.csv")
    assert predicted.returncode == 0, predicted.stderr  # the encoding is that of training
    judged = command("evaluate", tmp_path / "run", later, "--name", "oot")
    assert judged.returncode == 0, judged.stderr
    record = json.loads((tmp_path / "run/evaluations/oot.json").read_text())["content"]["evaluation"]
    assert set(record["groups"][1]["levels"]) == {"M", "F"}
    assert command("verify", tmp_path / "run", path).returncode == 0


def test_what_is_in_doubt_is_asked_for(tmp_path: Path) -> None:
    path = write_messy(tmp_path / "messy.csv", n=300)
    known = {**READ, "groups": "sex", "encoding": "cp1252"}
    with pytest.raises(InputError, match="is not UTF-8, expected text in UTF-8; give --encoding cp1252"):
        ff.trace_table(path, **{**known, "encoding": None}, **QUICK)
    with pytest.raises(InputError, match=r"'income' has numbers in \d+ rows and words in \d+ .such as 'k\. A\.' in"):
        ff.trace_table(path, **{**known, "missing": [""]}, **QUICK)
    with pytest.raises(InputError, match="group column 'age' has 62 values in 300 rows, expected at most 12 groups"):
        ff.trace_table(path, **{**known, "groups": "age"}, **QUICK)
    slashed = tmp_path / "slashed.csv"
    lines = path.read_bytes().split(b"\r\n")
    dates = [line.split(b";", 2) for line in lines]
    rows = [
        b";".join([a, b"0%d/0%d/2024" % (i % 9 + 1, i % 7 + 1) if i else b, c]) for i, (a, b, c) in enumerate(dates)
    ]
    slashed.write_bytes(b"\r\n".join(rows))
    split = {"split": "time:application date:2024-03,2024-06"}
    with pytest.raises(InputError, match="day first or month first, expected one of them; give --date 'applica"):
        ff.trace_table(slashed, **known, **split, **QUICK)
    run = ff.trace_table(slashed, **known, **split, dates={"application date": "%d/%m/%Y"}, **QUICK)
    assert run.manifest["settings"]["dates"] == (("application date", "%d/%m/%Y"),)


def test_a_decimal_comma_is_said_of_numbers_alone(tmp_path: Path) -> None:
    rows = [f"{1000 + k},{k % 10};{'mw'[k % 2]};{'yn'[k % 3 == 0]}" for k in range(300)]
    path = tmp_path / "amounts.csv"
    path.write_text("\n".join(["amount;sex;paid", *rows]), encoding="utf-8")
    run = ff.trace_table(path, target="paid", favourable="y", groups="sex", decimal="comma", n_points=3)
    said = {tuple(each["columns"]) for each in run.manifest["findings"] if each["kind"] == "read"}
    assert said <= {("amount",)}


def german(path: Path, n: int = 1200, encoding: str = "utf-8-sig", towns: tuple[str, ...] = ("Bonn", "Ulm")) -> Path:
    """Write rows with the income in euros, a turnover with points of thousands, and Excel's first line."""
    rng = np.random.default_rng(4)
    lines = ["sep=;", "Einkommen;Umsatz;Geschlecht;Ort;Zusage"]
    for _ in range(n):
        income, turnover = rng.gamma(4.0, 12_000.0), int(rng.integers(100, 900_000))
        good = rng.random() < 1 / (1 + np.exp(-(income - 45_000) / 20_000))
        money = f"{income:,.2f} €".translate(str.maketrans(",.", ".,"))
        cells = (money, f"{turnover:,}".replace(",", "."), rng.choice(["m", "w"]), rng.choice(towns))
        lines.append(";".join((*map(str, cells), "ja" if good else "nein")))
    path.write_bytes("\r\n".join(lines).encode(encoding))
    return path


GERMAN = ("--target", "Zusage", "--favourable", "ja", "--points", 3)


def test_money_is_read_and_later_files_are_read_alike(tmp_path: Path) -> None:
    path, run = german(tmp_path / "de.csv"), tmp_path / "run"
    said = " ".join(fairfront("trace", path, *GERMAN, "--groups", "Geschlecht", "-o", run).split())
    assert "'Umsatz' has numbers that can be read in two ways" in said
    assert "read with a decimal comma, as other columns are written; --decimal point says otherwise" in said
    income, turnover = (block.median for block in ff.load(run).encoder.blocks[:2])
    assert 30_000 < income < 60_000
    assert 300_000 < turnover < 600_000
    fairfront("select", run, "--knee", "-o", tmp_path / "model")
    later = german(tmp_path / "later.csv", 200, "utf-16", ("Bonn", "Linz"))
    told = command("predict", tmp_path / "model", later, "--encoding", "utf-16", "-o", tmp_path / "out.csv")
    assert re.fullmatch(r"note: values that were rare or unknown in training: 'Ort' in \d+ rows\.\n", told.stderr)
    judged = command("evaluate", run, later, "--name", "oot", "--encoding", "utf-16")
    assert (judged.returncode, judged.stderr) == (0, "")
    assert judged.stdout.count("that was rare or unknown in training") == 1


def test_a_file_with_another_decimal_mark_is_judged_alike(tmp_path: Path) -> None:
    path, run, other = german(tmp_path / "de.csv"), tmp_path / "run", tmp_path / "en.csv"
    fairfront("trace", path, *GERMAN, "--groups", "Geschlecht", "-o", run)
    swap = str.maketrans(",.", ".,")
    lines = path.read_text("utf-8-sig").split("\n")
    other.write_text("\n".join([*lines[:2], *(line.translate(swap) for line in lines[2:])]))
    fairfront("evaluate", run, path, "--name", "same")
    fairfront("evaluate", run, other, "--name", "swapped", "--decimal", "point")
    front = ff.load(run).frontier
    np.testing.assert_array_equal(front.column("error", "same"), front.column("error", "swapped"))
    fairfront("select", run, "--knee", "-o", tmp_path / "model")
    for file, more in ((path, ()), (other, ("--decimal", "point"))):
        fairfront("predict", tmp_path / "model", file, "-o", file.with_suffix(".out"), *more)
    assert path.with_suffix(".out").read_text() == other.with_suffix(".out").read_text()


def test_values_that_differ_in_case_only(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [
        ",".join(
            (rng.choice(["TRUE", "True", "false"]), rng.choice(["m", "w"]), str(rng.random()), rng.choice(["a", "b"]))
        )
        for _ in range(300)
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["owner,sex,x,y", *rows]))
    known = {"favourable": "a", **QUICK}
    with pytest.raises(InputError, match="group column 'owner' has 'TRUE' and 'True', which differ in upper and lower"):
        ff.trace_table(path, target="y", groups="owner", **known)
    with pytest.raises(InputError, match="target 'owner' has 'TRUE' and 'True', which differ in upper and lower case"):
        ff.trace_table(path, target="owner", groups="sex", **{**known, "favourable": "True"})
    run = ff.trace_table(path, target="y", groups="sex", **known)
    (found,) = [each for each in run.manifest["findings"] if each["columns"] == ["owner"]]
    assert found["kind"] == "flagged"
    assert "differ in upper and lower case only" in found["sentence"]
