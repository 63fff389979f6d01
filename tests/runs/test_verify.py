"""verify finds every edit of a run or a model, also where the editor computed all checksums again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.runs import verification, verify_model, verify_run
from fairfront.runs.verification import Check, agrees
from fairfront.storage.differences import Difference, differences
from fairfront.storage.packages import SIGNATURE
from fairfront.storage.places import CHECKSUMS
from tests.support.cli import command as fairfront
from tests.support.seals import edit_arrays, edit_json, reseal

Edit = Callable[[Path], None]
pytestmark = pytest.mark.filterwarnings("ignore::fairfront.GroupWarning")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a file of rows, a run, and two models that were chosen from it."""
    home = tmp_path_factory.mktemp("made")
    data = ff.datasets.load_loans(n=1200, seed=0)
    data.frame().assign(branch="north").to_csv(home / "loans.csv", index=False)
    words = ("--target", "outcome", "--favourable", "repaid", "--groups", "group", "--drop", "applied", "--drop", "sex")
    settings = ("--points", 4, "--approval-rate", 0.7)
    assert fairfront("trace", home / "loans.csv", *words, *settings, "-o", home / "run").returncode == 0
    rule = ("--at-most", "tpr_gap=0.5", "--by", "A. Smith", "--reason", "pilot")
    assert fairfront("select", home / "run", *rule, "-o", home / "model").returncode == 0
    exact = ("--knee", "--small", 0, "--data", home / "loans.csv")
    assert fairfront("select", home / "run", *exact, "-o", home / "exact").returncode == 0
    return home


@pytest.fixture(scope="module", autouse=True)
def _traced_once() -> Iterator[None]:
    """Trace once per setting: what is tried here is the comparison."""
    known: dict[str, Any] = {}
    trace = verification.run_of

    def once(data: Any, settings: Any, progress: Any) -> Any:
        asked = f"{data}{settings}"
        if asked not in known:
            known[asked] = trace(data, settings, progress)
        return known[asked]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verification, "run_of", once)
        yield


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "copy")


def checks_of(run: Path) -> list[Check]:
    return verify_run(ff.load(run), run.parent / "loans.csv", progress=False)


def arrays(change: Callable[[dict[str, np.ndarray]], None], file: str = "frontier/frontier.npz") -> tuple[str, Edit]:
    return file, lambda run: edit_arrays(run / file, change)


def tree(file: str, change: Callable[[Any], Any]) -> tuple[str, Edit]:
    return file, lambda run: edit_json(run / file, change)


def text(file: str, old: str, new: str) -> tuple[str, Edit]:
    def change(run: Path) -> None:
        before = (run / file).read_text()
        assert old in before
        (run / file).write_text(before.replace(old, new, 1))

    return file, change


def _halved(found: Any) -> Any:
    """Return a tree with the first number in every list halved."""
    if isinstance(found, dict):
        return {key: _halved(value) for key, value in found.items()}
    if isinstance(found, list) and found and isinstance(found[0], float):
        return [found[0] / 2, *found[1:]]
    return [_halved(each) for each in found] if isinstance(found, list) else found


def _first_figure(found: Any) -> None:
    found["candidates"][0]["error"] = 0.01


EDITS: dict[str, tuple[str, Edit]] = {
    "scale of the encoder": arrays(lambda a: a.update(factor=a["factor"] * 2), "encoder.npz"),
    "levels of the encoder": text("encoder.json", '"east"', '"eest"'),
    "coefficient": arrays(lambda a: a["models.coef"].__setitem__((1, 0, 0), a["models.coef"][1, 0, 0] + 1e-12)),
    "intercepts": arrays(lambda a: a.update({"models.intercept": a["models.intercept"] + 5})),
    "certificates": arrays(lambda a: a.update(certified=~a["certified"])),
    "residuals": arrays(lambda a: a.update(kkt=np.zeros_like(a["kkt"]))),
    "multipliers": arrays(lambda a: a.update(multipliers=a["multipliers"] + 1)),
    "a rate of groups": arrays(lambda a: a.update({"evaluations.0.groups.0.tpr": a["evaluations.0.groups.0.tpr"] / 2})),
    "counts of groups": arrays(lambda a: a.update({"evaluations.0.groups.0.n": a["evaluations.0.groups.0.n"] + 10})),
    "figures": arrays(lambda a: a.update({"evaluations.0.columns": a["evaluations.0.columns"] * np.nan})),
    "one figure": arrays(lambda a: a["evaluations.0.columns"].__setitem__((3, 0), np.nan)),
    "cut-offs": arrays(lambda a: a.update({"evaluations.0.cutoffs": a["evaluations.0.cutoffs"] * 0.9})),
    "status": text("frontier/frontier.json", '"EFFICIENT"', '"FLOOR"'),
    "sentences": text("frontier/frontier.json", "among people", "among all people"),
    "reference": text("frontier/frontier.json", '"favourable_was_given": true', '"favourable_was_given": false'),
    "writer": text("frontier/frontier.json", f'"fairfront": "{ff.__version__}"', '"fairfront": "0.0.9"'),
    "details": tree("details.json", lambda found: found.update(_halved(found))),
    "spaces": text("details.json", ", ", ",  "),
    "test figures": text("test.json", '"rows": ', '"rows": 1'),
    "use of the attribute": tree("manifest.json", lambda found: found["sensitive"].update(threshold="no")),
    "findings": tree("manifest.json", lambda found: found["findings"].append({"columns": ["a"], "kind": "b"})),
    "a missing finding": tree("manifest.json", lambda found: found["findings"].clear()),
    "split": tree("manifest.json", lambda found: found["split"].update(rule="at random")),
    "options": tree("manifest.json", lambda found: found["shown"].pop()),
    "order": tree("manifest.json", lambda found: found.update(data=found.pop("data"))),
    "id that was chosen": tree("decisions/0001.json", lambda found: found.update(id=3)),
    "figures of a candidate": tree("decisions/0001.json", _first_figure),
    "rule": tree("decisions/0001.json", lambda found: found.update(rule={"id": 3})),
    "notes": tree("decisions/0002.json", lambda found: found.update(notes=["nothing speaks against it"])),
    "data of a decision": tree("decisions/0001.json", lambda found: found.update(data="0" * 64)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_that_was_sealed_again_is_found(copy: Path, name: str) -> None:
    file, change = EDITS[name]
    change(copy / "run")
    with pytest.raises(ff.InputError):
        ff.load(copy / "run")
    reseal(copy / "run")
    checks = checks_of(copy / "run")
    assert not agrees(checks)
    assert [check.what for check in checks if not check.same and check.what == file]
    assert all(each.stored != each.found for check in checks for each in check.differences if each.field != "spelling")


def test_a_run_and_its_models_that_nobody_edited_are_reproduced(made: Path) -> None:
    checks = checks_of(made / "run")
    assert agrees(checks)
    assert {check.what for check in checks} >= {path for path, _ in EDITS.values()}
    for model, more in (("model", ()), ("exact", ("--data", made / "loans.csv"))):
        done = fairfront("verify", made / model, made / "run", *more)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "The model was reproduced." in done.stdout
    assert "need the rows" in fairfront("verify", made / "exact", made / "run").stderr
    assert "goes with a model" in fairfront("verify", made / "run", made / "loans.csv", "--data", made / "x").stderr


def test_the_command_lists_file_field_stored_and_found(copy: Path) -> None:
    EDITS["intercepts"][1](copy / "run")
    reseal(copy / "run")
    done = fairfront("verify", copy / "run", copy / "loans.csv")
    assert done.returncode == 3
    assert "frontier/frontier.npz, models.intercept[" in done.stdout
    assert "The run was NOT reproduced" in done.stdout
    found = json.loads(fairfront("verify", copy / "run", copy / "loans.csv", "--json").stdout)
    assert not found["same"]
    said = {check["what"]: check["differences"] for check in found["checks"]}
    (only,) = said["frontier/frontier.npz"]
    assert float(only["stored"]) == pytest.approx(float(only["found"]) + 5)
    assert only["count"] == 4


def test_settings_that_were_edited_make_another_run_or_none(copy: Path) -> None:
    edit_json(copy / "run" / "manifest.json", lambda found: found["settings"].update(seed=1))
    reseal(copy / "run")
    assert not agrees(checks_of(copy / "run"))
    for change in ({"target": 3}, {"groups": "x"}, {"nonsense": 1}):
        edit_json(copy / "run" / "manifest.json", lambda found, change=change: found["settings"].update(change))
        reseal(copy / "run")
        assert fairfront("verify", copy / "run", copy / "loans.csv").returncode == 2


@pytest.mark.parametrize(
    "found", [{"earlier": 3}, {"earlier": [{}]}, {"earlier": [{"checksum": "x", "kept": [True]}]}, {"kept_ids": "some"}]
)
def test_stages_that_were_made_up_are_refused(copy: Path, found: dict[str, Any]) -> None:
    edit_json(copy / "run" / "manifest.json", lambda known: known.update(found))
    reseal(copy / "run")
    with pytest.raises(ff.InputError, match="points that were removed"):
        ff.load(copy / "run")


@pytest.mark.slow
def test_points_that_were_removed_are_no_difference_and_made_up_ones_are(copy: Path) -> None:
    for name, words in (("first", (3,)), ("kept", (2, "--keep", "chosen")), ("again", (2, "--keep", "chosen"))):
        assert fairfront("select", copy / "run", "--id", *words, "-o", copy / name).returncode == 0
    assert len(ff.load(copy / "run").manifest["earlier"]) == 2
    assert agrees(checks_of(copy / "run"))
    run = ff.load(copy / "run")
    assert {2, 3} < set(run.frontier.ids.tolist())
    for name in ("first", "kept", "again"):
        assert agrees(verify_model(copy / name, run))
    for name in ("model", "exact", "first", "kept"):
        assert agrees(verify_model(copy / name, run, copy / "loans.csv")), name
    edit_arrays(copy / "run" / "frontier" / "frontier.npz", lambda a: a.update(kkt=a["kkt"] / 2))
    edit_json(copy / "run" / "manifest.json", lambda found: found.update(earlier=[], keep="all", kept_ids="all"))
    reseal(copy / "run")
    assert not agrees(checks_of(copy / "run"))


@pytest.mark.slow
def test_other_versions_leave_the_last_digits_and_nothing_else(copy: Path) -> None:
    edit_json(copy / "run" / "manifest.json", lambda found: found["versions"].update(numpy="1.0"))
    edit_arrays(
        copy / "run" / "frontier" / "frontier.npz", lambda a: a.update({"models.coef": a["models.coef"] * (1 + 1e-9)})
    )
    reseal(copy / "run")
    checks = checks_of(copy / "run")
    assert agrees(checks)
    assert next(check.same for check in checks if check.what == "versions") is False
    for name in ("scale of the encoder", "intercepts", "certificates", "one figure", "status", "sentences", "findings"):
        file, change = EDITS[name]
        before = (copy / "run" / file).read_bytes()
        change(copy / "run")
        reseal(copy / "run")
        assert not agrees(checks_of(copy / "run")), name
        (copy / "run" / file).write_bytes(before)


MODEL: dict[str, tuple[str, Edit]] = {
    "coefficients": arrays(lambda a: a.update(coef=a["coef"] * 1.001), "model.npz"),
    "intercept": arrays(lambda a: a.update(intercept=a["intercept"] + 5), "model.npz"),
    "encoder": arrays(lambda a: a.update({"encoder.factor": a["encoder.factor"] * 2}), "model.npz"),
    "cut-off": tree("model.json", lambda found: found["content"].update(cutoff=0.1)),
    "card": text("card.md", "## Limits", "## No limits"),
    "page of the card": text("card.html", "Limits", "No limits"),
    "facts of the card": tree("card.json", lambda found: found["about"].update(owner="nobody")),
    "end of the card": text("card.md", "fairfront verify", "fairfront  verify"),
    "reason": tree("decision.json", lambda found: found.update(reason="the board")),
    "manifest": tree("manifest.json", lambda found: found["sensitive"].update(features="no, never")),
}


@pytest.mark.parametrize("name", MODEL)
def test_an_edited_model_does_not_follow_from_its_run(copy: Path, name: str) -> None:
    file, change = MODEL[name]
    change(copy / "model")
    with pytest.raises(ff.InputError, match="was changed"):
        ff.load(copy / "model")
    reseal(copy / "model")
    done = fairfront("verify", copy / "model", copy / "run")
    assert done.returncode == 3
    assert f"{file}, " in done.stdout


def test_rules_of_numpy_and_peoples_words_are_written_or_refused(copy: Path) -> None:
    run = ff.load(copy / "run")
    run.select(preference=np.array([1.0, 50.0])).save(copy / "array")
    run.select(id=np.int64(1), by="\u00c5. Smith").save(copy / "number")
    assert ff.load(copy / "number").decision["rule"] == {"id": 1}
    for words in ("\udcff", 3, None):
        with pytest.raises(ff.InputError, match="expected a text"):
            run.select(id=1, by=words)


@pytest.mark.slow
def test_a_model_without_a_record_in_the_run_is_reproduced_and_that_is_told(copy: Path) -> None:
    run = ff.load(copy / "run")
    run.select(id=1).save(copy / "python")
    run.model(1).save(copy / "bare")
    for name in ("python", "bare"):
        done = fairfront("verify", copy / name, copy / "run")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "The model was reproduced; the run has no record of the decision." in done.stdout
    edit_arrays(copy / "bare" / "model.npz", lambda a: a.update(coef=a["coef"] * 2))
    reseal(copy / "bare")
    assert fairfront("verify", copy / "bare", copy / "run").returncode == 3
    for change, code in (
        ({"candidates": [3]}, 3),
        ({"notes": 3}, 3),
        ({"rule": []}, 3),
        ({"rule": {"id": 2}}, 3),
        ({"opened": 7}, 3),
        ({"opened": "x"}, 3),
        ({"id": "x"}, 2),
        ({"run": None}, 3),
        ({"run": "0" * 64}, 2),
        ({"small": 0, "rule": {}}, 3),
    ):
        shutil.copytree(copy / "python", copy / "forged")
        edit_json(copy / "forged" / "decision.json", lambda found, change=change: found.update(change))
        reseal(copy / "forged")
        words = ("--data", copy / "loans.csv") if "small" in change else ()
        done = fairfront("verify", copy / "forged", copy / "run", *words)
        assert done.returncode == code, (change, done.stdout, done.stderr)
        shutil.rmtree(copy / "forged")
    assert fairfront("select", copy / "run", "--id", 2, "-o", copy / "other").returncode == 0
    done = fairfront("verify", copy / "python", copy / "run")
    assert done.returncode == 3
    assert "decision 3 of the run is another one, of id 2" in done.stdout
    run.frontier.save(copy / "frontier")
    assert "expected a run or a model" in fairfront("verify", copy / "frontier", copy / "loans.csv").stderr


@pytest.mark.slow
def test_a_run_of_a_data_frame_is_reproduced_from_its_file_and_not_from_another(tmp_path: Path) -> None:
    frame = ff.datasets.load_loans(n=1200, seed=0).frame()
    for name, rows in (("same.csv", frame), ("other.csv", frame.assign(income=frame["income"] + 1.0))):
        rows.to_csv(tmp_path / name, index=False)
    words = {"favourable": "repaid", "groups": "group", "drop": ["applied", "sex"], "n_points": 4}
    run = ff.trace_table(frame, target="outcome", progress=False, **words)
    run.save(tmp_path / "run")
    run.select(id=1, by="A. Smith").save(tmp_path / "model")
    assert fairfront("verify", tmp_path / "model", tmp_path / "run").returncode == 0
    assert fairfront("select", tmp_path / "run", "--id", 2, "-o", tmp_path / "recorded").returncode == 0
    for name, code in (("same.csv", 0), ("other.csv", 3)):
        done = fairfront("verify", tmp_path / "run", tmp_path / name)
        assert done.returncode == code, done.stdout + done.stderr
        assert "a data frame then" in done.stdout
    assert agrees(verify_run(ff.load(tmp_path / "run"), frame, progress=False))


def test_an_edit_that_load_notices_is_a_difference(copy: Path) -> None:
    def removed(file: str) -> Edit:
        return lambda folder: (folder / file).unlink()

    for folder, source, edit in (
        ("run", "loans.csv", EDITS["sentences"][1]),
        ("run", "loans.csv", removed("manifest.json")),
        ("run", "loans.csv", removed("decisions/0001.json")),
        ("run", "loans.csv", lambda folder: (folder / "note.txt").write_text("mine")),
        ("model", "run", MODEL["card"][1]),
        ("model", "run", removed("model.json")),
    ):
        whole = shutil.copytree(copy / folder, copy / "whole")
        edit(copy / folder)
        done = fairfront("verify", copy / folder, copy / source)
        assert done.returncode == 3
        assert len(done.stderr.splitlines()) == 1
        assert str(copy / folder) in done.stderr
        found = json.loads(fairfront("verify", copy / folder, copy / source, "--json").stdout)
        assert not found["same"]
        assert str(copy / folder) in found["checks"][0]["found"]
        shutil.rmtree(copy / folder)
        whole.rename(copy / folder)
    assert fairfront("verify", copy / "none", copy / "loans.csv").returncode == 2


def test_values_are_short_on_a_line_and_whole_in_json(copy: Path) -> None:
    said = "a note " * 30
    edit_json(copy / "run" / "manifest.json", lambda found: found["split"].update(rule=said))
    reseal(copy / "run")
    (only,) = next(check.differences for check in checks_of(copy / "run") if check.what == "manifest.json")
    assert json.loads(only.stored) == said
    assert max(len(part) for part in str(only).split("found ")) < 110
    done = fairfront("verify", copy / "run", copy / "loans.csv", "--json")
    assert said in done.stdout


def test_differences_of_trees_arrays_and_text(tmp_path: Path) -> None:
    for name, found in (("one", [1, 2.0, {"a": None}]), ("two", [1.0, 2.0 + 1e-9, {"a": 0, "b": True}])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.json").write_text(json.dumps(found))
        np.savez(tmp_path / name / "b.npz", x=np.array([np.nan, np.inf, len(found[2])]), y=np.zeros(len(found[2])))
        (tmp_path / name / f"{name}.md").write_text(name)
    found = differences(tmp_path / "one", tmp_path / "two")
    assert found["a.json"] == [
        Difference("a.json", "[0]", "1", "1.0", 2),
        Difference("a.json", "[2].a", "null", "0"),
        Difference("a.json", "[2].b", "nothing", "true"),
    ]
    assert [each.field for each in found["b.npz"]] == ["x[2]", "y"]
    assert found["one.md"] == [Difference("one.md", "file", "a file", "nothing")]
    rounded = differences(tmp_path / "one", tmp_path / "two", tolerance=1e-6)["a.json"]
    assert [each.count for each in rounded] == [1, 1, 1]
    assert str(rounded[2]) == "a.json, [2].b: stored nothing, found true"
    assert differences(tmp_path / "one", tmp_path / "two", free=("*:[2]", "a.json:[0]", "*:[1]"))["a.json"] == []


@pytest.mark.parametrize("mixed", [(), ("b.npz",)])
def test_nothing_is_near_to_an_infinity_but_itself(tmp_path: Path, mixed: tuple[str, ...]) -> None:
    for name, number in (("one", np.inf), ("two", 3.0)):
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / "b.npz", factor=np.array([1.0, number, -np.inf, np.nan]))
    for places in (("one", "two"), ("two", "one")):
        found = differences(*(tmp_path / name for name in places), tolerance=1e-6, mixed=mixed)
        assert [each.field for each in found["b.npz"]] == ["factor[1]"]


def test_numbers_of_mixed_units_are_compared_each_by_itself(tmp_path: Path) -> None:
    for name, small in (("one", 1e-6), ("two", -1e-6)):
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / "b.npz", factor=np.array([1e6, small]))
        (tmp_path / name / "card.md").write_text(f"{'a long sentence about a model ' * 5}AUC {small}")
    places = (tmp_path / "one", tmp_path / "two")
    assert differences(*places, tolerance=1e-6)["b.npz"] == []
    found = differences(*places, tolerance=1e-6, mixed=("b.npz",))
    assert [each.field for each in found["b.npz"]] == ["factor[1]"]
    (line,) = found["card.md"]
    assert json.loads(line.stored) == (tmp_path / "one" / "card.md").read_text()
    assert "AUC 1e-06" in str(line)
    assert "AUC -1e-06" in str(line)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two pairs of keys, as openssl writes them."""
    pytest.importorskip("cryptography", reason="the extra sign is not installed")
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    home = tmp_path_factory.mktemp("keys")
    plain = form.NoEncryption()
    for name in ("ours", "theirs"):
        key = ed25519.Ed25519PrivateKey.generate()
        private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, plain)
        public = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
        (home / f"{name}.pem").write_bytes(private)
        (home / f"{name}.pub").write_bytes(public)
    other = ec.generate_private_key(ec.SECP256R1())
    (home / "other.pem").write_bytes(other.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, plain))
    locked = form.BestAvailableEncryption(b"secret")
    (home / "locked.pem").write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, locked))
    return home


def signature(folder: Path, source: Path, key: Path) -> Check:
    found = ff.load(folder)
    if isinstance(found, ff.TableModel):
        return verify_model(folder, ff.load(source), key=key)[0]
    return verify_run(found, source, progress=False, key=key)[0]


@pytest.mark.slow
def test_a_signature_shows_edits_by_others_and_deleted_decisions(made: Path, keys: Path, tmp_path: Path) -> None:
    run, data, ours = tmp_path / "run", made / "loans.csv", keys / "ours.pem"
    replace(ff.load(made / "run"), decisions=()).save(run, sign=ours)
    said = fairfront("select", run, "--id", 1, "-o", tmp_path / "no").stderr
    assert f"give --sign KEY, or work in a copy of it without {SIGNATURE}." in said
    shutil.copytree(run, tmp_path / "unsigned", ignore=shutil.ignore_patterns(SIGNATURE))
    assert fairfront("select", tmp_path / "unsigned", "--id", 1, "-o", tmp_path / "of-copy").returncode == 0
    for n in (1, 2):
        model = tmp_path / f"model{n}"
        assert fairfront("select", run, "--id", n, "--sign", ours, "-o", model).returncode == 0
        assert signature(model, run, keys / "ours.pub").same
        assert not signature(model, run, keys / "theirs.pub").same
    assert signature(run, data, keys / "ours.pub").same
    assert fairfront("verify", run, data, "--key", keys / "ours.pub").returncode == 0
    assert fairfront("verify", run, data, "--key", keys / "theirs.pub").returncode == 3
    assert "not checked without --key" in fairfront("verify", run, data).stdout
    unsigned = fairfront("verify", made / "run", data, "--key", keys / "ours.pub")
    assert unsigned.returncode == 3
    assert "The run was reproduced, but not signed as asked for (signature: none, expected one" in unsigned.stdout
    if (tool := shutil.which("openssl")) is not None:
        words = f"pkeyutl -verify -pubin -inkey {keys / 'ours.pub'} -rawin -in {CHECKSUMS} -sigfile {SIGNATURE}"
        subprocess.run([tool, *words.split()], cwd=run, check=True, capture_output=True)
    (run / "decisions" / "0002.json").unlink()  # which nothing but the signature shows
    reseal(run)
    assert len(ff.load(run).decisions) == 1
    assert agrees(verify_run(ff.load(run), data, progress=False))
    assert fairfront("verify", run, data, "--key", keys / "ours.pub").returncode == 3


def test_a_record_that_was_added_without_the_key_is_named(made: Path, keys: Path, tmp_path: Path) -> None:
    run, data = tmp_path / "run", made / "loans.csv"
    ff.load(made / "run").save(run, sign=keys / "ours.pem")
    before = {name: (run / name).read_bytes() for name in (CHECKSUMS, SIGNATURE)}
    assert fairfront("select", run, "--id", 1, "--sign", keys / "theirs.pem", "-o", tmp_path / "model").returncode == 0
    for name, data_before in before.items():
        (run / name).write_bytes(data_before)
    assert "does not cover decisions/0003.json" in signature(run, data, keys / "ours.pub").found


@pytest.mark.slow
def test_a_damaged_signature_is_not_one(made: Path, keys: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ff.load(made / "run").save(run, sign=keys / "ours.pem")
    whole = (run / SIGNATURE).read_bytes()
    for damaged in (bytes([whole[0] ^ 1]) + whole[1:], whole[:-1], b"", whole + b"\n"):
        (run / SIGNATURE).write_bytes(damaged)
        assert not signature(run, made / "loans.csv", keys / "ours.pub").same


def test_the_extra_is_named_before_any_work(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    done = fairfront("select", made / "run", "--id", 1, "--sign", tmp_path / "key.pem", "-o", tmp_path / "no")
    assert done.returncode == 2
    assert "fairfront[sign]" in done.stderr


def test_keys_that_cannot_be_used_are_refused_before_any_work(made: Path, keys: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    for key, words in (
        (tmp_path / "none.pem", "cannot be read"),
        (tmp_path, "is not a regular file"),
        (tmp_path / "empty.pem", "is not a private key"),
        (keys / "ours.pub", "is not a private key"),
        (keys / "other.pem", "of another kind"),
        (keys / "locked.pem", "is encrypted"),
    ):
        done = fairfront("select", made / "run", "--id", 1, "--sign", key, "-o", tmp_path / "no")
        assert done.returncode == 2, key
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    for key in (keys / "ours.pem", tmp_path / "none.pem"):
        assert fairfront("verify", made / "run", made / "loans.csv", "--key", key).returncode == 2
