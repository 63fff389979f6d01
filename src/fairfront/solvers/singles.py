"""Single points by Newton: the one that is asked for, and the last digits of a first-order run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..objectives import Array
from ..problems import LinearProblem
from .base import Outcome, Status, Target, tops
from .journal import Journal
from .newton import Knot, Newton, first_knot, follow, solve_knot
from .path import preferred
from .sqp import KnotSolver


def newton_outcome(
    problem: LinearProblem,
    newton: Newton,
    target: Target,
    start: Array | None,
    exact: LinearProblem | None = None,
    journal: Journal | None = None,
) -> Outcome:
    """Solve the points of a target from plain training and return them as a solver's outcome.

    ``exact`` is the problem with its own loss where ``problem`` has a rounded one.
    """
    journal = journal or Journal()
    begin = None if start is None else start.reshape(-1, problem.K, problem.d)[0]
    plain = journal.weights(lambda: problem.fit(problem.algebra.p, begin))
    solver = newton.solver(problem, plain, journal)
    first = first_knot(solver, plain)
    if target.by_preference.all():
        knots = preferred(solver, first, target.pi, None)
    else:
        knots = [_one_cap(solver, first, caps) for caps in target.caps]
    if exact is not None:
        knots = narrowed(exact, newton, knots, journal)
    W, L = np.stack([k.at.W for k in knots]), np.stack([k.at.L for k in knots])
    objectives = problem.algebra.objectives(L)
    begun = problem.algebra.objectives(first.at.L[None])
    history = tuple(np.vstack([begun, h[None]]) for h in objectives)
    n_iter = np.array([k.at.n_iter for k in knots], dtype=np.intp)
    status = tuple(k.status for k in knots)
    return Outcome(W, L, objectives, status, n_iter, history, int(n_iter.sum()) + 1)


def _one_cap(solver: KnotSolver, first: Knot, caps: Array) -> Knot:
    """Solve for one row of caps, or end at the smallest gaps that can be reached.

    A certified point is the answer. Otherwise a jump may have ended in a worse local optimum than the path from plain
    training leads to, so the path is followed as well and the smaller loss kept.
    """
    if (first.caps <= caps).all():
        return first
    begun = replace(first, caps=np.maximum(tops(solver.rows_of_gaps, first.caps, "worst_gap"), caps))
    found = follow(solver, begun, caps[None])[-1]
    if not found.certified and found.status is not Status.FLOOR:
        found = _smaller(solver, found, _walked(solver, begun, caps))
    return replace(found, status=Status.OUT_OF_REACH) if found.status is Status.FLOOR else found


def _walked(solver: KnotSolver, begun: Knot, caps: Array, steps: int = 8) -> Knot:
    """Follow the path from plain training to these caps in short steps."""
    shares = np.linspace(0.0, 1.0, steps + 1)[1:, None]
    return follow(solver, begun, (1.0 - shares) * begun.caps + shares * caps)[-1]


def _smaller(solver: KnotSolver, one: Knot, other: Knot) -> Knot:
    """Return the solved point with the smaller loss."""
    better = float(solver.rows.p @ other.at.L) < float(solver.rows.p @ one.at.L)
    return other if other.status.solved and other.status is not Status.FLOOR and better else one


NARROWER = (0.06, 0.02)
"""Widths over which the kink of a hinge is rounded in the end; the first is `aiming.SMOOTHING`."""


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
    target = Target.from_caps(knot.caps[None]) if knot.pi is None else Target.from_preferences(knot.pi[None])
    plain = not np.any(knot.at.multipliers)
    if plain and knot.pi is None:
        W = solver.journal.weights(lambda: solver.problem.fit(solver.rows.p, knot.at.W))
        fitted = solver.evaluate(W, knot.at.multipliers)
        return replace(knot, at=solver.residual(fitted, np.maximum(solver.sizes(fitted), 0.0)))
    found = solve_knot(solver, replace(knot, at=at), target)
    return replace(found, status=knot.status) if found.status.solved else knot


def polished(problem: LinearProblem, outcome: Outcome, target: Target, journal: Journal | None = None) -> Outcome:
    """Solve the end of every first-order run to Newton's precision; a run that does not get there stays as it is."""
    solver = Newton().solver(problem, outcome.W[0], journal)
    W, L, status = outcome.W.copy(), outcome.L.copy(), list(outcome.status)
    for r in range(len(W)):
        at = solver.evaluate(W[r], np.zeros(len(solver.rows.b)))
        start = Knot(at, np.zeros(len(solver.rows.b)), Status.RUNNING, False)
        knot = solve_knot(solver, start, target.take(np.arange(len(W)) == r))
        if knot.status.solved:
            W[r], L[r], status[r] = knot.at.W, knot.at.L, knot.status
    return replace(outcome, W=W, L=L, objectives=problem.algebra.objectives(L), status=tuple(status))
