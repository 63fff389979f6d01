"""The smallest caps that can be met: a convex program in which the caps give way for a price.

With one more weight s >= 0, the caps row + s * room are met by s = 1, and s has a price beside
which the loss hardly counts. The smallest s is the floor's share of the way. Only caps that no
constant model meets can have a floor: bounds on losses of groups, and guards that no group gets
worse.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..objectives import Algebra, Array
from .base import Status
from .hinge import HingePoint, HingeSolver
from .hinge_lines import FROM_NOWHERE, Limits, Lines, Start, solve_lined
from .hinge_problem import HingeProblem

LOSS = 1e-4  # what the loss counts beside the share s, which counts a plain loss in full
AT_CAPS, ABOVE = 1e-8, 1e-3
"""Share of the way to the caps that is none, and how far above the floor its point is solved, as a
share of the way: at the floor itself there is no room."""


def floor_point(solver: HingeSolver, inside: HingePoint, row: Array) -> HingePoint | None:
    """Return the point with the smallest caps between ``row`` (q,) and those of another point.

    None where row itself can be met.
    """
    if solver.meets(np.zeros_like(inside.W[0]), row):
        return None
    room = np.maximum(inside.caps - row, 0.0)
    problem = elastic(solver.problem, row, room, solver.size)
    start = Start(
        np.append(inside.W[0], 1.0),
        np.zeros(len(problem.algebra.b)),
        np.append(inside.lined, False),
    )
    limits = Limits.of_caps(problem.algebra, np.zeros(len(problem.algebra.b)), solver.size)
    lines = Lines.everywhere_exact(problem, start.lined)
    found = solve_lined(problem, limits, start, lines, FROM_NOWHERE)
    share = float(np.clip(found.w[-1], 0.0, 1.0)) if found.solved else 1.0
    if share < AT_CAPS:
        return None
    caps = row + (share + ABOVE * min(share, 1.0 - share)) * room
    near = replace(inside, W=found.w[None, :-1], lined=found.lined[:-1]) if found.solved else inside
    point = solver.solve(caps, near.start, FROM_NOWHERE)
    return replace(point, status=Status.FLOOR if point.status.solved and found.solved else Status.STALLED)


def elastic(problem: HingeProblem, row: Array, room: Array, price: float) -> HingeProblem:
    """Return the problem with one more weight s >= 0 and the rows |z| <= row + s room."""
    terms = np.pad(problem.terms, ((0, 0), (0, 1)))
    slope = np.pad(problem.slope, ((0, 1), (0, 1)))
    slope[-1, -1] = 1.0
    m, k = problem.mixing.shape
    mixing = np.zeros((m + 1, k + 1))
    mixing[: m - 1, :k], mixing[m - 1, k] = problem.mixing[:-1], 1.0
    algebra = _elastic_algebra(problem.algebra, row, room, price)
    penalised = np.append(
        LOSS * problem.algebra.p[-1] * problem.penalised, price
    )  # s^2 / 2 holds s where no row does yet; the ridge is in here
    held = np.append(LOSS * problem.held, 0.0)
    return HingeProblem(terms, problem.share, problem.cell, slope, mixing, algebra, penalised, held, problem.signed)


def _elastic_algebra(algebra: Algebra, row: Array, room: Array, price: float) -> Algebra:
    """Return rows of which one side counts, on the cells with s before the penalty."""
    wide, n_others = algebra.widened(1), len(algebra.b) - len(row)
    s = len(wide.p) - 2
    caps, room = np.append(row, np.zeros(n_others)), np.append(room, np.zeros(n_others))
    p, upper, lower = LOSS * wide.p, wide.B.copy(), -wide.B[wide.two_sided]
    p[s], p[-1] = price, 1.0
    upper[:, s], lower[:, s] = -room, -room[wide.two_sided]
    positive = np.zeros((1, len(p)))
    positive[0, s] = -1.0
    B = np.vstack([upper, lower, positive])
    b = np.concatenate([wide.b + caps, (caps - wide.b)[wide.two_sided], [0.0]])
    return replace(wide, p=p, B=B, b=b, two_sided=np.zeros(len(b), dtype=bool))
