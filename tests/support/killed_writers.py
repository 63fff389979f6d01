"""Writers that are killed at every step that changes the disk, and readers beside writers that never stop.

python -m tests.support.killed_writers FOLDER prints as JSON what was found after every kill.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fairfront.storage import folders, read_package, write_file, write_package
from fairfront.storage.folders import write_folder
from fairfront.storage.inventory import Inventory
from fairfront.storage.places import read_folder

KIND = "fairfront thing"
THING = Inventory("thing", {"thing": KIND})
STEPS = (
    *((os, name) for name in ("mkdir", "fsync", "link", "rename", "replace", "unlink", "rmdir")),
    *((folders, name) for name in ("exchange", "rename_new")),
)
"""What changes the disk."""
ROUNDS = 60


def write(path: Path, number: int, overwrite: bool = True) -> None:
    """Write a folder whose two files have to fit each other."""
    arrays = {"number": np.full(3, float(number))}
    write_folder(path, lambda folder: write_package(folder, "thing", KIND, number, arrays), THING, overwrite=overwrite)


def read(path: Path) -> int:
    """Return the number of a folder, whichever it is."""
    number, arrays = read_folder(path, lambda folder: read_package(folder, "thing", KIND))
    assert (arrays["number"] == number).all()
    return int(number)


def names(place: Path) -> list[str]:
    """Return what is in the folder of a place, hidden or not."""
    return sorted(each.name for each in place.parent.iterdir())


def die_at(count: int, calls: Iterable[tuple[Any, str]]) -> None:
    """Kill this process before its next but so many calls of some functions, each given by its owner and its name."""
    left = [count]

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return call

    for owner, name in calls:
        setattr(owner, name, counted(getattr(owner, name)))


def in_child(work: Callable[[], Any]) -> int:
    """Do something in a process of its own and return its status."""
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1]


def killed(work: Callable[[], Any], count: int, calls: Iterable[tuple[Any, str]]) -> bool:
    """Tell whether some work was killed after so many calls; False: it came to its end before."""
    status = in_child(lambda: (die_at(count, calls), work()))
    assert status in (0, signal.SIGKILL), f"ended with {status}"
    return status != 0


def folders_killed(home: Path, old: bool) -> list[dict[str, Any]]:
    """Kill a writer at each of its steps; say what a reader finds then, and what is there after the next writer."""
    found: list[dict[str, Any]] = []
    step, alive = 0, False
    while not alive:
        place = home / f"{old}-{step}" / "run"
        place.parent.mkdir(parents=True)
        if old:
            write(place, 1)
        alive = not killed(partial(write, place, 2), step, STEPS)
        seen = read(place) if old or place.exists() else None
        write(place, 3)
        found.append({"seen": seen, "next": read(place), "left": names(place), "alive": alive})
        step += 1
    return found


def files_killed(home: Path) -> list[dict[str, Any]]:
    """Do the same with a file."""
    found: list[dict[str, Any]] = []
    step, alive = 0, False
    while not alive:
        place = home / f"file-{step}" / "a.txt"
        place.parent.mkdir(parents=True)
        write_file(place, "1")
        alive = not killed(partial(write_file, place, "2", overwrite=True), step, STEPS)
        seen = int(place.read_text())
        write_file(place, "3", overwrite=True)
        after = {"next": int(place.read_text()), "left": names(place), "alive": alive}
        found.append({"seen": seen, **after})
        step += 1
    return found


def read_beside_a_writer(place: Path) -> list[int]:
    """Read a folder as often as possible while another process replaces it; return what was seen, in order."""
    write(place, 0)
    child = os.fork()
    if not child:
        for number in range(1, ROUNDS):
            write(place, number)
        os._exit(0)
    seen = [read(place)]
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        seen.append(read(place))
    return [*seen, read(place)]


if __name__ == "__main__":
    home = Path(sys.argv[1])
    told = {}
    for way, exchange in (("exchanged", folders.exchange), ("in two steps", lambda one, other: False)):
        folders.exchange = exchange
        at = home / way
        told[way] = {
            "old": folders_killed(at, True),
            "new": folders_killed(at, False),
            "file": files_killed(at),
            "readers": read_beside_a_writer(at / "read"),
        }
    print(json.dumps(told))
