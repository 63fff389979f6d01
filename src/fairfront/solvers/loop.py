"""The one loop for all first-order solvers: plan, move, evaluate, judge; finished runs leave the batch."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, UnboundedError
from ..objectives import Algebra, Array
from ..problems import FirstOrder, LinearProblem, Point
from ..problems.limits import check_steps
from ..validation import MOST_POINTS, check_count, shown
from .base import TARGETS, Aim, Mask, OnIterate, OnPoint, Outcome, Plan, Request, Solved, Solver, State, Status, Target
from .journal import Journal
from .trajectory import Archive, Notes, RunLog, of_few

KEPT = 100
"""Points on the way that are kept where nothing else is asked for."""
UNBOUNDED = -1e15
"""Objectives below this fall for ever: no loss of finite data gets there."""


class Descent(Solver):
    """A solver that goes step by step: pure functions of (algebra, point, state); random starts have start_scale."""

    start_scale: float = 0.1

    @property
    def max_iter(self) -> int:
        """Return the largest number of steps."""
        raise NotImplementedError

    def prepare(
        self, problem: Any, start: Array | None, target: Any, rng: np.random.Generator
    ) -> tuple[Any, Array, State]:
        """Return the problem to iterate on, the starting weights (R, K, d) and the first state."""
        raise NotImplementedError

    def plan(self, algebra: Algebra, point: Point, state: Any) -> tuple[Plan, Any]:
        """Decide the move of every run from (L, Q) alone."""
        raise NotImplementedError

    def judge(self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: Any) -> tuple[Mask, Any]:
        """Say which moves are taken, and adapt."""
        raise NotImplementedError

    def aim(self, problem: LinearProblem, request: Request, journal: Journal) -> tuple[Array, Target]:
        """Return starting weights (1 or R, K, d) and the target of every run: random starts that go anywhere."""
        runs = 1 if request.preferences is None else check_runs(request.preferences)
        start = random_weights(problem, runs, self.start_scale, np.random.default_rng(request.random_state))
        return start, Target.from_preferences(np.ones((runs, problem.algebra.m)))

    def finish(self, problem: Any, outcome: Outcome, target: Target | None, journal: Journal) -> Outcome:
        """Return the outcome, made more precise where the solver was set to."""
        return outcome

    def trace(self, problem: LinearProblem, request: Request, journal: Journal, on_point: OnPoint) -> list[Solved]:
        """Return the ends of all runs, which go as one batch, and what they passed on their way."""
        asked = request.preferences
        count = asked if isinstance(asked, (int, np.integer)) else np.ndim(asked) and len(asked)
        check_steps(problem, int(count) or TARGETS, self.max_iter, type(self)().max_iter)
        work, seed = self.working(problem), journal.seed(request.random_state)
        start, target = self.aim(work, replace(request, random_state=seed), journal)
        hidden = journal.keeps and of_few(work)
        archive = Archive(request.n_points or KEPT, (lambda W: axes_of(work, work.values(W))) if hidden else None)
        runs = len(target.pi)
        going = set(range(runs))

        def on_iterate(iteration: int, ids: NDArray[np.intp], point: Point) -> None:
            archive.add(axes_of(work, point.L), point.W)
            if iteration > 1:
                going.intersection_update(ids.tolist())
            on_point(runs - len(going), f"step {iteration}, {len(going)} of {runs} runs going", runs)

        outcome = run(work, self, start, target, on_iterate, seed, journal, archive)
        outcome = self.finish(work, outcome, target, journal)
        seen = archive.points()[1]
        W = work.to_user(np.concatenate([outcome.W, seen]))
        status = (*outcome.status, *([Status.VISITED] * len(seen)))
        pi = np.concatenate([target.pi, np.full((len(seen), problem.algebra.m), np.nan)])
        return [Solved(*each) for each in zip(W, status, pi, strict=True)]

    def solve(self, problem: Any, aim: Aim, journal: Journal) -> Outcome:
        """Return where single runs end."""
        seed = journal.seed(aim.random_state)
        outcome = run(problem, self, aim.start, aim.target, aim.on_iterate, seed, journal)
        return self.finish(problem, outcome, aim.target, journal)


def check_runs(preferences: Any) -> int:
    """Return a number of runs, refusing preference vectors for a solver that has no use for them."""
    if isinstance(preferences, Integral):
        return check_count(preferences, "preferences", most=MOST_POINTS)
    raise InputError(
        f"preferences is {shown(preferences)}, expected a number of starts for a solver without preferences; "
        "use solver='pb_pdo' for preference vectors."
    )


def axes_of(problem: LinearProblem, L: Array) -> Array:
    """Return loss and worst gaps of cells (N, k), on which points are compared."""
    return np.column_stack([problem.algebra.loss(L), problem.algebra.worst(L)])


def random_weights(problem: Any, runs: int, scale: float, rng: np.random.Generator) -> Array:
    """Return random starts (R, K, d). Zero weights are a trap, because all losses are equal there."""
    return rng.normal(scale=scale / np.sqrt(problem.d), size=(runs, problem.K, problem.d))


def run(
    problem: Any,
    solver: Descent,
    start: Array | None = None,
    target: Any = None,
    on_iterate: OnIterate | None = None,
    random_state: int | np.random.Generator | None = None,
    journal: Journal | None = None,
    memory: Archive | None = None,
) -> Outcome:
    """Iterate until every run has stopped.

    With a ``journal`` that keeps, the state is noted after every `EVERY` steps together with that of ``memory``, and
    runs go on from what was noted: their cells are evaluated anew, as a resumed run has to do.
    """
    solver.check_needs(problem)
    problem, W, state = solver.prepare(problem, start, target, np.random.default_rng(random_state))
    algebra: Algebra = problem.algebra
    kept = Notes(journal or Journal(), target, memory, of_few(problem))
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
