"""Knots: points of the path solved one from another, known to be optimal or not, and more of them where it bends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..objectives import Array
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.point import DENSE_LIMIT
from ..problems.samples import on_few
from .base import TINY, Mask, Status, Target
from .constraints import constraints
from .sqp import PRECISE, Knot, KnotSolver

if TYPE_CHECKING:
    from .newton import Newton

SMALLEST = 1e-6
"""Share of a model without weights' loss below which a plain loss is no unit: labels are separated, all but for it."""
MET = 1e-6
"""How far a gap may be above its cap where that is met, as a share of the largest gap (itself at least that share of
the loss)."""
ON_LINE = 0.995  # share to which all pi_i h_i of a point on its preference line agree
CONVEX = 1e-9
"""How far below 0 the weight of a cell in a certified Lagrangian may be, as a share of the terms that it is the sum of:
multipliers are not known better. The ridge has no part in it, because a penalty makes no cell convex."""
NEAR = 1e-7  # how far above its smallest value a Lagrangian may be, as a share of the plain loss
STILL = 1e-3
"""How far a Newton step may move the score of a row, as a share of the size of scores. Where labels can be separated no
optimum exists, and every step moves scores by about 1; at an optimum they stay."""
FLAT, UNMOVED = 1e-11, 1e-13
"""Curvature (of columns at unit scale) that is not known for rounding, and the score of a row that is nothing."""
MOST, ROUNDS = 64, 16  # most points of a path that is refined where it bends, and most times that its steps are halved
BEND = 1e-3  # how far interpolation may leave the front, as a share of the range of losses
STEEP = 3.0
"""A curve that is steeper at its end than on the whole by this factor needs another point, as before a floor."""
BRANCH = 1e-7  # share of the loss by which a point has to be better to belong to another branch of local optima
ACTIVE = 1e-9  # size of a multiplier that is not rounding
FORESEEN = 4  # points of a path that tell where the next one lies
LEAST = 1e-12
"""Differences of caps, and of losses as a share of the plain one, that are nothing but would be divided by."""

OnKnot = Callable[[Knot], None]


def unheard(knot: Knot) -> None:
    """Stand for a listener where there is none."""


def plain_training(newton: Newton, problem: LinearProblem, start: Array | None = None) -> tuple[Array, Array]:
    """Return weights (K, d) of training without caps, and the multipliers of all rows.

    Of very many rows, some lead near it first. Where signs are bound, a path without gaps leads from training without
    them to the optimum inside the bounds.
    """
    gaps = problem.algebra
    if start is None and (few := on_few(problem)) is not None:
        start = few.fit(gaps.p)
    W = problem.fit(gaps.p, start)
    if not len(problem.terms):
        return W, np.zeros(len(constraints(newton, problem, W).b))
    assert gaps.signs is not None
    none = replace(gaps, B=gaps.B[:0], b=gaps.b[:0], two_sided=gaps.two_sided[:0], signs=gaps.signs[:, :0])
    free = problem.with_algebra(replace(none, names=gaps.names[:1]))
    solver = knot_solver(replace(newton, no_group_worse=None), free, W)
    begin = solver.evaluate(problem.terms.kept(W), np.zeros(len(problem.terms)))
    found = solver.solve(begin, Target.from_caps(np.zeros((1, 0))))
    x = np.zeros(len(constraints(newton, problem, found.W).b))
    x[len(x) - len(problem.terms) :] = found.multipliers
    return found.W, x


def knot_solver(newton: Newton, problem: LinearProblem, plain: Array) -> KnotSolver:
    """Return the solver of points after plain training (K, d), with the constraints that the options ask for."""
    rows = constraints(newton, problem, plain)
    loss = float(rows.p @ problem.values(plain[None])[0])
    size = max(loss, SMALLEST * problem.loss_size, TINY)
    return KnotSolver(problem.without_metric(), rows, newton.tol, newton.max_iter, size)


def first_knot(solver: KnotSolver, plain: Array) -> Knot:
    """Return plain training as the first point; its caps are the gaps it has."""
    at = solver.evaluate(plain, np.zeros(len(solver.rows.b)))
    caps = np.maximum(solver.sizes(at.L), 0.0)[: len(solver.algebra.b)]
    top = Target.from_caps(2.0 * caps[None] + solver.size)  # nothing binds, so that multipliers are 0
    return replace(_judged(solver, solver.solve(at, top), top), caps=caps)


def solve_knot(solver: KnotSolver, start: Knot, target: Target) -> Knot:
    at = solver.solve(start, target)
    if not solver.is_solved(at) and start.factor is not None:
        again = solver.solve(replace(start, factor=None, single=at.single), target)
        at = again if again.kkt < at.kkt else at
    return _judged(solver, at, target)


def solve_caps(solver: KnotSolver, start: Knot, caps: Array) -> Knot:
    return solve_knot(solver, start, Target.from_caps(caps[None]))


def _judged(solver: KnotSolver, at: Knot, target: Target) -> Knot:
    caps = target.caps_at(solver.algebra, np.array([at.level]))[0]
    status, certified = _status(solver, at, target), is_optimum(solver, at)
    return replace(at, caps=caps, status=status, certified=certified, pi=target.pi[0])


def _status(solver: KnotSolver, at: Knot, target: Target) -> Status:
    z = solver.gaps(at.L)
    scale = max(float(np.abs(z[: len(z) - len(solver.problem.terms)]).max(initial=0.0)), MET * solver.size)
    if at.violation > max(MET * scale, 10 * solver.tol * float(solver.row_unit.max())):
        return Status.OUT_OF_REACH
    if not solver.is_solved(at):
        return Status.STALLED if at.n_iter < solver.max_iter else Status.LIMIT
    if not target.by_preference[0]:
        return Status.EFFICIENT
    if not np.any(at.multipliers[: len(solver.algebra.b)]):
        return Status.NEAREST
    levels = target.pi[0] * solver.algebra.objectives(at.L[None])[0]
    return Status.LINE if levels.min() >= ON_LINE * levels.max() else Status.CHEBYSHEV


def is_optimum(solver: KnotSolver, at: Knot) -> bool:
    """Tell whether the point is a global optimum: precise, and the minimum of a convex Lagrangian."""
    if not at.kkt <= PRECISE:
        return False
    rows, x = solver.rows, at.multipliers
    omega = rows.p + x @ rows.B
    lowest = -CONVEX * (rows.p + np.abs(x) @ np.abs(rows.B))
    return _is_convex(solver.problem, omega, lowest) and _is_minimum(solver.problem, omega, at.W, at.G, solver.size)


def _is_convex(problem: LinearProblem, omega: Array, lowest: Array) -> bool:
    """Tell whether omega.L is convex in every score.

    That is omega >= 0 (``lowest``, for rounding) on every convex cell and 0 on the others. Where the curvature does not
    depend on the label (likelihoods, squares), a cell's losses on several labels count together.
    """
    alike = problem.loss.likelihood or isinstance(problem.loss, Squared)
    total, floor = np.zeros((2, problem.layout.cells.count))
    for bound, where in problem.measures:
        inside, least = (np.where(where >= 0, each[where], 0.0) for each in (omega, lowest))
        if not bound.convex and inside.any():
            return False
        if bound.convex and not bound.linear:
            if not alike and (inside < least).any():
                return False
            total, floor = total + inside, floor + least
    return bool((total >= floor).all())


def _is_minimum(problem: LinearProblem, omega: Array, W: Array, G: Array, size: float) -> bool:
    """Tell whether a convex omega.L has its minimum at W.

    A ridge bounds what is left to gain, |g|^2 / (2 ridge). Where that says nothing, the Newton step has to gain nothing
    and to leave all scores as they are, and directions whose curvature is lost in rounding must not move any.
    """
    gradient = (omega @ G).reshape(W.shape)
    solid = omega[-1] * problem.penalised
    held = problem.penalised > 0.0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        left = float(np.nan_to_num(gradient[:, held] ** 2 / solid[held], nan=0.0).sum())
    if left <= NEAR * size:
        return True
    if problem.K * problem.d > DENSE_LIMIT:
        return False
    H = problem.hessian(W, omega)
    unit = 1.0 / np.sqrt(np.where(np.diag(H) > 0.0, np.diag(H), 1.0))
    values, vectors = np.linalg.eigh(H * unit[:, None] * unit)
    known = values > FLAT
    along = (gradient.reshape(-1) * unit) @ vectors[:, known]
    step = vectors[:, known] @ (along / values[known])
    if not along @ (along / values[known]) <= NEAR * size:
        return False
    moves = np.vstack([step, vectors[:, ~known].T]) * unit
    reach = problem.reach(moves.reshape(-1, *W.shape)) / problem.score_size
    return bool(reach[0] <= STILL and (reach[1:] <= UNMOVED).all())


def foreseen(solver: KnotSolver, knots: Sequence[Knot], caps: Array) -> Knot:
    """Return where to start for the next caps of a path: what a curve through the last points leads to, or the last.

    Points that are no global optima may lie on different branches, and where multipliers come and go the path bends.
    Where more averages have to be equal than there are weights, few models but constants will do: it starts from one.
    """
    some, last, rows = knots[-FORESEEN:], knots[-1], solver.rows
    if rows.means is not None and not caps.any() and min(len(rows.means), len(rows.b)) > last.W.size:
        constant = np.where(solver.problem.penalised > 0.0, 0.0, last.W)
        return replace(solver.evaluate(constant, 0.0 * last.multipliers, last.single), caps=last.caps)
    share = np.array([float(knot.caps.max()) for knot in some])
    known = all(knot.certified and knot.status is Status.EFFICIENT for knot in some)
    bound = {tuple(np.sign(knot.multipliers).tolist()) for knot in some if knot is not knots[0]}
    if len(some) < FORESEEN - 1 or not known or len(bound) > 1 or not (np.diff(share) < -LEAST).all():
        return last
    weight = np.array([np.prod([(float(caps.max()) - b) / (a - b) for b in share if b != a]) for a in share])
    W, x = (np.tensordot(weight, [getattr(knot, name) for knot in some], 1) for name in ("W", "multipliers"))
    return replace(solver.evaluate(W, x, last.single, last.factor), caps=last.caps)


def alike(knots: list[Knot]) -> list[Knot]:
    """Return points whose Hessians are taken in the precision that was enough for all of them."""
    return knots if all(knot.single for knot in knots) else [replace(knot, single=False) for knot in knots]


def settled(solver: KnotSolver, knots: list[Knot], tried: Sequence[Knot] = ()) -> list[Knot]:
    """Solve uncertified points again where better ones are known, from the last to the first.

    That is the next point when it lies below the tangent of this one (it came from another branch of local optima),
    and the model with zero weights when its loss is smaller. Plain training is tried in any case, but for points that
    were ``tried`` from it before.
    """
    if all(knot.certified for knot in knots):
        return knots
    found = alike(knots)
    first, q = found[0], len(found[0].caps)
    plain, zero = solver.curved(first), solver.evaluate(0.0 * first.W, 0.0 * first.multipliers, first.single)
    for i in reversed(range(1, len(knots))):
        knot = found[i]
        loss, near = solver.loss(knot), BRANCH * abs(solver.loss(knot))
        met = (solver.sizes(zero.L)[:q] <= knot.caps + LEAST).all()
        starts = [zero] if met and solver.loss(zero) < loss - near else []
        if i + 1 < len(knots):
            tangent = loss + float(np.abs(knot.multipliers[:q]) @ (knot.caps - found[i + 1].caps))
            starts += [found[i + 1]] if solver.loss(found[i + 1]) < tangent - near else []
        starts = [replace(at, factor=None) for at in starts]
        if not any(knot is other for other in tried):
            starts.append(plain)
        for at in [] if knot.certified else starts:
            other = solve_caps(solver, at, knot.caps)
            if other.status.solved and solver.loss(other) < solver.loss(found[i]) - near:
                found[i] = replace(other, status=knot.status)
    return found


def refine(solver: KnotSolver, knots: list[Knot], top: Array, on_knot: OnKnot) -> list[Knot]:
    """Add points where interpolated weights would leave the front, and where another gap becomes active."""
    for _ in range(ROUNDS):
        knots = alike(knots)
        halves = _bends(solver, knots, top)
        halves = np.where(np.isnan(halves) & _switches(knots), 0.5, halves)
        added: dict[int, Knot] = {}
        for i in np.flatnonzero(~np.isnan(halves))[: max(MOST - len(knots), 0)]:
            caps = (1.0 - halves[i]) * knots[i].caps + halves[i] * knots[i + 1].caps
            knot = solve_caps(solver, knots[i], caps)
            if not knot.status.solved:
                knot = solve_caps(solver, knots[i + 1], caps)
            if knot.status.solved:
                added[int(i)] = knot
            on_knot(knot)
        if not added:
            break
        knots = [k for i, knot in enumerate(knots) for k in ([knot, added[i]] if i in added else [knot])]
    return knots


def _bends(solver: KnotSolver, knots: list[Knot], top: Array) -> Array:
    """Return how far between neighbours to solve another point, NaN where none is needed.

    One is needed where the half-way weights lie above the curve through both ends and their slopes, or where the curve
    is far steeper at its end than on the whole, as before a floor; it is put where the half-way weights are.
    """
    algebra, q = solver.algebra, len(top)
    scale = np.where(top > 0, top, 1.0)
    share = np.array([(knot.caps / scale).max() for knot in knots])
    loss = np.array([float(algebra.p @ knot.L) for knot in knots])
    slope = np.array([-float((np.abs(knot.multipliers[:q]) * top).sum()) for knot in knots])
    L = solver.problem.values(np.stack([0.5 * (a.W + b.W) for a, b in pairwise(knots)]))
    where = (algebra.violation(algebra.gaps(L)) / scale).max(axis=1)
    width = np.minimum(share[1:] - share[:-1], -LEAST)
    t = np.clip((where - share[:-1]) / width, 0.0, 1.0)
    s, begins, ends = 1.0 - t, slope[:-1] * width, slope[1:] * width
    curve = loss[:-1] * (1 + 2 * t) * s**2 + begins * t * s**2 + loss[1:] * t**2 * (3 - 2 * t) - ends * t**2 * s
    most = BEND * max(float(loss.max() - loss.min()), LEAST * solver.size)
    steep = (np.diff(loss) > most) & (ends > STEEP * np.diff(loss))
    return np.where((L @ algebra.p - curve > most) | steep, np.clip(t, 0.1, 0.9), np.nan)


def _switches(knots: list[Knot]) -> Mask:
    """Tell between which neighbours the set of active gaps changes, while they are still far apart."""
    near = np.abs(knots[0].caps - knots[-1].caps).max() / MOST
    active = np.abs([knot.multipliers[: len(knots[0].caps)] for knot in knots]) > ACTIVE
    far = np.abs(np.diff([knot.caps for knot in knots], axis=0)).max(axis=1) > near
    return np.asarray((active[1:] != active[:-1]).any(axis=1) & far & (np.arange(len(far)) > 0))
