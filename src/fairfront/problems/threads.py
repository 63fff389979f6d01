"""Threads: one setting for how many of them fairfront's products may use, so that nothing is oversubscribed.

``FAIRFRONT_THREADS`` is the number of threads of one process. In memory it limits BLAS (left alone when unset). Dask's
local scheduler runs as many partitions at once, each with one BLAS thread; on a cluster the number of threads is that
of Dask's workers, and every task has one BLAS thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

from ..exceptions import InputError

SETTING = "FAIRFRONT_THREADS"


def threads_setting() -> int | None:
    """Return the number of threads that a process may use, None where nobody said."""
    given = os.environ.get(SETTING, "").strip()
    if not given:
        return None
    if not given.isdigit() or int(given) < 1:
        raise InputError(f"{SETTING} is {given!r}, expected a whole number of at least 1, or unset it.")
    return int(given)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks at all loaded libraries, which takes a millisecond


class _Limit:
    """The limit of this process: BLAS libraries have one number for all threads, so the smallest that is asked for."""

    def __init__(self) -> None:
        self.lock, self.asked = Lock(), list[int]()
        self.first: Any = None

    def enter(self, n: int) -> None:
        with self.lock:
            self.asked.append(n)
            limiter = self._set()
            self.first = self.first or limiter

    def leave(self, n: int) -> None:
        with self.lock:
            self.asked.remove(n)
            if self.asked:
                self._set()
            else:
                self.first.restore_original_limits()
                self.first = None

    def _set(self) -> Any:
        return _controller().limit(limits=min(self.asked), user_api="blas")


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
