"""Cells of weights whose sign is bound: each is -sign * weight and must not be above 0.

They lie before the last cell, the penalty; no row has a part in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array, Objectives
from .signs import upward


@dataclass(frozen=True, eq=False)
class WeightTerms:
    """Weights whose sign is bound, by their places, with their signs (r,).

    Columns are scaled by positive numbers, so that signs are the same on framed columns.
    """

    places: NDArray[np.intp]
    signs: Array

    @classmethod
    def of(cls, objectives: Objectives) -> WeightTerms:
        signs = objectives.question.signs
        found = upward(signs, objectives.task) if signs else {}
        return cls(np.array(list(found), dtype=np.intp), np.array(list(found.values()), dtype=np.float64))

    def __len__(self) -> int:
        return len(self.places)

    def beside(self, W: Array, L: Array) -> Array:
        """Return cell values (R, k) with those of weights (R, 1, d) before the last."""
        if not len(self):
            return L
        return np.concatenate([L[:, :-1], -self.signs * W[:, 0, self.places], L[:, -1:]], axis=1)

    def gradients(self, W: Array, G: Array) -> Array:
        """Return gradients of cells (R, k, d) with those of weights (R, 1, d) before the last."""
        if not len(self):
            return G
        more = np.zeros((len(G), len(self), G.shape[2]))
        more[:, np.arange(len(self)), self.places] = -self.signs
        return np.concatenate([G[:, :-1], more, G[:, -1:]], axis=1)

    def within(self, W: Array, move: Array, x: Array) -> tuple[Array, Array]:
        """Return the move from weights (K, d) that ends within the bounds, exactly at those with a multiplier.

        Multipliers ``x`` (q,) of the bounds are the last, and none of them is negative.
        """
        if not len(self):
            return move, x
        move, x, first = move.copy(), x.copy(), len(x) - len(self)
        x[first:] = np.maximum(x[first:], 0.0)
        here, ahead = W[0, self.places], self.signs * (W - move)[0, self.places]
        move[0, self.places] = np.where((x[first:] > 0.0) | (ahead < 0.0), here, move[0, self.places])
        return move, x

    def kept(self, W: Array) -> Array:
        """Return weights (K, d) of which those with a wrong sign are 0."""
        found = W.copy()
        found[0, self.places] = np.where(self.signs * W[0, self.places] < 0.0, 0.0, W[0, self.places])
        return found
