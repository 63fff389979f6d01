"""The one loop for all first-order solvers: plan, move, evaluate, judge; finished runs leave the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, UnboundedError
from ..objectives import Algebra, Array
from ..problems import FirstOrder, Point
from .status import Status

Mask = NDArray[np.bool_]
OnIterate = Callable[[int, NDArray[np.intp], Point], None]
S = TypeVar("S", bound="State")


@dataclass(frozen=True)
class State:
    """What a solver remembers per run; every field is an array with the runs first."""

    def take(self: S, runs: Mask) -> S:
        """Return the chosen runs."""
        picked: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            picked[field.name] = value.take(runs) if hasattr(value, "by_preference") else value[runs]
        return replace(self, **picked)


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


@dataclass(frozen=True)
class Outcome:
    """Where R runs ended: weights, cells, objectives (R, m), status, steps.

    ``history`` holds the objectives of every accepted iterate of each run, ``passes`` counts passes over the data,
    ``certificate`` (R,) is the largest certificate of any direction taken (NaN where directions have none).
    """

    W: Array
    L: Array
    objectives: Array
    status: tuple[Status, ...]
    n_iter: NDArray[np.intp]
    history: tuple[Array, ...]
    passes: int
    certificate: Array | None = None


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
) -> Outcome:
    """Iterate until every run has stopped."""
    check_needs(problem, solver.needs, solver)
    problem, W, state = solver.prepare(problem, start, target, np.random.default_rng(random_state))
    algebra: Algebra = problem.algebra
    point: Point = problem.cells(W)
    ids = np.arange(point.runs)
    log = _Log(algebra, point)
    _report(on_iterate, 0, ids, point)
    for iteration in range(1, solver.max_iter + 1):
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
    return log.outcome()


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


class _Log:
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
        if certificate is not None:
            self.certificate[ids] = np.fmax(self.certificate[ids], certificate)

    def add(self, ids: NDArray[np.intp], h: Array, iteration: int) -> None:
        self.passes += 1
        for run_id, values in zip(ids, h, strict=True):
            self.history[run_id].append(values)
            self.n_iter[run_id] = iteration

    def finish(self, ids: NDArray[np.intp], point: Point, status: list[Status]) -> None:
        self.W[ids], self.L[ids] = point.W, point.L
        for run_id, why in zip(ids, status, strict=True):
            self.status[run_id] = why

    def outcome(self) -> Outcome:
        history = tuple(np.array(h) for h in self.history)
        h = self.algebra.objectives(self.L)
        return Outcome(self.W, self.L, h, tuple(self.status), self.n_iter, history, self.passes, self.certificate)
