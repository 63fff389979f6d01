"""Operating points of runs: what is judged on validation is what model and file decide, row by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import FixedThresholdClassifier

import fairfront as ff
from fairfront.runs import predict_file, trace_table
from fairfront.runs.options import mark_words, suggested_id
from fairfront.runs.verification import agrees, verify_run
from tests.support.cli import command as fairfront
from tests.support.extras import optional
from tests.support.trial import students, write_csv

pd = optional("pandas")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(students(6000), tmp_path_factory.mktemp("students") / "students.csv")


def run_of(file: Path, **settings: Any) -> Any:
    known = {"target": "outcome", "groups": "sex", "favourable": "passed", "progress": False}
    return trace_table(file, **{**known, **settings})


pytestmark = pytest.mark.filterwarnings("ignore::fairfront.GroupWarning")
CASES = [
    {"approval_rate": 0.8},
    {"cutoff": 0.9},
    {"costs": {"false_positive": 5, "false_negative": 1}},
    {"approval_rate": 0.2, "favourable": "failed"},
    {"approval_rate": 0.8, "loss": "squared_hinge"},
    {"approval_rate": 0.3, "loss": "squared_hinge", "favourable": "failed"},
]


@pytest.mark.slow
@pytest.mark.parametrize("settings", CASES)
def test_model_and_file_decide_alike(file: Path, settings: dict[str, Any], tmp_path: Path) -> None:
    run = run_of(file, **settings)
    front, good = run.frontier, settings.get("favourable", "passed")
    id = int(front.ids[len(front) // 2])
    model = run.select(id=id)
    stock = model.model
    assert isinstance(stock, FixedThresholdClassifier)
    assert stock.threshold == front.evaluations["validation"].cutoffs[front.place(id)]
    decided = model.predict(file)
    table = ff.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(decided, table.predict(file))
    np.testing.assert_array_equal(decided, stock.predict(encoded(run, file)))
    predict_file(model, file, tmp_path / "decided.csv")
    written = [line.split(",")[0] for line in (tmp_path / "decided.csv").read_text().splitlines()[1:]]
    assert written == decided.tolist()
    assert len(set(decided)) == 2
    if "approval_rate" in settings:
        assert np.mean(decided == good) == pytest.approx(settings["approval_rate"], abs=0.05)


def encoded(run: Any, file: Path) -> Any:
    from fairfront.tables import coerce, open_source

    source = open_source(file)
    parts = [run.encoder.transform(coerce(c, run.encoder)) for c in source.chunks(run.encoder.columns)]
    return pd.DataFrame(np.vstack(parts), columns=run.encoder.feature_names)


@pytest.mark.slow
def test_cards_say_the_cutoff_and_test_keeps_it(file: Path, tmp_path: Path) -> None:
    run = run_of(file, approval_rate=0.8)
    model = run.select(id=int(run.frontier.ids[2]))
    cutoff = run.frontier.evaluations["validation"].cutoffs[2]
    assert f"| Operating point | approval rate 0.8: cut-off {cutoff:.3f} on the probability of passed" in model.card
    assert "placed on validation and used unchanged elsewhere" in model.card
    assert model.decision["operating"]["cutoff"] == cutoff
    assert model.facts["operating_point"]["cutoff"] == cutoff
    path = run.save(tmp_path / "run")
    again = ff.load(path)
    assert again.select(id=int(run.frontier.ids[2])).cutoff == cutoff
    assert agrees(verify_run(again, file, progress=False))


def test_without_a_rule_every_output_says_so(file: Path, tmp_path: Path) -> None:
    said = "0.5: no operating point was given"
    run = tmp_path / "run"
    options = ("--target", "outcome", "--favourable", "passed", "--groups", "sex")
    traced = fairfront("trace", file, *options, "-o", run)
    assert said in traced.stdout
    assert said in fairfront("show", run).stdout
    chosen = fairfront("select", run, "--id", "0", "-o", tmp_path / "model")
    assert said in chosen.stdout
    assert (
        "| Operating point | no operating point was given: cut-off 0.500 on the probability of passed"
        in (tmp_path / "model" / "card.md").read_text()
    )
    fairfront("report", run, "-o", tmp_path / "page.html")
    assert said in (tmp_path / "page.html").read_text()
    assert json.loads(fairfront("show", run, "--json").stdout)["operating_point"] is None


@pytest.mark.slow
def test_points_that_decide_nothing_are_marked_and_never_suggested(file: Path) -> None:
    run = run_of(file, groups="race")
    marked = [option for option in run.options() if "alike" in option.marks]
    assert marked
    assert all("suggested" not in option.marks for option in marked)
    said = "alike: gives more than 99 % of the held_out and validation rows the same"
    assert mark_words(run.frontier, marked)[0].startswith(said)
    assert {"approval_rate", "auc"} <= set(marked[0].figures)
    model = run.select(id=marked[-1].id)
    assert "is marked as alike" in model.decision["notes"][0]


def test_nothing_is_suggested_where_nothing_decides(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {
        "x": np.round(rng.normal(size=3000), 3),
        "group": rng.choice(["a", "b"], 3000),
        "label": rng.choice(["no", "yes"], 3000, p=[0.1, 0.9]),
    }
    path = write_csv(columns, tmp_path / "noise.csv")
    run = run_of(path, target="label", groups="group", favourable="yes")
    assert suggested_id(run.frontier) is None
    run.save(tmp_path / "run")
    assert "suggested: none" in fairfront("show", tmp_path / "run").stdout
    assert json.loads(fairfront("show", tmp_path / "run", "--json").stdout)["suggested"] is None


@pytest.mark.slow
def test_rules_in_the_shell(file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ("--target", "outcome", "--favourable", "passed", "--groups", "race")
    traced = fairfront("trace", file, *options, "--approval-rate", "0.8", "-o", run)
    assert "Operating point: approval rate 0.8" in traced.stdout
    for rule in (
        ("--at-least", "selection_ratio=0.3", "--confidence", "0"),
        ("--at-least", "approval_rate=.5", "--most", "auc"),
        ("--least-gap", "tpr", "--within", "auc=.02"),
    ):
        done = fairfront("select", run, *rule, "-o", tmp_path / "-".join(rule[1:2]), "--overwrite")
        assert done.returncode == 0, done.stderr
    for rule, said in (
        (("--least-gap", "trp"), "did you mean 'tpr'"),
        (("--least-gap", "tpr", "--within", "eror=0.005"), "did you mean 'error'"),
        (("--within", "error=0.005"), "--within goes with"),
        (("--at-most", "selection_ratio=.8"), "use --at-least"),
        (("--least-gap", "tpr", "--within", "error"), "expected NAME=NUMBER"),
        (("--least-gap", "tpr", "--within", "error:0.005"), "expected NAME=NUMBER"),
    ):
        done = fairfront("select", run, *rule, "-o", tmp_path / "no")
        assert done.returncode == 2
        assert said in done.stderr
    for rule, said in (
        (("--approval-rate", "1.2"), "--approval-rate is 1.2"),
        (("--cutoff", "0.5", "--approval-rate", "0.8"), "--cutoff and --approval-rate were given"),
        (("--cutoff", "40"), "--cutoff is 40.0, expected a probability of the favourable label, from 0 to 1."),
        (("--costs", "5"), "expected two numbers"),
    ):
        done = fairfront("trace", file, *options, *rule, "-o", tmp_path / "no")
        assert done.returncode == 2
        assert said in done.stderr
