"""verify finds every edit of numbers, text or choices, also where the editor computed all checksums again."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.runs import verification, verify_model, verify_run
from fairfront.runs.verification import Check, agrees, array_differences, tree_differences
from tests.support.cli import command as fairfront
from tests.support.edits import edit_arrays, edit_json, reseal

Edit = Callable[[Path], None]
pytestmark = pytest.mark.filterwarnings("ignore::fairfront.GroupWarning")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a file of rows, a run, and a model that was chosen from it."""
    home = tmp_path_factory.mktemp("made")
    data = ff.datasets.load_loans(n=1200, seed=0)
    data.frame().assign(branch="north").to_csv(home / "loans.csv", index=False)
    words = ("--target", "outcome", "--favourable", "repaid", "--groups", "group", "--drop", "applied", "--drop", "sex")
    settings = ("--points", 4, "--approval-rate", 0.7)
    assert fairfront("trace", home / "loans.csv", *words, *settings, "-o", home / "run").returncode == 0
    rule = ("--at-most", "tpr_gap=0.5", "--by", "A. Smith", "--reason", "pilot")
    assert fairfront("select", home / "run", *rule, "-o", home / "model").returncode == 0
    return home


@pytest.fixture(scope="module", autouse=True)
def _traced_once() -> Iterator[None]:
    """Trace once per setting: what is tried here is the comparison."""
    runs: dict[str, Any] = {}
    trace = verification.run_of

    def once(data: Any, settings: Any, progress: Any) -> Any:
        key = f"{data}{settings}"
        if key not in runs:
            runs[key] = trace(data, settings, progress)
        return runs[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verification, "run_of", once)
        yield


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "copy")


def checks_of(run: Path) -> list[Check]:
    return verify_run(ff.load(run), run.parent / "loans.csv", progress=False)


def arrays(change: Callable[[dict[str, np.ndarray]], None], file: str = "frontier/frontier.npz") -> tuple[str, Edit]:
    return file.removesuffix(".npz"), lambda folder: edit_arrays(folder / file, change)


def tree(file: str, change: Callable[[Any], Any], what: str = "") -> tuple[str, Edit]:
    return what or file, lambda folder: edit_json(folder / file, change)


def text(file: str, old: str, new: str) -> tuple[str, Edit]:
    def change(folder: Path) -> None:
        before = (folder / file).read_text()
        assert old in before
        (folder / file).write_text(before.replace(old, new, 1))

    return file.removesuffix(".json"), change


def _halved(found: Any) -> Any:
    """Return a tree with the first number in every list halved."""
    if isinstance(found, dict):
        return {key: _halved(value) for key, value in found.items()}
    if isinstance(found, list) and found and isinstance(found[0], float):
        return [found[0] / 2, *found[1:]]
    return [_halved(each) for each in found] if isinstance(found, list) else found


EDITS: dict[str, tuple[str, Edit]] = {
    "scale of the encoder": arrays(lambda a: a.update(factor=a["factor"] * 2), "encoder.npz"),
    "levels of the encoder": text("encoder.json", '"east"', '"eest"'),
    "coefficient": arrays(lambda a: a["models.coef"].__setitem__((1, 0, 0), a["models.coef"][1, 0, 0] + 1e-3)),
    "intercepts": arrays(lambda a: a.update({"models.intercept": a["models.intercept"] + 5})),
    "certificates": arrays(lambda a: a.update(certified=~a["certified"])),
    "multipliers": arrays(lambda a: a.update(multipliers=a["multipliers"] + 1)),
    "a rate of groups": arrays(lambda a: a.update({"evaluations.0.groups.0.tpr": a["evaluations.0.groups.0.tpr"] / 2})),
    "counts of groups": arrays(lambda a: a.update({"evaluations.0.groups.0.n": a["evaluations.0.groups.0.n"] + 10})),
    "figures": arrays(lambda a: a.update({"evaluations.0.columns": a["evaluations.0.columns"] * np.nan})),
    "one figure": arrays(lambda a: a["evaluations.0.columns"].__setitem__((3, 0), np.nan)),
    "cut-offs": arrays(lambda a: a.update({"evaluations.0.cutoffs": a["evaluations.0.cutoffs"] * 0.9})),
    "status": text("frontier/frontier.json", '"EFFICIENT"', '"FLOOR"'),
    "sentences": text("frontier/frontier.json", "among people", "among all people"),
    "details": tree("details.json", lambda found: found.update(_halved(found))),
    "test figures": text("test.json", '"rows": ', '"rows": 1'),
    "use of the attribute": tree("manifest.json", lambda found: found["sensitive"].update(threshold="no")),
    "a missing finding": tree("manifest.json", lambda found: found["findings"].clear()),
    "split": tree("manifest.json", lambda found: found["split"].update(rule="at random")),
    "options": tree("manifest.json", lambda found: found["shown"].pop()),
    "id that was chosen": tree("decisions/0001.json", lambda found: found.update(id=3), "decision 1"),
    "rule": tree("decisions/0001.json", lambda found: found.update(rule={"id": 3}), "decision 1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_with_new_checksums_is_found(copy: Path, name: str) -> None:
    what, change = EDITS[name]
    change(copy / "run")
    with pytest.raises(ff.InputError):
        ff.load(copy / "run")
    reseal(copy / "run")
    assert [check.what for check in checks_of(copy / "run") if check.same is False] == [what]


def test_a_run_and_its_model_that_nobody_edited_are_reproduced(made: Path) -> None:
    checks = checks_of(made / "run")
    assert agrees(checks)
    assert {check.what for check in checks} == {"data", "versions", *(what for what, _ in EDITS.values())}
    assert agrees(verify_model(made / "model", ff.load(made / "run")))


def test_the_command_says_what_differs_and_exits_with_3(copy: Path) -> None:
    assert fairfront("verify", copy / "run", copy / "loans.csv").returncode == 0
    assert fairfront("verify", copy / "model", copy / "run").returncode == 0
    EDITS["intercepts"][1](copy / "run")
    reseal(copy / "run")
    assert fairfront("verify", copy / "run", copy / "loans.csv").returncode == 3
    found = json.loads(fairfront("verify", copy / "run", copy / "loans.csv", "--json").stdout)
    assert not found["same"]
    assert [check["what"] for check in found["checks"] if check["same"] is False] == ["frontier/frontier"]


def test_settings_that_were_edited_make_another_run_or_none(copy: Path) -> None:
    edit_json(copy / "run" / "manifest.json", lambda found: found["settings"].update(seed=1))
    reseal(copy / "run")
    assert not agrees(checks_of(copy / "run"))
    for change in ({"target": 3}, {"groups": "x"}, {"nonsense": 1}):
        edit_json(copy / "run" / "manifest.json", lambda found, change=change: found["settings"].update(change))
        reseal(copy / "run")
        assert fairfront("verify", copy / "run", copy / "loans.csv").returncode == 2


def test_other_versions_and_the_last_digits_decide_nothing(copy: Path) -> None:
    edit_json(copy / "run" / "manifest.json", lambda found: found["versions"].update(numpy="1.0"))
    edit_arrays(
        copy / "run" / "frontier" / "frontier.npz", lambda a: a.update({"models.coef": a["models.coef"] * (1 + 1e-9)})
    )
    reseal(copy / "run")
    checks = checks_of(copy / "run")
    assert agrees(checks)
    assert next(check.same for check in checks if check.what == "versions") is None


MODEL: dict[str, tuple[str, Edit]] = {
    "coefficients": arrays(lambda a: a.update(coef=a["coef"] * 1.001), "model.npz"),
    "intercept": arrays(lambda a: a.update(intercept=a["intercept"] + 5), "model.npz"),
    "encoder": arrays(lambda a: a.update({"encoder.factor": a["encoder.factor"] * 2}), "model.npz"),
    "cut-off": tree("model.json", lambda found: found["content"].update(cutoff=0.1), "model"),
    "facts of the card": tree("card.json", lambda found: found["about"].update(owner="nobody")),
    "reason": tree("decision.json", lambda found: found.update(reason="the board"), "record"),
}


@pytest.mark.parametrize("name", MODEL)
def test_an_edited_model_does_not_follow_from_its_run(copy: Path, name: str) -> None:
    what, change = MODEL[name]
    change(copy / "model")
    with pytest.raises(ff.InputError):
        ff.load(copy / "model")
    reseal(copy / "model")
    different = [check.what for check in verify_model(copy / "model", ff.load(copy / "run")) if check.same is False]
    assert what in different


def test_rules_of_numpy_and_peoples_words_are_written_or_refused(copy: Path) -> None:
    run = ff.load(copy / "run")
    run.select(preference=np.array([1.0, 50.0])).save(copy / "array")
    run.select(id=np.int64(1), by="\u00c5. Smith").save(copy / "number")
    assert ff.load(copy / "number").decision["rule"] == {"id": 1}
    for words in ("\udcff", 3, None):
        with pytest.raises(ff.InputError, match="expected a text"):
            run.select(id=1, by=words)


def test_a_model_that_python_selected_is_reproduced_without_a_record(copy: Path) -> None:
    run = ff.load(copy / "run")
    run.select(id=1).save(copy / "python")
    run.model(1).save(copy / "bare")
    for name in ("python", "bare"):
        checks = verify_model(copy / name, run)
        assert agrees(checks)
        assert next(check.same for check in checks if check.what == "record") is None
    edit_arrays(copy / "bare" / "model.npz", lambda a: a.update(coef=a["coef"] * 2))
    reseal(copy / "bare")
    assert not agrees(verify_model(copy / "bare", run))


@pytest.mark.parametrize("change", [{"candidates": [3]}, {"rule": []}, {"opened": 7}, {"id": "x"}, {"id": 99}])
def test_a_forged_record_is_a_difference_or_refused(copy: Path, change: dict[str, Any]) -> None:
    edit_json(copy / "model" / "decision.json", lambda found: found.update(change))
    reseal(copy / "model")
    with contextlib.suppress(ff.InputError):
        assert not agrees(verify_model(copy / "model", ff.load(copy / "run")))


def test_a_run_of_a_data_frame_is_reproduced_from_its_file_and_not_from_another(tmp_path: Path) -> None:
    frame = ff.datasets.load_loans(n=1200, seed=0).frame()
    for name, rows in (("same.csv", frame), ("other.csv", frame.assign(income=frame["income"] + 1.0))):
        rows.to_csv(tmp_path / name, index=False)
    words = {"favourable": "repaid", "groups": "group", "drop": ["applied", "sex"], "n_points": 4}
    run = ff.trace_table(frame, target="outcome", progress=False, **words)
    assert agrees(verify_run(run, tmp_path / "same.csv", progress=False))
    assert not agrees(verify_run(run, tmp_path / "other.csv", progress=False))


def test_a_decision_whose_rule_cannot_be_applied_is_a_difference(copy: Path) -> None:
    edit_json(copy / "run" / "decisions" / "0001.json", lambda found: found["rule"].update(at_most={"nonsense": 0.1}))
    reseal(copy / "run")
    checks = verify_run(ff.load(copy / "run"), copy / "loans.csv", progress=False)
    (choice,) = (each for each in checks if each.what == "decision 1")
    assert choice.same is False
    assert choice.found.startswith("its rule cannot be applied: ")
    assert all(each.same is not False for each in checks if each is not choice)


def test_an_edit_that_load_notices_is_a_difference(copy: Path) -> None:
    (copy / "run" / "details.json").write_text("{}")
    assert fairfront("verify", copy / "run", copy / "loans.csv").returncode == 3


def test_trees_differ_by_place() -> None:
    stored = {"a": [1.0, {"b": "x"}], "c": 1, "d": None}
    assert list(tree_differences(stored, stored)) == []
    assert list(tree_differences(stored, {"a": [1.0 + 1e-9, {"b": "x"}], "c": 1, "d": None})) == []
    assert list(tree_differences(stored, {"a": [1.1, {"b": "y"}], "c": True, "e": None})) == [
        "a[0]",
        "a[1].b",
        "c",
        "d",
        "e",
    ]
    assert list(tree_differences([1.0], [1.0, 2.0], "rates")) == ["rates"]


@pytest.mark.parametrize("mixed_units", [False, True])
def test_nothing_is_near_to_an_infinity_but_itself(mixed_units: bool) -> None:
    stored = {"a": np.array([np.inf, np.nan, 1.0])}
    assert list(array_differences(stored, {"a": stored["a"].copy()}, mixed_units)) == []
    for other in ([1e300, np.nan, 1.0], [np.inf, 0.0, 1.0], [-np.inf, np.nan, 1.0]):
        assert list(array_differences(stored, {"a": np.array(other)}, mixed_units)) == ["a"]


def test_numbers_of_mixed_units_are_compared_each_by_itself() -> None:
    stored, other = {"a": np.array([1e9, 1e-3])}, {"a": np.array([1e9, 2e-3])}
    assert list(array_differences(stored, other, mixed_units=False)) == []
    assert list(array_differences(stored, other, mixed_units=True)) == ["a"]
