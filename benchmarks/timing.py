"""Timing as ratios in one run: medians of alternating repetitions, so that a slow spell hits all sides."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np


def medians(repeats: int, **jobs: Callable[[], object]) -> dict[str, float]:
    """Return the median seconds of each job; jobs take turns."""
    for job in jobs.values():
        job()
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - start)
    return {name: float(np.median(found)) for name, found in seconds.items()}
