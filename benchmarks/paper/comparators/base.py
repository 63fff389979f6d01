"""What the comparators share: the shape of a vector of functions, a counter, and the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ... import optimum
from ...optimum import Function

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """Where a method ended: weights (d,), objectives (m,), what it cost, and the objectives on the way (T, m)."""

    w: Array
    h: Array
    evaluations: int
    path: Array
    hessians: int = 0


class Counted(optimum.Counted):
    """A function that counts what it computes, and gives the answer of a method."""

    def found(self, w: Array) -> Found:
        """Return the answer at weights w; looking at the end is not counted."""
        h = self.f(w)[0]
        return Found(np.asarray(w), np.asarray(h), self.evaluations, np.array([*self.seen, h]))


STILL, ENOUGH, HALVINGS = 1e-9, 0.1, 40
"""Length of a direction that is none, share of what the slope promises that a step has to fall by, most halvings."""


def descended(
    counted: Counted,
    w: Array,
    steps: int,
    eta: float,
    weights: Callable[[Array], Array],
    judged: Callable[[Array], Array],
) -> Array:
    """Take gradient steps on a.h, a = ``weights`` of the gradients, each halved until all that is ``judged`` falls."""
    h, J = counted(w)
    for _ in range(steps):
        d = weights(J) @ J
        if np.linalg.norm(d) <= STILL:
            break
        for _ in range(HALVINGS):
            tried, slopes = counted(w - eta * d)
            if np.all(judged(tried) <= judged(h) - ENOUGH * eta * (d @ d)):
                break
            eta *= 0.5
        else:
            break
        w, h, J, eta = w - eta * d, tried, slopes, 2.0 * eta
    return w


__all__ = ["STILL", "Array", "Counted", "Found", "Function", "descended"]
