"""Epsilon-constraint: minimise one objective with caps on the others, by SciPy's SLSQP."""

from __future__ import annotations

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
