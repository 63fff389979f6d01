"""Moving averages of what batches show, so that one batch's noise does not choose the direction.

The average starts at zero and is divided by 1 - memory^t, as in Adam, which takes its bias towards zero out. A Gram
matrix of one batch has the noise's variance on its diagonal; with two independent batches the noise is in one factor
only and averages out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..objectives import Array


@dataclass(frozen=True, eq=False)
class Average:
    """Moving averages of cell values L and Gram matrices Q after ``steps`` batches."""

    steps: int = 0
    L: Array | None = None
    Q: Array | None = None

    def seen(self, L: Array, Q: Array, memory: float) -> Average:
        """Return the averages with one more batch."""
        return Average(self.steps + 1, _mixed(self.L, L, memory), _mixed(self.Q, Q, memory))

    def corrected(self, value: Array | None, memory: float) -> Array:
        """Return an average without its bias towards the start."""
        assert value is not None
        return np.asarray(value / (1.0 - memory**self.steps))


def _mixed(old: Array | None, new: Array, memory: float) -> Array:
    return (1.0 - memory) * new if old is None else memory * old + (1.0 - memory) * new


def positive(Q: Array) -> Array:
    """Return the nearest positive semi-definite matrices: products of two batches need not be."""
    values, vectors = np.linalg.eigh(Q)
    return np.asarray(np.einsum("rij,rj,rkj->rik", vectors, np.maximum(values, 0.0), vectors))
