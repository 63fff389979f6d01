"""Folders and files appear whole or not at all, and what was there stays until then."""

from __future__ import annotations

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import fairfront as ff
from fairfront.storage import write_file, write_folder
from fairfront.storage.folders import write_numbered

OLD = "manifest.json"


def fill(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "new.txt").write_text("new")


def hidden(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir() if each.name.startswith(".")]


def test_a_folder_appears_with_all_it_holds(tmp_path) -> None:
    assert write_folder(tmp_path / "run", fill) == tmp_path / "run"
    assert (tmp_path / "run" / "inner" / "new.txt").read_text() == "new"
    assert not hidden(tmp_path)


def test_an_old_folder_is_replaced_only_on_request(tmp_path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / OLD).write_text("fairfront")
    with pytest.raises(ff.InputError, match=r"exists already.*overwrite=True"):
        write_folder(tmp_path / "run", fill)
    write_folder(tmp_path / "run", fill, overwrite=True)
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["inner"]
    assert not hidden(tmp_path)


@pytest.mark.parametrize("name", ["precious.txt", "manifest.json"])
def test_folders_of_other_things_are_never_replaced(tmp_path, name) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / name).write_text("somebody else's")
    with pytest.raises(ff.InputError, match="other things than fairfront writes"):
        write_folder(tmp_path / "home", fill, overwrite=True)
    assert (tmp_path / "home" / name).read_text() == "somebody else's"


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit, MemoryError])
@pytest.mark.parametrize("old", [False, True])
def test_whatever_stops_the_writing_leaves_what_was_there(tmp_path, error, old) -> None:
    if old:
        write_folder(tmp_path / "run", lambda folder: write_file(folder / OLD, "fairfront") and None)

    def broken(folder: Path) -> None:
        fill(folder)
        raise error

    with pytest.raises(error):
        write_folder(tmp_path / "run", broken, overwrite=True)
    assert [p.name for p in tmp_path.rglob("*")] == (["run", OLD] if old else [])


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.EIO, "I/O error")])
def test_the_old_folder_comes_back_when_the_last_rename_fails(tmp_path, monkeypatch, error) -> None:
    write_folder(tmp_path / "run", lambda folder: write_file(folder / OLD, "fairfront") and None)
    real = Path.rename

    def rename(self: Path, target: Any) -> Path:
        if ".partial-" in self.name:
            raise error
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises((KeyboardInterrupt, ff.InputError)):
        write_folder(tmp_path / "run", fill, overwrite=True)
    assert [p.name for p in tmp_path.rglob("*")] == ["run", OLD]


def test_a_link_is_followed_not_replaced(tmp_path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "real")
    write_folder(tmp_path / "run", fill, overwrite=True)
    assert (tmp_path / "run").is_symlink()
    assert (tmp_path / "real" / "inner" / "new.txt").exists()


def test_places_that_cannot_be_written_are_told_in_a_sentence(tmp_path) -> None:
    (tmp_path / "file").write_text("x")
    for path, words in (
        (tmp_path / "none" / "run", "is not a folder, expected one to write 'run' into"),
        (tmp_path / "file", "is a file, expected the name of a folder"),
        (tmp_path / "file" / "run", "is not a folder"),
    ):
        with pytest.raises(ff.InputError, match=words):
            write_folder(path, fill, overwrite=True)
    with pytest.raises(ff.InputError, match="is a folder, expected the name of a file"):
        write_file(tmp_path, "x")
    with pytest.raises(ff.InputError, match="is not a folder"):
        write_file(tmp_path / "none" / "a.txt", "x")
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
        write_folder(tmp_path / "run", fill)
    with pytest.raises(ff.InputError, match=words):
        write_file(tmp_path / "a.txt", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_file_is_replaced_in_one_piece(tmp_path) -> None:
    write_file(tmp_path / "a.txt", "old")
    assert write_file(tmp_path / "a.txt", "n\u00e9w\n") == tmp_path / "a.txt"
    assert (tmp_path / "a.txt").read_bytes() == "n\u00e9w\n".encode()
    write_file(tmp_path / "a.txt", b"\x00\xff")
    assert (tmp_path / "a.txt").read_bytes() == b"\x00\xff"
    assert not hidden(tmp_path)


def test_several_writers_of_numbered_files_keep_theirs(tmp_path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda i: write_numbered(tmp_path, f"by {i}"), range(16)))
    assert sorted(path.name for path in made) == [f"{n:04d}.json" for n in range(1, 17)]
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == sorted(f"by {i}" for i in range(16))
