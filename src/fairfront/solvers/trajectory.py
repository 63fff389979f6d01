"""Trajectories: what a batch of runs has found so far, what it passed, and what a checkpoint keeps of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array
from ..objectives.small_counts import FEWEST
from ..pareto import nondominated
from ..problems import FirstOrder, Point
from ..storage.checkpoints import Entry
from .base import Outcome, Status
from .journal import Journal

EVERY = 25
"""Steps after which a checkpoint takes note of all runs."""
PILED = 20
"""How many times its size an archive may hold before it is thinned: often enough for memory, seldom for time."""


class RunLog:
    """Collects histories and final points of all runs."""

    def __init__(self, algebra: Algebra, point: Point) -> None:
        self.algebra = algebra
        self.W, self.L = point.W.copy(), point.L.copy()
        self.status = [Status.RUNNING] * point.runs
        self.n_iter = np.zeros(point.runs, dtype=np.intp)
        self.history = [[h] for h in algebra.objectives(point.L)]
        self.passes = 1
        self.certificate = np.full(point.runs, np.nan)

    def certify(self, ids: NDArray[np.intp], certificate: Array | None) -> None:
        """Remember the largest certificate of every run."""
        if certificate is not None:
            self.certificate[ids] = np.fmax(self.certificate[ids], certificate)

    def add(self, ids: NDArray[np.intp], h: Array, iteration: int) -> None:
        """Remember the objectives of accepted steps."""
        self.passes += 1
        for run_id, values in zip(ids, h, strict=True):
            self.history[run_id].append(values)
            self.n_iter[run_id] = iteration

    def finish(self, ids: NDArray[np.intp], point: Point, status: list[Status]) -> None:
        """Remember where runs ended and why."""
        self.W[ids], self.L[ids] = point.W, point.L
        for run_id, why in zip(ids, status, strict=True):
            self.status[run_id] = why

    def outcome(self) -> Outcome:
        """Return where all runs ended."""
        history = tuple(np.array(h) for h in self.history)
        h = self.algebra.objectives(self.L)
        return Outcome(self.W, self.L, h, tuple(self.status), self.n_iter, history, self.passes, self.certificate)

    def stored(self, few: bool) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return weights, counts of steps, and histories unless they are `of_few`; cells are evaluated again."""
        arrays = {
            "W": self.W,
            "n_iter": self.n_iter,
            "certificate": self.certificate,
            "lengths": np.array([len(h) for h in self.history]),
        }
        if not few:
            arrays["history"] = np.concatenate([np.array(h) for h in self.history])
        return arrays, {"status": [each.name for each in self.status], "passes": self.passes}

    @classmethod
    def restored(cls, algebra: Algebra, entry: Entry) -> RunLog:
        """Return the log of a checkpoint; cells of ended runs are unknown until the end."""
        log, arrays = cls.__new__(cls), entry.arrays
        log.algebra, log.W, log.n_iter = algebra, arrays["W"].copy(), arrays["n_iter"].copy()
        log.L = np.zeros((len(log.W), len(algebra.p)))
        log.status = [Status[name] for name in entry.numbers["status"]]
        unknown = np.full((int(arrays["lengths"].sum()), algebra.m), np.nan)
        parts = np.split(arrays.get("history", unknown), np.cumsum(arrays["lengths"])[:-1])
        log.history = [list(part) for part in parts]
        log.passes, log.certificate = int(entry.numbers["passes"]), arrays["certificate"].copy()
        return log


class Notes:
    """Notes a batch of runs in a journal and finds it there again."""

    def __init__(self, journal: Journal, target: Any, memory: Archive | None, few: bool) -> None:
        self.journal, self.memory, self.few = journal, memory, few
        self.asked = np.zeros(0) if target is None else np.column_stack([target.pi, target.caps])
        self.noted = self.ended = False

    def begin(self, algebra: Algebra, state: Any) -> tuple[int, RunLog | None, NDArray[np.intp], Any]:
        """Return the step to begin with, the log if one is known, which runs are going, and their state."""
        known = self.journal.recall("runs", self.asked)
        if known is None:
            return 1, None, np.arange(1), state
        self.noted, ids = True, known.arrays["ids"]
        self.ended = not len(ids)
        if self.memory is not None:
            self.memory.restore(known.arrays)
        kept = state if self.ended else state.restored(known.arrays)
        return int(known.numbers["iteration"]), RunLog.restored(algebra, known), ids, kept

    def due(self, iteration: int, begun: int) -> bool:
        """Tell whether the state is noted before this step: at fixed steps, whenever the file is written."""
        return self.journal.keeps and iteration > begun and (iteration - 1) % EVERY == 0

    def note(self, log: RunLog, iteration: int, ids: NDArray[np.intp], state: Any = None) -> None:
        """Note the runs as they are before a step; evaluating them anew is one more pass."""
        log.passes += 1
        arrays, numbers = log.stored(self.few)
        arrays |= {"ids": ids, **({} if state is None else state.stored())}
        arrays |= {} if self.memory is None else self.memory.stored()
        if self.noted:
            self.journal.renew(arrays, iteration=iteration, **numbers)
        else:
            self.journal.note("runs", self.asked, arrays, iteration=iteration, **numbers)
        self.noted = True

    def end(self, log: RunLog, problem: FirstOrder, iteration: int) -> None:
        """Note where all runs ended; the cells there are evaluated together, now and when resumed."""
        if not self.ended:
            self.note(log, iteration, np.zeros(0, dtype=np.intp))
        log.L = problem.cells(log.W).L


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
        self._count = 0

    def add(self, axes: Array, weights: Array) -> None:
        """Offer points: axes (N, a), weights (N, K, d)."""
        self._axes.append(axes)
        self._weights.append(weights)
        self._count += len(axes)
        if self._count > PILED * self.size:
            self._set(*self.points())

    def _set(self, axes: Array, weights: Array) -> None:
        self._axes, self._weights = [axes], [weights]
        self._count = len(axes)

    def points(self) -> tuple[Array, Array]:
        """Return axes and weights of the points that are kept, thinned to ``size``."""
        axes, weights = (np.concatenate(part) for part in (self._axes, self._weights))
        kept = np.flatnonzero(nondominated(axes))
        kept = kept[spread(axes[kept], self.size)]
        return axes[kept], weights[kept]

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return the points for a checkpoint, and go on with just those, as a resumed run has no others."""
        axes, weights = self.points()
        self._set(axes if self._axes_of is None else self._axes_of(weights), weights)
        known = {} if self._axes_of is not None else {"archive.axes": self._axes[0]}
        return {**known, "archive.weights": weights}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from the points of a checkpoint."""
        weights = arrays["archive.weights"]
        self._set(arrays["archive.axes"] if self._axes_of is None else self._axes_of(weights), weights)


def spread(axes: Array, size: int) -> NDArray[np.intp]:
    """Choose at most ``size`` points that cover the others: the ends first, then always the farthest one."""
    if len(axes) <= size:
        return np.arange(len(axes))
    low, high = axes.min(axis=0), axes.max(axis=0)
    scaled = (axes - low) / np.where(high > low, high - low, 1.0)
    chosen = list(dict.fromkeys(int(i) for i in scaled.argmin(axis=0)))[:size]
    distance = np.min([np.abs(scaled - scaled[i]).max(axis=1) for i in chosen], axis=0)
    while len(chosen) < size:
        farthest = int(np.argmax(distance))
        chosen.append(farthest)
        distance = np.minimum(distance, np.abs(scaled - scaled[farthest]).max(axis=1))
    return np.sort(np.array(chosen, dtype=np.intp))


def of_few(problem: Any) -> bool:
    """Tell whether some cell of a problem has so few rows that its averages are not written."""
    layout = getattr(problem, "layout", None)
    if layout is None:
        return False
    cells = layout.cells
    counts = np.diff(cells.offsets) if cells.shares is None else cells.shares.sum(axis=1)
    return bool(counts.min() < FEWEST)
