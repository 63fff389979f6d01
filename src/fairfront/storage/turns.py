"""Turns: writers that add to one folder do so one after the other; the system ends the turn of one that was killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without locks of files: two writers at once are told apart by the names they take
    fcntl = None  # type: ignore[assignment]


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread has its turn in a folder, and hold it; disks without locks let all in."""
    descriptor = _locked(folder)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _locked(folder: Path) -> int | None:
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
