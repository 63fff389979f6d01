"""Leftovers: what writers that were killed left beside their place under hidden names, and what is done about it.

A writer builds ``.NAME.partial-PID-THREAD``; where the system cannot exchange two folders, the old one stands aside as
``.NAME.replaced-PID-THREAD`` for a moment. The next writer of NAME removes what no living process writes, and whoever
finds no NAME gets back the folder that stood aside.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import Any

from ..validation import check_path

PARTIAL, REPLACED = "partial", "replaced"
LEFT = re.compile(rf"\.(.+)\.(?:{PARTIAL}|{REPLACED})-(\d+)(?:-\d+)?")
_ours: dict[str, Path] = {}
"""What threads of this process are writing now, and the place that it is for."""


def real(path: Any) -> Path:
    """Return a path whose folders are real; its last part stays as it is, also where it is a link."""
    given = check_path(path)
    if given.name in ("", ".."):
        return Path(os.path.realpath(given))
    return Path(os.path.realpath(given.parent)) / given.name


def beside(target: Path, what: str) -> Path:
    """Return the hidden name beside a place under which this thread writes."""
    return target.parent / f".{target.name}.{what}-{os.getpid()}-{get_ident()}"


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
