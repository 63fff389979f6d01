"""``fairfront alternatives``: from a file to a summary, a record and a model."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import fairfront as ff
from tests.improvability.test_improvability import lender
from tests.support.cli import command
from tests.support.extras import optional
from tests.support.waiting import PATIENCE, heed_interrupts

NAMES = ("income", "tenure", "debt", "area", "sex", "repaid", "p", "d", "seen")


def rows(n: int = 2400) -> list[list[Any]]:
    given = lender(n, 0)
    p = expit(given["incumbent"])
    group = given["sensitive_features"]["group"]
    columns = [*np.round(given["X"].T, 4), group, given["y"], np.round(p, 5), (p >= 0.5) * 1, (p >= 0.3) * 1]
    return [list(row) for row in zip(*(each.tolist() for each in columns), strict=True)]


def write(path: Path, lines: Sequence[Sequence[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([NAMES, *lines])
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("lender") / "loans.csv", rows())


def search(file: Path, output: Path, *more: str, drop: str = "pdseen") -> Any:
    """Run the command; columns of the incumbent that it does not read are dropped."""
    asked = ["--target", "repaid", "--favourable", "1", "--groups", "sex", "--family", "linear", "--splits", "2"]
    aside = [word for name in ("p", "d", "seen") if name in drop and name not in more for word in ("--drop", name)]
    return command("alternatives", str(file), *asked, *aside, *more, "-o", str(output))


def record_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "alternatives.json").read_text())
    return found


def test_from_a_file_to_a_summary_and_a_model(file: Path, tmp_path: Path) -> None:
    output = tmp_path / "search"
    done = search(file, output, "--incumbent-score", "p")
    assert done.returncode == 0, done.stderr
    record = record_of(output)
    assert record["qualified"]
    assert record["p_value"] <= 0.05
    assert record["features"] == ["income", "tenure", "debt", "area"]
    assert len(record["data"]["sha256"]) == 64
    assert record["data"]["sha256"] in (output / "summary.md").read_text()
    approved = ff.load(output / "model").predict(file) == 1
    assert abs(approved.mean() - np.mean([line[7] for line in rows()])) < 0.03
    assert command("predict", str(output / "model"), str(file), "-o", str(tmp_path / "p.csv")).returncode == 0
    first = (output / "alternatives.json").read_bytes()
    assert search(file, output, "--incumbent-score", "p").returncode == 2
    assert search(file, output, "--incumbent-score", "p", "--overwrite").returncode == 0
    assert (output / "alternatives.json").read_bytes() == first


def test_no_alternative_is_exit_code_4(file: Path, tmp_path: Path) -> None:
    done = search(file, tmp_path / "search", "--incumbent-score", "p", "--keep", "auc=0", "--nobody-worse", "0")
    assert done.returncode == 4
    assert record_of(tmp_path / "search")["qualified"] is False


def test_decisions_and_labels_of_the_approved_alone(file: Path, tmp_path: Path) -> None:
    done = search(file, tmp_path / "a", "--incumbent-decision", "d", "--json")
    assert json.loads(done.stdout)["keep"] == {"error": 0.005}
    known = [[*line[:5], line[5] if line[8] else "", *line[6:]] for line in rows()]
    partly = write(tmp_path / "partly.csv", known)
    asked = ("--incumbent-score", "p", "--labelled-only-if", "seen=1", "--improve", "selection_gap")
    done = search(partly, tmp_path / "b", *asked, "--keep", "auc=0.02", drop="d")
    assert done.returncode in (0, 4), done.stderr
    record = record_of(tmp_path / "b")
    assert record["rows"]["all"] == len(known)
    assert "error" not in record["table"][0]
    assert record["labelled"]
    assert str(sum(line[8] for line in rows())) in record["covers"]


def test_the_incumbent_as_a_model(file: Path, tmp_path: Path) -> None:
    skops, pandas = optional("skops.io"), optional("pandas")
    from sklearn.linear_model import LogisticRegression

    frame = pandas.read_csv(file)
    fitted = LogisticRegression().fit(frame[["income", "tenure", "debt", "area"]], frame["repaid"])
    skops.dump(fitted, tmp_path / "champion.skops")
    done = search(file, tmp_path / "a", "--incumbent", str(tmp_path / "champion.skops"), "--keep", "auc=0.02")
    assert done.returncode == 0, done.stderr
    record = record_of(tmp_path / "a")
    assert record["incumbent"]["file"] == "champion.skops"
    wrong = np.mean(fitted.predict(frame[["income", "tenure", "debt", "area"]]) != frame["repaid"])
    assert abs(record["table"][0]["error"] - wrong) < 0.03
    done = search(file, tmp_path / "b", "--incumbent", str(tmp_path / "a" / "model"), "--keep", "auc=0.02")
    assert done.returncode in (0, 4), done.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--incumbent-score", "p", "--incumbent-decision", "d"), "expected one of them"),
        (("--incumbent-score", "q"), "--incumbent-score names 'q'"),
        (("--incumbent-decision", "income"), "expected decisions with the values of the target"),
        (("--incumbent-score", "p", "--keep", "auc"), "expected FIGURE=TOLERANCE"),
        (("--incumbent-score", "p", "--keep", "speed=1"), "--keep names 'speed'"),
        (("--incumbent-score", "p", "--improve", "lift"), "--improve is 'lift'"),
        (("--incumbent-score", "p", "--family", "forest"), "unknown family"),
        (("--incumbent-score", "p", "--labelled-only-if", "seen"), "expected COLUMN=VALUE"),
        (("--incumbent", "nowhere.skops"), "--incumbent nowhere.skops cannot be read"),
        (("--incumbent-score", "p", "--output", "nowhere/search"), "nowhere"),
    ],
)
def test_mistakes_are_one_sentence_in_the_words_of_the_shell(
    file: Path, tmp_path: Path, more: Sequence[str], said: str
) -> None:
    done = search(file, tmp_path / "search", *more) if "--output" not in more else _elsewhere(file, more)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "search").exists()


def _elsewhere(file: Path, more: Sequence[str]) -> Any:
    asked = ["--target", "repaid", "--favourable", "1", "--groups", "sex"]
    return command("alternatives", str(file), *asked, *more)


def test_costs_by_column_further_candidates_and_people_with_several_rows(tmp_path: Path) -> None:
    pandas = optional("pandas")
    write(tmp_path / "loans.csv", rows())
    frame = pandas.read_csv(tmp_path / "loans.csv")
    frame["amount"] = np.round(1 + np.abs(frame["debt"]), 2)
    frame["rival"] = frame["p"] - 0.1 * frame["area"]
    frame["turned"] = 1 - frame["p"]
    frame["who"] = np.arange(len(frame)) // 2
    frame.to_csv(tmp_path / "more.csv", index=False)
    asked = ("--incumbent-score", "p", "--keep", "profit=0.5", "--cost", "false_positive=amount")
    asked += ("--drop", "turned", "--cost", "true_positive=-0.2", "--candidate", "rival", "--person", "who")
    done = search(tmp_path / "more.csv", tmp_path / "a", *asked)
    assert done.returncode in (0, 4), done.stderr
    record = record_of(tmp_path / "a")
    assert {"rival", "who"}.isdisjoint(record["features"])
    assert "amount" in record["features"]  # costs may be features too
    assert {"candidates", "linear"} == {line["family"] for line in record["table"][1:]}
    approved, good = frame["p"] >= 0.5, frame["repaid"] == 1
    profit = (0.2 * (approved & good) - frame["amount"] * (approved & ~good)).mean()
    assert record["table"][0]["profit"] == pytest.approx(profit, abs=0.05)  # of judge rows, half of all
    assert "one draw" in " ".join(record["notes"])
    for more, said in (
        (("--cost", "mistake=1"), "--cost is 'mistake=1', expected OUTCOME=NUMBER"),
        (("--cost", "false_positive=price"), "--cost names 'price'"),
        (("--cost", "false_positive=1", "--costs", "1,2"), "--costs and --cost are both given"),
        (("--candidate", "sex"), "--candidate is 'sex'"),
        (("--person", "nobody"), "--person names 'nobody'"),
        (("--improve", "tpr_gap", "--incumbent-score", "turned"), "column 'turned' has lower scores"),
    ):
        done = search(tmp_path / "more.csv", tmp_path / "b", "--incumbent-score", "p", *more)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_an_interrupted_search_leaves_nothing(file: Path, tmp_path: Path) -> None:
    words = ["alternatives", str(file), "--target", "repaid", "--favourable", "1", "--groups", "sex", "--drop", "d"]
    words += ["--drop", "seen", "--incumbent-score", "p", "--family", "linear", "--splits", "1000"]
    command = [sys.executable, "-m", "fairfront", *words, "-o", str(tmp_path / "a")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, preexec_fn=heed_interrupts) as process:
        process.stdout.readline()  # rows are read, and the search does not end soon
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Traceback" in said) == (130, False), said
    assert not (tmp_path / "a").exists()
