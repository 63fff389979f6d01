"""From a file to a decision, with the commands a user types."""

from __future__ import annotations

import csv
import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import fairfront as ff
from fairfront.cli.screen import interruptible
from tests.support.cli import command as fairfront
from tests.support.waiting import PATIENCE

RUN = [sys.executable, "-c", "from fairfront.cli import main; main()"]
SECRET = "Zanzibar-7f3a"


def write_loans(path: Path, n: int = 6000, seed: int = 0) -> Path:
    """Write synthetic loans as a bank's file: unique ids, a rare town with a planted name, a weight."""
    data = ff.datasets.load_loans(n=n, seed=seed)
    names = [*data.features, "applied", "sex", "group"]
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["applicant", *names, "outcome", "w"])
        for i in range(n):
            row = ["" if (v := data.columns[name][i]) is None else v for name in names]
            if i in (3, 77, 1200):
                row[5] = SECRET
            if i % 50 == 0:
                row[1] = "NA"
            weight = round(float(rng.uniform(0.5, 2)), 3)
            writer.writerow([f"{SECRET}-{i:06d}", *row, data.columns["outcome"][i], weight])
    return path


@pytest.fixture(scope="module")
def loans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_loans(tmp_path_factory.mktemp("data") / "loans.csv")


CLASSES = ("--target", "outcome", "--groups", "group", "--favourable")
TRACE = ("--target", "outcome", "--favourable", "repaid", "--groups", "group:ref=A", "--drop", "applied", "--drop", "w")


@pytest.fixture(scope="module")
def traced(loans: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "run"
    done = fairfront("trace", loans, *TRACE, "--drop", "applicant", "-o", run)
    assert done.returncode == 0, done.stderr
    for words in (
        "candidate models",
        "unconstrained",
        "suggested",
        "Next:",
        "fairfront select",
        "fairfront predict model new.csv -o decided.csv",
        "among people labelled",
    ):
        assert words in done.stdout, done.stdout
    return run


@pytest.fixture(scope="module")
def chosen(traced: Path) -> Path:
    model = traced.parent / "model"
    rule = ("--least-gap", "tpr", "--within", "error=0.01")
    done = fairfront("select", traced, *rule, "--by", "A. Smith", "--reason", "pilot", "-o", model)
    assert done.returncode == 0, done.stderr
    return model


@pytest.mark.slow
def test_an_identifier_is_noticed(loans: Path, tmp_path: Path) -> None:
    done = fairfront("trace", loans, *TRACE, "-o", tmp_path / "run")
    said = done.stdout + done.stderr
    assert "applicant" in said
    if done.returncode == 0:
        assert "applicant" not in json.loads((tmp_path / "run" / "manifest.json").read_text())["features"]


def test_show(traced: Path) -> None:
    done = fairfront("show", traced)
    assert done.returncode == 0, done.stderr
    for words in ("U unconstrained", "Rates per group", "TPR gap"):
        assert words in done.stdout
    found = json.loads(fairfront("show", traced, "--json").stdout)
    assert found["sensitive"]["features"] == "no"
    assert 2 <= len(found["options"]) <= 8
    assert {found["plain"], found["suggested"]} <= {each["id"] for each in found["options"]}


def test_the_page_of_a_run(traced: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = fairfront("report", traced, "-o", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert f"fairfront select {traced}" in text
    assert "Content-Security-Policy" in text
    assert SECRET not in text
    again = fairfront("report", traced, "-o", page)
    assert again.returncode == 2
    assert "--overwrite" in again.stderr


def test_the_card_tells_what_a_reader_needs(chosen: Path) -> None:
    card = (chosen / "card.md").read_text()
    for words in (
        "# Model card",
        "| Operating point |",
        "## Performance",
        "## Groups on test, and worst gaps",
        "## Data",
        "## Coefficients",
        "| newly approved / declined |",
        "## Alternatives considered",
        "# Appendix",
        "## Calibration by group",
        "## Where the sensitive attribute was used",
        "## Limits",
        "A. Smith",
        "pilot",
        "first use of the test part",
        "no legal conclusion",
    ):
        assert words in card, words
    for words in ("complies", "unbiased", "nan"):
        assert words not in card.lower().split(), words
    record = json.loads((chosen / "decision.json").read_text())
    assert record["by"] == "A. Smith"
    assert record["candidates"]
    assert record["rule"]["least"] == "tpr_gap"


def test_the_second_look_at_test_is_counted(traced: Path, chosen: Path, tmp_path: Path) -> None:
    assert fairfront("select", traced, "--id", 0, "-o", tmp_path / "model").returncode == 0
    assert "has been opened 2 times" in (tmp_path / "model" / "card.md").read_text()


def test_predictions_equal_those_of_python_and_need_no_group(loans: Path, chosen: Path, tmp_path: Path) -> None:
    with loans.open() as stream:
        rows = list(csv.DictReader(stream))[:300]
    new = tmp_path / "new.csv"
    hidden = ("group", "sex", "outcome", "w", "applied")
    with new.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [name for name in rows[0] if name not in hidden])
        writer.writeheader()
        writer.writerows([{k: v for k, v in row.items() if k not in hidden} for row in rows])
    done = fairfront("predict", chosen, new, "--keep", "applicant", "-o", tmp_path / "out.csv")
    if done.returncode:  # sex is a feature here: it is no group column of this run
        assert "sex" in done.stderr
        hidden = ("group", "outcome", "w", "applied")
        with new.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, [name for name in rows[0] if name not in hidden])
            writer.writeheader()
            writer.writerows([{k: v for k, v in row.items() if k not in hidden} for row in rows])
        done = fairfront("predict", chosen, new, "--keep", "applicant", "-o", tmp_path / "out.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.csv").open() as stream:
        written = list(csv.DictReader(stream))
    model = ff.load(chosen)
    assert [row["prediction"] for row in written] == model.predict(new).tolist()
    probability = [float(row["probability_repaid"]) for row in written]
    np.testing.assert_array_equal(probability, model.predict_proba(new)[:, 1])
    assert [row["applicant"] for row in written] == [row["applicant"] for row in rows]


def test_nothing_about_people_is_stored(traced: Path, chosen: Path) -> None:
    for folder in (traced, chosen):
        for path in folder.rglob("*"):
            if path.is_file():
                raw = path.read_bytes()
                assert SECRET.encode() not in raw, path
                assert SECRET.encode("utf-16-le") not in raw, path


@pytest.mark.slow
def test_verify_makes_the_run_again_and_notices_other_data(traced: Path, loans: Path, tmp_path: Path) -> None:
    done = fairfront("verify", traced, loans)
    assert done.returncode == 0, done.stdout + done.stderr
    other = write_loans(tmp_path / "loans.csv", seed=1)
    found = fairfront("verify", traced, other, "--json")
    assert found.returncode == 3
    checks = {check["what"]: check for check in json.loads(found.stdout)["checks"]}
    assert not checks["data"]["same"]
    assert not checks["frontier/frontier"]["same"]


@pytest.mark.slow
def test_same_seed_same_bytes(traced: Path, loans: Path, tmp_path: Path) -> None:
    again = tmp_path / "run"
    assert fairfront("trace", loans, *TRACE, "--drop", "applicant", "-o", again).returncode == 0
    files = {p.relative_to(again) for p in again.rglob("*") if p.is_file()}
    assert files == {p.relative_to(traced) for p in traced.rglob("*") if p.is_file() and "decisions" not in p.parts}
    for name in files - {Path("SHA256SUMS")}:
        assert (again / name).read_bytes() == (traced / name).read_bytes(), name
    listed, others = ((folder / "SHA256SUMS").read_text().splitlines() for folder in (again, traced))
    assert listed == [line for line in others if "  decisions/" not in line]


def test_other_splits_losses_and_use_of_the_attribute(loans: Path, tmp_path: Path) -> None:
    base = ("--target", "outcome", "--favourable", "repaid", "--groups", "sex", "--drop", "applicant")
    done = fairfront(
        "trace", loans, *base, "--split", "time:applied:2025-06,2025-10", "--loss", "squared_hinge", "--weight", "w",
        "--notion", "equalized_odds", "--points", 4, "--json", "-o", tmp_path / "time",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["points"] >= 3
    manifest = json.loads((tmp_path / "time" / "manifest.json").read_text())
    assert "applied" not in manifest["features"]
    assert "w" not in manifest["features"]
    done = fairfront(
        "trace", loans, *base, "--split", "by:region", "--use-sensitive", "--points", 3, "-o", tmp_path / "by"
    )
    assert done.returncode == 0, done.stderr
    assert "as requested" in done.stdout
    assert fairfront("select", tmp_path / "by", "--id", 0, "-o", tmp_path / "model").returncode == 0
    assert "yes, as requested" in (tmp_path / "model" / "card.md").read_text()


def test_people_are_kept_together_and_left_out_together(loans: Path, tmp_path: Path) -> None:
    base = ("--target", "outcome", "--favourable", "repaid", "--groups", "sex", "--points", 3)
    done = fairfront("trace", loans, *base, "--person", "applicant", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    run = ff.load(tmp_path / "run")
    assert "applicant" not in run.manifest["features"]
    assert list(run.frontier.evaluations) == ["held_out", "validation"]
    assert run.frontier.evaluations["held_out"].made == "leave-one-out in closed form"
    assert fairfront("show", tmp_path / "run", "--on", "held_out").returncode == 0
    assert fairfront("select", tmp_path / "run", "--at-most", "tpr_gap=0.5", "-o", tmp_path / "model").returncode == 0
    told = json.loads((tmp_path / "model" / "card.json").read_text())["decision"]["promises"][0]
    assert (told["on"], told["rows"]) == ("held_out and validation", run.frontier.judged().n)
    assert told["observed"] in run.frontier.judged()["tpr_gap"].tolist()
    model = run.select(at_most={"tpr_gap": 0.5}, on="validation")
    (told,), record = model.facts["decision"]["promises"], run.frontier.evaluations["held_out"]
    assert (told["on"], told["held_out"]["rows"]) == ("validation", record.n)
    assert told["held_out"]["observed"] in record["tpr_gap"].tolist()
    assert "| on training rows, each judged without itself |" in model.card
    done = fairfront("trace", loans, *base, "--approval-rate", 0.4, "-o", tmp_path / "placed")
    assert list(ff.load(tmp_path / "placed").frontier.evaluations) == ["validation"]


BAD = {
    "no such file": (lambda p: p / "none.csv", TRACE, "none.csv"),
    "empty": (lambda p: _text(p, ""), TRACE, "empty"),
    "header only": (lambda p: _text(p, "a,outcome,group\n"), (*CLASSES, "x"), ""),
    "duplicate": (lambda p: _text(p, "a,a,outcome,group\n1,2,x,u\n"), TRACE, "a"),
    "missing column": (lambda p: _text(p, "a,result,group\n1,x,u\n"), TRACE, "outcome"),
    "not utf-8": (lambda p: _bytes(p, b"a,outcome,group\n1,x,\xff\xfe\n"), TRACE, "UTF-8"),
    "ragged": (lambda p: _text(p, "a,outcome,group\n1,x,u\n2,y\n"), (*CLASSES, "x"), "line 3"),
    "one label": (lambda p: _table(p, lambda i: "repaid"), TRACE[:6], "outcome"),
    "fifty labels": (lambda p: _table(p, lambda i: f"k{i % 50}"), (*CLASSES, "k1"), "50"),
    "favourable": (lambda p: _table(p, lambda i: "no" if i % 2 else "yes"), TRACE[:6], "repaid"),
    "many groups": (lambda p: _table(p, _two, 12_000, lambda i: f"g{i % 10_000}"), TRACE[:6], "group"),
}


def _two(i: int) -> str:
    return "repaid" if i % 3 else "not"


def _text(folder: Path, text: str) -> Path:
    return _bytes(folder, text.encode())


def _bytes(folder: Path, raw: bytes) -> Path:
    path = folder / "bad.csv"
    path.write_bytes(raw)
    return path


def _table(folder: Path, label, n: int = 600, group=lambda i: "AB"[i % 2]) -> Path:
    lines = [f"{i % 17},{(i * 7) % 13},{label(i)},{group(i)}" for i in range(n)]
    return _text(folder, "a,b,outcome,group\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_one_sentence_and_leave_nothing(name: str, tmp_path: Path) -> None:
    make, words, expected = BAD[name]
    done = fairfront("trace", make(tmp_path), *words, "-o", tmp_path / "run")
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("fairfront: ")]
    assert len(errors) == 1, done.stderr
    assert expected in errors[0]
    assert not (tmp_path / "run").exists()


def test_bad_choices(traced: Path, chosen: Path, tmp_path: Path) -> None:
    for words, expected in (
        (("select", traced, "-o", tmp_path / "m"), "exactly one rule"),
        (("select", traced, "--id", 99_999, "-o", tmp_path / "m"), "99999"),
        (("select", traced, "--least-gap", "nonsense", "-o", tmp_path / "m"), "nonsense"),
        (("select", traced, "--at-most", "tpr_gap", "-o", tmp_path / "m"), "NAME=NUMBER"),
        (("select", traced, "--at-most", "tpr_gap=0.0001", "-o", tmp_path / "m"), "nearest"),
        (("select", traced, "--id", 0, "-o", chosen), "overwrite"),
        (("select", chosen, "--id", 0, "-o", tmp_path / "m"), "expected a run"),
        (("predict", traced, "x.csv", "-o", tmp_path / "o"), "expected a model"),
        (("show", tmp_path / "nowhere"), "nowhere"),
    ):
        done = fairfront(*words)
        assert done.returncode == 2, words
        assert expected in done.stderr, done.stderr
        assert not (tmp_path / "m").exists()


def test_an_interrupt_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as stopped:
        interruptible(stop)()
    assert stopped.value.exit_code == 130
    assert capsys.readouterr().err == "Interrupted; nothing was written.\n"


OUTPUTS = {
    "trace": ("trace", "rows.csv", "--target", "y", "--groups", "g"),
    "report": ("report", "run"),
    "select": ("select", "run", "--id", "0"),
    "demo": ("demo",),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_are_tried_before_anything_is_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "no")

    (tmp_path / "file").write_text("")
    said = fairfront(*OUTPUTS[name], "-o", str(tmp_path / "file" / "out")).stderr
    assert f"{tmp_path / 'file'} is not a folder, expected one to write 'out' into" in said
    monkeypatch.setattr(Path, "mkdir", refused)
    done = fairfront(*OUTPUTS[name], "-o", str(tmp_path / "out"))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"out was not written because {tmp_path} is read-only or not yours" in done.stderr  # no word of the input
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_damaged_files_are_told(traced: Path, tmp_path: Path) -> None:
    for victim in [p.relative_to(traced) for p in traced.rglob("*.json") if "decisions" not in p.parts]:
        folder = tmp_path / str(victim).replace("/", "-")
        ff.load(traced).save(folder)
        raw = (folder / victim).read_bytes()
        (folder / victim).write_bytes(raw[: len(raw) // 2])
        done = fairfront("show", folder)
        assert done.returncode == 2, victim
        assert "Traceback" not in done.stderr


def test_words_of_python_are_not_said(traced: Path, tmp_path: Path) -> None:
    for words, said in (
        (("--at-most", "tpr_gap=5"), "--at-most is 'tpr_gap=5', expected a number from 0 to 1, such as tpr_gap=0.05."),
        (("--at-least", "selection_ratio=80"), "--at-least is 'selection_ratio=80', expected a number from 0 to 1"),
        (("--at-most", "error=-0.1"), "--at-most is 'error=-0.1', expected a number from 0 to 1"),
        (("--within", "error=2", "--least-gap", "tpr"), "--within is 'error=2', expected a number from 0 to 1"),
        (("--least-gap", "auc"), "--least-gap has auc, which is better when larger"),
        (("--most", "error"), "--most has error, which is better when smaller"),
        (("--knee", "--about", tmp_path / "no.json"), f"{tmp_path / 'no.json'} does not exist, expected texts under"),
    ):
        done = fairfront("select", traced, "-o", tmp_path / "model", *words)
        assert done.returncode == 2
        assert done.stderr.startswith(f"fairfront: {said}"), done.stderr
    (tmp_path / "bad.json").write_text("{owner")
    done = fairfront("select", traced, "-o", tmp_path / "model", "--knee", "--about", tmp_path / "bad.json")
    assert "bad.json is not TOML" in done.stderr
    done = fairfront("predict", traced, "new.csv", "-o", tmp_path / "out.csv")
    assert f"{traced} holds a run, expected a model written by fairfront select." in done.stderr


def test_an_interrupt_while_the_command_is_imported_is_answered() -> None:
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'rich':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from fairfront.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (130, "Interrupted; nothing was written.\n")


def test_one_person_of_a_group_that_training_lacks_is_compared_with_nobody(tmp_path: Path) -> None:
    path, run = tmp_path / "rows.csv", tmp_path / "run"
    rng = np.random.default_rng(0)
    rows = [f"{2020 + i // 200},{rng.choice(['a', 'b'])},{rng.random()},{rng.choice(['y', 'n'])}" for i in range(600)]
    rows[300] = f"2021,alone,{rng.random()},y"  # validation has it, training does not
    path.write_text("\n".join(["year,g,x,y", *rows]))
    words = ("--target", "y", "--favourable", "y", "--groups", "g", "--split", "time:year:2021,2022")
    done = fairfront("trace", path, *words, "--points", 3, "-o", run)
    assert done.returncode == 0, done.stderr
    shown = fairfront("show", run)
    assert shown.returncode == 0, shown.stderr
    assert "excluded, too few rows: alone." in shown.stdout
    assert "between alone" not in shown.stdout


def test_no_rule_is_suggested_where_no_model_is(tmp_path: Path) -> None:
    path, run = tmp_path / "rows.csv", tmp_path / "run"
    rng = np.random.default_rng(1)
    rows = [f"{'ab'[i % 2]},{rng.random()},{'n' if i % 40 == 0 else 'y'}" for i in range(2000)]
    path.write_text("\n".join(["g,x,y", *rows]))
    words = ("--target", "y", "--favourable", "y", "--groups", "g", "--points", 3)
    done = fairfront("trace", path, *words, "-o", run)
    assert done.returncode == 0, done.stderr
    assert "suggested: none, because" in done.stdout
    assert "fairfront select" not in done.stdout
    assert "fairfront report" in done.stdout
