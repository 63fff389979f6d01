"""What a run remembers: the journal from which it goes on after a kill, the points it passed, where its batch is.

A run is a program that asks for one answer after the other: plain training, the next point, the next fit. With a
checkpoint every answer is noted in order. A resumed run is the same program from the start: what the journal knows is
given back, the first answer that it lacks is worked out. Weights, multipliers and states of solvers are noted, no
gradients, Hessians, counts or rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError
from ..objectives import Array
from ..objectives.people import FEWEST
from ..pareto import nondominated, spread
from ..problems import Point
from ..storage.checkpoints import Entry, Fingerprint, check_checkpoint, read_checkpoint, take_lock, write_checkpoint
from ..storage.places import remove_leftovers
from .base import NOTHING, Arrays, Journal, Status, Target

Ids = NDArray[np.intp]
SHARE = 20.0  # writing waits until so many times the last writing have passed: it takes a twentieth of the time at most
SAME, TINY = 1e-6, 1e-9
"""How far questions may differ and be the same, relative to themselves and to the largest number in them: sums over
rows differ between machines in their last digits, and steps magnify that."""
PILED = 20  # how many times its size an archive may hold before it is thinned: often enough for memory, seldom for time


class FileJournal(Journal):
    """A journal with a file; when and how often it is written changes nothing in what a run finds."""

    keeps = True

    def __init__(
        self, path: Path, owner: Fingerprint, known: Sequence[Entry] = (), lock: ExitStack | None = None
    ) -> None:
        self.path, self._owner, self._lock = path, owner, lock
        self._entries = list(known)
        self._next = 0
        self._noted = False
        self._warned: set[str] = set()
        self._cost, self._written = 0.0, time.monotonic()

    def recall(self, kind: str, asked: NDArray[Any] = NOTHING) -> Entry | None:
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

    def note(self, kind: str, asked: NDArray[Any], arrays: Arrays, again: bool = False, **numbers: Any) -> None:
        copied = {name: np.array(array) for name, array in arrays.items()}  # the run goes on with its own
        self._next -= again
        self._entries[self._next :] = [Entry(kind, np.array(asked), copied, numbers)]
        self._next += 1
        self._noted = True
        if time.monotonic() - self._written >= SHARE * self._cost:
            self._write()

    def weights(self, found: Callable[[], Array]) -> Array:
        return self._answer("fit", lambda: {"W": found()})["W"]

    def seed(self, given: int | None) -> int | None:
        """Drawn once where none was given, because a resumed run has to draw the same numbers."""
        if given is not None:
            return given
        return int(self._answer("seed", lambda: {"seed": np.random.default_rng().integers(2**31, size=1)})["seed"][0])

    def _answer(self, kind: str, found: Callable[[], Arrays]) -> Arrays:
        known = self.recall(kind)
        if known is not None:
            return known.arrays
        arrays = found()
        self.note(kind, NOTHING, arrays)
        return arrays

    def __exit__(self, *_: object) -> None:
        try:
            if self._noted:
                self._write()
        finally:
            if self._lock is not None:
                self._lock.close()

    def _write(self) -> None:
        """Write the file; a disk that is full later on is told once, and the run goes on to its result."""
        try:
            self.save()
        except InputError as error:
            self._warn("disk", f"{error} The run goes on; the last checkpoint that was written stays.")

    def save(self) -> None:
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
        journal = FileJournal(place, ours, known, lock)
        journal.save()
        return journal
    except BaseException:
        lock.close()
        raise


class Archive:
    """Keep points that no other dominates on ``axes`` (loss and worst gap per notion).

    When there are more than ``size``, they are thinned by a fixed rule (`spread`), so that equal input gives an
    equal archive whatever the machine. ``axes_of`` finds the axes of weights (N, K, d) where a checkpoint may not keep
    them.
    """

    def __init__(self, size: int, axes_of: Callable[[Array], Array] | None = None) -> None:
        self.size, self._axes_of = size, axes_of
        self._axes: list[Array] = []
        self._weights: list[Array] = []

    def add(self, axes: Array, weights: Array) -> None:
        """Axes (N, a), weights (N, K, d)."""
        self._axes.append(axes)
        self._weights.append(weights)
        if sum(map(len, self._axes)) > PILED * self.size:
            thinned = self.points()
            self._axes, self._weights = [thinned[0]], [thinned[1]]

    def points(self) -> tuple[Array, Array]:
        """Axes and weights, thinned to ``size``."""
        axes, weights = (np.concatenate(part) for part in (self._axes, self._weights))
        kept = np.flatnonzero(nondominated(axes))
        kept = kept[spread(axes[kept], self.size)]
        return axes[kept], weights[kept]

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return the points for a checkpoint, and go on with just those, as a resumed run has no others."""
        axes, weights = self.points()
        arrays = {"archive.weights": weights, **({"archive.axes": axes} if self._axes_of is None else {})}
        self.restore(arrays)
        return arrays

    def restore(self, arrays: Arrays) -> None:
        weights = arrays["archive.weights"]
        axes = arrays["archive.axes"] if self._axes_of is None else self._axes_of(weights)
        self._axes, self._weights = [axes], [weights]


class RunLog:
    """What a batch of runs has found so far, and what a journal keeps of it: ``known`` is what was kept before."""

    def __init__(
        self, problem: Any, W: Array, target: Target | None, journal: Journal, archive: Archive | None
    ) -> None:
        self.journal, self.archive, self.few = journal, archive, of_few(problem)
        self.asked = np.zeros(0) if target is None else np.column_stack([target.pi, target.caps])
        runs, algebra = len(W), problem.algebra
        self.W, self.L = W.copy(), np.zeros((runs, len(algebra.p)))
        self.status, self.n_iter, self.passes = [Status.RUNNING] * runs, np.zeros(runs, dtype=np.intp), 1
        self.history: list[list[Array]] = []
        self.certificate = np.full(runs, np.nan)
        self.known = journal.recall("runs", self.asked)
        self.noted = self.known is not None
        if self.known is not None:
            self._restore(self.known, algebra.m)

    def add(self, ids: Ids, h: Array, iteration: int) -> None:
        self.passes += 1
        self.n_iter[ids] = iteration
        for place, values in zip(ids, h, strict=True):
            self.history[place].append(values)

    def finish(self, ids: Ids, point: Point, status: list[Status]) -> None:
        self.W[ids], self.L[ids] = point.W, point.L
        for place, why in zip(ids, status, strict=True):
            self.status[place] = why

    def note(self, iteration: int, arrays: dict[str, NDArray[Any]]) -> None:
        """With histories unless they are of few rows, without cells: evaluating them anew is one more pass."""
        self.passes += 1
        lengths = np.array([len(h) for h in self.history])
        arrays |= {"W": self.W, "n_iter": self.n_iter, "certificate": self.certificate, "lengths": lengths}
        if not self.few:
            arrays["history"] = np.concatenate([np.array(h) for h in self.history])
        if self.archive is not None:
            arrays |= self.archive.stored()
        numbers = {"iteration": iteration, "status": [each.name for each in self.status], "passes": self.passes}
        self.journal.note("runs", self.asked, arrays, self.noted, **numbers)
        self.noted = True

    def _restore(self, known: Entry, m: int) -> None:
        arrays, numbers = known.arrays, known.numbers
        self.W, self.n_iter, self.certificate = (arrays[name].copy() for name in ("W", "n_iter", "certificate"))
        self.status, self.passes = [Status[name] for name in numbers["status"]], int(numbers["passes"])
        unknown = np.full((int(arrays["lengths"].sum()), m), np.nan)
        parts = np.split(arrays.get("history", unknown), np.cumsum(arrays["lengths"])[:-1])
        self.history = [list(part) for part in parts]
        if self.archive is not None:
            self.archive.restore(arrays)


def of_few(problem: Any) -> bool:
    """Tell whether some cell of a problem has so few rows that its averages are not written."""
    layout = getattr(problem, "layout", None)
    if layout is None:
        return False
    cells = layout.cells
    counts = np.diff(cells.offsets) if cells.shares is None else cells.shares.sum(axis=1)
    return bool(counts.min() < FEWEST)


def journal_of(checkpoint: Any, resume: bool, owner: Callable[[], Fingerprint]) -> Journal:
    """Open the file that takes note of a run, or a journal that keeps nothing where none was asked for."""
    return Journal() if checkpoint is None and resume is False else open_journal(checkpoint, resume, owner)
