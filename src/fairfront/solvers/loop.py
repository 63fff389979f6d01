"""The one loop for all first-order solvers: plan, move, evaluate, judge; finished runs leave the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, UnboundedError
from ..objectives import Algebra, Array
from ..pareto import nondominated, spread
from ..problems import LinearProblem, Point
from ..validation import refuse
from .base import Mask, OnPoint, Path, Request, Solved, Solver, Status, Target, check_needs
from .hard_points import polished

KEPT = 100  # points on the way that are kept where nothing else is asked for
UNBOUNDED = -1e15  # objectives below this fall for ever: no loss of finite data gets there
ENOUGH = 1e-4  # share of the promised decrease that a step has to keep (Armijo's rule)
PILED = 20  # how many times its size an archive may hold before it is thinned: often enough for memory, seldom for time

Ids = NDArray[np.intp]
OnIterate = Callable[[int, Ids, Point], None]
"""Is told the step, the runs that took it, and where they are."""


@dataclass(frozen=True)
class State:
    """What a solver remembers per run; every field is an array with the runs first."""

    def take(self, runs: Mask) -> Self:
        return replace(self, **{name: part[runs] for name, part in vars(self).items()})


@dataclass(frozen=True)
class Aim:
    """What single runs are asked for.

    target       where each run should end; None for solvers that go anywhere
    start        weights (K, d) or (R, K, d) to begin at
    exact        the problem with the loss itself, where the one to iterate on has a rounded kink
    """

    target: Target | None = None
    start: Array | None = None
    exact: LinearProblem | None = None
    on_iterate: OnIterate | None = None
    random_state: int | None = None


@dataclass(frozen=True)
class Outcome:
    """Where R runs ended: weights, cells, objectives (R, m), status, steps.

    ``history`` holds the objectives of every accepted iterate of each run, ``passes`` counts passes over the data.
    """

    W: Array
    L: Array
    objectives: Array
    status: tuple[Status, ...]
    n_iter: NDArray[np.intp]
    history: tuple[Array, ...]
    passes: int


@dataclass(frozen=True)
class Plan:
    """The next move of every run, and the status of those that stop here instead."""

    beta: Array
    status: list[Status]
    memo: Any = None

    def take(self, runs: Mask) -> Plan:
        memo = None if self.memo is None else {key: value[runs] for key, value in self.memo.items()}
        return Plan(self.beta[runs], [Status.RUNNING] * int(runs.sum()), memo)


class Descent(Solver):
    """A solver that goes step by step: pure functions of (algebra, point, state); random starts have start_scale."""

    start_scale: float = 0.1

    def stated(self, problem: LinearProblem) -> LinearProblem:
        if len(problem.terms) > 0:
            raise InputError(f"signs needs solver='newton', found {self.name!r}; leave one of them out.")
        return problem

    @property
    def max_iter(self) -> int:
        """Most steps of a run."""
        raise NotImplementedError

    def prepare(
        self, problem: Any, start: Array | None, target: Any, rng: np.random.Generator
    ) -> tuple[Any, Array, State]:
        """Return the problem to iterate on, the starting weights (R, K, d) and the first state.

        Parameters
        ----------
        problem : problem that has what the solver needs
        start : weights (K, d) or (R, K, d) that runs begin at, optional
        target : Target, or None for solvers that go anywhere
        rng : numpy.random.Generator of random starts
        """
        raise NotImplementedError

    def plan(self, algebra: Algebra, point: Point, state: Any) -> tuple[Plan, Any]:
        """Decide the move of every run from (L, Q) alone.

        Parameters
        ----------
        algebra : Algebra
        point : Point where the runs are
        state : State that `prepare` or the last step left
        """
        raise NotImplementedError

    def judge(self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: Any) -> tuple[Mask, Any]:
        """Say which moves are taken, and adapt.

        Parameters
        ----------
        algebra : Algebra
        old, new : Point before and after the move
        plan : Plan that `plan` returned
        state : State
        """
        raise NotImplementedError

    def aim(self, problem: LinearProblem, request: Request) -> tuple[Array, Target]:
        """Return starting weights (1 or R, K, d) and the target of every run: random starts that go anywhere.

        Parameters
        ----------
        problem : LinearProblem
        request : Request
        """
        if not isinstance(request.preferences, (int, np.integer, type(None))):
            expected = "a number of starts for a solver without preferences; use solver='pb_pdo' for preference vectors"
            raise refuse("preferences", request.preferences, expected)
        runs = request.targets(problem.algebra.names)[0] or 1
        start = self._random_weights(problem, runs, np.random.default_rng(request.random_state))
        return start, Target.from_preferences(np.ones((runs, problem.algebra.m)))

    def _random_weights(self, problem: Any, runs: int, rng: np.random.Generator) -> Array:
        # Zero weights are a trap, because all losses are equal there.
        return rng.normal(scale=self.start_scale / np.sqrt(problem.d), size=(runs, problem.K, problem.d))

    def _starts(self, problem: Any, start: Array | None, rng: np.random.Generator) -> Array:
        """Return starts (R, K, d): those that are given, or a random one."""
        W = self._random_weights(problem, 1, rng) if start is None else np.array(start, dtype=np.float64)
        return W[None] if W.ndim == 2 else W

    def _finish(
        self, problem: Any, exact: Any, ends: Outcome, target: Target | None, path: Path | None = None
    ) -> Outcome:
        """Solve ends for the loss itself where its kinks were rounded; runs that go anywhere keep their gaps."""
        if exact is None or exact.loss == problem.loss:
            return ends
        wanted = target if "preferences" in self.accepts else None
        return polished(problem, exact, ends, wanted, self.path if wanted is None else path)

    def trace(self, problem: LinearProblem, request: Request, on_point: OnPoint) -> list[Solved]:
        """Return the ends of all runs, which go as one batch, and what they passed on their way."""
        work = self.working(problem)
        start, target = self.aim(work, request)
        algebra, runs = work.algebra, len(target.pi)

        def axes_of(L: Array) -> Array:
            return np.column_stack([algebra.loss(L), algebra.worst(L)])

        archive = Archive(request.n_points or KEPT)
        going = set(range(runs))

        def on_iterate(iteration: int, ids: Ids, point: Point) -> None:
            archive.add(axes_of(point.L), point.W)
            if iteration > 1:
                going.intersection_update(ids.tolist())
            on_point(runs - len(going), f"step {iteration}, {len(going)} of {runs} runs going", runs)

        outcome = run(work, self, start, target, on_iterate, request.random_state)
        outcome = self._finish(work, problem.framed(), outcome, target, self.path)
        seen = archive.points()[1]
        W = work.to_user(np.concatenate([outcome.W, seen]))
        status = (*outcome.status, *([Status.VISITED] * len(seen)))
        pi = np.concatenate([target.pi, np.full((len(seen), algebra.m), np.nan)])
        return [Solved(*each) for each in zip(W, status, pi, strict=True)]

    def solve(self, problem: Any, aim: Aim) -> Outcome:
        outcome = run(problem, self, aim.start, aim.target, aim.on_iterate, aim.random_state)
        return self._finish(problem, aim.exact, outcome, aim.target)


def run(
    problem: Any,
    solver: Descent,
    start: Array | None = None,
    target: Target | None = None,
    on_iterate: OnIterate | None = None,
    random_state: int | None = None,
) -> Outcome:
    """Iterate until every run has stopped."""
    check_needs(solver, problem)
    problem, W, state = solver.prepare(problem, start, target, np.random.default_rng(random_state))
    algebra: Algebra = problem.algebra
    report: OnIterate = on_iterate or (lambda iteration, ids, point: None)
    ids, point = np.arange(len(W)), problem.cells(W)
    ends = _Ends(W.copy(), algebra.objectives(point.L), len(algebra.p))
    report(0, ids, point)
    for iteration in range(1, solver.max_iter + 1):
        plan, state = solver.plan(algebra, point, state)
        going = np.array([status is Status.RUNNING for status in plan.status])
        if not going.all():
            ends.finish(ids[~going], point.take(~going), [s for s in plan.status if s is not Status.RUNNING])
            ids, point, state, plan = ids[going], point.take(going), state.take(going), plan.take(going)
        if not len(ids):
            break
        new = problem.cells(problem.move(point, plan.beta))
        if (algebra.objectives(new.L).min(axis=1) < UNBOUNDED).any():
            raise UnboundedError(
                "objectives fall without bound (below -1e15 after ever longer steps), expected functions that are "
                "bounded below; no efficient point exists: add a penalty or bounds."
            )
        taken, state = solver.judge(algebra, point, new, plan, state)
        point = new.where(taken, point)
        ends.add(ids[taken], algebra.objectives(point.L[taken]), iteration)
        if taken.any():
            report(iteration, ids[taken], point.take(taken))
    if len(ids):
        plan, state = solver.plan(algebra, point, state)
        ends.finish(ids, point, [Status.LIMIT if s is Status.RUNNING else s for s in plan.status])
    return ends.outcome(algebra)


class _Ends:
    """What a batch of runs has found so far."""

    def __init__(self, W: Array, h: Array, k: int) -> None:
        runs = len(W)
        self.W, self.L = W, np.zeros((runs, k))
        self.status, self.n_iter, self.passes = [Status.RUNNING] * runs, np.zeros(runs, dtype=np.intp), 1
        self.history = [[first] for first in h]

    def add(self, ids: Ids, h: Array, iteration: int) -> None:
        self.passes += 1
        self.n_iter[ids] = iteration
        for run, objectives in zip(ids, h, strict=True):
            self.history[run].append(objectives)

    def finish(self, ids: Ids, point: Point, status: list[Status]) -> None:
        self.W[ids], self.L[ids] = point.W, point.L
        for run, reason in zip(ids, status, strict=True):
            self.status[run] = reason

    def outcome(self, algebra: Algebra) -> Outcome:
        history = tuple(np.array(h) for h in self.history)
        objectives = algebra.objectives(self.L)
        return Outcome(self.W, self.L, objectives, tuple(self.status), self.n_iter, history, self.passes)


class Archive:
    """Keep points that no other dominates on ``axes`` (loss and worst gap per notion).

    When there are more than ``size``, they are thinned by a fixed rule (`spread`), so that equal input gives an
    equal archive whatever the machine.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._axes: list[Array] = []
        self._weights: list[Array] = []

    def add(self, axes: Array, weights: Array) -> None:
        """Axes (N, a), weights (N, K, d)."""
        self._axes.append(axes)
        self._weights.append(weights)
        if sum(map(len, self._axes)) > PILED * self.size:
            axes, weights = self.points()
            self._axes, self._weights = [axes], [weights]

    def points(self) -> tuple[Array, Array]:
        """Axes and weights, thinned to ``size``."""
        axes, weights = (np.concatenate(part) for part in (self._axes, self._weights))
        kept = np.flatnonzero(nondominated(axes))
        kept = kept[spread(axes[kept], self.size)]
        return axes[kept], weights[kept]
