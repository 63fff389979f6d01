"""Resources of a call: its threads, its memory and its time; work beyond them is refused before it begins.

Passes over rows use threads of this process, and each of them one thread of BLAS, whose own threads make the small
products of a pass several times slower, and far slower than that beside other work.

``FAIRFRONT_THREADS`` is the number of threads of one process. Without it there are as many as the process has cores, or
as BLAS may use where that is less (``OMP_NUM_THREADS``, joblib's workers), at most `MOST_THREADS`. Dask's local
scheduler runs as many partitions at once, each in one thread; on a cluster it is the number of Dask's workers.

Times are rough: seconds of one core of a machine of 2024, measured on synthetic rows and rounded down, so that a call
is refused when it would take longer than allowed on most machines. What the data alone cost is never refused, because
people do not choose how many rows they have: only options that ask for more than the defaults are.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from threading import Lock, local
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from ..exceptions import InputError
from .point import DENSE_LIMIT

THREADS = "FAIRFRONT_THREADS"
MOST_THREADS = 8
"""Most threads of a pass unless the setting says more: beyond, they wait for Python's lock and for memory."""
MEMORY = "FAIRFRONT_MEMORY"
"""Environment variable that sets the memory in gigabytes, to leave room for others or to try things out."""
GIGABYTE = 1e9
UNKNOWN = 8 * GIGABYTE
"""Memory of machines that do not tell."""
CONTAINERS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
SHARE = 0.8
"""Share of the memory that results may take."""
SMALL = 2.56e8
"""Bytes that are always there: less than a process takes anyhow, and than Dask collections that are brought here."""
TIME = "FAIRFRONT_MINUTES"
"""Environment variable that sets how many minutes a call may take; "inf" allows everything."""
MINUTES = 10.0
LEAST = 2e-3
"""Seconds of a solved point, or of a refit of it, however few rows there are."""
PER_ENTRY = 3e-10
"""Seconds per row and pair of weights of a solved point: about three Hessians."""
PER_STEP, PER_PRODUCT = 1e-4, 5e-10
"""Seconds of a first-order step, and per row, weight and run of it."""
PRODUCTS = 300
"""Products of a point where Hessians are not formed."""
ENDLESS, OFTEN = 24 * 3600.0, 100.0
"""Seconds, and multiple of the usual time, that a limit on steps may amount to: runs usually end long before it."""

Item = TypeVar("Item")
Found = TypeVar("Found")


def _setting(variable: str, expected: str, most: float = float("inf"), whole: bool = False) -> float | None:
    text = os.environ.get(variable, "").strip()
    if not text:
        return None
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0.0 < found <= most or (whole and not text.isdigit()):
        raise InputError(f"{variable} is {text!r}, expected {expected}.")
    return found


def threads_setting() -> int | None:
    said = _setting(THREADS, "a whole number of at least 1, or unset it", most=sys.float_info.max, whole=True)
    return None if said is None else int(said)


@cache
def _libraries(user_api: str) -> ThreadpoolController:
    """Of this process, that of SciPy among them, which `point` imports; to look at all takes milliseconds."""
    return ThreadpoolController().select(user_api=user_api)


_cores = cache(cpu_count)


@cache
def _helpers() -> ThreadPoolExecutor:
    """Return threads that wait for work; OpenMP's number of threads, which some BLAS obey, belongs to each of them."""
    return ThreadPoolExecutor(
        64, thread_name_prefix="fairfront", initializer=lambda: _libraries("openmp").limit(limits=1)
    )


class _Process:
    """What threads share: the limits asked of BLAS, of which the smallest holds, and how many are in a pass."""

    def __init__(self) -> None:
        self.lock, self.asked, self.busy, self.here = Lock(), list[int](), 0, local()
        self.first: Any = None
        self.before: int | None = None

    @contextmanager
    def limited(self, n: int) -> Iterator[None]:
        with self.lock:
            lowest = min(self.asked, default=None)
            if lowest is None:
                self.before = min((each.num_threads for each in _libraries("blas").lib_controllers), default=None)
            if lowest is None or n < lowest:
                limiter = _libraries("blas").limit(limits=n)
                self.first = self.first or limiter
            self.asked.append(n)
        try:
            yield
        finally:
            with self.lock:
                self.asked.remove(n)
                if not self.asked:
                    self.first.restore_original_limits()
                    self.first = None
                elif n < min(self.asked):
                    _libraries("blas").limit(limits=min(self.asked))

    @contextmanager
    def taken(self, want: int) -> Iterator[int]:
        """Tell how many threads a pass gets, its own included: all passes together take no more than all."""
        most = 1
        if want > 1 and not getattr(self.here, "alone", False):
            most = threads_setting() or min(_cores(), self.before or MOST_THREADS, MOST_THREADS)
        with self.lock:
            got = max(1, min(want, most - self.busy))
            self.busy += got
        try:
            yield got
        finally:
            with self.lock:
                self.busy -= got


_PROCESS = _Process()


def _forked() -> None:
    """Begin anew in a child process: it has none of the threads, and its BLAS is as the parent's was."""
    _helpers.cache_clear()
    _PROCESS.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@contextmanager
def blas_threads(n: int | None = None) -> Iterator[None]:
    """Limit BLAS to n threads, by default to the setting; without either it is left alone.

    Also a decorator. Where limits are nested, or asked for by several threads, the smallest holds.
    """
    limit = threads_setting() if n is None else n
    with nullcontext() if limit is None else _PROCESS.limited(limit):
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep what this thread does to itself and to one thread of BLAS: others like it run beside it."""
    here = _PROCESS.here
    before, here.alone = getattr(here, "alone", False), True
    try:
        with blas_threads(1):
            yield
    finally:
        here.alone = before


def in_threads(function: Callable[[Item], Found], items: Sequence[Item], want: int) -> list[Found]:
    """Return what a function finds for every item, in their order, in up to ``want`` threads of one BLAS thread each.

    This thread works too, so that nothing waits where the machine has no core to spare.
    """
    with _PROCESS.limited(1), _PROCESS.taken(min(want, len(items))) as got:
        return [function(item) for item in items] if got == 1 else _shared(function, items, got)


def _shared(function: Callable[[Item], Found], items: Sequence[Item], threads: int) -> list[Found]:
    found: dict[int, Found] = {}
    left, floats = deque(enumerate(items)), np.geterr()

    def work() -> None:
        with np.errstate(**floats):
            while left:
                try:
                    place, item = left.popleft()
                except IndexError:  # another thread was faster
                    return
                found[place] = function(item)

    others = [_helpers().submit(work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        left.clear()
        for other in others:
            if not other.cancel():
                other.result()
    return [found[place] for place in range(len(items))]


def memory() -> float:
    """Return the bytes that this process may count on: the machine's, or less where a container or a person says so."""
    said = _setting(MEMORY, "gigabytes as a number above 0, such as 4", most=sys.float_info.max)
    if said is not None:
        return said * GIGABYTE
    limits = [UNKNOWN]
    with suppress(AttributeError, OSError, ValueError):  # systems that do not tell
        limits = [float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))]
    for file in CONTAINERS:
        with suppress(OSError, ValueError):  # no such file, or the word max
            limits.append(float(file.read_text()))
    return min(limits)


def minutes() -> float:
    return _setting(TIME, "minutes as a number above 0, such as 60, or inf") or MINUTES


def check_time(seconds: float, usual: float, what: str) -> None:
    """Refuse what options make longer than allowed, and longer than ``usual``: the time with the default options."""
    if seconds > max(60.0 * minutes(), usual):
        units = (("years", 365.25 * 86400), ("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
        unit, size = next(((unit, size) for unit, size in units if seconds >= 2 * size), units[-1])
        needed = _plain(1.2 * seconds / 60, 2) if seconds < 1e12 else "inf"
        raise InputError(
            f"{what} would take about {_plain(seconds / size)} {unit}, expected at most {minutes():g} minutes; ask for "
            f"less, or allow it by the environment variable {TIME}={needed}."
        )


def check_memory(size: float, what: str) -> None:
    room = max(SHARE * memory(), SMALL)
    if size > room:
        raise InputError(
            f"{what} would take about {_plain(size / GIGABYTE)} GB of memory, expected at most "
            f"{_plain(room / GIGABYTE)} GB ({SHARE:.0%} of what there is); ask for less, or say by the "
            f"environment variable {MEMORY} how many gigabytes there are."
        )


def check_points(problem: Any, points: float, usual: float, what: str = "points") -> None:
    """Refuse more solved points than time and memory allow; ``usual`` is how many the defaults may solve."""
    n, size, asked = problem.rows.n, problem.K * problem.d, f"{_plain(points)} {what}"
    each = LEAST + n * size * (PER_ENTRY * size if size <= DENSE_LIMIT else PRODUCTS * PER_PRODUCT)
    check_memory(8.0 * points * size * (2 + 2 * problem.layout.k), asked)
    check_time(points * each, usual * each, asked)


def check_steps(problem: Any, runs: int, steps: float, usual: float) -> None:
    each = PER_STEP + problem.rows.n * problem.K * problem.d * runs * PER_PRODUCT
    check_time(steps * each, max(ENDLESS, OFTEN * usual * each), f"{runs} runs of {_plain(steps)} steps")


def _plain(value: float, digits: int = 3) -> str:
    """Zeros after the digits, no exponent."""
    return f"{float(f'{value:.{digits}g}'):.15g}"
