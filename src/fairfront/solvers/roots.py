"""Roots of falling functions, many at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..objectives import Array
from .base import TOLERANCES

Excess = Callable[[Array], Array]
"""From arguments of R functions, (R,), to their values."""
ROUNDS = 40
"""Most evaluations; the bracket at least halves every third time."""


def falling_root(excess: Excess, low: Array, high: Array, accuracy: float) -> Array:
    """Return where excess(t) = 0 between low and high, (R,), from the side where it is not positive.

    The ends themselves are answers: ``low`` where excess is not positive there, ``high`` where it
    is not negative there. ``accuracy`` is the accepted width of the bracket, as a share of the way
    from the root to the upper end. The method is regula falsi with Illinois weights (Dowell and
    Jarratt 1971), for all functions together.
    """
    b, fb = high, excess(high)
    # A function that falls at least as fast as -t has its root above this place.
    a = np.maximum(low, b + np.minimum(fb, 0.0))
    fa = excess(a)
    lies_below = (fa <= 0.0) & (a > low)
    if lies_below.any():
        b, fb = np.where(lies_below, a, b), np.where(lies_below, fa, fb)
        a = np.where(lies_below, low, a)
        fa = np.where(lies_below, excess(a), fa)
    b = np.where(fa <= 0.0, a, b)
    last_moved = np.zeros(len(a), dtype=np.intp)  # +1 for the lower end, -1 for the upper one
    is_open = (fa > 0.0) & (fb < 0.0)
    for _ in range(ROUNDS):
        is_open &= (b - a) > accuracy * (high - b) + TOLERANCES.rounding * np.abs(high)
        if not is_open.any():
            break
        t = a + np.divide(fa, fa - fb, out=np.zeros_like(a), where=is_open) * (b - a)
        value = excess(t)
        moves_low, moves_high = is_open & (value > 0.0), is_open & (value <= 0.0)
        # An end that stays a second time counts half, or it would stay for ever.
        fa = np.where(moves_high & (last_moved < 0), 0.5 * fa, fa)
        fb = np.where(moves_low & (last_moved > 0), 0.5 * fb, fb)
        a, fa = np.where(moves_low, t, a), np.where(moves_low, value, fa)
        b, fb = np.where(moves_high, t, b), np.where(moves_high, value, fb)
        last_moved = np.where(moves_low, 1, np.where(moves_high, -1, last_moved))
    return b
