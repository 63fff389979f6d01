"""Limits: work that would take very long or more memory than there is, refused before it begins.

Times are rough: seconds of one core of a machine of 2024, measured on synthetic rows and rounded down, so that a call
is refused when it would take longer than allowed on most machines. What the data alone cost is never refused, because
people do not choose how many rows they have: only options that ask for more than the defaults are. A progress bar and
checkpoints are for the rest.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ..exceptions import InputError
from .linear import DENSE_LIMIT

MEMORY = "FAIRFRONT_MEMORY"
"""Environment variable that sets the memory in gigabytes, to leave room for others or to try things out."""
GIGABYTE = 1e9
UNKNOWN = 8 * GIGABYTE
"""Memory of machines that do not tell."""
CONTAINERS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
TIME = "FAIRFRONT_MINUTES"
"""Environment variable that sets how many minutes a call may take; "inf" allows everything."""
MINUTES = 10.0
SHARE = 0.8
"""Share of the memory that results may take."""
SMALL = 2.56e8
"""Bytes that are always there: less than a process takes anyhow, and than Dask collections that are brought here."""
LEAST = 2e-3
"""Seconds of a solved point, or of a refit of it, however few rows there are."""
PER_ENTRY = 3e-10
"""Seconds per row and pair of weights of a solved point: about three Hessians."""
PER_STEP, PER_PRODUCT = 1e-4, 5e-10
"""Seconds of a first-order step, and per row, weight and run of it."""
PRODUCTS = 300
"""Products of a point where Hessians are not formed."""
ENDLESS = 24 * 3600.0
"""Seconds that a limit on steps may amount to, because runs usually end long before it."""


def memory() -> float:
    """Return the bytes that this process may count on: the machine's, or less where a container or a person says so."""
    text = os.environ.get(MEMORY)
    if text:
        return _number(text, MEMORY, "gigabytes as a number above 0, such as 4", most=sys.float_info.max) * GIGABYTE
    return min([_machine(), *(limit for limit in map(_container, CONTAINERS) if limit is not None)])


def minutes() -> float:
    """Return how many minutes a call may take."""
    text = os.environ.get(TIME)
    return _number(text, TIME, "minutes as a number above 0, such as 60, or inf") if text else MINUTES


def _number(text: str, variable: str, expected: str, most: float = float("inf")) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0.0 < found <= most:
        raise InputError(f"{variable} is {text!r}, expected {expected}.")
    return found


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


def check_time(seconds: float, usual: float, what: str) -> None:
    """Refuse what options make longer than allowed, and longer than ``usual``: the time with the default options."""
    if seconds > max(60.0 * minutes(), usual):
        needed = _plain(1.2 * seconds / 60, 2) if seconds < 1e12 else "inf"
        raise InputError(
            f"{what} would take about {_in_words(seconds)}, expected at most {minutes():g} minutes; ask for less, or "
            f"allow it by the environment variable {TIME}={needed}."
        )


def check_memory(size: float, what: str) -> None:
    """Refuse results that need more memory than there is."""
    room = max(SHARE * memory(), SMALL)
    if size > room:
        raise InputError(
            f"{what} would take about {_plain(size / GIGABYTE)} GB of memory, expected at most "
            f"{_plain(room / GIGABYTE)} GB ({SHARE:.0%} of what there is); ask for less, or say by the "
            f"environment variable {MEMORY} how many gigabytes there are."
        )


def seconds_per_point(problem: Any) -> float:
    """Estimate what a solved point of a linear problem takes."""
    n, size = problem.rows.n, problem.K * problem.d
    return float(LEAST + n * size * (PER_ENTRY * size if size <= DENSE_LIMIT else PRODUCTS * PER_PRODUCT))


def check_points(problem: Any, points: float, usual: float, what: str = "points") -> None:
    """Refuse more solved points than time and memory allow; ``usual`` is how many the defaults may solve."""
    asked, each = f"{_plain(points)} {what}", seconds_per_point(problem)
    check_memory(8.0 * points * problem.K * problem.d * (2 + 2 * problem.layout.k), asked)
    check_time(points * each, usual * each, asked)


def check_steps(problem: Any, runs: int, steps: float, usual: float) -> None:
    """Refuse limits on the steps of first-order runs that amount to days."""
    n, size = problem.rows.n, problem.K * problem.d
    each = PER_STEP + n * size * runs * PER_PRODUCT
    check_time(steps * each, max(ENDLESS, 100.0 * usual * each), f"{runs} runs of {_plain(steps)} steps")


def _in_words(seconds: float) -> str:
    for unit, size in (("years", 365.25 * 86400), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{_plain(seconds / size)} {unit}"
    return f"{_plain(seconds)} seconds"


def _plain(value: float, digits: int = 3) -> str:
    """Return a number with so many digits and zeros after them, not with an exponent."""
    return f"{float(f'{value:.{digits}g}'):.15g}"
