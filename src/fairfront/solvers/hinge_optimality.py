"""How far a model is from an optimum of the hinge under caps, computed from the rows alone.

For multipliers x of the rows and omega = p + B^T x, slopes 0 <= s_t <= 1 of the hinges, and g the
gradient of the Lagrangian at them (`hinge_problem`, (4)), a point is stationary if these are 0:

    |g_j| / size of column j                          stationarity                          (1)
    sum_t q_t |omega| (max(0, v_t) - s_t v_t)         slopes that are none of the hinges'   (2)
    max_j (|z_j| - cap_j)                             violation                             (3)
    sum_j |x_j| (cap_j - |z_j|)                       prices of caps that do not bind       (4)

Where one side of a row counts, z_j stands for |z_j|, and x_j >= 0. If omega >= 0 the Lagrangian is
convex, and no model within the caps has a loss that is smaller by more than

    (2) + (4) + sum_j g_j^2 / (2 R_j) over penalised weights + sum_j |g_j w_j| over others  (5)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..objectives import Array
from .hinge_lines import LinedSolution
from .hinge_problem import HingeProblem

CONVEX = 1e-9  # how far below 0 a part's omega may be, as a share of the terms that it is the sum of


@dataclass(frozen=True)
class Residuals:
    """What is left of the conditions, as losses.

    stationarity, slopes, violation, slack    (1) to (4)
    wrong_side                                largest multiplier below 0 where one side counts
    gain                                      (5)
    """

    stationarity: float
    slopes: float
    violation: float
    slack: float
    wrong_side: float
    gain: float

    @property
    def largest(self) -> float:
        known = (self.stationarity, self.slopes, self.violation, self.slack, self.wrong_side)
        return max(known)


def residuals(problem: HingeProblem, solution: LinedSolution, caps: Array) -> Residuals:
    """Return what a solution leaves of the conditions for caps of all rows (q,)."""
    w, x = solution.w, solution.multipliers
    gradient = problem.gradient(w, x, solution.slopes)
    slopes, slack = problem.unmet_slopes(w, x, solution.slopes), _slack(problem, w, x, caps)
    return Residuals(
        stationarity=float((np.abs(gradient) / column_size(problem)).max()),
        slopes=slopes,
        violation=violation(problem, w, caps),
        slack=slack,
        wrong_side=float(np.max(-x[~problem.algebra.two_sided], initial=0.0)),
        gain=slopes + slack + _gain_of_gradient(problem, w, gradient),
    )


def violation(problem: HingeProblem, w: Array, caps: Array) -> float:
    """Return (3) of a model (d,)."""
    z = problem.row_values(w)
    sizes = np.where(problem.algebra.two_sided, np.abs(z), z)
    return float(np.max(sizes - caps, initial=0.0))


def column_size(problem: HingeProblem) -> Array:
    """Return each column's root mean square over the terms, (d,), 1 for empty columns."""
    squares = np.einsum("td,td->d", problem.terms, problem.terms)
    means = np.where(squares > 0.0, squares / max(len(problem.terms), 1), 1.0)
    return np.asarray(np.sqrt(means))


def has_convex_lagrangian(problem: HingeProblem, multipliers: Array) -> bool:
    """Tell whether omega >= 0, but for rounding, in all parts with hinges."""
    least = -CONVEX * (problem.p + np.abs(multipliers) @ np.abs(problem.B))
    return bool((problem.omega(multipliers) >= least)[problem.has_terms].all())


def _slack(problem: HingeProblem, w: Array, x: Array, caps: Array) -> float:
    """Return (4)."""
    active = x != 0.0  # other caps may be infinite
    side = np.where(problem.algebra.two_sided, np.sign(x), 1.0) * problem.row_values(w)
    return float(np.abs(x[active]) @ np.maximum(caps - side, 0.0)[active])


def _gain_of_gradient(problem: HingeProblem, w: Array, gradient: Array) -> float:
    """Return the last two sums of (5)."""
    penalty = problem.penalty
    gains = np.abs(gradient * w)
    np.divide(gradient**2, 2.0 * penalty, out=gains, where=penalty > 0.0)
    return float(gains.sum())
