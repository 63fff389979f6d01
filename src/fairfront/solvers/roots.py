"""Roots of falling functions, many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array

Excess = Callable[[NDArray[np.intp], Array], Array]
"""From places of functions, and one argument each, to the values there."""
ROUNDS = 40
"""Most evaluations; the bracket at least halves every third time."""
ACCURACY = 1e-3
"""Accepted width of the bracket, as a share of the way from the root to the upper end. Roots of a
linearised equation are wanted no better: the next step linearises anew."""


def falling_root(excess: Excess, low: Array, high: Array) -> Array:
    """Return where excess(t) = 0 between low and high, (R,), from the side where it is negative.

    The ends themselves are answers: ``low`` where excess is not positive there, ``high`` where it
    is not negative there. The method is regula falsi with Illinois weights (Dowell and Jarratt
    1971), for all functions together.
    """
    everywhere = np.arange(len(low))
    f_low = excess(everywhere, low)
    root = np.where(f_low <= 0.0, low, high)
    runs = np.flatnonzero(f_low > 0.0)
    if not len(runs):
        return root
    a, fa, b = low[runs], f_low[runs], high[runs]
    fb, top = excess(runs, b), high[runs]
    moved_low = np.zeros(len(runs), dtype=np.intp)  # +1 if the last root moved a, -1 if it moved b
    is_open = fb < 0.0
    for _ in range(ROUNDS):
        is_open &= (b - a) > ACCURACY * (top - b) + np.finfo(float).eps * np.abs(top)
        at = np.flatnonzero(is_open)
        if not len(at):
            break
        t = a[at] + fa[at] / (fa[at] - fb[at]) * (b[at] - a[at])
        value = excess(runs[at], t)
        is_low = value > 0.0
        # An end that stays a second time counts half, or it would stay for ever.
        fa[at] = np.where(is_low, value, np.where(moved_low[at] < 0, 0.5 * fa[at], fa[at]))
        fb[at] = np.where(is_low, np.where(moved_low[at] > 0, 0.5 * fb[at], fb[at]), value)
        a[at] = np.where(is_low, t, a[at])
        b[at] = np.where(is_low, b[at], t)
        moved_low[at] = np.where(is_low, 1, -1)
    root[runs] = b
    return root
