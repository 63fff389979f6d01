"""How much memory this process may use: that of the machine, or less where a container or a person says so."""

from __future__ import annotations

import os
from pathlib import Path

from ..exceptions import InputError

VARIABLE = "FAIRFRONT_MEMORY"
"""Environment variable that sets the memory in gigabytes, to leave room for others or to try things out."""
GIGABYTE = 1e9
UNKNOWN = 8 * GIGABYTE
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def memory() -> float:
    """Return the bytes of memory that this process may count on."""
    asked = os.environ.get(VARIABLE)
    if asked:
        return _gigabytes(asked)
    return min([_machine(), *(limit for limit in map(_container, LIMITS) if limit is not None)])


def _gigabytes(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0.0 < found < float("inf"):
        raise InputError(f"{VARIABLE} is {text!r}, expected gigabytes as a number above 0, such as 4.")
    return found * GIGABYTE


def _machine() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # systems that do not tell
        return UNKNOWN


def _container(limit: Path) -> float | None:
    try:
        return float(limit.read_text())
    except (OSError, ValueError):  # no such file, or the word max
        return None
