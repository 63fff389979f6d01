"""Places: where something may be written, the sentences for places where it may not, and what killed writers left.

Nothing is replaced unless that is asked for, and then only what fairfront itself wrote there. Links, pipes, devices
and sockets are never written to, followed or replaced. Missing folders are not made. What is read of a
folder is all from one state of it, also while a writer replaces it.

A writer builds ``.NAME.partial-PID-THREAD``; where the system cannot exchange two folders, the old one stands aside as
``.NAME.replaced-PID-THREAD`` for a moment. The next writer of NAME removes what no living process writes, and whoever
finds no NAME gets back the folder that stood aside.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..exceptions import InputError, spelled
from ..validation import check_flag, check_path

if TYPE_CHECKING:
    from .inventory import Inventory

PARTIAL, REPLACED = "partial", "replaced"
LEFT = re.compile(rf"\.(.+)\.(?:{PARTIAL}|{REPLACED})-(\d+)(?:-\d+)?")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
HEAD = 1 << 16
"""Bytes at the beginning of a file by which its writer knows it again."""
CHECKSUMS, MANIFEST = "SHA256SUMS", "manifest.json"
SEALED = (CHECKSUMS, MANIFEST)
"""Files of every run and model, whose folders hold nothing else than what fairfront put into them."""
KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
Own = Callable[[bytes], bool]
"""Tells from the beginning of a file whether it is of the kind that a writer writes."""
TRIES = 200
PAUSE = 0.01
"""How often, and after how many seconds, a reader looks again at a folder that is just being replaced."""
Found = TypeVar("Found")
_ours: dict[str, Path] = {}
"""What threads of this process are writing now, and the place that it is for."""


def anything(head: bytes) -> bool:
    """Take every regular file for one's own: for files in folders that only fairfront writes."""
    return True


def real(path: Any) -> Path:
    """Resolve all folders; the last part stays as it is, also where it is a link."""
    given = check_path(path)
    if given.name in ("", ".."):
        return Path(os.path.realpath(given))
    return Path(os.path.realpath(given.parent)) / given.name


def check_new_folder(path: Any, inventory: Inventory, overwrite: bool = False) -> None:
    target = real(path)
    with told(target):
        if _is_replaced(target, stat.S_IFDIR, overwrite, outside=True):
            read_folder(target, inventory.check)
        _try_to_write(target)


def check_new_file(path: Any, overwrite: bool = False, own: Own = anything) -> None:
    target = real(path)
    with told(target):
        if _is_replaced(target, stat.S_IFREG, overwrite, outside=own is not anything):
            with target.open("rb") as file:
                head = file.read(HEAD)
            if head and not own(head):
                raise InputError(
                    f"{target} is not a file that fairfront writes under such a name, and stays, expected one of its "
                    "own; choose another name."
                )
        _try_to_write(target)


def _try_to_write(target: Path) -> None:
    """Make and remove something beside a place, so that one that cannot be written is known before the work."""
    draft = beside(target, PARTIAL)
    if str(draft) not in _ours:  # else it is being written
        draft.mkdir()
        draft.rmdir()


def _is_replaced(target: Path, kind: int, overwrite: bool, outside: bool) -> bool:
    """Tell whether there is something at a place, and refuse what may not be replaced with ``kind``."""
    check_flag(overwrite, "overwrite")
    if not target.parent.is_dir():
        raise InputError(_no_parent(target))
    if outside:
        check_outside(target)
    try:
        mode = os.lstat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_IFMT(mode) != kind:
        link = stat.S_ISLNK(mode)
        other = KINDS.get(stat.S_IFMT(mode), "neither a file nor a folder")
        found = f"a link to {os.path.realpath(target)}" if link else other
        remedy = "name that place itself, or another." if link else "choose another name."
        raise InputError(f"{target} is {found}, expected the name of {KINDS[kind]}; {remedy}")
    if not overwrite:
        raise InputError(_exists(target))
    return True


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


@contextmanager
def told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        target = place_of(path)
        said = f"{target} was not written ({error.strerror or error}); choose another place."
        if error.errno in FULL:
            said = f"{target} was not written because the disk is full; free some space or choose another disk."
        elif error.errno in FORBIDDEN:
            said = f"{target} was not written because {target.parent} is read-only or not yours; choose another folder."
        elif error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            said = _exists(target)
        elif error.errno in (errno.ENOENT, errno.ENOTDIR) and not target.parent.is_dir():
            said = _no_parent(target)
        raise InputError(said) from error


def read_folder(path: Any, read: Callable[[Path], Found]) -> Found:
    """Read all from one and the same folder, also while it is replaced."""
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
        if not _restore(real(folder)) and not folder.is_dir():
            return None
        time.sleep(PAUSE)
    return None


def beside(target: Path, what: str) -> Path:
    return target.parent / f".{target.name}.{what}-{os.getpid()}-{threading.get_ident()}"


@contextmanager
def in_use(target: Path) -> Iterator[None]:
    """Keep other threads from taking what this one writes for a place for left over."""
    names = [str(beside(target, what)) for what in (PARTIAL, REPLACED)]
    _ours.update(dict.fromkeys(names, target))
    try:
        yield
    finally:
        for name in names:
            _ours.pop(name, None)


def place_of(path: Path) -> Path:
    """Return the place that a path in what is being written or replaced has for people."""
    for each in (path, *path.parents):
        if str(each) in _ours:
            return _ours[str(each)] / path.relative_to(each)
    return path


def left_of(place: Path) -> str | None:
    """Return the name of what a leftover was to become; None for what is not left over, or is written right now."""
    name = LEFT.fullmatch(place.name)
    return None if name is None or _is_written(place) else name[1]


def remove_leftovers(path: Any) -> None:
    """Remove what killed writers of a place left, bring back what they put aside; what a living one writes stays."""
    target = real(path)
    left = _left(target)
    _restore(target)
    for each in left:
        if not _is_written(each):
            remove(each)


def remove(place: Path) -> None:
    """Remove as far as that is possible."""
    with suppress(OSError):
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


def _restore(target: Path) -> bool:
    """Bring back a folder that a killed writer put aside; tell whether a living one will put another in its place."""
    if os.path.lexists(target):
        return False
    asides = [each for each in _left(target) if f".{REPLACED}-" in each.name]
    dead = [aside for aside in asides if not _is_written(aside)]
    if dead and len(dead) == len(asides):
        with suppress(OSError):
            max(dead, key=lambda aside: aside.stat().st_ctime_ns).rename(target)
    return len(dead) < len(asides)


def _left(target: Path) -> list[Path]:
    try:
        with os.scandir(target.parent) as entries:
            named = [(LEFT.fullmatch(entry.name), Path(entry.path)) for entry in entries]
            return [place for name, place in named if name is not None and name[1] == target.name]
    except OSError:
        return []


def _is_written(left: Path) -> bool:
    """Tell whether a process that lives has the number in the name of a leftover.

    Process 1, and this one's number where no thread writes it, are what an earlier run in a container had.
    """
    if str(left) in _ours:
        return True
    found = LEFT.fullmatch(left.name)
    number = 1 if found is None else int(found[2])
    if number in (1, os.getpid()) or os.name == "nt":  # there, open files stay anyhow
        return False
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it lives, and is somebody else's
        pass
    return True
