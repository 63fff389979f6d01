"""Folders and files that appear whole or not at all: all writing of fairfront goes through here.

Everything is built beside its place under a hidden name (`leftovers`), forced to the disk, and renamed. What has its
final name is complete; what was interrupted is removed, by its own writer or by the next one. What is replaced is there
until the new one is, and readers find one of the two at every moment.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

from .places import Own, anything, check_new_file, check_new_folder, told
from .writers import PARTIAL, REPLACED, beside, in_use, real, remove, remove_leftovers

if TYPE_CHECKING:
    from .packages import Inventory

_one_by_one = Lock()
HERE = -100
"""AT_FDCWD: paths are as the process sees them."""
NO_REPLACE, EXCHANGE = 1, 2
CANNOT = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}
"""What systems and disks answer that do not have it."""


def write_folder(path: Any, fill: Callable[[Path], None], inventory: Inventory, *, overwrite: bool = False) -> Path:
    """Make a folder whose contents ``fill`` writes, and return its path.

    Parameters
    ----------
    path : path
        Where the folder is to be; the folder above it must exist.
    fill : function of a Path
        Writes all files into the empty folder that it is given.
    inventory : Inventory
        What such a folder may hold: only an empty one, or one with these files and no others, is ever replaced.
    overwrite : bool
        Replace a folder that fairfront wrote before. It stays as it is until the new one is complete.
    """
    target = real(path)
    partial = beside(target, PARTIAL)
    with told(target), in_use(target):
        remove_leftovers(target)
        check_new_folder(target, inventory, overwrite)
        remove(partial)
        try:
            partial.mkdir()
            fill(partial)
            _sync_tree(partial)
            with _one_by_one:
                check_new_folder(target, inventory, overwrite)
                _put(partial, target, inventory)
        finally:
            remove(partial)
        _sync(target.parent)
    return Path(path)


def write_file(
    path: Any, data: bytes | str, *, overwrite: bool = False, own: Own = anything, private: bool = False
) -> Path:
    """Write a file in one piece and return its path; text is UTF-8, the rest is as in `writing`."""
    with writing(path, overwrite=overwrite, own=own, private=private) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)
    return Path(path)


def write_numbered(folder: Path, text: str) -> Path:
    """Write a JSON file under the next free number of a folder; of two writers at once, neither loses its own."""
    first = real(folder) / _numbered(1)
    draft = beside(first, PARTIAL)
    with told(first), in_use(first):
        remove_leftovers(first)
        try:
            with _forced(draft) as file:
                file.write(text.encode("utf-8"))
            for number in count(1):
                with suppress(FileExistsError):
                    rename_new(draft, folder / _numbered(number))
                    break
        finally:
            draft.unlink(missing_ok=True)
        _sync(folder)
    return folder / _numbered(number)


def _numbered(number: int) -> str:
    return f"{number:04d}.json"


@contextmanager
def writing(
    path: Any, *, text: bool = False, overwrite: bool = False, own: Own = anything, private: bool = False
) -> Iterator[IO[Any]]:
    """Yield a file to write to piece by piece, which takes its name only when all is written.

    Parameters
    ----------
    path : path
        The folder above it must exist. Nothing but a regular file is ever replaced: no link, pipe, device or socket.
    text : bool
        Text in UTF-8 instead of bytes.
    overwrite : bool
        Replace a file that is there.
    own : function of bytes
        Tells from its beginning whether that file is of the kind that is written here; others stay.
    private : bool
        The file can be read by its owner only.
    """
    target = real(path)
    partial = beside(target, PARTIAL)
    with told(target), in_use(target):
        remove_leftovers(target)
        check_new_file(target, overwrite, own)
        try:
            with _forced(partial, text, private) as file:
                yield file
            check_new_file(target, overwrite, own)
            if overwrite:
                partial.replace(target)
            else:
                rename_new(partial, target)
        finally:
            partial.unlink(missing_ok=True)
        _sync(target.parent)


@contextmanager
def _forced(partial: Path, text: bool = False, private: bool = False) -> Iterator[IO[Any]]:
    """Yield a new file that is on the disk when it is left."""
    how: dict[str, Any] = {"mode": "w", "encoding": "utf-8", "newline": ""} if text else {"mode": "wb"}
    with open(partial, **how, opener=_owners if private else None) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def make_folder(path: Path) -> None:
    """Make a folder inside one that is being written, unless it is there."""
    with told(path):
        path.mkdir(exist_ok=True)


def _owners(path: str, flags: int) -> int:
    """Open a new file that its owner alone may read."""
    return os.open(path, flags, 0o600)


def _put(partial: Path, target: Path, inventory: Inventory) -> None:
    """Rename into place; a folder that is there changes places with the new one, or moves aside for a moment.

    What was put into the old folder since it was checked brings it back.
    """
    if not target.exists():
        partial.rename(target)
    elif exchange(partial, target):
        try:
            inventory.check(partial)
        except BaseException:
            exchange(partial, target)
            raise
    else:
        _put_in_two_steps(partial, target, inventory)


def _put_in_two_steps(partial: Path, target: Path, inventory: Inventory) -> None:
    """Move the old folder aside and the new one into its place; the old one comes back if anything fails."""
    aside = beside(target, REPLACED)
    remove(aside)
    try:
        target.rename(aside)
        inventory.check(aside)
        partial.rename(target)
    except BaseException:
        if aside.exists() and not target.exists():
            aside.rename(target)
        raise
    aside.rename(partial)  # from here on a kill leaves nothing that could be taken for the folder


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


def exchange(one: Path, other: Path) -> bool:
    """Let two things that exist change names in one step; False where the system or the disk cannot."""
    return _renamed(one, other, EXCHANGE)


def rename_new(source: Path, target: Path) -> None:
    """Rename a file to a name that nothing has yet, else FileExistsError; disks without links take the name first."""
    if _renamed(source, target, NO_REPLACE):
        return
    try:
        os.link(source, target)
        source.unlink()
    except OSError as error:
        if error.errno not in CANNOT:
            raise
        os.close(os.open(target, os.O_CREAT | os.O_EXCL))
        source.replace(target)


def _renamed(source: Path, target: Path, flag: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    if call(HERE, os.fsencode(source), HERE, os.fsencode(target), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


@cache
def _renameat2() -> Any:
    """Return the function of the C library, None where it has none."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call
