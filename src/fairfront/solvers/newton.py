"""Newton: the exact frontier as a path of solved points, from plain training to the smallest gap."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np

from ..exceptions import FairfrontWarning, InputError
from ..objectives import Algebra, Array
from ..problems import FirstOrder, LinearProblem, SecondOrder, WeightedFit
from ..problems.resources import check_points
from ..validation import MOST_POINTS, check_choice, check_count, check_flag, check_positive
from ..validation.data import check_preferences
from .base import TARGETS, TINY, Accepted, Aim, OnPoint, Outcome, Path, Request, Solved, Solver, Status, Target, tops
from .journal import Journal
from .knots import Knot, OnKnot, first_knot, one_cap, solve_knot
from .path import MOST, past_zero, preferred, refine, restarted, settled, spread_to_floor
from .sqp import PRECISE, KnotSolver

SMALLEST = 1e-6
"""Share of a model without weights' loss below which a plain loss is no unit: labels are separated, all but for it."""
NARROWER = (0.06, 0.02)
"""Widths over which the kink of a hinge is rounded in the end; the first is `base.SMOOTHING`."""


@dataclass(frozen=True)
class Newton(Solver):
    """Sequential quadratic programming along the cap on the gaps, warm started from point to point.

    Parameters
    ----------
    tol : float
        Largest KKT residual of a solved point (stationarity with columns at unit scale, violation,
        complementarity), relative to the plain loss.
    max_iter : int
        Most steps per point.
    restarts : int
        For surrogates that are not convex: further starts of every point, of which the best is kept.
    overshoot : float
        How far to go on past a zero gap, as a share of the gap of plain training: a zero loss gap is not a zero rate
        gap.
    no_group_worse : float, optional
        Forbid any compared group a loss (or rate) worse than under plain training by more than this.
    one_sided : bool
        Count only gaps of a group above the reference, not below it, and no pairs of other groups.
    path : {"worst_gap", "proportional"}
        How caps shrink: one cap on the worst gap of each notion, or all gaps in proportion.
    """

    tol: float = 1e-9
    max_iter: int = 60
    restarts: int = 0
    overshoot: float = 0.0
    no_group_worse: float | None = None
    one_sided: bool = False
    path: Path = "worst_gap"
    name: ClassVar[str] = "newton"
    needs: ClassVar[tuple[type, ...]] = (FirstOrder, SecondOrder, WeightedFit)
    accepts: ClassVar[frozenset[Accepted]] = frozenset({"preferences", "caps"})

    def __post_init__(self) -> None:
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")
        check_count(self.restarts, "restarts", least=0)
        check_positive(self.overshoot, "overshoot", zero=True)
        if self.no_group_worse is not None:
            check_positive(self.no_group_worse, "no_group_worse", zero=True)
        check_flag(self.one_sided, "one_sided")
        check_choice(self.path, "path", get_args(Path))

    def solver(self, problem: LinearProblem, plain: Array, journal: Journal | None = None) -> KnotSolver:
        """Return the solver of single points, with the constraints that the options ask for.

        Parameters
        ----------
        problem : LinearProblem
            As `working` gives it.
        plain : array of shape (K, d)
            Weights of plain training.
        journal : Journal, optional
            None keeps nothing.
        """
        rows = problem.algebra
        if self.no_group_worse is not None:
            rows = with_guards(problem, rows, plain, self.no_group_worse)
        loss = float(rows.p @ problem.values(plain[None])[0])
        rough = 0.5 * problem.rows.target_variance if problem.task.kind == "regression" else 1.0
        size = max(loss, SMALLEST * rough, TINY)
        return KnotSolver(problem.without_metric(), rows, self.tol, self.max_iter, size, journal or Journal())

    def stated(self, problem: LinearProblem) -> LinearProblem:
        """Return the problem, with one-sided gaps, group minus reference, where asked for."""
        if not self.one_sided:
            return problem
        algebra = problem.algebra
        assert algebra.signs is not None
        assert algebra.notion_of is not None
        inner = np.asarray((algebra.signs > 0).any(axis=1))  # what some contrast starts from; references never are
        kept = np.asarray(~((algebra.signs < 0) & inner[:, None]).any(axis=0))
        rows = replace(
            algebra,
            B=algebra.B[kept],
            b=algebra.b[kept],
            two_sided=np.zeros(int(kept.sum()), dtype=bool),
            names=("loss", *(name for name, keep in zip(algebra.names[1:], kept, strict=True) if keep)),
            notion_of=algebra.notion_of[kept],
            signs=algebra.signs[:, kept],
        )
        return problem.with_algebra(rows)

    def trace(self, problem: LinearProblem, request: Request, journal: Journal, on_point: OnPoint) -> list[Solved]:
        """Return even points, points where the path bends, or one per preference; plain training is among them."""
        self.check_needs(problem)
        pi, count = None, request.n_points
        if isinstance(request.preferences, (int, np.integer)):
            count = check_count(request.preferences, "preferences", least=2, most=MOST_POINTS)
        elif request.preferences is not None:
            pi = check_preferences(request.preferences, problem.algebra.names)
        total = len(pi) if pi is not None else (count or TARGETS)
        past = self.overshoot * (count or TARGETS) if pi is None else 0.0
        check_points(problem, total * (1.0 + self.restarts) + past, MOST)
        done = [0]

        def on_knot(knot: Knot) -> None:
            done[0] += 1
            on_point(min(done[0], total), f"{done[0]} points solved", total)

        work = self.working(problem)
        knots = newton_path(work, self, count, pi, on_knot, journal=journal)
        return solved_points(work, narrowed(problem.framed(), self, knots, journal))

    def solve(self, problem: Any, aim: Aim, journal: Journal) -> Outcome:
        self.check_needs(problem)
        target = aim.target
        assert target is not None
        begin = None if aim.start is None else aim.start.reshape(-1, problem.K, problem.d)[0]
        plain = journal.weights(lambda: problem.fit(problem.algebra.p, begin))
        solver = self.solver(problem, plain, journal)
        first = first_knot(solver, plain)
        if target.by_preference.all():
            knots = preferred(solver, first, target.pi, None)
        else:
            knots = [one_cap(solver, first, caps) for caps in target.caps]
        if aim.exact is not None:
            knots = narrowed(aim.exact, self, knots, journal)
        W, L = np.stack([k.at.W for k in knots]), np.stack([k.at.L for k in knots])
        objectives = problem.algebra.objectives(L)
        begun = problem.algebra.objectives(first.at.L[None])
        history = tuple(np.vstack([begun, h[None]]) for h in objectives)
        n_iter = np.array([k.at.n_iter for k in knots], dtype=np.intp)
        status = tuple(k.status for k in knots)
        return Outcome(W, L, objectives, status, n_iter, history, int(n_iter.sum()) + 1)


def with_guards(problem: LinearProblem, rows: Algebra, plain: Array, allowed: float) -> Algebra:
    """Add one row per compared average: it may not get worse than under plain training by more than ``allowed``.

    Better is a smaller loss, a smaller smooth error, or a larger share decided as the label in question; where all rows
    are compared on every class, only the favourable class has a better side.
    """
    averages = problem.layout.averages
    if any(average.quantity.kind == "score" for average in averages):
        raise InputError(
            "no_group_worse has no meaning for mean predictions, which have no better side; "
            "use notion='disparate_mistreatment'."
        )
    assert rows.means is not None
    high = np.array([a.quantity.kind == "rate" and a.quantity.label is not None for a in averages])
    stated = np.array([a.labels is not None or a.quantity.label in (None, problem.task.favourable) for a in averages])
    signed = (np.where(high, -1.0, 1.0)[:, None] * rows.means)[stated]
    now = signed @ problem.values(plain[None])[0]
    return replace(
        rows,
        B=np.vstack([rows.B, signed]),
        b=np.concatenate([rows.b, now + allowed]),
        two_sided=np.concatenate([rows.two_sided, np.zeros(len(signed), dtype=bool)]),
    )


def newton_path(
    problem: LinearProblem,
    newton: Newton,
    n_points: int | None = None,
    preferences: Array | None = None,
    on_knot: OnKnot | None = None,
    plain: Array | None = None,
    journal: Journal | None = None,
) -> list[Knot]:
    """Solve plain training and the points after it: one per preference, ``n_points`` evenly, or as many as it bends."""
    journal = journal or Journal()
    weights = journal.weights(lambda: problem.fit(problem.algebra.p)) if plain is None else plain
    solver = newton.solver(problem, weights, journal)
    start = first_knot(solver, weights)
    if problem.loss.smooth and start.at.kkt <= PRECISE and not start.certified:
        warnings.warn(
            f"plain training has no certain optimum at ridge {float(problem.algebra.p[-1]):.3g}: labels can be "
            "separated, so that weights grow without end, or columns are nearly collinear; weights are those of an "
            "early stop, and such points are not certified: give a larger ridge.",
            FairfrontWarning,
            stacklevel=2,
        )
    if preferences is not None:
        return [*preferred(solver, start, preferences, on_knot), start]
    top = tops(problem.algebra, start.caps, newton.path)
    start = replace(start, caps=top)
    shares = np.linspace(1.0, 0.0, max(n_points or TARGETS, 2))[1:]
    knots = settled(solver, [start, *spread_to_floor(solver, start, shares, top, on_knot)])
    if n_points is None:
        knots = settled(solver, refine(solver, knots, top, on_knot), tried=knots)
    if newton.restarts:
        knots = settled(solver, [knots[0], *(restarted(solver, knot, newton.restarts) for knot in knots[1:])])
    if newton.overshoot > 0:
        knots += past_zero(solver, newton.overshoot, knots[-1], start, len(shares))
    return knots


def solved_points(work: LinearProblem, knots: list[Knot]) -> list[Solved]:
    q, none = len(work.algebra.b), np.full(work.algebra.m, np.nan)
    W = work.to_user(np.stack([knot.at.W for knot in knots]))
    return [
        Solved(
            W=weights,
            status=knot.status,
            pi=none if knot.pi is None else knot.pi,
            L=knot.at.L,
            multipliers=knot.at.multipliers[:q],
            kkt=knot.at.kkt,
            certified=knot.certified,
        )
        for weights, knot in zip(W, knots, strict=True)
    ]


def narrowed(problem: LinearProblem, newton: Newton, knots: list[Knot], journal: Journal | None = None) -> list[Knot]:
    """Solve points of a rounded hinge again with ever narrower rounding, each from its own end.

    ``problem`` has the loss itself. What is solved is still rounded a little, so nothing is certified.
    """
    if problem.loss.smooth:
        return knots
    for width in NARROWER:
        twin = problem.with_loss(problem.loss.smoothed(width))
        solver = newton.solver(twin, knots[0].at.W, journal)
        knots = [_again(solver, knot) for knot in knots]
    return [replace(knot, certified=False) for knot in knots]


def _again(solver: KnotSolver, knot: Knot) -> Knot:
    """Solve a point for its own caps or preference; keep the old end where that fails or caps lie past zero."""
    if knot.status is Status.PAST:
        return knot
    at = solver.evaluate(knot.at.W, knot.at.multipliers)
    if knot.pi is None and not np.any(knot.at.multipliers):
        W = solver.journal.weights(lambda: solver.problem.fit(solver.rows.p, knot.at.W))
        fitted = solver.evaluate(W, knot.at.multipliers)
        return replace(knot, at=solver.residual(fitted, np.maximum(solver.sizes(fitted.L), 0.0)))
    target = Target.from_caps(knot.caps[None]) if knot.pi is None else Target.from_preferences(knot.pi[None])
    found = solve_knot(solver, replace(knot, at=at), target)
    return replace(found, status=knot.status) if found.status.solved else knot


def polished(problem: LinearProblem, outcome: Outcome, target: Target, journal: Journal | None = None) -> Outcome:
    """Solve the end of every first-order run to Newton's precision; a run that does not get there stays as it is."""
    solver = Newton().solver(problem, outcome.W[0], journal)
    W, L, status, none = outcome.W.copy(), outcome.L.copy(), list(outcome.status), np.zeros(len(solver.rows.b))
    for r in range(len(W)):
        start = Knot(solver.evaluate(W[r], none), none, Status.RUNNING, False)
        knot = solve_knot(solver, start, target.take(np.arange(len(W)) == r))
        if knot.status.solved:
            W[r], L[r], status[r] = knot.at.W, knot.at.L, knot.status
    return replace(outcome, W=W, L=L, objectives=problem.algebra.objectives(L), status=tuple(status))
