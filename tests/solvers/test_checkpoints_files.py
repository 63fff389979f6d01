"""Files of checkpoints: places that cannot be used, disks that fill up, damage; and the same on the command line."""

from __future__ import annotations

import csv
import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import fairfront as ff
from fairfront.cli import app
from fairfront.runs import Settings
from fairfront.solvers import journal
from fairfront.storage.checkpoints import take_lock
from fairfront.storage.places import remove_leftovers
from tests.support.killed_runs import digest_of, rows
from tests.support.places import environment


def traced(path: Path | None, **settings: Any) -> str:
    X, y, group = rows(600, 5)
    known: dict[str, Any] = {"sensitive_features": group, "n_points": 5, "progress": False}
    return digest_of(ff.trace(X, y, checkpoint=path, **known, **settings), X)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    traced(tmp_path / "run.checkpoint")
    return tmp_path / "run.checkpoint"


def test_a_run_is_not_overwritten(written: Path) -> None:
    before = written.read_bytes()
    with pytest.raises(ff.InputError, match=r"exists already.*resume=True \(--resume on the command line\)"):
        traced(written)
    assert written.read_bytes() == before


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (".", "is a folder, expected the name of a file"),
        ("nowhere/run.checkpoint", "nowhere is not a folder"),
        ("run.checkpoint/more", "run.checkpoint is not a folder"),
    ],
)
def test_places_that_cannot_be(path: str, sentence: str, written: Path) -> None:
    with pytest.raises(ff.InputError, match=sentence):
        traced(written.parent / path, resume=True)


def test_resuming_needs_a_path() -> None:
    with pytest.raises(ff.InputError, match="resume needs a checkpoint, found None"):
        traced(None, resume=True)


@pytest.mark.parametrize(("size", "sentence"), [(None, "is damaged"), (30, "is damaged"), (8, "not a checkpoint")])
def test_torn_files_are_told(size: int | None, sentence: str, written: Path) -> None:
    whole = written.read_bytes()
    for end in range(60, len(whole), 397) if size is None else [size]:
        written.write_bytes(whole[:end])
        with pytest.raises(ff.InputError, match=sentence):
            traced(written, resume=True)


def test_changed_files_are_told(written: Path) -> None:
    whole, rng = written.read_bytes(), np.random.default_rng(0)
    for place in rng.integers(90, len(whole), 20):
        written.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ff.InputError, match="damaged or was changed"):
            traced(written, resume=True)


def test_files_of_others_are_told(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for text, sentence in (("buy milk\n", "not a checkpoint"), ("fairfront checkpoint 9\n", "another version")):
        path.write_text(text)
        with pytest.raises(ff.InputError, match=sentence):
            traced(path, resume=True)
        assert path.read_text() == text


def test_what_is_not_a_regular_file_is_told_and_stays(written: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(written)
    for name, words in (("pipe", "pipe is a named pipe, expected"), ("link", "link is a link to .*run.checkpoint")):
        for resume in (False, True):
            with pytest.raises(ff.InputError, match=rf"^[^ ]*{words}"):
                traced(tmp_path / name, resume=resume)
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link").is_symlink()


def test_a_sentence_is_not_told_inside_another(written: Path) -> None:
    for path, words in ((written, "exists already"), (written / "a", "is not a folder"), (written.parent, "a folder")):
        with pytest.raises(ff.InputError, match=words) as told:
            traced(path)
        assert "is not the name of a file" not in str(told.value)


@pytest.mark.parametrize("path", [1, True, b"run.checkpoint", "", "a\0b", "x" * 300, 2.5])
def test_what_is_no_name_of_a_file(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ff.InputError, match=r"^checkpoint is ") as told:
        traced(path)
    assert len(str(told.value)) < 200
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def dead() -> int:
    """Return the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_only_its_owner_can_read_it(written: Path) -> None:
    assert os.name == "nt" or stat.S_IMODE(written.stat().st_mode) == 0o600


def test_two_runs_do_not_share_a_file(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither two threads nor two processes; what a dead one left of its lock is taken over and removed."""
    code = "import sys; from fairfront.storage.checkpoints import take_lock; lock = take_lock(sys.argv[1]); print(1)"
    command = [sys.executable, "-c", f"{code}; sys.stdout.flush(); sys.stdin.read()", str(written)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"1\n"
        with pytest.raises(ff.InputError, match=r"another run uses .*run\.checkpoint right now"):
            traced(written, resume=True)
        other.kill()
    assert [each.name for each in written.parent.iterdir()].count(".run.checkpoint.lock") == 1
    lock = take_lock(written)
    with pytest.raises(ff.InputError, match="another run uses"):
        traced(written, resume=True)
    lock.close()
    lock.close()
    traced(written, resume=True)
    assert [each.name for each in written.parent.iterdir()] == ["run.checkpoint"]
    monkeypatch.setattr("fairfront.storage.checkpoints.fcntl", None)
    traced(written, resume=True)


def test_what_living_processes_write_stays(written: Path, dead: int) -> None:
    parent = written.with_name(f".{written.name}.partial-{os.getppid()}-5")
    mine, theirs = (written.with_name(f".{written.name}.partial-{pid}-5") for pid in (os.getpid(), dead))
    for each in (parent, mine, theirs):
        each.write_text("half")
    remove_leftovers(written)
    assert [each.exists() for each in (parent, mine, theirs)] == [os.getppid() != 1, False, False]


def test_what_a_kill_left_is_removed_and_never_read(written: Path, dead: int) -> None:
    whole = traced(None)
    left = written.with_name(f".{written.name}.partial-{dead}")
    left.write_bytes(written.read_bytes()[:100])
    beside = written.with_name(f".other.checkpoint.partial-{dead}")
    beside.write_text("of another run")
    assert traced(written, resume=True) == whole
    assert not left.exists()
    assert beside.exists()


@pytest.mark.parametrize(
    ("number", "sentence"), [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "read-only"), (errno.EIO, "not written")]
)
def test_disks_that_refuse(number: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start it is an error before any work; later a warning, once, and the run comes to its end."""
    whole, calls = traced(None), [0]

    def refuses(*_: Any) -> None:
        calls[0] += 1
        if calls[0] > allowed:
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fairfront.storage.folders.os.fsync", refuses)
    monkeypatch.setattr(journal, "SHARE", 0.0)
    allowed = 0
    with monkeypatch.context() as patch:
        patch.setattr("fairfront.problems.LinearProblem.fit", None)
        with pytest.raises(ff.InputError, match=sentence):
            traced(tmp_path / "run.checkpoint")
    assert list(tmp_path.iterdir()) == []
    allowed, calls[0] = 7, 0
    with pytest.warns(ff.FairfrontWarning, match=f"{sentence}.*The run goes on") as told:
        assert traced(tmp_path / "run.checkpoint") == whole
    assert len(told) == 1
    monkeypatch.undo()
    assert traced(tmp_path / "run.checkpoint", resume=True) == whole


def test_a_real_limit_on_the_size_of_files(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="this system has no limits on the size of files")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    try:
        with pytest.raises(ff.InputError, match="because the disk is full"):
            traced(tmp_path / "run.checkpoint")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_yours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(ff.InputError, match=r"was not written because .* is read-only or not yours"):
        traced(tmp_path / "run.checkpoint")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y, group = rows(1200, 4)
    path = tmp_path_factory.mktemp("table") / "people.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["x0", "x1", "x2", "x3", "income", "group", "paid"])
        for row, label, name in zip(X, y, group, strict=True):
            writer.writerow(
                [*np.round(row, 4), round(3.0 * row[0] + label + row[1], 3), name, "yes" if label else "no"]
            )
    return path


CLASSES = ("--target", "paid", "--favourable", "yes", "--groups", "group", "--drop", "income", "--stability", "0")


def command(*words: object) -> Any:
    return CliRunner().invoke(app, ["trace", *(str(word) for word in words)])


@pytest.mark.slow
def test_the_command_goes_on(table: Path, tmp_path: Path) -> None:
    kept = ("--checkpoint", tmp_path / "run.checkpoint", "--resume")
    first = command(table, *CLASSES, *kept, "-o", tmp_path / "first")
    assert first.exit_code == 0, first.exception
    again = command(table, *CLASSES, *kept, "-o", tmp_path / "again")
    plain = command(table, *CLASSES, "-o", tmp_path / "plain")
    assert again.exit_code == plain.exit_code == 0
    files = sorted(each.relative_to(tmp_path / "first") for each in (tmp_path / "first").rglob("*") if each.is_file())
    numbers = [each for each in files if each.suffix == ".npz"]
    assert numbers
    for each in numbers:
        data = (tmp_path / "first" / each).read_bytes()
        assert (tmp_path / "again" / each).read_bytes() == (tmp_path / "plain" / each).read_bytes() == data
    assert b"run.checkpoint" not in (tmp_path / "first" / "manifest.json").read_bytes()


def test_the_command_refuses_before_it_reads(table: Path, tmp_path: Path) -> None:
    (tmp_path / "run.checkpoint").write_text("something")
    run = ("-o", tmp_path / "run")
    exists = command(tmp_path / "missing.csv", *CLASSES, *run, "--checkpoint", tmp_path / "run.checkpoint")
    assert "--resume on the command line" in str(exists.exception)
    assert "resume needs a checkpoint" in str(command(table, *CLASSES, *run, "--resume").exception)


@pytest.mark.slow
def test_tables_go_on_in_python(table: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    settings: dict[str, Any] = {"target": "paid", "favourable": "yes", "groups": "group", "drop": "income"}
    settings |= {"stability": 0, "progress": False, "model": "boosting", "max_fits": 3}
    first = ff.trace_table(table, checkpoint=path, **settings)
    again = ff.trace_table(table, checkpoint=path, resume=True, **settings)
    np.testing.assert_array_equal(first.frontier.objectives, again.frontier.objectives)
    with pytest.raises(ff.InputError, match=r"other settings \(search\)"):
        ff.trace_table(table, checkpoint=path, resume=True, **{**settings, "max_fits": 4})


def test_numbers_have_a_notion_of_their_own(table: Path, tmp_path: Path) -> None:
    words = ("--target", "income", "--loss", "squared", "--groups", "group", "--drop", "paid", "--stability", "0")
    done = command(table, *words, "--points", 3, "-o", tmp_path / "run")
    assert done.exit_code == 0, done.exception
    assert ff.load(tmp_path / "run").frontier.facts.notions == ("disparate_mistreatment",)
    assert Settings(target="a", groups=("b",), loss="squared").notion == ("disparate_mistreatment",)


def test_groups_that_are_too_small_are_told_in_the_words_of_the_command(table: Path, tmp_path: Path) -> None:
    done = command(table, *CLASSES, "--min-size", 700, "-o", tmp_path / "run")
    assert "lower min_size (--min-size on the command line)" in str(done.exception)
