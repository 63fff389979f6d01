"""Weight perturbation, first order: from one weighted-sum minimiser to the next by a few gradient steps.

Hillermeier's idea (2001) moves along the front by changing the weights a little and correcting with second-order
information; here the correction is plain gradient descent with backtracking, so that only gradients are needed.
"""

from __future__ import annotations

import numpy as np

from .base import Array, Counted, Found, Function


def weight_perturbation(f: Function, weights: Array, start: Array, steps: int = 50, eta: float = 1.0) -> list[Found]:
    """Follow the rows of ``weights`` (N, m), each from the last one's end, with at most ``steps`` steps each."""
    w, found = np.array(start, dtype=np.float64), []
    for row in weights:
        counted = Counted(f)
        w = _descend(counted, row, w, steps, eta)
        found.append(counted.found(w))
    return found


def _descend(counted: Counted, row: Array, w: Array, steps: int, eta: float) -> Array:
    """Take gradient steps on row.h; a step is halved until it falls by the tenth of what the slope promises."""
    h, J = counted(w)
    for _ in range(steps):
        g = row @ J
        size = float(g @ g)
        if size <= 1e-18:
            break
        step = eta
        for _ in range(40):
            tried, slopes = counted(w - step * g)
            if row @ tried <= row @ h - 0.1 * step * size:
                break
            step *= 0.5
        else:
            break
        w, h, J, eta = w - step * g, tried, slopes, 2.0 * step
    return w
