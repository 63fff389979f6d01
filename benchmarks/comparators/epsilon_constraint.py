"""Epsilon-constraint: minimise one objective with caps on the others, by SciPy's SLSQP."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from .base import Array, Counted, Found, Function


def epsilon_constraint(f: Function, caps: Array, start: Array, max_iter: int = 500) -> Found:
    """Minimise h_1 subject to h_j <= caps_j for the other objectives, in order."""
    counted = Counted(f)
    room = {
        "type": "ineq",
        "fun": lambda w: caps - counted(w)[0][1:],
        "jac": lambda w: -counted(w)[1][1:],
    }
    found = minimize(
        lambda w: float(counted(w)[0][0]),
        np.array(start),
        jac=lambda w: counted(w)[1][0],
        constraints=[room],
        method="SLSQP",
        options={"maxiter": max_iter, "ftol": 1e-13},
    )
    return counted.found(found.x)
