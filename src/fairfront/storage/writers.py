"""Writers at work: locks, turns, and what killed ones left.

A writer builds ``.NAME.partial-PID-THREAD``; where the system cannot exchange two folders, the old one stands aside as
``.NAME.replaced-PID-THREAD`` for a moment. The next writer of NAME removes what no living process writes, and whoever
finds no NAME gets back the folder that stood aside. Only one run at a time writes a file (`take_lock`), and those that
add to one folder do so one after the other (`turn`); the system ends the lock of a writer that was killed.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from ..validation import check_path

try:
    import fcntl
except ImportError:  # a system without locks of files: runs of one process are told apart, others are not
    fcntl = None  # type: ignore[assignment]

PARTIAL, REPLACED = "partial", "replaced"
LEFT = re.compile(rf"\.(.+)\.(?:{PARTIAL}|{REPLACED})-(\d+)(?:-\d+)?")
_ours: dict[str, Path] = {}
"""What threads of this process are writing now, and the place that it is for."""
BUSY = {errno.EACCES, errno.EAGAIN}
_taken: set[str] = set()
_guard = threading.Lock()


def real(path: Any) -> Path:
    """Return a path whose folders are real; its last part stays as it is, also where it is a link."""
    given = check_path(path)
    if given.name in ("", ".."):
        return Path(os.path.realpath(given))
    return Path(os.path.realpath(given.parent)) / given.name


def beside(target: Path, what: str) -> Path:
    """Return the hidden name beside a place under which this thread writes."""
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
    restore(target, left)
    for each in left:
        if not _is_written(each):
            remove(each)


def remove(place: Path) -> None:
    """Remove a file or a folder that is ours, as far as that is possible."""
    with suppress(OSError):
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


def restore(target: Path, left: Sequence[Path] | None = None) -> bool:
    """Bring back a folder that a killed writer put aside; tell whether a living one will put another in its place."""
    if os.path.lexists(target):
        return False
    asides = [each for each in (_left(target) if left is None else left) if f".{REPLACED}-" in each.name]
    dead = [aside for aside in asides if not _is_written(aside)]
    if dead and len(dead) == len(asides):
        with suppress(OSError):
            max(dead, key=lambda aside: aside.stat().st_ctime_ns).rename(target)
    return len(dead) < len(asides)


def _left(target: Path) -> list[Path]:
    """Return what writers of a place have beside it."""
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


class FileLock:
    """A hidden empty file beside another one, locked from `take_lock` to `release` and then removed.

    Locks of the system are one per process, so that a child of a killed run keeps none; threads are told apart here.
    """

    def __init__(self, place: Path, descriptor: int | None) -> None:
        self.place, self._descriptor = place, descriptor

    def release(self) -> None:
        """Let other runs take the file; the second time does nothing."""
        with _guard:
            if str(self.place) not in _taken:
                return
            _taken.discard(str(self.place))
            if self._descriptor is not None:
                _drop(self.place)
                os.close(self._descriptor)


def take_lock(path: Any) -> FileLock:
    """Return the lock of a file, or say that another run has it."""
    target = Path(os.path.realpath(path))
    place = target.with_name(f".{target.name}.lock")
    with _guard:
        if str(place) in _taken:
            raise _in_use(target)
        try:
            descriptor = None if fcntl is None else _locked(place)
        except OSError as error:
            if error.errno in BUSY and place.exists() and os.access(place, os.W_OK):
                raise _in_use(target) from error
            raise InputError(f"{target} cannot be written beside {place.name} ({error}); choose another.") from error
        _taken.add(str(place))
        return FileLock(place, descriptor)


def _locked(place: Path) -> int | None:
    """Return the open file with the lock; None on disks that have no locks."""
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(place, descriptor):
                return descriptor
        except OSError as error:
            os.close(descriptor)
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
            _drop(place)
            return None
        os.close(descriptor)


def _drop(place: Path) -> None:
    """Remove a lock, which is empty; a file of that name with anything in it is somebody's own."""
    with suppress(OSError):
        if not place.stat().st_size:
            place.unlink()


def _is_still(place: Path, descriptor: int) -> bool:
    """Tell whether the file that was locked has its name still: the run before removes it when it ends."""
    try:
        return os.path.samestat(os.fstat(descriptor), place.stat())
    except FileNotFoundError:
        return False


def _in_use(target: Path) -> InputError:
    return InputError(
        f"another run uses {target} right now, expected one run per checkpoint; wait for its end, or choose another "
        "path."
    )


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread has its turn in a folder, and hold it; disks without locks let all in."""
    descriptor = _locked_folder(folder)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked_folder(folder: Path) -> int | None:
    """Return the open folder with the lock; one that was replaced while this writer waited is opened again."""
    while fcntl is not None:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # locks are not kept here
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), folder.stat()):
                return descriptor
        os.close(descriptor)
    return None
