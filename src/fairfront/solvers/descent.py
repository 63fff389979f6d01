"""The one loop of all first-order solvers: plan, move, evaluate, judge.

A solver is a frozen record of settings with pure functions:

    beginning   the problem to iterate on, and the weights that runs begin at
    begin       what a run remembers at its start (a record of arrays, runs first)
    plan        from (L, Q) and that memory, the next step beta of every run, or why it ends
    judge       from the cells before and after, whether to take the step, and the new memory

R runs go as one batch: a step of all of them is one pass over the data. Runs that end leave it.
A step that leads where the problem is not defined is never taken.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from ..exceptions import FairfrontWarning, InputError
from ..objectives import Algebra, Array
from ..problems import LinearProblem, Point
from ..problems.base import Runs
from ..validation import refuse
from .base import (
    TINY,
    Aim,
    History,
    Ids,
    Mask,
    OnIterate,
    OnPoint,
    Outcome,
    Request,
    Solved,
    Solver,
    Status,
    Target,
    check_needs,
)
from .polish import polished
from .run_log import RunLog, Statuses, mark

SAME_END = 1e-6
"""Ends of runs whose objectives agree to this share of their range are one point."""
Record = TypeVar("Record")


def take_runs(record: Record, runs: Runs) -> Record:
    """Return the record of some runs; its fields are arrays with the runs first, or such records."""
    if isinstance(record, np.ndarray):
        return record[runs]  # type: ignore[return-value]
    parts = {part.name: take_runs(getattr(record, part.name), runs) for part in fields(record)}  # type: ignore[arg-type]
    return replace(record, **parts)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False)
class Beginning:
    """The problem to iterate on, perhaps in a metric, and weights W (R, K, d) to begin at."""

    problem: Any
    W: Array


@dataclass(frozen=True, eq=False)
class Plan:
    """The next steps.

    beta (R, k), status (R,)             runs whose status is not RUNNING stay where they are
    alpha (R, m), direction_norm (R,)    as in `History`
    forecast                             a record of arrays, runs first, that `judge` compares with
    """

    beta: Array
    status: Statuses
    alpha: Array
    direction_norm: Array
    forecast: Any

    def directions(self) -> Array:
        """Return alpha and, in the last column, |d_t|, (R, m + 1)."""
        return np.column_stack([self.alpha, self.direction_norm])


@dataclass(frozen=True, eq=False)
class Judgement:
    """Which runs take their step, and what every run remembers."""

    accepted: Mask
    state: Any


@dataclass(frozen=True, eq=False)
class Course:
    """Where the runs of a trace begin, (R, K, d), and where they should end."""

    start: Array
    target: Target


class Descent(Solver):
    """A solver that goes step by step; random starts have a spread of ``start_scale``."""

    start_scale: float = 0.1
    last_status: Status = Status.LIMIT

    @property
    def max_iter(self) -> int:
        """Most steps of a run."""
        raise NotImplementedError

    def beginning(
        self, problem: Any, start: Array | None, target: Target | None, rng: np.random.Generator
    ) -> Beginning:
        """Return the problem to iterate on, and the weights that runs begin at.

        Parameters
        ----------
        problem : problem that has what the solver needs
        start : weights (K, d) or (R, K, d) that runs begin at, optional
        target : Target, or None for solvers that go anywhere
        rng : numpy.random.Generator of random starts
        """
        raise NotImplementedError

    def begin(self, algebra: Algebra, point: Point, target: Target | None) -> Any:
        """Return what runs remember at their start.

        Parameters
        ----------
        algebra : Algebra
        point : Point at which they begin
        target : Target, or None
        """
        raise NotImplementedError

    def plan(self, algebra: Algebra, point: Point, state: Any) -> Plan:
        """Decide the step of every run from (L, Q) alone.

        Parameters
        ----------
        algebra : Algebra
        point : Point where the runs are
        state : record that `begin` or the last `judge` returned
        """
        raise NotImplementedError

    def judge(self, algebra: Algebra, old: Point, new: Point, plan: Plan, state: Any) -> Judgement:
        """Say which steps are taken, and adapt. Cells outside the domain are NaN.

        Parameters
        ----------
        algebra : Algebra
        old, new : Point before and after the step
        plan : Plan that `plan` returned
        state : record
        """
        raise NotImplementedError

    def course(self, problem: LinearProblem, request: Request, plain: Array) -> Course:
        """Return where the runs of a trace begin and should end: at random, and anywhere.

        Parameters
        ----------
        problem : LinearProblem
        request : Request
        plain : weights (K, d) of the unconstrained model
        """
        runs = _number_of_starts(problem, request)
        rng = np.random.default_rng(request.random_state)
        return Course(self.random_weights(problem, runs, rng), _anywhere(problem, runs))

    def random_weights(self, problem: Any, runs: int, rng: np.random.Generator) -> Array:
        """Return small random weights (R, K, d); at 0 all losses are equal, which is a trap."""
        scale = self.start_scale / np.sqrt(problem.d)
        return rng.normal(scale=scale, size=(runs, problem.K, problem.d))

    def starts(self, problem: Any, start: Array | None, rng: np.random.Generator) -> Array:
        """Return starts (R, K, d): those that are given, or a random one."""
        if start is None:
            return self.random_weights(problem, 1, rng)
        W = np.array(start, dtype=np.float64)
        return W[None] if W.ndim == 2 else W

    def stated(self, problem: LinearProblem) -> LinearProblem:
        if len(problem.terms) > 0:
            raise InputError(f"signs needs solver='newton', found {self.name!r}; leave one of them out.")
        return problem

    def trace(self, problem: LinearProblem, request: Request, on_point: OnPoint) -> list[Solved]:
        """Return the unconstrained model and the ends of all runs, which go as one batch."""
        work, exact = self.working(problem), problem.framed()
        plain = work.fit(work.algebra.p)
        course = self.course(work, request, plain)
        observer = _Observer(work, request.on_iterate, on_point, len(course.target.pi))
        ends = descend(work, self, course.start, course.target, observer, request.random_state)
        ends = self.finished(work, exact, ends, course.target)
        unconstrained = _unconstrained(work, exact, plain)
        W = work.to_user(np.concatenate([unconstrained.W, ends.W]))
        status = (*unconstrained.status, *self.traced_status(problem, ends))
        no_preference = np.full((1, work.algebra.m), np.nan)
        pi = np.concatenate([no_preference, course.target.pi])
        points = [Solved(*each) for each in zip(W, status, pi, strict=True)]
        _warn_of_equal_ends(self, ends)
        return [point for point in points if np.isfinite(point.W).all()]

    def traced_status(self, problem: LinearProblem, ends: Outcome) -> tuple[Status, ...]:
        """Return the status that the ends of a trace are listed with.

        Parameters
        ----------
        problem : LinearProblem
        ends : Outcome
        """
        return ends.status

    def finished(self, problem: Any, exact: Any, ends: Outcome, target: Target | None) -> Outcome:
        """Solve ends for the loss itself where its kinks were rounded.

        Runs without a target keep their gaps.

        Parameters
        ----------
        problem : the problem that runs iterated on
        exact : LinearProblem with the loss itself, or None
        ends : Outcome
        target : Target, or None
        """
        if exact is None or exact.loss == problem.loss:
            return ends
        aimed = target if "preferences" in self.accepts else None
        return polished(problem, exact, ends, aimed)

    def solve(self, problem: Any, aim: Aim) -> Outcome:
        """Return where single runs end.

        Parameters
        ----------
        problem : problem that has what the solver needs
        aim : Aim
        """
        outcome = descend(problem, self, aim.start, aim.target, aim.on_iterate, aim.random_state)
        return self.finished(problem, aim.exact, outcome, aim.target)


def descend(
    problem: Any,
    solver: Descent,
    start: Array | None = None,
    target: Target | None = None,
    on_iterate: OnIterate | None = None,
    random_state: int | None = None,
) -> Outcome:
    """Iterate until every run has ended.

    Parameters
    ----------
    problem : any problem that has what the solver needs
    solver : Descent
    start : array of shape (K, d) or (R, K, d), the weights that runs begin at, optional
    target : Target, for solvers that take one
    on_iterate : callable, told the step, the runs that took it and where they are
    random_state : int, seed of random starts
    """
    check_needs(solver, problem)
    begun = solver.beginning(problem, start, target, np.random.default_rng(random_state))
    problem, algebra = begun.problem, begun.problem.algebra
    point = problem.cells(begun.W)
    state = solver.begin(algebra, point, target)
    log = RunLog(algebra, point, on_iterate)
    runs = np.arange(point.runs)
    for iteration in range(solver.max_iter + 1):
        plan = solver.plan(algebra, point, state)
        if iteration == solver.max_iter:
            mark(plan.status, _is_running(plan), solver.last_status)
        running = _is_running(plan)
        if not running.all():
            ended = take_runs(plan, ~running)
            log.finish(runs[~running], point.take(~running), ended.status, ended.directions())
            runs, point = runs[running], point.take(running)
            plan, state = take_runs(plan, running), take_runs(state, running)
        if not len(runs):
            break
        new = _defined(problem.cells(problem.move(point, plan.beta)))
        judgement = solver.judge(algebra, point, new, plan, state)
        accepted, state = judgement.accepted, judgement.state
        point = new.where(accepted, point)
        directions = plan.directions()[accepted]
        log.record(iteration + 1, runs[accepted], point.take(accepted), directions)
    return log.outcome()


def _is_running(plan: Plan) -> Mask:
    """Tell which runs go on."""
    running: Mask = np.array([status is Status.RUNNING for status in plan.status], dtype=bool)
    return running


def _defined(point: Point) -> Point:
    """Turn the cells of runs outside the domain into NaN, which no comparison accepts."""
    defined: Mask = np.asarray(np.isfinite(point.L).all(axis=1) & np.isfinite(point.Q).all(axis=(1, 2)))
    if defined.all():
        return point
    return replace(point, L=np.where(defined[:, None], point.L, np.nan))


class _Observer:
    """Moves the progress bar, and tells steps of a trace with weights in the user's units."""

    def __init__(self, problem: LinearProblem, tell: OnIterate | None, bar: OnPoint, runs: int) -> None:
        self.problem, self.tell, self.bar, self.runs = problem, tell, bar, runs
        self.going = set(range(runs))

    def __call__(self, iteration: int, runs: Ids, point: Point) -> None:
        if iteration > 1:
            self.going.intersection_update(runs.tolist())
        ended = self.runs - len(self.going)
        self.bar(ended, f"step {iteration}, {len(self.going)} of {self.runs} runs going", self.runs)
        if self.tell is not None:
            self.tell(iteration, runs, replace(point, W=self.problem.to_user(point.W)))


def _number_of_starts(problem: LinearProblem, request: Request) -> int:
    if not isinstance(request.preferences, (int, np.integer, type(None))):
        expected = "a number of starts for a solver without preferences; use solver='pb_pdo' for preference vectors"
        raise refuse("preferences", request.preferences, expected)
    return request.targets(problem.algebra.names)[0] or 1


def _anywhere(problem: LinearProblem, runs: int) -> Target:
    """Return the target of runs that have none: all objectives count alike."""
    return Target.from_preferences(np.ones((runs, problem.algebra.m)))


def _unconstrained(work: LinearProblem, exact: LinearProblem, plain: Array) -> Outcome:
    """Return the unconstrained model as the end of a run, for the loss itself."""
    algebra, W = work.algebra, plain[None]
    L = work.values(W)
    h = algebra.objectives(L)
    history = (History.of_objectives(h),)
    status = Status.EFFICIENT if work.loss.smooth else Status.STALLED
    found = Outcome(W, L, h, (status,), np.zeros(1, dtype=np.intp), history, 1)
    if exact.loss == work.loss:
        return found
    return polished(work, exact, found, Target.from_caps(algebra.violation(algebra.gaps(L))), automatic=True)


def _warn_of_equal_ends(solver: Solver, ends: Outcome) -> None:
    """Say so where several runs ended at one point."""
    h = ends.objectives[np.isfinite(ends.objectives).all(axis=1)]
    if len(h) < 2:
        return
    sizes = np.abs(h).max(axis=0)
    unit = SAME_END * np.maximum(sizes, max(SAME_END * float(sizes.max()), TINY))
    distinct = len(np.unique(np.round(h / unit), axis=0))
    if distinct == 1 and "preferences" not in solver.accepts:
        warnings.warn(
            f"all {len(h)} runs of solver {solver.name!r} ended at one point; it goes anywhere on the "
            "frontier: use solver='pb_pdo' or 'newton' for points spread along it.",
            FairfrontWarning,
            stacklevel=2,
        )
