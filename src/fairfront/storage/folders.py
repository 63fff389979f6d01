"""Folders and files that appear whole or not at all.

Everything is built beside its place under a hidden name (``.NAME.partial-PID-THREAD``), forced to the disk, and
renamed. What has its final name is complete; what was interrupted is removed, or stays hidden if even that was
impossible.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import IO, Any

from ..exceptions import InputError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
MARKS = ("manifest.json", "model.json", "frontier.json")
"""One of these is in every folder that fairfront writes; folders without any are never replaced."""


def write_folder(path: Any, fill: Callable[[Path], None], *, overwrite: bool = False) -> Path:
    """Make a folder whose contents ``fill`` writes, and return its path.

    Parameters
    ----------
    path : path
        Where the folder is to be; the folder above it must exist.
    fill : function of a Path
        Writes all files into the empty folder that it is given.
    overwrite : bool
        Replace a folder that fairfront wrote before. It stays as it is until the new one is complete.
    """
    target = _real(path)
    partial = _beside(target, "partial")
    with _told(target):
        check_new_folder(target, overwrite)
        shutil.rmtree(partial, ignore_errors=True)
        try:
            partial.mkdir()
            fill(partial)
            _sync_tree(partial)
            check_new_folder(target, overwrite)
            _put(partial, target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        _sync(target.parent)
    return Path(path)


def write_file(path: Any, data: bytes | str, *, private: bool = False) -> Path:
    """Write a file in one piece, in the place of one that may be there, and return its path; text is UTF-8.

    A ``private`` file can be read by its owner only.
    """
    with writing(path, private=private) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)
    return Path(path)


def write_numbered(folder: Path, text: str) -> Path:
    """Write a JSON file under the next free number of a folder; of two writers at once, neither loses its own."""
    draft = write_file(folder / f".draft-{os.getpid()}-{get_ident()}", text)
    with _told(folder):
        try:
            number = 1
            while True:
                target = folder / f"{number:04d}.json"
                try:
                    os.link(draft, target)
                    return target
                except FileExistsError:
                    number += 1
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def writing(path: Any, *, text: bool = False, private: bool = False) -> Iterator[IO[Any]]:
    """Yield a file to write to piece by piece, which takes its name only when all is written; text is UTF-8."""
    target = _real(path)
    partial = _beside(target, "partial")
    with _told(target):
        if target.is_dir():
            raise InputError(f"{target} is a folder, expected the name of a file; choose another name.")
        try:
            how: dict[str, Any] = {"mode": "w", "encoding": "utf-8", "newline": ""} if text else {"mode": "wb"}
            with open(partial, **how, opener=_owners if private else None) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        _sync(target.parent)


def _owners(path: str, flags: int) -> int:
    """Open a new file that its owner alone may read."""
    return os.open(path, flags, 0o600)


def _real(path: Any) -> Path:
    """Return the place that links lead to, so that a link is never replaced by what it should point at."""
    return Path(os.path.realpath(path))


def _beside(target: Path, what: str) -> Path:
    return target.parent / f".{target.name}.{what}-{os.getpid()}-{get_ident()}"


def check_new_folder(path: Any, overwrite: bool = False) -> None:
    """Refuse a place where no folder can be made, before any work is done for it."""
    target = _real(path)
    check_parent(target)
    if target.is_dir():
        if not overwrite:
            raise InputError(f"{target} exists already, expected a new name; choose another or pass overwrite=True.")
        if not _replaceable(target):
            raise InputError(f"{target} holds other things than fairfront writes, and stays; choose another name.")
    elif target.exists():
        raise InputError(f"{target} is a file, expected the name of a folder; choose another name.")


def check_parent(target: Path) -> None:
    """Refuse a place in a folder that is not there."""
    if not target.parent.is_dir():
        raise InputError(_no_parent(target))


def _no_parent(target: Path) -> str:
    return f"{target.parent} is not a folder, expected one to write {target.name!r} into; make it first."


def _replaceable(target: Path) -> bool:
    """Tell whether a folder is empty or was written by fairfront; somebody's home is neither."""
    there = [target / mark for mark in MARKS if (target / mark).is_file()]
    return any(b"fairfront" in mark.read_bytes() for mark in there) or not any(target.iterdir())


def _put(partial: Path, target: Path) -> None:
    """Rename into place; a folder that is there moves aside first and comes back if anything fails."""
    if not target.exists():
        partial.rename(target)
        return
    aside = _beside(target, "replaced")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        target.rename(aside)
        partial.rename(target)
    except BaseException:
        if aside.exists() and not target.exists():
            aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """Turn errors of the disk into one sentence."""
    try:
        yield
    except OSError as error:
        raise InputError(_sentence(target, error)) from error


def _sentence(target: Path, error: OSError) -> str:
    if error.errno in FULL:
        return f"{target} was not written because the disk is full; free some space or choose another disk."
    if error.errno in FORBIDDEN:
        return f"{target} was not written because {target.parent} is read-only or not yours; choose another folder."
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not target.parent.is_dir():
        return _no_parent(target)
    return f"{target} was not written ({error}); choose another place."


def _sync_tree(folder: Path) -> None:
    for each in sorted(folder.rglob("*"), reverse=True):
        _sync(each)
    _sync(folder)


def _sync(path: Path) -> None:
    """Force what was written to the disk; systems that cannot do so for folders are left in peace."""
    if path.is_dir():
        with suppress(OSError):
            _fsync(path)
    elif path.is_file():
        _fsync(path)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
