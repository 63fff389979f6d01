"""Snapshots: what is read of a folder is all from one state of it, also while a writer replaces it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ..exceptions import InputError
from ..validation import check_path
from .leftovers import real, restore

TRIES = 200
PAUSE = 0.01
"""How often, and after how many seconds, a reader looks again at a folder that is just being replaced."""
Found = TypeVar("Found")


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
