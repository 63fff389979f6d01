"""``fairfront audit``: tables, exit codes, baselines and JSON, run as a user runs it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import fairfront as ff
from fairfront.cli import app
from tests.support.cli import command, fairfront
from tests.support.extras import optional
from tests.support.waiting import PATIENCE

pd = optional("pandas")

BASE = ("--label", "y", "--score", "p", "--groups", "sex,race:ref=White")


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    n = 3000
    sex = random.choice(["F", "M", ""], n, p=[0.4, 0.55, 0.05])
    race = random.choice(["White", "Black", "Other"], n, p=[0.6, 0.393, 0.007])
    p = 1.0 / (1.0 + np.exp(-random.normal(size=n) + 0.5 * (sex == "F")))
    y = (random.random(n) < p).astype(int)
    path = tmp_path / "scored.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["y", "p", "d", "sex", "race", "w", "area"])
        rows = zip(y, p.round(4), (p > 0.4) * 1, sex, race, np.ones(n), random.choice(["n", "s"], n), strict=True)
        writer.writerows(rows)
    return path


def run(path: Path, *words: str) -> Any:
    return CliRunner().invoke(app, ["audit", str(path), *words], env={"COLUMNS": "200"})


def test_table_and_sentences(scored: Path) -> None:
    done = run(scored, *BASE, "--favourable", "1", "--cutoff", "0.4")
    assert done.exit_code == 0, done.output
    for words in ("F", "M (reference)", "(missing)", "Other (too few)", "White (reference)", "Fisher p",
                  "Equal opportunity compares", "selection ratio: F ("):  # fmt: skip
        assert words in done.output, words
    assert "complies" not in done.output
    assert "nan" not in done.output.lower()


def test_a_score_that_speaks_for_the_other_label_is_noticed(scored: Path) -> None:
    done = command("audit", scored, *BASE, "--favourable", "1", "--favourable", "below", "--cutoff", "0.4")
    assert done.returncode == 0
    assert "high scores seem to speak for 1; if they do, give --favourable above as well as the label." in done.stdout
    assert "note: AUC is 0." in done.stderr


def test_names_are_printed_as_they_are(scored: Path) -> None:
    scored.write_text(scored.read_text().replace("White", ":id:").replace("race", "[race]"))
    words = ("--label", "y", "--score", "p", "--groups", "[race]", "--favourable", "1", "--cutoff", "0.4")
    done = run(scored, *words)
    assert done.exit_code == 0, done.output
    assert ":id: (reference)" in done.output
    assert "[race]: accuracy of decisions" in done.output


@pytest.mark.parametrize(
    ("bound", "code"),
    [
        ("race.selection_ratio.lower>=0.80", 0),
        ("sex.selection_ratio.lower>=0.95", 3),
        ("race.selection_ratio.lower>=1", 4),
    ],
)
def test_exit_codes(scored: Path, bound: str, code: int) -> None:
    done = run(scored, *BASE, "--favourable", "1", "--require", bound)
    assert done.exit_code == code, done.output
    assert {0: "is met.", 3: "is not met.", 4: "is inconclusive."}[code] in " ".join(done.output.split())


def test_not_met_weighs_more_than_inconclusive(scored: Path) -> None:
    both = ("--require", "race.selection_ratio.lower>=1", "--require", "sex.selection_ratio.lower>=0.95")
    assert run(scored, *BASE, "--favourable", "1", *both).exit_code == 3


def test_json_is_a_baseline(scored: Path, tmp_path: Path) -> None:
    done = run(scored, *BASE, "--favourable", "1", "--json")
    found = json.loads(done.stdout)
    assert found["tables"]["sex"]["group"][:2] == ["F", "M"]
    assert all(isinstance(n, int) for n in found["tables"]["sex"]["n"])
    last = tmp_path / "last.json"
    last.write_text(done.stdout)
    again = run(scored, *BASE, "--favourable", "1", "--cutoff", "0.3", "--baseline", str(last))
    assert again.exit_code == 0
    assert "rate change" in again.output
    assert "+0." in again.output
    told = " ".join(again.output.split())
    assert "rate change, ratio change: the figure here minus the baseline's" in told
    assert f"Cut-offs differ, which is part of the changes: in the baseline {found['rule']}." in told
    same = run(scored, *BASE, "--favourable", "1", "--baseline", str(last))
    assert "Cut-offs differ" not in same.output
    words = (*BASE, "--favourable", "1", "--cutoff", "0.3", "--baseline", str(last), "--json")
    here = json.loads(run(scored, *words).stdout)
    assert here["baseline"] == {key: found[key] for key in ("rule", "cutoff", "n")}
    for name, columns in here["changes"].items():
        for key in ("selection", "tpr", "error", "auc"):
            now, then = here["tables"][name][key], found["tables"][name][key]
            known = [each for each in zip(columns[key], now, then, strict=True) if isinstance(each[1], float)]
            assert known
            assert all(change == one - other for change, one, other in known)
    other = run(scored, *BASE, "--favourable", "0", "--baseline", str(last))
    assert isinstance(other.exception, ff.InputError)


def test_groups_of_few_people_have_a_line_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    rows = [("a", i % 2, (i // 2) % 2) for i in range(400)] + [("b", i % 2, (i // 2) % 2) for i in range(300)]
    rows += [("tiny", 1, 1)] * 4
    path.write_text("g,y,d\n" + "\n".join(",".join(map(str, row)) for row in rows))
    words = ("--label", "y", "--decision", "d", "--groups", "g", "--favourable", "1", "--require", "tpr_gap<=0.5")
    done = run(path, *words)
    assert " 4 " in next(line for line in done.output.splitlines() if "tiny" in line)
    assert "tpr_gap<=0.5 is met." in done.output


@pytest.mark.slow
def test_decisions_risk_scores_weights_and_control(scored: Path) -> None:
    decided = run(scored, "--label", "y", "--decision", "d", "--groups", "sex", "--favourable", "1", "--weight", "w")
    assert decided.exit_code == 0, decided.output
    below = run(scored, *BASE, "--favourable", "below", "--cutoff", "0.4")
    assert "The decision is 0 for scores below 0.4" in below.output
    with pytest.warns(ff.FairfrontWarning, match="speak for 1"):
        both = run(scored, *BASE, "--favourable", "below", "--favourable", "1", "--approval-rate", "0.3")
    assert "The decision is 1" in both.output
    assert "least cost" in run(scored, *BASE, "--favourable", "1", "--costs", "5,1").output
    within = run(scored, *BASE, "--favourable", "1", "--control", "area", "--cutoff", "0.4")
    assert "sex within n" in within.output
    assert "within levels of the control features, F against M" in within.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--label", "y", "--groups", "sex", "--favourable", "1"), "exactly one of --score and --decision"),
        (("--label", "z", "--score", "p", "--groups", "sex", "--favourable", "1"), "--label names 'z'"),
        (("--label", "y", "--score", "sex", "--groups", "race", "--favourable", "1"), "expected a number"),
        (("--label", "sex", "--score", "p", "--groups", "race", "--favourable", "F"), "is missing in"),
        (("--label", "y", "--score", "p", "--groups", "sex:White", "--favourable", "1"), "name:ref=GROUP"),
        ((*BASE, "--favourable", "2"), "favourable is 2"),
        ((*BASE, "--favourable", "1", "--require", "selection_ratio>0.8"), "cannot be read"),
        ((*BASE, "--favourable", "1", "--costs", "5"), "two numbers"),
        ((*BASE, "--favourable", "1", "--baseline", "nowhere.json"), "cannot be read"),
        ((*BASE, "--favourable", "1", "--cutoff", "7"), "within the scores"),
    ],
)
def test_bad_input_is_one_sentence(scored: Path, words: tuple[str, ...], message: str) -> None:
    done = run(scored, *words)
    assert isinstance(done.exception, ff.InputError), done.output
    assert message in str(done.exception)


def test_requirements_are_read_before_the_file(tmp_path: Path) -> None:
    done = run(tmp_path / "nowhere.csv", *BASE, "--favourable", "1", "--require", "selection_ratio>0.8")
    assert "cannot be read" in str(done.exception)
    assert "selection_ratio>0.8" in str(done.exception)


def test_how_numbers_were_read_is_told_beside_the_audit(scored: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(scored, keep_default_na=False)
    frame.to_csv(tmp_path / "comma.csv", index=False, sep=";", decimal=",")
    words = (*BASE, "--favourable", "1", "--json")
    plain, comma = command("audit", scored, *words), command("audit", tmp_path / "comma.csv", *words)
    assert plain.returncode == comma.returncode == 0, comma.stderr
    assert json.loads(plain.stdout) == json.loads(comma.stdout)
    told = [line for line in comma.stderr.splitlines() if line.startswith("note: ")]
    assert any("p" in line and "comma" in line for line in told), comma.stderr


@pytest.mark.parametrize(
    ("text", "message"), [("", "is empty"), ("y,p,sex\n", "no rows"), ("y,p,sex\n1,2\n", "line 2: 2 cells, expected 3")]
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    done = run(path, "--label", "y", "--score", "p", "--groups", "sex", "--favourable", "1")
    assert message in str(done.exception)


@pytest.mark.parametrize("ending", ["tsv", "csv.gz", "parquet", "semicolon"])
def test_audit_reads_what_trace_reads(scored: Path, tmp_path: Path, ending: str) -> None:
    frame = pd.read_csv(scored, keep_default_na=False)
    words: tuple[str, ...] = (*BASE, "--favourable", "1", "--json")
    known = json.loads(run(scored, *words).stdout)
    path = tmp_path / f"other.{'csv' if ending == 'semicolon' else ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep={"tsv": "\t", "semicolon": ";"}.get(ending, ","))
    words = (*words, "--delimiter", ";") if ending == "semicolon" else words
    assert json.loads(run(path, *words).stdout) == known


def test_missing_marks_are_those_of_trace(tmp_path: Path) -> None:
    """In both commands "none" is a value that people gave, and "None" and further marks are missing."""
    random = np.random.default_rng(2)
    values = ["none", "some", "None", "NULL", "-"]
    frame = pd.DataFrame({"g": random.choice(values, 600), "x": random.normal(size=600)})
    frame["y"] = (frame["x"] + random.normal(size=600) > 0).astype(int)
    frame["d"] = (frame["x"] > 0).astype(int)
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    words = ("--label", "y", "--decision", "d", "--groups", "g", "--favourable", "1", "--missing", "-", "--json")
    found = json.loads(run(path, *words).stdout)["tables"]["g"]["group"]
    assert sorted(found) == ["(all rows)", "(missing)", "none", "some"]
    known = ("--target", "y", "--groups", "g", "--favourable", "1", "--missing", "-", "--drop", "d")
    done = CliRunner().invoke(app, ["trace", str(path), *known, "-o", str(tmp_path / "run"), "--json"])
    assert done.exit_code == 0, done.output
    assert sorted(dict(ff.load(tmp_path / "run").frontier.facts.sensitive)["g"]) == ["none", "some"]


def test_errors_speak_of_columns_and_options(scored: Path) -> None:
    words = ("--label", "y", "--groups", "race", "--favourable", "1")
    for more, said in (
        (("--decision", "area"), "column 'area' has 'n', which column 'y' does not"),
        (("--score", "p", "--cutoff", "7"), "--cutoff is 7"),
    ):
        assert fairfront("audit", scored, *words, *more, code=2).startswith(f"fairfront: {said}")
    assert "--min-size" in fairfront("audit", scored, *words, "--score", "p", "--min-size", "2900", code=2)


@pytest.mark.parametrize(
    "content",
    ["[]", "{}", '{"format": "fairfront audit 9"}', '{"format": "fairfront audit 3", "tables": {"sex": {"n": [1]}}}'],
)
def test_a_baseline_that_is_none_is_refused(scored: Path, tmp_path: Path, content: str) -> None:
    path = tmp_path / "last.json"
    path.write_text(content)
    done = run(scored, *BASE, "--favourable", "1", "--baseline", str(path))
    assert "is not an audit" in str(done.exception)


def test_a_baseline_of_rounded_counts_is_refused(scored: Path, tmp_path: Path) -> None:
    path = tmp_path / "last.json"
    path.write_text('{"format": "fairfront audit 2", "tables": {}}')
    done = run(scored, *BASE, "--favourable", "1", "--baseline", str(path))
    assert "'fairfront audit 2'" in str(done.exception)
    assert "write it again" in str(done.exception)


def test_figures_without_a_value_have_a_line(tmp_path: Path) -> None:
    path = tmp_path / "none.csv"
    rows = [("a", 0, 0)] * 40 + [("b", i % 2, (i // 2) % 2) for i in range(80)]
    path.write_text("g,y,d\n" + "\n".join(",".join(map(str, row)) for row in rows))
    words = ("--label", "y", "--decision", "d", "--groups", "g:ref=a", "--favourable", "1")
    done = run(path, *words, "--require", "tpr_gap.upper<=0.1")
    assert "g, a: TPR not defined: no positives." in done.output
    assert "g, b: ratio to the reference not defined: the reference group has no favourable decisions." in done.output
    assert done.exit_code == 4


@pytest.mark.slow
def test_bad_input_leaves_with_code_2() -> None:
    command = [sys.executable, "-c", "from fairfront.cli import main; main()", "audit", "nowhere.csv", *BASE]
    done = subprocess.run(
        [*command, "--favourable", "1"], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("fairfront: nowhere.csv does not exist, expected a CSV")


def test_crossed_groups_with_a_reference(scored: Path) -> None:
    years = np.arange(3000) % 60 + 18
    frame = pd.read_csv(scored).assign(years=years, age=np.where(years < 30, "young", "old"))
    frame["p"] = frame["p"].map(lambda p: f"{100 * p:.2f} %".replace(".", ","))
    path = scored.with_name("other.csv")
    path.write_bytes(frame.to_csv(index=False, sep=";").encode("cp1252"))
    words = ("--label", "y", "--score", "p", "--favourable", "1", "--cutoff", "40", "--encoding", "cp1252")
    done = run(path, *words, "--groups", "sex:ref=M,age:ref=old", "--cross", "--json")
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)["tables"]["sex & age"]
    assert set(table["group"]) >= {"M & old", "F & young", "M & young"}
    assert dict(zip(table["group"], table["status"], strict=True))["M & old"] == "reference"
    plain = run(path, *words, "--groups", "sex,age", "--cross")
    assert "choose another with --ref 'F & old'" in plain.output
    for more in (("--ref", "F & old"), ("--cross", "--ref", "F & old")):
        chosen = run(path, *words, "--groups", "sex,age", *more, "--json")
        if "--cross" in more:
            table = json.loads(chosen.stdout)["tables"]["sex & age"]
            assert dict(zip(table["group"], table["status"], strict=True))["F & old"] == "reference"
        else:
            assert "expected one column of groups, or cross=True; of several columns" in str(chosen.exception)
    apart = run(path, *words, "--groups", "sex,age")
    assert "choose another with --groups sex,age:ref=young" in " ".join(apart.output.split())
    for groups, expected in {
        "sex:ref=M,race": "reference has no group of 'race'",
        "years,sex": "group column 'years' has 60 values in 3000 rows, expected at most 12 groups; cut the numbers",
        "age:bands=50,30": "expected a column name, or name:ref=GROUP",
    }.items():
        bad = run(path, *words, "--groups", groups, "--cross")
        assert isinstance(bad.exception, ff.InputError)
        assert expected in str(bad.exception)
