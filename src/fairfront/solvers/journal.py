"""The journal of what a run has found, from which the same run goes on after a kill.

A run is a program that asks for one answer after the other: plain training, the next point, the next fit. With a
checkpoint every answer is noted in order. A resumed run is the same program from the start: what the journal knows is
given back, the first answer that it lacks is worked out. Weights, multipliers and states of solvers are noted, no
gradients, Hessians, counts or rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError
from ..objectives import Array
from ..objectives.groups import FEWEST
from ..storage.checkpoints import (
    Entry,
    FileLock,
    Fingerprint,
    check_checkpoint,
    read_checkpoint,
    take_lock,
    write_checkpoint,
)
from ..storage.places import remove_leftovers

SHARE = 20.0
"""Writing waits until so many times the last writing have passed: it takes a twentieth of the time at most."""
SAME, TINY = 1e-6, 1e-9
"""How far questions may differ and be the same, relative to themselves and to the largest number in them: sums over
rows differ between machines in their last digits, and steps magnify that."""
NOTHING = np.zeros(0)


class Journal:
    """Answers of a run in the order they were asked for; without a path it keeps nothing.

    When and how often the file is written changes nothing in what a run finds.
    """

    def __init__(
        self,
        path: Path | None = None,
        owner: Fingerprint | None = None,
        known: list[Entry] | None = None,
        lock: FileLock | None = None,
    ) -> None:
        self.path, self._owner, self._lock = path, owner, lock
        self._entries: list[Entry] = known or []
        self._next = 0
        self._noted = False
        self._warned: set[str] = set()
        self._cost, self._written = 0.0, time.monotonic()

    @property
    def keeps(self) -> bool:
        return self.path is not None

    def recall(self, kind: str, asked: NDArray[Any] = NOTHING) -> Entry | None:
        """The answer that comes next, if it is one to this question."""
        if self._next >= len(self._entries):
            return None
        entry = self._entries[self._next]
        if entry.kind != kind or not _same(entry.asked, asked):
            del self._entries[self._next :]
            self._warn(
                "other points",
                f"{self.path} comes to other points than this run from here on, as on another machine or with other "
                "versions of libraries; they are solved again.",
            )
            return None
        self._next += 1
        return entry

    def note(self, kind: str, asked: NDArray[Any], arrays: Mapping[str, NDArray[Any]], **numbers: Any) -> None:
        if self.keeps:
            self._keep(Entry(kind, np.array(asked), arrays, numbers))

    def renew(self, arrays: Mapping[str, NDArray[Any]], **numbers: Any) -> None:
        """Replace the last answer by what it has become."""
        self._next -= 1
        last = self._entries[self._next]
        self._keep(Entry(last.kind, last.asked, arrays, numbers))

    def _keep(self, entry: Entry) -> None:
        copied = {name: np.array(array) for name, array in entry.arrays.items()}  # the run goes on with its own
        self._entries[self._next :] = [replace(entry, arrays=copied)]
        self._next += 1
        self._noted = True
        if time.monotonic() - self._written >= SHARE * self._cost:
            self._write()

    def weights(self, found: Callable[[], Array]) -> Array:
        known = self.recall("fit")
        if known is not None:
            return known.arrays["W"]
        W = found()
        self.note("fit", NOTHING, {"W": W})
        return W

    def seed(self, given: int | None) -> int | None:
        """Drawn once where none was given, because a resumed run has to draw the same numbers."""
        if given is not None or not self.keeps:
            return given
        known = self.recall("seed")
        if known is not None:
            return int(known.numbers["seed"])
        drawn = int(np.random.default_rng().integers(2**31))
        self.note("seed", NOTHING, {}, seed=drawn)
        return drawn

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self._noted:
                self._write()
        finally:
            if self._lock is not None:
                self._lock.release()

    def _write(self) -> None:
        """Write the file; a disk that is full later on is told once, and the run goes on to its result."""
        try:
            self.save()
        except InputError as error:
            self._warn("disk", f"{error} The run goes on; the last checkpoint that was written stays.")

    def save(self) -> None:
        assert self._owner is not None
        begun = time.monotonic()
        self._noted = False
        try:
            write_checkpoint(self.path, self._owner, self._entries)
        finally:
            self._written = time.monotonic()
            self._cost = self._written - begun

    def _warn(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(text, FairfrontWarning, stacklevel=2)


def _same(known: NDArray[Any], asked: NDArray[Any]) -> bool:
    if known.shape != asked.shape:
        return False
    scale = float(np.nanmax(np.abs(known), initial=0.0)) if known.size else 0.0
    return bool(np.allclose(known, asked, rtol=SAME, atol=TINY * scale, equal_nan=True))


def open_journal(path: Any, resume: bool, owner: Callable[[], Fingerprint]) -> Journal:
    """Return the journal of a run: of an earlier one to go on with, a new one, or none without a path.

    A place that cannot be written to, or that another run uses, is an error here, before any work.
    """
    if path is not None or resume is not False:
        check_checkpoint(path, resume)
    if path is None:
        return Journal()
    place = Path(path)
    lock = take_lock(place)
    try:
        ours = owner()
        remove_leftovers(place)
        known: list[Entry] = []
        if place.exists():
            its, known = read_checkpoint(place)
            ours.refuse_other(its, place)
        journal = Journal(place, ours, known, lock)
        journal.save()
        return journal
    except BaseException:
        lock.release()
        raise


def of_few(problem: Any) -> bool:
    """Tell whether some cell of a problem has so few rows that its averages are not written."""
    layout = getattr(problem, "layout", None)
    if layout is None:
        return False
    cells = layout.cells
    counts = np.diff(cells.offsets) if cells.shares is None else cells.shares.sum(axis=1)
    return bool(counts.min() < FEWEST)
