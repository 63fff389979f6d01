"""Locks: that only one run at a time writes a file; the system lets go of the lock of a run that was killed."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..exceptions import InputError

try:
    import fcntl
except ImportError:  # a system without locks of files: runs of one process are told apart, others are not
    fcntl = None  # type: ignore[assignment]

BUSY = {errno.EACCES, errno.EAGAIN}
_taken: set[str] = set()
_guard = threading.Lock()


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
