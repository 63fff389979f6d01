"""Methods that solve a constrained problem per point, by SciPy's SLSQP: epsilon-constraint and NBI.

Epsilon-constraint: minimise one objective with caps on the others, by SciPy's SLSQP.

Normal boundary intersection (Das and Dennis 1998), by SciPy's SLSQP.

From a point of the hull of individual minima, go along the quasi-normal as far as the objectives allow:

    max t   subject to   Phi beta + t n = h(w) - h*,      Phi_ij = h_i(w_j*) - h_i*,   n = -Phi 1
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...optimum import slsqp
from .base import Array, Counted, Found, Function


def epsilon_constraint(f: Function, caps: Array, start: Array, max_iter: int = 500) -> Found:
    """Minimise h_1 subject to h_j <= caps_j for the other objectives, in order."""
    counted = Counted(f)

    def room(w: Array) -> tuple[Array, Array]:
        h, J = counted(w)
        return caps - h[1:], -J[1:]

    def first(w: Array) -> tuple[float, Array]:
        h, J = counted(w)
        return float(h[0]), J[0]

    return counted.found(slsqp(first, room, np.array(start), max_iter=max_iter).x)


def nbi(f: Function, minima: Sequence[Array], beta: Array, start: Array, max_iter: int = 500) -> Found:
    """Solve the sub-problem of one point ``beta`` of the hull; ``minima`` hold the minimiser of each objective."""
    counted = Counted(f)
    ends = np.column_stack([f(w)[0] for w in minima])
    ideal = ends.diagonal()
    payoff = ends - ideal[:, None]
    base, normal = ideal + payoff @ beta, -payoff.sum(axis=1)
    unit = np.append(np.zeros(len(start)), -1.0)

    def off(x: Array) -> tuple[Array, Array]:
        h, J = counted(x[:-1])
        return base + x[-1] * normal - h, np.column_stack([-J, normal])

    found = slsqp(lambda x: (-x[-1], unit), off, np.append(start, 0.0), kind="eq", max_iter=max_iter)
    return counted.found(found.x[:-1])
