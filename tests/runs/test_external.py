"""External evaluations: other files judged into a run, beside its own rows and without a change to its other files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.runs.pipeline import write_evaluation
from fairfront.runs.verification import agrees
from fairfront.storage.packages import found_in
from tests.support.cli import command, fairfront
from tests.support.edits import edit_json, reseal
from tests.support.extras import optional
from tests.support.killed_writers import STEPS, killed
from tests.support.trial import students, write_csv

pd = optional("pandas")
SETTINGS: dict[str, Any] = {"target": "outcome", "groups": "sex", "favourable": "passed"}
pytestmark = pytest.mark.filterwarnings("ignore::fairfront.FairfrontWarning")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run at an approval rate, its file, and one of other people."""
    place = tmp_path_factory.mktemp("external")
    write_csv(students(2000), place / "rows.csv")
    write_csv(students(900, seed=5), place / "later.csv")
    run = ff.trace_table(place / "rows.csv", approval_rate=0.7, n_points=6, progress=False, **SETTINGS)
    run.save(place / "run")
    return place


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def test_rates_are_those_of_the_rows_at_the_cutoffs_of_validation(made: Path) -> None:
    run = ff.load(made / "run").evaluate(made / "later.csv", name="oot")
    frame = pd.read_csv(made / "later.csv")
    record, placed = run.frontier.evaluations["oot"], run.frontier.operating("validation")
    assert record.operating.placed_on == "validation"
    np.testing.assert_array_equal(record.cutoffs, placed.cutoffs)
    for id in (0, 3):
        decided = run.model(id).predict(frame)
        assert record["error"][id] == pytest.approx(np.mean(decided != frame["outcome"]), abs=1e-9)
        figures = run.judged["oot"][str(id)]
        assert figures["rows"] == len(frame) == record.n
        for line in figures["groups"]["sex"][:-1]:
            share = np.mean(decided[frame["sex"] == line["group"]] == "passed")
            assert line["selection"][0] == pytest.approx(share, abs=1e-6)
    assert run.choose(least="tpr_gap", within={"error": 0.01}) == ff.load(made / "run").choose(
        least="tpr_gap", within={"error": 0.01}
    )


def test_the_runs_other_files_stay_and_later_cards_are_made_again(copy: Path) -> None:
    fairfront("select", copy / "run", "--id", 1, "-o", copy / "before")
    files = found_in(copy / "run")
    checksum = ff.load(copy / "run").checksum
    said = fairfront("evaluate", copy / "run", copy / "later.csv", "--name", "oot")
    assert "On other rows, at the cut-offs of validation" in said
    now = found_in(copy / "run")
    assert set(now) - set(files) == {"evaluations/oot.json", "evaluations/oot.npz"}
    assert {name: now[name] for name in files} == files
    run = ff.load(copy / "run")
    assert run.checksum == checksum
    assert (run.external["oot"].after, len(run.decisions)) == (1, 1)
    fairfront("select", copy / "run", "--id", 2, "-o", copy / "after")
    for model in ("before", "after"):
        assert agrees(ff.runs.verify_model(copy / model, ff.load(copy / "run")))
    said = fairfront("evaluate", copy / "run", copy / "later.csv", "--name", "oot", "--overwrite", code=2)
    assert "a model was chosen from the run since 'oot' was judged" in said


def test_verify_leaves_rows_of_other_files_open(copy: Path) -> None:
    run = copy / "run"
    fairfront("evaluate", run, copy / "later.csv", "--name", "frontier")  # a name that another file has too
    fairfront("select", run, "--id", 2, "-o", copy / "model")
    checks = ff.runs.verify_run(ff.load(run), copy / "rows.csv", progress=False)
    assert agrees(checks)
    assert next(check.same for check in checks if check.what == "evaluations/frontier") is None
    assert agrees(ff.runs.verify_model(copy / "model", ff.load(run)))


def test_damage_is_noticed(copy: Path) -> None:
    fairfront("evaluate", copy / "run", copy / "later.csv", "--name", "oot")
    arrays = copy / "run" / "evaluations" / "oot.npz"
    data = arrays.read_bytes()
    arrays.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "was changed after it was written" in fairfront("show", copy / "run", code=2)
    arrays.write_bytes(data)
    for suffix in ("json", "npz"):
        (copy / "run" / "evaluations" / f"oot.{suffix}").rename(copy / "run" / "evaluations" / f"other.{suffix}")
    edit_json(copy / "run" / "evaluations" / "other.json", lambda found: found["arrays"].update(file="other.npz"))
    reseal(copy / "run")
    assert "is of another name or run" in fairfront("show", copy / "run", code=2)


def test_show_and_the_page_have_them_beside_validation(copy: Path) -> None:
    fairfront("evaluate", copy / "run", copy / "later.csv", "--name", "oot")
    said = fairfront("show", copy / "run", "--id", 2)
    assert "Rates per group of sex on validation" in said
    assert "oot: later.csv, sha256 " in said
    assert "all other figures: on oot." in (on := fairfront("show", copy / "run", "--on", "oot"))
    assert "fairfront select chooses on the run's own rows" in on
    assert re.search(r"^ *\d+ .*suggested *$", on, re.MULTILINE)
    assert "expected one of validation, oot." in fairfront("show", copy / "run", "--on", "ood", code=2)
    found = json.loads(command("show", copy / "run", "--on", "oot", "--json").stdout)
    assert found["on"] == "oot"
    assert [each["name"] for each in found["evaluations"]] == ["oot"]
    page = copy / "page.html"
    fairfront("report", copy / "run", "-o", page)
    assert '"name":"oot"' in page.read_text()


def _edited(frame: Any, **columns: Any) -> Any:
    return frame.assign(**columns)


CHANGED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no target": (lambda f: f.drop(columns="outcome"), "has no column 'outcome', which the run reads as the target"),
    "near target": (lambda f: f.rename(columns={"outcome": "outcomes"}), "did you mean 'outcomes'?"),
    "no group": (lambda f: f.drop(columns="sex"), "has no column 'sex', which the run reads as groups"),
    "no feature": (lambda f: f.drop(columns="lsat"), "the column 'lsat' is missing"),
    "words": (lambda f: _edited(f, lsat="x"), "column 'lsat' has 'x'"),
    "other labels": (lambda f: _edited(f, outcome=f["outcome"] + "!"), "of the data frame has the label 'passed!'"),
    "one group": (lambda f: _edited(f, sex="F"), "group column 'sex' has one value only"),
    "few rows": (lambda f: f.groupby(["sex", "outcome"]).head(2), "has fewer than 10 rows to judge"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_files_that_cannot_be_judged_are_refused_in_one_sentence(made: Path, name: str) -> None:
    change, said = CHANGED[name]
    with pytest.raises(ff.FairfrontError) as error:
        ff.load(made / "run").evaluate(change(pd.read_csv(made / "later.csv")), name="oot")
    assert said in str(error.value)


@pytest.mark.filterwarnings("default::fairfront.FairfrontWarning")
def test_new_groups_and_rows_without_a_label_are_noted(made: Path) -> None:
    frame = pd.read_csv(made / "later.csv")
    frame.loc[:49, "sex"] = "X"
    frame.loc[50:53, "sex"] = "Tiny"
    frame.loc[60:62, "outcome"] = None
    with pytest.warns(ff.FairfrontWarning, match="oot: groups of 'sex' that training did not compare: X"):
        run = ff.load(made / "run").evaluate(frame, name="oot")
    notes = " ".join(run.external["oot"].notes)
    assert "rows without 'outcome' were left out: <10." in notes
    assert run.frontier.evaluations["oot"].groups["sex"].levels == ("F", "X", "M")
    lines = {line["group"]: line for line in run.judged["oot"]["0"]["groups"]["sex"]}
    assert (lines["Tiny"]["rows"], lines["Tiny"]["status"]) == (4, "too few")


@pytest.mark.parametrize("name", ["train", "validation", "test", "Test-2", "", "a.b", "../x", "x" * 41, "é", "-x", 3])
def test_names_of_the_runs_own_parts_and_of_no_file_are_refused(made: Path, name: Any) -> None:
    with pytest.raises(ff.FairfrontError, match="name is"):
        ff.load(made / "run").evaluate(made / "later.csv", name=name)


def test_a_name_is_taken_once(copy: Path) -> None:
    words = ("evaluate", copy / "run", copy / "later.csv", "--name")
    fairfront(*words, "oot")
    assert "the run has an evaluation 'oot' already" in fairfront(*words, "OOT", code=2)
    before = ff.load(copy / "run").external["oot"]
    fairfront("evaluate", copy / "run", copy / "rows.csv", "--name", "oot", "--overwrite")
    fairfront(*words, "branch")
    run = ff.load(copy / "run")
    assert run.external["oot"].sha256 != before.sha256 == run.external["branch"].sha256
    assert run.frontier.evaluations["oot"].n == 2000
    assert not list(copy.glob(".*"))


def test_what_was_added_meanwhile_stays(copy: Path) -> None:
    old = ff.load(copy / "run")
    fairfront("evaluate", copy / "run", copy / "later.csv", "--name", "first")
    fairfront("select", copy / "run", "--id", 1, "-o", copy / "model")
    write_evaluation(old, copy / "rows.csv", name="second", progress=False)
    run = ff.load(copy / "run")
    assert set(run.external) == {"first", "second"}
    assert [each.after for each in run.external.values()] == [0, 1]
    assert len(run.decisions) == 1


@pytest.mark.slow
def test_a_kill_leaves_the_run_as_it_was_or_with_the_whole_evaluation(copy: Path) -> None:
    run = ff.load(copy / "run")
    larger = run.evaluate(copy / "later.csv", name="oot", progress=False)
    seen = set()
    for moment in range(0, 400, 9):
        work = partial(larger.save, copy / "run", overwrite=True)
        died = killed(work, moment, STEPS)
        found = ff.load(copy / "run")
        seen.add(tuple(found.external))
        assert found.checksum == run.checksum
        if not died:
            break
    assert not died
    assert seen == {(), ("oot",)}


def test_other_kinds_of_runs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=900), "z": rng.normal(size=900), "g": rng.choice(["a", "b"], 900)})
    frame["w"] = rng.integers(0, 4, 900)
    frame["y"] = frame["x"] + rng.normal(size=900)
    frame["p"] = np.where(frame["g"] == "a", 0.8, 0.3)
    frame["q"] = 1 - frame["p"]
    frame["three"] = np.digitize(frame["y"], [-0.5, 0.5])
    known: dict[str, Any] = {"drop": ["w", "p", "q"], "n_points": 3, "progress": False}
    for settings in (
        {"target": "y", "groups": "g", "loss": "squared", "drop": [*known["drop"], "three"]},
        {"target": "three", "groups": "g", "favourable": 2, "loss": "softmax", "drop": [*known["drop"], "y"]},
        {"target": "three", "groups": "g", "favourable": 2, "loss": "softmax", "weight": "w", "drop": ["p", "q", "y"]},
    ):
        run = ff.trace_table(frame, **{**known, **settings}).evaluate(frame.sample(400, random_state=0), name="oot")
        place = tmp_path / f"{settings['target']}{'weight' in settings}"
        found = ff.load(run.save(place))
        for name, values in run.frontier.evaluations["oot"].columns.items():
            np.testing.assert_array_equal(values, found.frontier.evaluations["oot"].columns[name])
        assert found.judged["oot"] == run.judged["oot"]


def test_one_file_has_one_name_and_the_runs_own_is_called_so(made: Path) -> None:
    run = ff.load(made / "run").evaluate(made / "later.csv", name="oot")
    with pytest.raises(ff.InputError, match="was judged as 'oot' already"):
        run.evaluate(made / "later.csv", name="other")
    own = run.evaluate(made / "rows.csv", name="own").external["own"]
    assert "trained on its rows" in own.notes[0]


def test_a_new_group_of_a_few_people_is_in_no_gap(copy: Path) -> None:
    """What such a group does can be anything, so that bounds would be 1; the card and the run leave it out alike."""
    frame = pd.read_csv(copy / "later.csv")
    frame.loc[:4, "sex"] = "other"
    frame.to_csv(copy / "few.csv", index=False)
    run = ff.load(copy / "run").evaluate(copy / "few.csv", name="few")
    record = run.frontier.evaluations["few"]
    assert record.groups["sex"].levels == run.frontier.evaluations["validation"].groups["sex"].levels
    assert (record.figure("tpr_gap", 0.95) < 0.5).all()
    lines = run.judged["few"]["0"]["groups"]["sex"]
    assert [line["group"] for line in lines if line["status"] == "too few"] == ["other"]
