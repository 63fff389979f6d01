"""What the comparators share: the shape of a vector of functions, a counter, and the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Found:
    """Where a method ended: weights (d,), objectives (m,), evaluations, and the objectives on the way (T, m)."""

    w: Array
    h: Array
    evaluations: int
    path: Array


class Counted:
    """A function that remembers its last answer, counts what it computes, and keeps the objectives seen."""

    def __init__(self, f: Function) -> None:
        self.f, self.evaluations = f, 0
        self.last: Array | None = None
        self.answer: tuple[Array, Array] | None = None
        self.seen: list[Array] = []

    def __call__(self, w: Array) -> tuple[Array, Array]:
        if self.answer is None or self.last is None or not np.array_equal(w, self.last):
            self.last, self.answer = np.array(w, dtype=np.float64), self.f(np.asarray(w, dtype=np.float64))
            self.evaluations += 1
            self.seen.append(self.answer[0])
        return self.answer

    def found(self, w: Array) -> Found:
        """Return the answer at weights w; looking at the end is not counted."""
        h = self.f(w)[0]
        return Found(np.asarray(w), np.asarray(h), self.evaluations, np.array([*self.seen, h]))
