"""Processes of one's own: jobs that may be killed, hang, or run out of disk without harm to the lane."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairfront import InputError
from fairfront.cli import main

DONE, CRASHED, REFUSED = 0, 1, 2
NOBODY = 65534
MARK = "fairfront: "
"""What a refusal begins with, on the command line."""


@dataclass(frozen=True)
class Limits:
    """What a job may use: seconds, further bytes of memory, bytes per file; ``nobody`` takes root's rights away."""

    seconds: int = 120
    memory: int | None = None
    file: int | None = None
    nobody: bool = False

    def apply(self) -> None:
        """Set the limits of this process."""
        signal.alarm(self.seconds)
        if self.memory is not None:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + self.memory, used + self.memory))
        if self.file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.file, self.file))
        if self.nobody and os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)


@dataclass(frozen=True)
class Ended:
    """How a job ended: its exit code (negative: the signal that ended it) and what it said."""

    code: int
    said: str

    @property
    def fault(self) -> str | None:
        """Say what is wrong with an end that is neither success nor a refusal in one sentence."""
        if self.code == -signal.SIGALRM:
            return "it did not end in time"
        if "Traceback" in self.said or self.code not in (DONE, REFUSED, 3):
            return f"it ended with {self.code}: {self.said.strip().splitlines()[-1] if self.said.strip() else ''}"
        if self.code == REFUSED and len(self.said.rpartition(MARK)[2].strip().splitlines()) != 1:
            return f"it was refused in more than one line: {self.said.strip()[:300]}"
        return None


def command(*words: object) -> Callable[[], None]:
    """Return the job of a command."""

    def job() -> None:
        os.environ["COLUMNS"] = "4000"
        sys.argv = ["fairfront", *map(str, words)]
        main()

    return job


def start(job: Callable[[], Any], said: int, limits: Limits | None = None, gate: tuple[int, ...] = ()) -> int:
    """Start a job in a process of its own; everything it says goes to a descriptor.

    A gate is the two sides of a pipe: the job begins when all others have closed it, so that several begin together.
    """
    child = os.fork()
    if child:
        return child
    code = CRASHED
    try:
        code = _done(job, said, limits, gate)
    finally:
        os._exit(code)


def _done(job: Callable[[], Any], said: int, limits: Limits | None, gate: tuple[int, ...]) -> int:
    """Do a job in this process and return its exit code."""
    if gate:
        os.close(gate[1])
        os.read(gate[0], 1)
    if limits is not None:
        limits.apply()
    for stream in (1, 2):
        os.dup2(said, stream)
    sys.stdout = sys.stderr = open(1, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
    code = DONE
    try:
        job()
    except InputError as refused:
        code = REFUSED
        print(f"{MARK}{refused}")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        code = CRASHED
        traceback.print_exc()
    sys.stdout.flush()
    return code


def ends_of(jobs: list[Callable[[], Any]], limits: Limits | None = None) -> list[Ended]:
    """Run jobs at the same time, let go together, and return how each ended."""
    gate, started = os.pipe(), []
    for job in jobs:
        ear, mouth = os.pipe()
        started.append((start(job, mouth, limits or Limits(), gate), ear))
        os.close(mouth)
    for side in gate:
        os.close(side)
    return [_ended(child, ear) for child, ear in started]


def _ended(child: int, ear: int) -> Ended:
    with open(ear, errors="replace") as heard:
        said = heard.read()
    return Ended(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said)


def end_of(job: Callable[[], Any], limits: Limits | None = None) -> Ended:
    """Run one job to its end."""
    return ends_of([job], limits)[0]


def killed(job: Callable[[], Any], moment: float) -> bool:
    """Start a job and kill it at a moment; tell whether it was still at work."""
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        child = start(job, nowhere.fileno())
    until, found, status = time.monotonic() + moment, 0, 0
    while not found and time.monotonic() < until:
        time.sleep(0.001)
        found, status = os.waitpid(child, os.WNOHANG)
    if not found:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if status not in (0, signal.SIGKILL):
        raise RuntimeError(f"a job ended by itself with status {status}")
    return status == signal.SIGKILL
