"""Terms of the weights: cells that no row of a cell has a part in, as the penalty has none, which they lie before.

The mean squared difference of scores of pairs is one, w.M w. After it, a weight of which one sign is allowed is a cell
of its own, -sign * weight, that must not be above 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError, spelled
from ..objectives import Array, Objectives
from .design import Frame
from .signs import upward


@dataclass(frozen=True, eq=False)
class WeightTerms:
    """Cells of pairs, with M (d, d) in the units of the weights, and of weights whose sign is bound.

    places, signs (r,)   of the latter, among the weights; columns are scaled by positive numbers, so that signs are the
                         same on framed columns
    """

    places: NDArray[np.intp]
    signs: Array
    pairs: Array | None = None

    @classmethod
    def of(cls, objectives: Objectives, pairs: Array | None, frame: Frame) -> WeightTerms:
        """``pairs`` is M of framed columns; these terms are of weights in the users' units."""
        question = objectives.question
        found = upward(question.signs, objectives.task) if question.signs else {}
        if question.offset in found:
            raise InputError(f"{spelled('signs')} names the offset, whose coefficient is 1; leave it out there.")
        if pairs is not None and objectives.task.kind == "multiclass":
            raise InputError(f"pairs is for one score, found {len(objectives.task.classes)} classes; leave it out.")
        places = [place - (question.offset is not None and place > question.offset) for place in found]
        M = None if pairs is None else pairs * frame.scale[:, None] * frame.scale
        return cls(np.array(places, dtype=np.intp), np.array(list(found.values()), dtype=np.float64), M)

    def framed(self, frame: Frame) -> WeightTerms:
        if self.pairs is None:
            return self
        return replace(self, pairs=self.pairs / frame.scale[:, None] / frame.scale)

    def __len__(self) -> int:
        return self.bounds + (self.pairs is not None)

    @property
    def bounds(self) -> int:
        return len(self.places)

    def beside(self, W: Array, L: Array) -> Array:
        """Return cell values (R, k) with those of weights (R, 1, d) before the last."""
        if not len(self):
            return L
        flat, found = W[:, 0], [L[:, :-1]]
        if self.pairs is not None:
            found.append(np.einsum("rd,de,re->r", flat, self.pairs, flat)[:, None])
        return np.concatenate([*found, -self.signs * flat[:, self.places], L[:, -1:]], axis=1)

    def gradients(self, W: Array, G: Array) -> Array:
        """Return gradients of cells (R, k, d) with those of weights (R, 1, d) before the last."""
        if not len(self):
            return G
        more = np.zeros((len(G), len(self), G.shape[2]))
        if self.pairs is not None:
            more[:, 0] = 2.0 * W[:, 0] @ self.pairs
        more[:, len(self) - self.bounds + np.arange(self.bounds), self.places] = -self.signs
        return np.concatenate([G[:, :-1], more, G[:, -1:]], axis=1)

    def hessians(self, H: Array) -> Array:
        """Return Hessians of cells (k, d, d) with those of the weights before the last."""
        if not len(self):
            return H
        more = np.zeros((len(self), *H.shape[1:]))
        if self.pairs is not None:
            more[0] = 2.0 * self.pairs
        return np.concatenate([H[:-1], more, H[-1:]])

    def weight_of_pairs(self, omega: Array) -> float:
        """Return what the cell of pairs counts for, of omega (k,); 0 without pairs."""
        return 0.0 if self.pairs is None else float(omega[len(omega) - 1 - len(self)])

    def bend(self, H: Array, omega: Array) -> Array:
        """Return the Hessian (d, d) of omega.L with the part of pairs."""
        return H if self.pairs is None else H + 2.0 * self.weight_of_pairs(omega) * self.pairs

    def within(self, W: Array, move: Array, x: Array) -> tuple[Array, Array]:
        """Return the move from weights (K, d) that ends within the bounds, exactly at those with a multiplier.

        Multipliers ``x`` (q,) of the bounds are the last, and none of them is negative.
        """
        if not self.bounds:
            return move, x
        move, x, first = move.copy(), x.copy(), len(x) - self.bounds
        x[first:] = np.maximum(x[first:], 0.0)
        here, ahead = W[0, self.places], self.signs * (W - move)[0, self.places]
        move[0, self.places] = np.where((x[first:] > 0.0) | (ahead < 0.0), here, move[0, self.places])
        return move, x

    def kept(self, W: Array) -> Array:
        """Return weights (K, d) of which those with a wrong sign are 0."""
        found = W.copy()
        found[0, self.places] = np.where(self.signs * W[0, self.places] < 0.0, 0.0, W[0, self.places])
        return found
