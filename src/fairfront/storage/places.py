"""Places: where something may be written, and the sentences for places where it may not.

Nothing is replaced unless that is asked for, and then only what fairfront itself wrote there. Links, pipes, devices
and sockets are never written to, followed or replaced. Missing folders are not made. What is read of a
folder is all from one state of it, also while a writer replaces it.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..exceptions import InputError, spelled
from ..validation import check_flag, check_path
from .writers import place_of, real, restore

if TYPE_CHECKING:
    from .packages import Inventory

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
HEAD = 1 << 16
"""Bytes at the beginning of a file by which its writer knows it again."""
CHECKSUMS, MANIFEST = "SHA256SUMS", "manifest.json"
SEALED = (CHECKSUMS, MANIFEST)
"""Files of every run and model, whose folders hold nothing else than what fairfront put into them."""
Own = Callable[[bytes], bool]
"""Tells from the beginning of a file whether it is of the kind that a writer writes."""
TRIES = 200
PAUSE = 0.01
"""How often, and after how many seconds, a reader looks again at a folder that is just being replaced."""
Found = TypeVar("Found")


def anything(head: bytes) -> bool:
    """Take every regular file for one's own: for files in folders that only fairfront writes."""
    return True


def check_new_folder(path: Any, inventory: Inventory, overwrite: bool = False) -> None:
    """Refuse a place where no folder can be made, before any work is done for it."""
    check_flag(overwrite, "overwrite")
    target = real(path)
    with told(target):
        check_parent(target)
        check_outside(target)
        mode = _mode(target)
        if mode is None:
            return
        if not stat.S_ISDIR(mode):
            raise InputError(f"{target} is {_named(target, mode)}, expected the name of a folder; {_instead(target)}")
        if not overwrite:
            raise InputError(_exists(target))
        read_folder(target, inventory.check)


def check_new_file(path: Any, overwrite: bool = False, own: Own = anything) -> None:
    """Refuse a place where no file can be written, before any work is done for it."""
    check_flag(overwrite, "overwrite")
    target = real(path)
    with told(target):
        check_parent(target)
        if own is not anything:
            check_outside(target)
        mode = _mode(target)
        if mode is None:
            return
        if not stat.S_ISREG(mode):
            raise InputError(f"{target} is {_named(target, mode)}, expected the name of a file; {_instead(target)}")
        if not overwrite:
            raise InputError(_exists(target))
        head = _head(target)
        if head and not own(head):
            raise InputError(
                f"{target} is not a file that fairfront writes under such a name, and stays, expected one of its own; "
                "choose another name."
            )


def check_parent(target: Path) -> None:
    """Refuse a place in a folder that is not there."""
    if not target.parent.is_dir():
        raise InputError(_no_parent(target))


def check_outside(target: Path) -> None:
    """Refuse a place inside a run or a model, which would not load with a stranger in it."""
    for folder in (target.parent, target.parent.parent):
        if all((folder / name).is_file() for name in SEALED):
            raise InputError(
                f"{target} is inside {folder}, which fairfront wrote and checks as a whole, expected a place outside; "
                "choose another folder."
            )


def _no_parent(target: Path) -> str:
    return f"{target.parent} is not a folder, expected one to write {target.name!r} into; make it first."


def _exists(target: Path) -> str:
    return (
        f"{target} exists already, expected a new name; choose another, or replace it with "
        f"{spelled('overwrite', 'overwrite=True (--overwrite on the command line)')}."
    )


def _mode(target: Path) -> int | None:
    """Return what is there, links as links, or None."""
    try:
        return os.lstat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _named(target: Path, mode: int) -> str:
    kinds = {
        stat.S_IFREG: "a file",
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    if stat.S_ISLNK(mode):
        return f"a link to {os.path.realpath(target)}"
    return kinds.get(stat.S_IFMT(mode), "neither a file nor a folder")


def _instead(target: Path) -> str:
    return "name that place itself, or another." if target.is_symlink() else "choose another name."


def _head(target: Path) -> bytes:
    with target.open("rb") as file:
        return file.read(HEAD)


@contextmanager
def told(target: Path) -> Iterator[None]:
    """Turn errors of the disk into one sentence."""
    try:
        yield
    except OSError as error:
        raise InputError(_sentence(target, error)) from error


def _sentence(path: Path, error: OSError) -> str:
    target = place_of(path)
    if error.errno in FULL:
        return f"{target} was not written because the disk is full; free some space or choose another disk."
    if error.errno in FORBIDDEN:
        return f"{target} was not written because {target.parent} is read-only or not yours; choose another folder."
    if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
        return _exists(target)
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not target.parent.is_dir():
        return _no_parent(target)
    return f"{target} was not written ({error.strerror or error}); choose another place."


def read_folder(path: Any, read: Callable[[Path], Found]) -> Found:
    """Return what ``read`` makes of a folder, all of it from one and the same folder, also while it is replaced."""
    folder = check_path(path)
    for _ in range(TRIES):
        before = _identity(folder)
        if before is None:
            raise InputError(f"{folder} is not a folder, expected one written by fairfront; check the path.")
        try:
            found = read(folder)
        except (InputError, OSError):
            if _identity(folder) == before:
                raise
            continue
        if _identity(folder) == before:
            return found
    raise InputError(f"{folder} is replaced all the time, expected one that stays; read it when its writer has ended.")


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """Return by what a folder is known: another one under the same name has another; None where there is none."""
    for _ in range(TRIES):
        with suppress(OSError):
            if folder.is_dir():
                known = folder.stat()
                return known.st_dev, known.st_ino, known.st_ctime_ns
        if not restore(real(folder)) and not folder.is_dir():
            return None
        time.sleep(PAUSE)
    return None
