"""One list of checksums covers every file of a run and of a model; decision records are a chain."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fairfront as ff
from fairfront.runs.pipeline import write_choice
from fairfront.storage.packages import check_checksums, write_checksums
from fairfront.storage.places import CHECKSUMS
from tests.support.cli import command as fairfront
from tests.support.trial import write_csv

DRAWS = 60


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run, from which a model was chosen twice."""
    home = tmp_path_factory.mktemp("made")
    data = write_csv(ff.datasets.load_loans(n=1200, seed=0).columns, tmp_path_factory.mktemp("rows") / "loans.csv")
    settings = {"favourable": "repaid", "groups": "group", "drop": ["applied", "sex"], "n_points": 4}
    with pytest.warns(ff.GroupWarning):
        ff.trace_table(data, target="outcome", progress=False, **settings).save(home / "run")
    for n, words in enumerate((("--id", 1), ("--knee", "--by", "A. Smith")), start=1):
        assert fairfront("select", home / "run", *words, "-o", home / f"model{n}").returncode == 0
    return home


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "copy")


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_the_list_is_one_that_sha256sum_checks(made: Path) -> None:
    tool = shutil.which("sha256sum")
    if tool is None:
        pytest.skip("this system has no sha256sum")
    for folder in (made / "run", made / "model1"):
        subprocess.run([tool, "--strict", "-c", CHECKSUMS], cwd=folder, check=True, capture_output=True)
        listed = {line.partition("  ")[2] for line in (folder / CHECKSUMS).read_text().splitlines()}
        assert listed == {path.relative_to(folder).as_posix() for path in files(folder)} - {CHECKSUMS}


@pytest.mark.parametrize("name", ["run", "model1"])
def test_a_byte_that_is_changed_anywhere_is_noticed(copy: Path, name: str) -> None:
    rng = np.random.default_rng(0)
    places = files(copy / name)
    for draw in range(DRAWS):
        path = places[draw % len(places)]
        whole = path.read_bytes()
        at, by = int(rng.integers(len(whole))), int(rng.integers(1, 256))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ by]) + whole[at + 1 :])
        with pytest.raises(ff.InputError):
            ff.load(copy / name)
        path.write_bytes(whole)
    ff.load(copy / name)


@pytest.mark.parametrize("name", ["run", "model1"])
def test_files_that_are_missing_added_longer_or_linked_are_named(copy: Path, name: str) -> None:
    folder = copy / name
    for path in files(folder):
        whole = path.read_bytes()
        path.unlink()
        with pytest.raises(ff.InputError, match=r"missing|has no SHA256SUMS|not a folder|not a saved|is not"):
            ff.load(folder)
        path.write_bytes(whole + b"\n")
        with pytest.raises(ff.InputError, match="was changed"):
            ff.load(folder)
        elsewhere = copy / "elsewhere"
        elsewhere.write_bytes(whole)
        path.unlink()
        path.symlink_to(elsewhere)
        with pytest.raises(ff.InputError, match=r"is a link|has no SHA256SUMS"):
            ff.load(folder)
        path.unlink()
        path.write_bytes(whole)
    for stranger in ("notes.txt", "frontier/more.npz"):
        if (folder / stranger).parent.is_dir():
            (folder / stranger).write_text("x")
            with pytest.raises(ff.InputError, match=f"{stranger} is not one of the files"):
                ff.load(folder)
            (folder / stranger).unlink()
    (folder / ".DS_Store").write_text("of the system")
    ff.load(folder)


def test_a_pipe_in_the_place_of_a_file_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    write_checksums(tmp_path)
    assert list(check_checksums(tmp_path)) == ["a"]
    (tmp_path / "a").unlink()
    os.mkfifo(tmp_path / "a")
    with pytest.raises(ff.InputError, match="a link or a device"):
        check_checksums(tmp_path)


def records(run: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted((run / "decisions").glob("*.json"))]


def _delete_first(run: Path) -> None:
    (run / "decisions" / "0001.json").unlink()


def _renumber(run: Path) -> None:
    _delete_first(run)
    (run / "decisions" / "0002.json").rename(run / "decisions" / "0001.json")


def _swap(run: Path) -> None:
    one, two = (run / "decisions" / f"000{n}.json" for n in (1, 2))
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)


def _foreign(run: Path) -> None:
    (run / "decisions" / "0003.json").write_text('{"format": "other"}\n')


def _forged(run: Path) -> None:
    (run / "decisions" / "0003.json").write_bytes((run / "decisions" / "0002.json").read_bytes())


SEQUENCE = {
    "first deleted": (_delete_first, "is missing"),
    "renumbered": (_renumber, "fields of record 1"),
    "swapped": (_swap, "fields of record 1"),
    "not a record": (_foreign, "not a decision record"),
    "copied": (_forged, "fields of record 3"),
}


@pytest.mark.parametrize("name", SEQUENCE)
def test_records_that_were_moved_or_left_out_are_refused(copy: Path, name: str) -> None:
    change, words = SEQUENCE[name]
    change(copy / "run")
    write_checksums(copy / "run")
    with pytest.raises(ff.InputError, match=words):
        ff.load(copy / "run")


def test_deletion_of_the_last_record_shows_in_the_list_alone(copy: Path) -> None:
    (copy / "run" / "decisions" / "0002.json").unlink()
    with pytest.raises(ff.InputError, match=r"0002\.json is missing"):
        ff.load(copy / "run")
    write_checksums(copy / "run")
    assert len(ff.load(copy / "run").decisions) == 1


def test_choices_at_once_wait_for_each_other(copy: Path) -> None:
    run = ff.load(copy / "run")  # as many readers of the same state do
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda n: write_choice(run, copy / f"new{n}", {"id": n % 3}), range(6)))
    found = records(copy / "run")
    assert [record["opened"] for record in found] == list(range(1, 9))
    assert sorted(decision.opened for _, decision in done) == list(range(3, 9))
    for n, (_, decision) in enumerate(done):
        assert f"opened {decision.opened} times" in (copy / f"new{n}" / "card.md").read_text()
        assert json.loads((copy / f"new{n}" / "decision.json").read_text()) == found[decision.opened - 1]
    assert len(ff.load(copy / "run").decisions) == 8
    check_checksums(copy / "run")  # all are listed


KILLED = """
import os, signal, sys
import fairfront.runs.decision_records as records
from fairfront.cli import main
def killed(*given):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(records, sys.argv.pop(1), killed)
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("moment", "kept"), [("write_numbered", 2), ("write_checksums", 3)])
def test_a_kill_while_a_decision_is_recorded_loses_none(copy: Path, moment: str, kept: int) -> None:
    words = [sys.executable, "-c", KILLED, moment, "select", copy / "run", "--id", 2, "-o", copy / "new"]
    assert subprocess.run([str(word) for word in words], check=False).returncode == -signal.SIGKILL
    assert len(ff.load(copy / "run").decisions) == kept
    assert not (copy / "new").exists()
    assert fairfront("select", copy / "run", "--id", 2, "-o", copy / "new").returncode == 0
    assert len(ff.load(copy / "run").decisions) == kept + 1
    check_checksums(copy / "run")


def test_a_copied_run_takes_records_of_its_own(copy: Path) -> None:
    ff.load(copy / "run").save(copy / "other")
    assert fairfront("select", copy / "other", "--id", 2, "-o", copy / "chosen").returncode == 0
    assert [len(ff.load(copy / name).decisions) for name in ("run", "other")] == [2, 3]
    assert ff.load(copy / "other").checksum == ff.load(copy / "run").checksum


def test_a_run_whose_empty_folder_of_records_was_not_copied_takes_a_record(copy: Path) -> None:
    replace(ff.load(copy / "run"), decisions=()).save(copy / "new")
    (copy / "new" / "decisions").rmdir()
    assert fairfront("select", copy / "new", "--id", 1, "-o", copy / "chosen").returncode == 0
    assert len(ff.load(copy / "new").decisions) == 1


def test_a_folder_without_a_list_is_told(copy: Path) -> None:
    for name in ("run", "model1"):
        (copy / name / CHECKSUMS).unlink()
        with pytest.raises(ff.InputError, match="has no SHA256SUMS, expected the list"):
            ff.load(copy / name)


def test_nothing_is_written_into_a_run(copy: Path) -> None:
    run = ff.load(copy / "run")
    model, before = run.select(id=0), files(copy)
    for write in (
        lambda: model.save(copy / "run" / "model"),
        lambda: run.to_html(copy / "run" / "page.html"),
        lambda: run.frontier.save(copy / "run" / "decisions" / "front"),
    ):
        with pytest.raises(
            ff.InputError, match="which fairfront wrote and checks as a whole, expected a place outside"
        ):
            write()
    assert files(copy) == before


def test_records_are_not_replaced(copy: Path) -> None:
    run, before = ff.load(copy / "run"), files(copy)
    with pytest.raises(ff.InputError, match="which replacing it would lose"):
        replace(run, decisions=()).save(copy / "run", overwrite=True)
    assert files(copy) == before
    run.save(copy / "run", overwrite=True)
    assert len(ff.load(copy / "run").decisions) == 2
