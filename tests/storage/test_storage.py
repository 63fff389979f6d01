"""Folders and files appear whole or not at all, and what was there stays until then."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import fairfront as ff
from fairfront.storage import folders, write_file, write_folder
from fairfront.storage.folders import exchange, write_numbered
from fairfront.storage.inventory import Inventory
from fairfront.storage.places import read_folder, remove_leftovers

OLD = "manifest.json"
THING = Inventory("thing", files={OLD: lambda data: data == b"fairfront", "inner/new.txt": lambda data: data == b"new"})


def fill(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "new.txt").write_text("new")


def hidden(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if each.name.startswith(".")]


def old_folder(path: Path) -> Path:
    return write_folder(path, lambda folder: write_file(folder / OLD, "fairfront") and None, THING)


def names(folder: Path) -> list[str]:
    return sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*"))


@pytest.fixture(params=[True, False], ids=["exchanged", "in two steps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Replace folders as Linux can, and as systems do that cannot exchange two names."""
    if not request.param:
        monkeypatch.setattr(folders, "exchange", lambda one, other: False)
    return bool(request.param)


def test_a_folder_appears_with_all_it_holds(tmp_path) -> None:
    assert write_folder(tmp_path / "run", fill, THING) == tmp_path / "run"
    assert (tmp_path / "run" / "inner" / "new.txt").read_text() == "new"
    assert not hidden(tmp_path)


def test_an_old_folder_is_replaced_only_on_request(tmp_path, way) -> None:
    old_folder(tmp_path / "run")
    with pytest.raises(ff.InputError, match=r"exists already.*overwrite=True \(--overwrite"):
        write_folder(tmp_path / "run", fill, THING)
    write_folder(tmp_path / "run", fill, THING, overwrite=True)
    assert names(tmp_path) == ["run", "run/inner", "run/inner/new.txt"]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("thesis.txt", lambda path: path.write_text("dear")),
        (".hidden", lambda path: path.write_text("dear")),
        ("inner/thesis.txt", lambda path: (path.parent.mkdir(), path.write_text("dear"))),
        ("inner/deep", lambda path: (path.mkdir(parents=True), (path / "new.txt").write_text("new"))),
        ("photographs", lambda path: path.mkdir()),
        ("inner/new.txt", lambda path: (path.parent.mkdir(), path.write_text("edited"))),
        ("inner", lambda path: path.symlink_to(path.parent.parent)),
        ("inner/new.txt", lambda path: (path.parent.mkdir(), os.mkfifo(path))),
    ],
)
def test_one_strange_thing_keeps_a_folder(tmp_path, way, name: str, make: Callable[[Path], Any]) -> None:
    old_folder(tmp_path / "run")
    make(tmp_path / "run" / name)
    before = names(tmp_path)
    with pytest.raises(ff.InputError, match=rf"other things than fairfront writes .*\({name}\)"):
        write_folder(tmp_path / "run", fill, THING, overwrite=True)
    assert names(tmp_path) == before


@pytest.mark.parametrize("can", [True, False], ids=["exchanged", "in two steps"])
def test_what_comes_into_the_old_folder_in_the_meantime_keeps_it(tmp_path, monkeypatch, can) -> None:
    """Also between the last look and the exchange."""
    old_folder(tmp_path / "run")

    def late(one: Path, other: Path) -> bool:
        if not (one / "note").exists():
            (other / "note").write_text("dear")
        return can and exchange(one, other)

    monkeypatch.setattr(folders, "exchange", late)
    with pytest.raises(ff.InputError, match=r"/run holds other things .*\(note\)"):
        write_folder(tmp_path / "run", fill, THING, overwrite=True)
    assert names(tmp_path) == ["run", f"run/{OLD}", "run/note"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "I/O error")])
def test_the_old_folder_comes_back_when_it_cannot_be_looked_at_any_more(tmp_path, monkeypatch, way, error) -> None:
    old_folder(tmp_path / "run")
    check = Inventory.check

    def broken(inventory: Inventory, folder: Path) -> None:
        if folder.name.startswith("."):
            raise error
        check(inventory, folder)

    monkeypatch.setattr(Inventory, "check", broken)
    with pytest.raises((KeyboardInterrupt, ff.InputError)):
        write_folder(tmp_path / "run", fill, THING, overwrite=True)
    assert names(tmp_path) == ["run", f"run/{OLD}"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit, MemoryError])
@pytest.mark.parametrize("old", [False, True])
def test_whatever_stops_the_writing_leaves_what_was_there(tmp_path, error, old) -> None:
    if old:
        old_folder(tmp_path / "run")

    def broken(folder: Path) -> None:
        fill(folder)
        raise error

    with pytest.raises(error):
        write_folder(tmp_path / "run", broken, THING, overwrite=True)
    assert names(tmp_path) == (["run", f"run/{OLD}"] if old else [])


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "I/O error")])
def test_the_old_folder_comes_back_when_the_last_rename_fails(tmp_path, monkeypatch, error) -> None:
    old_folder(tmp_path / "run")
    real = Path.rename

    def rename(self: Path, target: Any) -> Path:
        if ".partial-" in self.name:
            raise error
        return real(self, target)

    monkeypatch.setattr(folders, "exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises((KeyboardInterrupt, ff.InputError)):
        write_folder(tmp_path / "run", fill, THING, overwrite=True)
    assert names(tmp_path) == ["run", f"run/{OLD}"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_links_are_neither_followed_nor_replaced(tmp_path, overwrite) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real.txt").write_text("dear")
    for name, there in (("run", "real"), ("a.txt", "real.txt"), ("nowhere", "none")):
        (tmp_path / name).symlink_to(tmp_path / there)
        words = rf"{name} is a link to {tmp_path / there}, expected .*; name that place itself"
        with pytest.raises(ff.InputError, match=words):
            write_folder(tmp_path / name, fill, THING, overwrite=overwrite)
        with pytest.raises(ff.InputError, match=words):
            write_file(tmp_path / name, "new", overwrite=overwrite)
        assert (tmp_path / name).is_symlink()
    assert (tmp_path / "real.txt").read_text() == "dear"
    assert not list((tmp_path / "real").iterdir())
    (tmp_path / "way").symlink_to(tmp_path / "real")
    write_file(tmp_path / "way" / "a.txt", "new")  # a link on the way there is a way like any other
    assert (tmp_path / "real" / "a.txt").read_text() == "new"


def test_what_is_not_a_regular_file_is_never_written_to(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets must be short
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        for name, kind in (("pipe", "a named pipe"), ("socket", "a socket"), (".", "a folder")):
            with pytest.raises(ff.InputError, match=f"is {kind}, expected the name of a file"):
                write_file(name, "x", overwrite=True)
        for name, kind in (("pipe", "a named pipe"), ("socket", "a socket")):
            with pytest.raises(ff.InputError, match=f"is {kind}, expected the name of a folder"):
                write_folder(name, fill, THING, overwrite=True)
    assert names(tmp_path) == ["pipe", "socket"]
    assert (tmp_path / "pipe").is_fifo()


def test_places_that_cannot_be_written_are_told_in_a_sentence(tmp_path) -> None:
    (tmp_path / "file").write_text("x")
    for path, words in (
        (tmp_path / "none" / "run", "is not a folder, expected one to write 'run' into"),
        (tmp_path / "file", "is a file, expected the name of a folder"),
        (tmp_path / "file" / "run", "is not a folder"),
    ):
        with pytest.raises(ff.InputError, match=words):
            write_folder(path, fill, THING, overwrite=True)
    with pytest.raises(ff.InputError, match="is a folder, expected the name of a file"):
        write_file(tmp_path, "x")
    with pytest.raises(ff.InputError, match="is not a folder"):
        write_file(tmp_path / "none" / "a.txt", "x")
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.parametrize(
    ("code", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "read-only"), (errno.EACCES, "read-only")]
)
def test_a_full_or_closed_disk_is_told_and_leaves_nothing(tmp_path, monkeypatch, code, words) -> None:
    write_file(tmp_path / "a.txt", "old")

    def fails(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(ff.InputError, match=words):
        write_folder(tmp_path / "run", fill, THING)
    with pytest.raises(ff.InputError, match=words):
        write_file(tmp_path / "a.txt", "new", overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_file_is_replaced_on_request_and_in_one_piece(tmp_path) -> None:
    write_file(tmp_path / "a.txt", "old")
    with pytest.raises(ff.InputError, match="exists already"):
        write_file(tmp_path / "a.txt", "new")
    with pytest.raises(ff.InputError, match="is not a file that fairfront writes under such a name, and stays"):
        write_file(tmp_path / "a.txt", "new", overwrite=True, own=lambda head: head.startswith(b"new"))
    assert (tmp_path / "a.txt").read_text() == "old"
    assert write_file(tmp_path / "a.txt", "n\u00e9w\n", overwrite=True) == tmp_path / "a.txt"
    assert (tmp_path / "a.txt").read_bytes() == "n\u00e9w\n".encode()
    write_file(tmp_path / "a.txt", b"\x00\xff", overwrite=True, own=lambda head: head == "n\u00e9w\n".encode())
    assert (tmp_path / "a.txt").read_bytes() == b"\x00\xff"
    assert not hidden(tmp_path)


@pytest.fixture(params=["in one step", "by a link", "by its name"])
def new_names(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give files new names as Linux can, as other systems can, and on disks that have no links."""

    def no_links(*names: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if request.param != "in one step":
        monkeypatch.setattr(folders, "_renameat2", lambda: None)
    if request.param == "by its name":
        monkeypatch.setattr(os, "link", no_links)


@pytest.mark.usefixtures("new_names")
@pytest.mark.parametrize("late", [False, True])
def test_a_file_that_appears_in_the_meantime_stays(tmp_path, monkeypatch, late) -> None:
    """Also after the last look."""
    with ExitStack() as stack:
        stack.enter_context(folders.writing(tmp_path / "a.txt")).write(b"new")
        theirs = partial((tmp_path / "a.txt").write_text, "theirs")
        if late:
            monkeypatch.setattr(folders, "check_new_file", lambda *options: theirs())
        else:
            theirs()
        with pytest.raises(ff.InputError, match="exists already"):
            stack.close()
    assert (tmp_path / "a.txt").read_text() == "theirs"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.usefixtures("new_names")
def test_a_new_file_is_written_on_every_system(tmp_path) -> None:
    write_file(tmp_path / "a.txt", "new")
    assert [write_numbered(tmp_path, text).name for text in ("one", "two")] == ["0001.json", "0002.json"]
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "a.txt": "new",
        "0001.json": "one",
        "0002.json": "two",
    }


def test_several_writers_of_numbered_files_keep_theirs(tmp_path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda i: write_numbered(tmp_path, f"by {i}"), range(16)))
    assert sorted(path.name for path in made) == [f"{n:04d}.json" for n in range(1, 17)]
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == sorted(f"by {i}" for i in range(16))


def test_what_killed_writers_of_numbered_files_left_is_removed(tmp_path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left, living = (tmp_path / f".0001.json.partial-{pid}-7" for pid in (process.pid, os.getppid()))
    for each in (left, living):
        each.write_text("half")
    write_numbered(tmp_path, "whole")
    assert names(tmp_path) == sorted([living.name, "0001.json"])


def test_sentences_name_the_place_that_people_know(tmp_path) -> None:
    def full(folder: Path) -> None:
        with folders.writing(folder / "inner.txt"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ff.InputError, match=f"^{tmp_path}/run/inner.txt was not written because the disk is full"):
        write_folder(tmp_path / "run", full, THING)
    assert names(tmp_path) == []


def test_threads_that_write_the_same_folder_do_not_remove_each_others_work(tmp_path, way) -> None:
    old_folder(tmp_path / "run")
    with ThreadPoolExecutor(6) as pool:
        done = [pool.submit(write_folder, tmp_path / "run", fill, THING, overwrite=True) for _ in range(24)]
        for each in done:
            each.result()
    assert names(tmp_path) == ["run", "run/inner", "run/inner/new.txt"]


def test_a_file_that_only_looks_left_over_stays(tmp_path) -> None:
    for name in (
        ".run.partially-1-1",
        "run.partial-1-1",
        ".runs.partial-1-1",
        ".run.partial-notes",
        ".run.replaced-old",
    ):
        (tmp_path / name).write_text("dear")
    remove_leftovers(tmp_path / "run")
    assert len(names(tmp_path)) == 5


def test_a_folder_is_read_from_one_state(tmp_path) -> None:
    """A reader that was between two files when the folder was replaced begins again."""
    old_folder(tmp_path / "run")
    tries = []

    def read(folder: Path) -> list[str]:
        found = names(folder)
        tries.append(found)
        if len(tries) == 1:
            write_folder(folder, fill, THING, overwrite=True)
        if len(tries) == 2:
            write_folder(folder, fill, THING, overwrite=True)
            raise FileNotFoundError
        return found

    assert read_folder(tmp_path / "run", read) == ["inner", "inner/new.txt"]
    assert len(tries) == 3
    with pytest.raises(ff.InputError, match="is not a folder, expected one written by fairfront"):
        read_folder(tmp_path / "none", read)


@pytest.mark.usefixtures("new_names")
def test_a_new_name_is_the_only_one(tmp_path: Path) -> None:
    (tmp_path / "draft").write_bytes(b"new")
    folders.rename_new(tmp_path / "draft", tmp_path / "a.txt")
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_bytes() == b"new"
