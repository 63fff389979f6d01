"""The one loop for all first-order solvers: plan, move, evaluate, judge; finished runs leave the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, UnboundedError
from ..objectives import Algebra, Array
from ..problems import FirstOrder, Point
from .resuming import Journal
from .run_log import Mask, Memory, Outcome, RunLog, State, of_few
from .status import Status

__all__ = ["Mask", "OnIterate", "Outcome", "Plan", "Solver", "State", "check_needs", "run"]

OnIterate = Callable[[int, NDArray[np.intp], Point], None]
EVERY = 25
"""Steps after which a checkpoint takes note of all runs."""


@dataclass(frozen=True)
class Plan:
    """The next move of every run, and the status of those that stop here instead.

    ``certificate`` (R,) of a common descent direction is at most 0, up to rounding, when no objective rises along it
    (Lemma 1): the paper's |d|^2 - min_i <d, g_i> in paper mode, the worst -cos(d, g_i) in `PDO`.
    """

    beta: Array
    status: list[Status]
    memo: Any = None
    certificate: Array | None = None


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
    fallen = problem.algebra.objectives(new.L).min(axis=1) < -1e15
    if fallen.any():
        raise UnboundedError(
            "objectives fall without bound (below -1e15 after ever longer steps), expected functions that are "
            "bounded below; no efficient point exists: add a penalty or bounds."
        )
    return new


def _report(on_iterate: OnIterate | None, iteration: int, ids: NDArray[np.intp], point: Point) -> None:
    if on_iterate is not None and len(ids):
        on_iterate(iteration, ids, point)
