"""Threads: passes over rows use threads of this process, and each of them one thread of BLAS.

BLAS's own threads make the small products of a pass several times slower, and far slower than that beside other work.
So BLAS is limited to one thread while fairfront computes, and segments of rows are shared out among threads instead.
Segments depend on the size of the data only, and their sums are added in the order of the rows: results are the same
bytes on any number of threads.

``FAIRFRONT_THREADS`` is the number of threads of one process. Without it there are as many as the process has cores, or
as BLAS may use where that is less (``OMP_NUM_THREADS``, joblib's workers), at most `MOST`. Dask's local scheduler runs
as many partitions at once, each in one thread; on a cluster the number of threads is that of Dask's workers.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from ..exceptions import InputError

SETTING = "FAIRFRONT_THREADS"
MOST = 8
"""Most threads of a pass unless the setting says more: beyond, they wait for Python's lock and for memory."""

Item = TypeVar("Item")
Found = TypeVar("Found")


def threads_setting() -> int | None:
    """Return the number of threads that a process may use, None where nobody said."""
    given = os.environ.get(SETTING, "").strip()
    if not given:
        return None
    if not given.isdigit() or int(given) < 1:
        raise InputError(f"{SETTING} is {given!r}, expected a whole number of at least 1, or unset it.")
    return int(given)


@cache
def _looked(user_api: str, with_scipy: bool) -> ThreadpoolController:
    return ThreadpoolController().select(user_api=user_api)  # looks at all loaded libraries, which takes milliseconds


def _libraries(user_api: str) -> ThreadpoolController:
    """Return the libraries of this process; SciPy brings a BLAS of its own, later than NumPy."""
    return _looked(user_api, "scipy.linalg" in sys.modules)


@cache
def _cores() -> int:
    from joblib import cpu_count

    return int(cpu_count())


@cache
def _helpers() -> ThreadPoolExecutor:
    """Return threads that wait for work; OpenMP's number of threads, which some BLAS obey, belongs to each of them."""

    def begin() -> None:
        _libraries("openmp").limit(limits=1)

    return ThreadPoolExecutor(64, thread_name_prefix="fairfront", initializer=begin)


class _Limit:
    """The limit of this process: BLAS libraries have one number for all threads, so the smallest that is asked for."""

    def __init__(self) -> None:
        self.lock, self.asked = Lock(), list[int]()
        self.first: Any = None
        self.before: int | None = None

    def enter(self, n: int) -> None:
        with self.lock:
            lowest = min(self.asked, default=None)
            if lowest is None:
                self.before = min((each.num_threads for each in _libraries("blas").lib_controllers), default=None)
            if lowest is None or n < lowest:
                limiter = _libraries("blas").limit(limits=n)
                self.first = self.first or limiter
            self.asked.append(n)

    def leave(self, n: int) -> None:
        with self.lock:
            self.asked.remove(n)
            if not self.asked:
                self.first.restore_original_limits()
                self.first = None
            elif n < min(self.asked):
                _libraries("blas").limit(limits=min(self.asked))


_LIMIT = _Limit()


@contextmanager
def blas_threads(n: int | None = None) -> Iterator[None]:
    """Limit BLAS to n threads, by default to the setting; without either it is left alone.

    Also a decorator. Where limits are nested, or asked for by several threads, the smallest holds.
    """
    limit = threads_setting() if n is None else n
    if limit is None:
        yield
        return
    _LIMIT.enter(limit)
    try:
        yield
    finally:
        _LIMIT.leave(limit)


class _Share:
    """The threads of this process that are in a pass, so that passes of several threads do not take more than all."""

    def __init__(self) -> None:
        self.lock, self.busy = Lock(), 0
        self.here = local()

    def take(self, want: int) -> int:
        """Return how many threads a pass gets, its own included."""
        if want == 1 or getattr(self.here, "alone", False):
            most = 1
        else:
            most = threads_setting() or min(_cores(), _LIMIT.before or MOST, MOST)
        with self.lock:
            got = max(1, min(want, most - self.busy))
            self.busy += got
        return got

    def give(self, got: int) -> None:
        with self.lock:
            self.busy -= got


_SHARE = _Share()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep what this thread does to itself and to one thread of BLAS: others like it run beside it."""
    before, _SHARE.here.alone = getattr(_SHARE.here, "alone", False), True
    try:
        with blas_threads(1):
            yield
    finally:
        _SHARE.here.alone = before


def in_threads(function: Callable[[Item], Found], items: Sequence[Item], want: int) -> list[Found]:
    """Return what a function finds for every item, in their order, in up to ``want`` threads of one BLAS thread each.

    This thread works too, so that nothing waits where the machine has no core to spare.
    """
    with blas_threads(1):
        got = _SHARE.take(min(want, len(items)))
        try:
            return [function(item) for item in items] if got == 1 else _shared(function, items, got)
        finally:
            _SHARE.give(got)


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


def _forked() -> None:
    """Begin anew in a child process: it has none of the threads, and its BLAS is as the parent's was."""
    _helpers.cache_clear()
    _LIMIT.__init__()  # type: ignore[misc]
    _SHARE.__init__()  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
