"""What a batch of runs leaves behind: statuses, histories and ends, while runs leave the batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..exceptions import UnboundedError
from ..objectives import Algebra, Array
from ..problems import Point
from .base import TOLERANCES, History, Ids, Mask, OnIterate, Outcome, Status

Statuses = NDArray[np.object_]


def all_running(runs: int) -> Statuses:
    """Return the status of runs that go on."""
    # np.full would turn the status into a plain string.
    return np.array([Status.RUNNING] * runs, dtype=object)


def mark(statuses: Statuses, runs: Mask, status: Status) -> None:
    """Set the status of some runs."""
    for run in np.flatnonzero(runs):  # assigning to a mask would turn the status into a plain string
        statuses[run] = status


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Points that some runs reached together, and the directions in which runs left a point."""

    runs: Ids
    rows: Array


class RunLog:
    """What the loop remembers of all runs while some have left the batch."""

    def __init__(self, algebra: Algebra, start: Point, on_iterate: OnIterate | None) -> None:
        R = start.runs
        self.algebra, self.on_iterate = algebra, on_iterate
        self.W, self.L = start.W.copy(), start.L.copy()
        self.status = all_running(R)
        self.n_iter: Ids = np.zeros(R, dtype=np.intp)
        self.passes = 1
        h = algebra.objectives(start.L)
        self.lowest = -TOLERANCES.unbounded * np.maximum(np.abs(h).max(axis=1), 1.0)
        self._objectives = [Arrivals(np.arange(R), h)]
        self._directions: list[Arrivals] = []
        self._tell(0, np.arange(R), start)

    def record(self, iteration: int, runs: Ids, point: Point, directions: Array) -> None:
        """Note a step that runs took: where it led, and the direction it left in."""
        self.passes += 1
        if not len(runs):
            return
        self.n_iter[runs] = iteration
        h = self.algebra.objectives(point.L)
        self._check_bounded(runs, h)
        self._objectives.append(Arrivals(runs, h))
        self._directions.append(Arrivals(runs, directions))
        self._tell(iteration, runs, point)

    def finish(self, runs: Ids, point: Point, status: Statuses, directions: Array) -> None:
        """Note where and why runs ended, and the direction they did not take any more."""
        self.W[runs], self.L[runs], self.status[runs] = point.W, point.L, status
        self._directions.append(Arrivals(runs, directions))

    def outcome(self) -> Outcome:
        """Return what is known of all runs."""
        objectives = _by_run(self._objectives, len(self.W))
        directions = _by_run(self._directions, len(self.W))
        history = tuple(History(h, row[:, :-1], row[:, -1]) for h, row in zip(objectives, directions, strict=True))
        h = self.algebra.objectives(self.L)
        return Outcome(self.W, self.L, h, tuple(self.status), self.n_iter, history, self.passes)

    def _tell(self, iteration: int, runs: Ids, point: Point) -> None:
        if self.on_iterate is not None:
            self.on_iterate(iteration, runs, point)

    def _check_bounded(self, runs: Ids, h: Array) -> None:
        if (h.min(axis=1) < self.lowest[runs]).any():
            raise UnboundedError(
                "objectives fall without bound (below -1e15 after ever longer steps), expected functions "
                "that are bounded below; no efficient point exists: add a penalty or bounds."
            )


def _by_run(arrivals: list[Arrivals], R: int) -> list[Array]:
    """Return the rows of every run, in the order of its steps."""
    runs = np.concatenate([each.runs for each in arrivals])
    rows = np.concatenate([each.rows for each in arrivals])
    order = np.argsort(runs, kind="stable")
    starts = np.searchsorted(runs[order], np.arange(1, R))
    return np.split(rows[order], starts)
