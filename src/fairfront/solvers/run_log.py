"""What a batch of runs has found so far: histories, ends, and what a checkpoint keeps of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array
from ..objectives.small_counts import FEWEST
from ..problems import Point
from ..storage.checkpoints import Entry
from .status import Status

Mask = NDArray[np.bool_]
S = TypeVar("S", bound="State")


def of_few(problem: Any) -> bool:
    """Tell whether some cell of a problem has so few rows that its averages are not written."""
    layout = getattr(problem, "layout", None)
    if layout is None:
        return False
    cells = layout.cells
    counts = np.diff(cells.offsets) if cells.shares is None else cells.shares.sum(axis=1)
    return bool(counts.min() < FEWEST)


@dataclass(frozen=True)
class State:
    """What a solver remembers per run; every field is an array with the runs first, or a record of such arrays."""

    def take(self: S, runs: Mask) -> S:
        """Return the chosen runs."""
        picked: dict[str, Any] = {}
        for field in fields(self):
            value: Any = getattr(self, field.name)
            inside = is_dataclass(value)
            picked[field.name] = value.take(runs) if inside else value[runs]
        return replace(self, **picked)

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return _arrays(self, "state")

    def restored(self: S, arrays: Mapping[str, NDArray[Any]]) -> S:
        """Return a state of the same kind with the arrays of `stored`."""
        found: S = _filled(self, "state", arrays)
        return found


def _arrays(record: Any, name: str) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for field in fields(record):
        value, inner = getattr(record, field.name), f"{name}.{field.name}"
        found |= _arrays(value, inner) if is_dataclass(value) else {inner: value}
    return found


def _filled(record: Any, name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    filled: dict[str, Any] = {}
    for field in fields(record):
        value, inner = getattr(record, field.name), f"{name}.{field.name}"
        filled[field.name] = _filled(value, inner, arrays) if is_dataclass(value) else arrays[inner]
    return replace(record, **filled)


class Memory(Protocol):
    """Something beside the runs that remembers what they passed, and belongs into a checkpoint with them."""

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return what is to be kept, made small; from here on it goes on with just that."""
        ...

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what was kept."""
        ...


@dataclass(frozen=True)
class Outcome:
    """Where R runs ended: weights, cells, objectives (R, m), status, steps.

    ``history`` holds the objectives of every accepted iterate of each run, ``passes`` counts passes over the data,
    ``certificate`` (R,) is the largest certificate of any direction taken (NaN where directions have none). Where a gap
    is one of fewer than `FEWEST` rows, a checkpoint keeps no history: in a resumed run, steps before it are NaN.
    """

    W: Array
    L: Array
    objectives: Array
    status: tuple[Status, ...]
    n_iter: NDArray[np.intp]
    history: tuple[Array, ...]
    passes: int
    certificate: Array | None = None


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
