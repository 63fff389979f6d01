"""Independent optima of single points: SciPy's SLSQP on the cells of a linear problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize


def slsqp(problem: Any, cap: float, start: Any, *, scale: Any = 1.0, bounds: Any = None) -> tuple[float, float]:
    """Return the loss that SLSQP ends at with all gaps at most ``cap``, and what is left to that cap (below 0: missed).

    It begins at weights (d,), and sees them times ``scale``, with ``bounds`` on those.
    """
    algebra = problem.algebra

    def value(v: Any) -> tuple[float, Any]:
        point = problem.cells((v / scale).reshape(1, 1, -1))
        return float(algebra.loss(point.L)[0]), algebra.p @ point.D[0] / scale

    def room(v: Any) -> Any:
        z = algebra.gaps(problem.values((v / scale).reshape(1, 1, -1)))[0]
        return np.concatenate([cap - z, (cap + z)[algebra.two_sided]])

    def slopes(v: Any) -> Any:
        point = problem.cells((v / scale).reshape(1, 1, -1))
        J = algebra.B @ point.D[0] / scale
        return np.vstack([-J, J[algebra.two_sided]])

    limits = {"type": "ineq", "fun": room, "jac": slopes}
    known: dict[str, Any] = {"jac": True, "bounds": bounds, "method": "SLSQP", "constraints": limits}
    found = minimize(value, start * scale, options={"ftol": 1e-14, "maxiter": 500}, **known)
    return float(found.fun), float(room(found.x).min())
