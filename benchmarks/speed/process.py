"""Measuring: jobs that take turns, and calls in a process of their own."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..report import ROOT


def medians(
    repeats: int,
    jobs: dict[str, Callable[[], object]],
    clock: Callable[[], float] = time.perf_counter,
    first: int = 1,
    calls: int = 1,
) -> dict[str, float]:
    """Return the median seconds of a call of each job; jobs take turns, so that a slow spell hits all of them.

    The ``first`` turns do not count; every turn makes so many ``calls``.
    """
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(first + repeats):
        for name, job in jobs.items():
            start = clock()
            for _ in range(calls):
                job()
            if turn >= first:
                seconds[name].append((clock() - start) / calls)
    return {name: float(np.median(found)) for name, found in seconds.items()}


def apart(function: Callable[..., Any], *arguments: Any, **environment: str) -> Any:
    """Call a function of a module in a fresh process and return what it found, which JSON must be able to hold."""
    call = f"import json; from {function.__module__} import {function.__name__} as job; print(json.dumps(job(*{arguments!r})))"
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as script:  # Dask spawns its workers from a file
        script.write(f"if __name__ == '__main__':\n    {call}")
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        done = subprocess.run(
            [sys.executable, script.name],
            env={**os.environ, **environment, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        Path(script.name).unlink()
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def peak() -> int:
    """Return the most memory that this process has used, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
