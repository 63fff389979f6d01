"""What the comparators share: the shape of a vector of functions, a counter, and the answer."""

from __future__ import annotations

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


__all__ = ["Array", "Counted", "Found", "Function"]
