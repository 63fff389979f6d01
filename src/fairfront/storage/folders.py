"""Folders and files that appear whole or not at all: all writing of fairfront goes through here.

Everything is built beside its place under a hidden name (`places`), forced to the disk, and renamed. What has its
final name is complete; what was interrupted is removed, by its own writer or by the next one. What is replaced is there
until the new one is, and readers find one of the two at every moment. Those that add to one folder do so one after the
other (`turn`); the system ends the lock of a writer that was killed.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Any

from .places import (
    PARTIAL,
    REPLACED,
    Own,
    anything,
    beside,
    check_new_file,
    check_new_folder,
    in_use,
    real,
    remove,
    remove_leftovers,
    told,
)

try:
    import fcntl as fcntl
except ImportError:  # a system without locks of files: runs of one process exclude each other, others do not
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from .inventory import Inventory

HERE = -100
"""AT_FDCWD: paths are as the process sees them."""
NO_REPLACE, EXCHANGE = 1, 2
CANNOT = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}
"""What systems and disks answer that cannot rename so."""
_one_by_one = Lock()


def write_folder(path: Any, fill: Callable[[Path], None], inventory: Inventory, *, overwrite: bool = False) -> Path:
    """Make a folder whose contents ``fill`` writes, and return its path.

    Only an empty folder, or one with the files of ``inventory`` and no others, is ever replaced; it stays as it is
    until the new one is complete.
    """
    with _drafted(path) as (target, partial):
        check_new_folder(target, inventory, overwrite)
        partial.mkdir()
        fill(partial)
        for each in (*sorted(partial.rglob("*"), reverse=True), partial):
            _sync(each)
        with _one_by_one:
            check_new_folder(target, inventory, overwrite)
            _put(partial, target, inventory)
    return Path(path)


@contextmanager
def _drafted(path: Any) -> Iterator[tuple[Path, Path]]:
    """Yield a place and a name beside it to build under, which nothing has, before and after."""
    target = real(path)
    partial = beside(target, PARTIAL)
    with told(target), in_use(target):
        remove_leftovers(target)
        remove(partial)
        try:
            yield target, partial
        finally:
            remove(partial)
        _sync(target.parent)


def write_file(
    path: Any, data: bytes | str, *, overwrite: bool = False, own: Own = anything, private: bool = False
) -> Path:
    """Write in one piece; text is UTF-8, the rest is as in `writing`."""
    with writing(path, overwrite=overwrite, own=own, private=private) as file:
        file.write(data.encode("utf-8") if isinstance(data, str) else data)
    return Path(path)


def write_numbered(folder: Path, text: str) -> Path:
    """Take the next free number of a folder; of two writers at once, neither loses its own."""
    with _drafted(folder / "0001.json") as (_, draft):
        with _forced(draft) as file:
            file.write(text.encode("utf-8"))
        for name in (folder / f"{number:04d}.json" for number in count(1)):
            with suppress(FileExistsError):
                rename_new(draft, name)
                break
    return name


@contextmanager
def writing(
    path: Any, *, text: bool = False, overwrite: bool = False, own: Own = anything, private: bool = False
) -> Iterator[IO[Any]]:
    """Yield a file to write to piece by piece, which takes its name only when all is written.

    Nothing but a regular file is ever replaced: no link, pipe, device or socket, nor one that ``own`` does not know by
    its beginning. ``private`` files can be read by their owner only.
    """
    with _drafted(path) as (target, partial):
        check_new_file(target, overwrite, own)
        with _forced(partial, text, private) as file:
            yield file
        check_new_file(target, overwrite, own)
        if overwrite:
            partial.replace(target)
        else:
            rename_new(partial, target)


@contextmanager
def _forced(partial: Path, text: bool = False, private: bool = False) -> Iterator[IO[Any]]:
    """Yield a new file that is on the disk when it is left."""
    how: dict[str, Any] = {"mode": "w", "encoding": "utf-8", "newline": ""} if text else {"mode": "wb"}
    opener = (lambda name, flags: os.open(name, flags, 0o600)) if private else None
    with open(partial, **how, opener=opener) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def make_folder(path: Path) -> None:
    with told(path):
        path.mkdir(exist_ok=True)


def _put(partial: Path, target: Path, inventory: Inventory) -> None:
    """Rename into place; a folder that is there changes places with the new one, or moves aside for a moment.

    What was put into the old folder since it was checked brings it back, as does anything that fails.
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


def _sync(path: Path) -> None:
    """Force to the disk; systems that cannot do so for folders are left in peace."""
    with suppress(OSError) if path.is_dir() else ExitStack():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def exchange(one: Path, other: Path) -> bool:
    """Let two things change names in one step; False where the system or the disk cannot."""
    return _renamed(one, other, EXCHANGE)


def rename_new(source: Path, target: Path) -> None:
    """Raise FileExistsError where something has the name; disks without links take the name first."""
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
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    call.restype = ctypes.c_int
    return call


def is_still(place: Path, descriptor: int) -> bool:
    """Tell whether what was locked has its name still: another may have removed or replaced it meanwhile."""
    try:
        return os.path.samestat(os.fstat(descriptor), place.stat())
    except FileNotFoundError:
        return False


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread has its turn in a folder; disks without locks let all in."""
    with ExitStack() as held:
        while fcntl is not None:
            held.callback(os.close, descriptor := os.open(folder, os.O_RDONLY))
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            except OSError:  # locks are not kept here
                break
            if is_still(folder, descriptor):
                break
            held.close()
        yield
