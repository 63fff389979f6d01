"""Threads: a function of segments of rows in several threads, each with one thread of BLAS.

The threads of BLAS make the small products of a pass several times slower, and far slower than that beside other work.
A pass has as many threads as the process has cores, or as BLAS may use where that is less (``OMP_NUM_THREADS``,
joblib's workers), at most `MOST_THREADS`. Results come in the order of the segments: the same bytes on any threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock, local
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count
from scipy import linalg as linalg  # its BLAS has to be loaded before it can be limited
from threadpoolctl import ThreadpoolController

MOST_THREADS = 8
"""Most threads of a pass: beyond, they wait for Python's lock and for memory."""

Item = TypeVar("Item")
Found = TypeVar("Found")


@cache
def _libraries(user_api: str) -> ThreadpoolController:
    """Return the libraries of this process; to look for them takes milliseconds."""
    return ThreadpoolController().select(user_api=user_api)


def _release_control() -> None:
    """Let any thread set the limits of OpenBLAS, which threadpoolctl leaves to the thread that set them first."""
    for library in _libraries("blas").lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


class _Limit:
    """One thread of BLAS for all callers: the first sets it, the last restores what was there before."""

    limiter: Any

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.lock, self.callers, self.before = Lock(), 0, MOST_THREADS

    def enter(self) -> None:
        with self.lock:
            if self.callers == 0:
                threads = [library.num_threads for library in _libraries("blas").lib_controllers]
                self.before = min(threads, default=MOST_THREADS)
                _release_control()
                self.limiter = _libraries("blas").limit(limits=1)
            self.callers += 1

    def leave(self) -> None:
        with self.lock:
            self.callers -= 1
            if self.callers == 0:
                _release_control()
                self.limiter.restore_original_limits()
                _release_control()


_LIMIT, _HERE = _Limit(), local()
_cores = cache(cpu_count)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; also a decorator."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep what this thread does to itself and to one thread of BLAS: others like it run beside it."""
    before, _HERE.alone = getattr(_HERE, "alone", False), True
    try:
        with one_blas_thread():
            yield
    finally:
        _HERE.alone = before


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Return threads that wait for work; of OpenMP, which some BLAS obey, each has a number of its own."""
    return ThreadPoolExecutor(
        n_threads, thread_name_prefix="fairfront", initializer=lambda: _libraries("openmp").limit(limits=1)
    )


def in_threads(function: Callable[[Item], Found], items: Sequence[Item], want: int) -> list[Found]:
    """Return what a function finds for every item, in their order; in several threads where ``want`` is above 1."""
    floats = np.geterr()

    def work(item: Item) -> Found:
        with one_thread(), np.errstate(**floats):
            return function(item)

    with one_blas_thread():
        n_threads = min(_cores(), _LIMIT.before, MOST_THREADS)
        if min(want, len(items), n_threads) < 2 or getattr(_HERE, "alone", False):
            return [function(item) for item in items]
        return list(_pool(n_threads).map(work, items))


def _forked() -> None:
    """Begin anew in a child process: it has none of the threads, and its BLAS is as the parent's was."""
    _pool.cache_clear()
    _LIMIT.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
