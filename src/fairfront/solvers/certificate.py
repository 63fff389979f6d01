"""Certificates: whether a solved point is a global optimum of its capped problem, or how far it may be.

The Lagrangian is omega.L with omega = p + B^T x. Where it is convex, a KKT point with multipliers x
minimises it, and no model within the caps has a smaller loss. So two things are checked:

1. omega.L is convex in every score (1): omega >= 0 on every cell of a convex measure and 0 on the
   others. Where the curvature does not depend on the label (likelihoods, squares), cells of the same
   rows count together: a negative weight of the loss on one label may be made up for by another.
2. the point is its minimum (2): what is left to gain is a small share of the loss. A ridge bounds it
   by |gradient|^2 / (2 ridge). Where that says nothing, a Newton step has to promise little and to
   leave all scores as they are. The second matters where labels can be separated: there is no
   minimum, gradients vanish all the same, and every step moves scores by about 1.

A certified point at caps c' with multipliers x' also bounds the loss at all other caps c from below,
because the smallest loss within caps is at least what its Lagrangian says:

    loss(c) >= loss(c') - |x'| . (c - c')                                                        (3)
"""

from __future__ import annotations

import numpy as np

from ..objectives import Array
from ..objectives.losses import Squared
from ..problems import LinearProblem
from ..problems.factorisation import FLAT
from .sqp import Iterate, PointSolver

STILL = 1e-13  # score that a direction without curvature may move, in units of scores


def is_certified(solver: PointSolver, at: Iterate) -> bool:
    """Tell whether a point is precise and the minimum of a convex Lagrangian."""
    tolerances, rows = solver.tolerances, solver.constraints
    if not at.kkt <= tolerances.certificate:
        return False
    omega = rows.p + at.multipliers @ rows.B
    rounding = tolerances.convexity * (rows.p + np.abs(at.multipliers) @ np.abs(rows.B))
    return is_convex(solver.problem, omega, -rounding) and _is_minimum(solver, at, omega)


def lower_bound(solver: PointSolver, certified: Iterate, caps: Array) -> float:
    """Return the bound (3) on the loss within other caps (q,)."""
    price = np.abs(certified.multipliers)
    dearer = price > 0.0  # the caps of the others may be infinite
    return solver.loss(certified) - float(price[dearer] @ (caps - certified.caps)[dearer])


def is_convex(problem: LinearProblem, omega: Array, lowest: Array) -> bool:
    """Tell whether omega.L is convex in the scores of every row (1), down to ``lowest`` (k,)."""
    label_free = problem.loss.likelihood or isinstance(problem.loss, Squared)
    n_classes = problem.layout.cells.count
    total, total_lowest = np.zeros(n_classes), np.zeros(n_classes)
    for measure, cells in problem.measures:
        weight = np.where(cells >= 0, omega[cells], 0.0)
        least = np.where(cells >= 0, lowest[cells], 0.0)
        if not measure.convex and weight.any():
            return False
        if measure.linear or not measure.convex:
            continue
        if not label_free and (weight < least).any():
            return False
        total += weight
        total_lowest += least
    return bool((total >= total_lowest).all())


def _is_minimum(solver: PointSolver, at: Iterate, omega: Array) -> bool:
    """Tell whether a convex Lagrangian is hardly lower anywhere than at the point (2)."""
    problem = solver.problem
    allowed = solver.tolerances.certificate * solver.units.loss
    gradient = (omega @ at.G).reshape(at.W.shape)
    penalty = omega[-1] * problem.penalised
    penalised = penalty > 0.0
    with np.errstate(over="ignore"):
        gain = float((gradient[:, penalised] ** 2 / (2.0 * penalty[penalised])).sum())
    # Intercepts have no part in the bound: at such a residual one would have to move all scores by
    # 100 to gain as much as is allowed.
    if penalised.any() and gain <= allowed:
        return True
    return solver.forms_hessians and _newton_stays(solver, at, omega, allowed)


def _newton_stays(solver: PointSolver, at: Iterate, omega: Array, allowed: float) -> bool:
    """Tell whether neither a Newton step nor a direction without curvature moves any score."""
    problem = solver.problem
    H = problem.hessian(at.W, omega)
    diagonal = np.diag(H)
    unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(H * unit[:, None] * unit)
    curved = values > FLAT
    along = ((omega @ at.G) * unit) @ vectors[:, curved]
    promised_gain = along @ (along / values[curved])
    if not promised_gain <= allowed:
        return False
    newton_step = vectors[:, curved] @ (along / values[curved])
    moves = np.vstack([newton_step, vectors[:, ~curved].T]) * unit
    reach = problem.reach(moves.reshape(-1, *at.W.shape)) / problem.score_size
    return bool(reach[0] <= solver.tolerances.separable and (reach[1:] <= STILL).all())
