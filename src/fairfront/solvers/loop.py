"""The one loop for all first-order solvers: plan, move, evaluate, judge; finished runs leave the batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, UnboundedError
from ..objectives import Algebra, Array
from ..objectives.small_counts import FEWEST
from ..problems import FirstOrder, Point
from ..storage.checkpoints import Entry
from .base import Mask, Outcome, Plan, State, Status
from .journal import Journal

OnIterate = Callable[[int, NDArray[np.intp], Point], None]
EVERY = 25
"""Steps after which a checkpoint takes note of all runs."""
UNBOUNDED = -1e15
"""Objectives below this fall for ever: no loss of finite data gets there."""


class Solver(Protocol):
    """Frozen hyper-parameters and pure functions of (algebra, point, state)."""

    @property
    def max_iter(self) -> int:
        """Return the largest number of steps."""
        ...

    @property
    def needs(self) -> tuple[type, ...]:
        """Return the capabilities that the problem must have."""
        ...

    def prepare(self, problem: Any, start: Array | None, target: Any, rng: Any) -> tuple[Any, Array, State]:
        """Return the problem to iterate on, the starting weights (R, K, d) and the first state."""
        ...

    def plan(self, algebra: Algebra, point: Point, state: Any) -> tuple[Plan, Any]:
        """Decide the move of every run from (L, Q) alone."""
        ...

    def judge(self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: Any) -> tuple[Mask, Any]:
        """Say which moves are taken, and adapt."""
        ...


def check_needs(problem: object, needs: tuple[type, ...], solver: object) -> None:
    """Refuse a problem that lacks what the solver needs, naming it."""
    missing = [need.__name__ for need in needs if not isinstance(problem, need)]
    if missing:
        raise InputError(
            f"{type(solver).__name__} needs {', '.join(n.__name__ for n in needs)}, "
            f"{type(problem).__name__} lacks {', '.join(missing)}; use another solver."
        )


def run(
    problem: Any,
    solver: Solver,
    start: Array | None = None,
    target: Any = None,
    on_iterate: OnIterate | None = None,
    random_state: int | np.random.Generator | None = None,
    journal: Journal | None = None,
    memory: Memory | None = None,
) -> Outcome:
    """Iterate until every run has stopped.

    With a ``journal`` that keeps, the state is noted after every `EVERY` steps together with that of ``memory``, and
    runs go on from what was noted: their cells are evaluated anew, as a resumed run has to do.
    """
    check_needs(problem, solver.needs, solver)
    problem, W, state = solver.prepare(problem, start, target, np.random.default_rng(random_state))
    algebra: Algebra = problem.algebra
    kept = _Keeping(journal or Journal(), target, memory, of_few(problem))
    begun, log, ids, state = kept.begin(algebra, state)
    if log is None:
        point: Point = problem.cells(W)
        log, ids = RunLog(algebra, point), np.arange(point.runs)
        _report(on_iterate, 0, ids, point)
    elif len(ids):
        point = problem.cells(log.W[ids])
    for iteration in range(begun, solver.max_iter + 1) if len(ids) else ():
        if kept.due(iteration, begun):
            log.W[ids] = point.W
            kept.note(log, iteration, ids, state)
            point = problem.cells(point.W)
        plan, state = solver.plan(algebra, point, state)
        log.certify(ids, plan.certificate)
        going = np.array([status is Status.RUNNING for status in plan.status])
        if not going.all():
            log.finish(ids[~going], point.take(~going), [s for s in plan.status if s is not Status.RUNNING])
            ids, point, state = ids[going], point.take(going), state.take(going)
            plan = Plan(plan.beta[going], [Status.RUNNING] * int(going.sum()), _take(plan.memo, going))
        if not len(ids):
            break
        new = _evaluate(problem, point, plan)
        taken, state = solver.judge(algebra, point, new, plan, state)
        point = new.where(taken, point)
        log.add(ids[taken], algebra.objectives(point.L[taken]), iteration)
        _report(on_iterate, iteration, ids[taken], point.take(taken))
    if len(ids):
        plan, state = solver.plan(algebra, point, state)
        log.finish(ids, point, [Status.LIMIT if s is Status.RUNNING else s for s in plan.status])
    if kept.journal.keeps:
        kept.end(log, problem, solver.max_iter + 1)
    return log.outcome()


class _Keeping:
    """Notes a batch of runs in a journal and finds it there again."""

    def __init__(self, journal: Journal, target: Any, memory: Memory | None, few: bool) -> None:
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


def _take(memo: Any, runs: Mask) -> Any:
    return None if memo is None else {key: value[runs] for key, value in memo.items()}


def _evaluate(problem: FirstOrder, point: Point, plan: Plan) -> Point:
    new = problem.cells(problem.move(point, plan.beta))
    fallen = problem.algebra.objectives(new.L).min(axis=1) < UNBOUNDED
    if fallen.any():
        raise UnboundedError(
            "objectives fall without bound (below -1e15 after ever longer steps), expected functions that are "
            "bounded below; no efficient point exists: add a penalty or bounds."
        )
    return new


def _report(on_iterate: OnIterate | None, iteration: int, ids: NDArray[np.intp], point: Point) -> None:
    if on_iterate is not None and len(ids):
        on_iterate(iteration, ids, point)


class Memory(Protocol):
    """Something beside the runs that remembers what they passed, and belongs into a checkpoint with them."""

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return what is to be kept, made small; from here on it goes on with just that."""
        ...

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what was kept."""
        ...


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


def of_few(problem: Any) -> bool:
    """Tell whether some cell of a problem has so few rows that its averages are not written."""
    layout = getattr(problem, "layout", None)
    if layout is None:
        return False
    cells = layout.cells
    counts = np.diff(cells.offsets) if cells.shares is None else cells.shares.sum(axis=1)
    return bool(counts.min() < FEWEST)
