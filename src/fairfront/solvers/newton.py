"""Newton: the exact frontier as a path of solved points, from unconstrained training to the smallest gap."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from ..exceptions import FairfrontWarning
from ..objectives import Algebra, Array
from ..objectives.losses import Hinge, SmoothedHinge
from ..problems import FirstOrder, LinearProblem, SecondOrder, WeightedFit
from ..validation import check_count, check_positive, check_seed, refuse
from . import hinge_path as hinges
from .base import (
    TARGETS,
    Accepted,
    Aim,
    History,
    OnPoint,
    Outcome,
    Request,
    Solved,
    Solver,
    Target,
    check_needs,
)
from .cap_path import CapPath, PathSettings, one_cap, past_zero, solve_down
from .hinge import HingePoint
from .points import PathPoint
from .preferred import preferred
from .sqp import ExactTolerances, PointSolver
from .training import train

NO_GAP = 1e-12  # worst gap of unconstrained training, as a share of the loss without weights, that is none


@dataclass(frozen=True, eq=False)
class TracedPath:
    """Points in the users' units, and the path that more of them can be solved on, if there is one."""

    solved: list[Solved]
    path: CapPath | None = None


@dataclass(frozen=True)
class Newton(Solver):
    """Sequential quadratic programming along the cap on the gaps; most points by interpolation.

    Parameters
    ----------
    tol : float
        Largest KKT residual of a solved point (stationarity with columns at unit scale, violation,
        complementarity), relative to the unconstrained loss. Certificates ask for 1e-7 at least.
    max_iter : int, most steps per point
    restarts : int or "auto"
        Random starts of every point that is not certified, of which the best end is kept; by default
        2 where the lower bound on its loss leaves room for a much better point.
    overshoot : float
        How far to go on past a zero gap, as a share of the gap of unconstrained training: a zero loss
        gap is not a zero rate gap.
    no_group_worse : float, optional
        Forbid any compared group a loss (or rate) worse than under unconstrained training by more
        than this.
    random_state : int, seed of restarts
    """

    tol: float = 1e-9
    max_iter: int = 60
    restarts: int | Literal["auto"] = "auto"
    overshoot: float = 0.0
    no_group_worse: float | None = None
    random_state: int = 0
    name: ClassVar[str] = "newton"
    needs: ClassVar[tuple[type, ...]] = (FirstOrder, SecondOrder, WeightedFit)
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"preferences", "caps"})

    def __post_init__(self) -> None:
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")
        if isinstance(self.restarts, str):
            if self.restarts != "auto":
                raise refuse("restarts", self.restarts, "a whole number of at least 0, or 'auto'")
        else:
            check_count(self.restarts, "restarts", least=0)
        check_positive(self.overshoot, "overshoot", zero=True)
        if self.no_group_worse is not None:
            check_positive(self.no_group_worse, "no_group_worse", zero=True)
        check_seed(self.random_state)

    @property
    def tolerances(self) -> ExactTolerances:
        return ExactTolerances(kkt=self.tol, max_iter=self.max_iter)

    def working(self, problem: LinearProblem) -> LinearProblem:
        """Return the problem on framed columns, with the loss as it is: a hinge is solved without rounding.

        Parameters
        ----------
        problem : LinearProblem
        """
        return problem.framed()

    def trace(self, problem: LinearProblem, request: Request, on_point: OnPoint) -> list[Solved]:
        """Return even points, points where the path bends, or one per preference; training is among them."""
        return trace_newton(self, problem, request, on_point).solved

    @property
    def hinge_settings(self) -> hinges.HingeSettings:
        return hinges.HingeSettings(self.tol, self.no_group_worse)

    def beyond(self, problem: LinearProblem, solved: list[Solved], share: float) -> list[Solved]:
        """Return points past zero that continue a path of this solver to zero.

        Parameters
        ----------
        problem, solved : what was traced, and its points
        share : how far to go on, as a share of the gap of unconstrained training
        """
        first, last = solved[0], solved[-1]
        if isinstance(problem.loss, Hinge) or not last.status.solved or last.multipliers is None:
            return []
        work = self.working(problem)
        W = work.from_user(np.stack([first.W, last.W]))
        solver, plain = train(work, self.tolerances, self.no_group_worse, start=W[0])
        no_caps = np.zeros_like(plain.solution.caps)
        (end,) = solver.evaluate(W[1:], last.multipliers[None], no_caps[None])
        return as_solved(work, past_zero(solver, share, PathPoint(0.0, end), plain, TARGETS))

    def solve(self, problem: Any, aim: Aim) -> Outcome:
        """Solve single points: one for each preference or each row of caps."""
        check_needs(self, problem)
        assert aim.target is not None
        if isinstance(problem.loss, Hinge):
            return self._solve_hinge(problem, aim.target)
        start = None if aim.start is None else aim.start.reshape(-1, problem.K, problem.d)[0]
        solver, plain = train(problem, self.tolerances, self.no_group_worse, start)
        if aim.target.by_preference.all():
            points = preferred(solver, plain, aim.target.pi)
        else:
            points = [one_cap(solver, plain, caps) for caps in aim.target.caps]
        n_iter = [point.solution.n_iter for point in points]
        ends = as_solved(problem, points, framed=True)
        return _outcome(problem.algebra, plain.solution.L, ends, n_iter)

    def _solve_hinge(self, problem: LinearProblem, target: Target) -> Outcome:
        solver = self.hinge_settings.solver(problem)
        if target.by_preference.all():
            points = hinges.preferred(solver, target.pi, _no_listener)
        else:
            points = [hinges.one_cap(solver, caps) for caps in target.caps]
        n_iter = [point.n_iter for point in points]
        return _outcome(problem.algebra, solver.plain.L, points, n_iter)


def trace_newton(newton: Newton, problem: LinearProblem, request: Request, on_point: OnPoint) -> TracedPath:
    """Return the points of `Newton.trace`, with the path along the caps that they lie on."""
    check_needs(newton, problem)
    asked, preferences = request.targets(problem.algebra.names, least=2)
    count = asked or request.n_points
    listener = _counter(on_point, count or TARGETS)
    work = newton.working(problem)
    if isinstance(work.loss, Hinge):
        points = _hinge_points(newton, work, count, preferences, listener)
        if count is not None and preferences is None:
            _warn_of_fewer(points, count, work)
        return TracedPath(_in_users_units(work, points))
    solver, plain = train(work, newton.tolerances, newton.no_group_worse)
    _warn_if_separable(solver, plain)
    if preferences is not None:
        found = preferred(solver, plain, preferences, listener)
        return TracedPath([*as_solved(work, found, preferences), *as_solved(work, [plain])])
    settings = PathSettings(newton.restarts, newton.random_state, newton.overshoot)
    path = CapPath.traced(solver, plain, count, settings, listener)
    solved = as_solved(work, path.points)
    if count is not None:
        _warn_of_fewer(as_solved(work, path.points, framed=True), count, work)
    return TracedPath(solved, path)


def _hinge_points(
    newton: Newton,
    work: LinearProblem,
    count: int | None,
    preferences: Array | None,
    listener: OnSolved,
) -> list[HingePoint]:
    """Return points of the hinge; where they are not certified, a rounded hinge gives further starts."""
    solver = newton.hinge_settings.solver(work)
    if preferences is not None:
        return [*hinges.preferred(solver, preferences, listener), solver.plain]
    points = hinges.hinge_path(solver, count, listener)
    twin = work.with_loss(SmoothedHinge())

    def models_elsewhere(caps: Array) -> Array:
        start = solver.plain.W
        return solve_down(twin, newton.tolerances, None, start, caps)[1][:, 0]

    n_restarts = 0 if newton.restarts == "auto" else newton.restarts
    restarts = hinges.Restarts(n_restarts, newton.random_state, models_elsewhere)
    points = hinges.improved(solver, points, restarts)
    return [*points, *hinges.past_zero(solver, points[-1], newton.overshoot, len(points) - 1)]


OnSolved = Callable[[Any], None]


def _no_listener(point: object) -> None:
    """Listen to nothing."""


def _counter(on_point: OnPoint, total: int) -> OnSolved:
    """Return a listener that reports how many points are solved."""
    counted = itertools.count(1)

    def listen(point: object) -> None:
        done = next(counted)
        on_point(min(done, total), f"{done} points solved", total)

    return listen


def _warn_if_separable(solver: PointSolver, plain: PathPoint) -> None:
    """Say so where unconstrained training has no certain optimum."""
    at = plain.solution
    precise = at.kkt <= solver.tolerances.certificate
    if solver.problem.loss.smooth and precise and not plain.certified:
        warnings.warn(
            f"unconstrained training has no certain optimum at ridge {float(solver.algebra.p[-1]):.3g}: "
            "labels can be separated, so that weights grow without end, or columns are nearly collinear; "
            "weights are those of an early stop, and such points are not certified: give a larger ridge.",
            FairfrontWarning,
            stacklevel=2,
        )


def _warn_of_fewer(points: Sequence[Solved], count: int, work: LinearProblem) -> None:
    """Say so where fewer different points were solved than asked for, and why; weights are framed."""
    distinct = {point.W.tobytes() for point in points if point.status.solved}
    if len(distinct) >= count:
        return
    plain, last = points[0], points[-1]
    L = work.values(np.stack([0.0 * plain.W, plain.W, last.W]))
    gaps = work.algebra.worst(L).max(axis=1)
    if gaps[1] <= NO_GAP * float(work.algebra.p @ L[0]):  # nothing is to be lowered
        return
    warnings.warn(
        f"{count} points were asked for, and {len(distinct)} different ones were solved: the path ends at "
        f"a worst gap of {gaps[2]:.3g} with the status {last.status.value!r}; points beyond it could not "
        "be placed.",
        FairfrontWarning,
        stacklevel=2,
    )


def _in_users_units(work: LinearProblem, points: Sequence[Solved]) -> list[Solved]:
    """Return points with their weights in the users' units."""
    W = work.to_user(np.stack([point.W for point in points]))
    return [replace(point, W=weights) for point, weights in zip(points, W, strict=True)]


def as_solved(
    work: LinearProblem,
    points: Sequence[PathPoint],
    preferences: Array | None = None,
    *,
    framed: bool = False,
) -> list[Solved]:
    """Return points of a path as solvers hand them over: in the users' units unless ``framed``."""
    if not points:
        return []
    if preferences is None:
        preferences = np.full((len(points), work.algebra.m), np.nan)
    solved = [
        Solved(
            point.solution.W,
            point.status,
            pi,
            L=point.solution.L,
            multipliers=point.solution.multipliers,
            kkt=point.solution.kkt,
            certified=point.certified,
        )
        for point, pi in zip(points, preferences, strict=True)
    ]
    return solved if framed else _in_users_units(work, solved)


def _outcome(algebra: Algebra, plain: Array, points: Sequence[Solved], n_iter: Sequence[int]) -> Outcome:
    """Return where points ended that began at training, whose cells (k,) are given."""
    W = np.stack([point.W for point in points])
    L = np.stack([np.asarray(point.L) for point in points])
    objectives = algebra.objectives(L)
    first = algebra.objectives(plain[None])
    history = tuple(History.of_objectives(np.vstack([first, row[None]])) for row in objectives)
    status = tuple(point.status for point in points)
    steps = np.array(n_iter, dtype=np.intp)
    return Outcome(W, L, objectives, status, steps, history, int(steps.sum()) + 1)
