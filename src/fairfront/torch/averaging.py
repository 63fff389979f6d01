"""Moving averages of what batches show, so that one batch's noise does not choose the direction.

The average starts at zero and is divided by 1 - memory^t, as in Adam, which takes its bias towards zero out. A Gram
matrix of one batch has the noise's variance on its diagonal. Of products of this batch's gradients with their moving
average only the share 1 - memory has it, as the noise of past batches is independent; what is left steadies directions
that a few batches know little of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..objectives import Array
from ..validation import check_number, refuse
from .backend import Tensor
from .gradients import Reading


@dataclass(frozen=True, eq=False)
class Average:
    """Moving averages after ``steps`` batches.

    L (R, k), Q (R, k, k)   cell values, and inner products of cell gradients
    G (R, k, P)             cell gradients
    squared (R,)            squared length of the loss gradient of a batch, its noise included

    All but L are None if no rule asks for them; ``products`` and ``gradients`` count the batches in Q and G.
    """

    steps: int = 0
    L: Array | None = None
    Q: Array | None = None
    G: Tensor | None = None
    squared: Array | None = None
    products: int = 0
    gradients: int = 0

    def values(self, memory: float) -> Array:
        """Return the averaged cell values (R, k)."""
        return _corrected(self.L, memory, self.steps)

    def gram(self, memory: float) -> Array:
        """Return the averaged Gram matrices (R, k, k); products of different batches need not be semi-definite."""
        return _corrected(self.Q, memory, self.products)

    def length(self, memory: float) -> Array:
        """Return the usual length of a batch's loss gradient, (R,)."""
        return np.sqrt(_corrected(self.squared, memory, self.products))

    def seen(self, L: Array, memory: float) -> Average:
        """Return the averages with one more batch's values."""
        return replace(self, steps=self.steps + 1, L=_mixed(self.L, L, memory))

    def seen_all(self, found: Reading, memory: float, scale: Tensor | None, other: Reading | None) -> Average:
        """Return the averages with one more batch, or two that were drawn independently."""
        count, G = self.gradients, self.G
        if other is not None:
            L, Q = 0.5 * (found.L + other.L), found.gram(other.G, scale)
        elif memory == 0.0:
            L, Q = found.L, found.gram(None, scale)
        else:
            count += 1
            G = found.G * (1.0 - memory) if G is None else G.lerp_(found.G, 1.0 - memory)
            L, Q = found.L, found.gram(G, scale) / (1.0 - memory**count)
        values, products = _mixed(self.L, L, memory), _mixed(self.Q, Q, memory)
        return Average(self.steps + 1, values, products, G, self.squared, self.products + 1, count)

    def sized(self, squared: Array, memory: float) -> Average:
        """Return the averages with one more batch's squared length of the loss gradient, (R,)."""
        return replace(self, squared=_mixed(self.squared, squared, memory))

    def without_products(self) -> Average:
        """Return the averages without what is measured in a metric, when that has changed."""
        return replace(self, Q=None, squared=None, products=0)


def check_memory(memory: Any) -> float:
    """Return the weight of the past, a number from 0 to below 1."""
    expected = "a number from 0 to below 1"
    number = check_number(memory, "memory", expected)
    if not 0.0 <= number < 1.0:
        raise refuse("memory", memory, expected)
    return number


def _mixed(old: Array | None, new: Array, memory: float) -> Array:
    return (1.0 - memory) * new if old is None else memory * old + (1.0 - memory) * new


def _corrected(value: Array | None, memory: float, steps: int) -> Array:
    assert value is not None
    return np.asarray(value / (1.0 - memory**steps))


def positive(Q: Array) -> Array:
    """Return the nearest positive semi-definite matrices."""
    values, vectors = np.linalg.eigh(Q)
    return np.asarray(np.einsum("rij,rj,rkj->rik", vectors, np.maximum(values, 0.0), vectors))
