"""Terms of the weights: cells that no row of a cell has a part in, as the penalty has none, which they lie before.

One is that of pairs of people, or of a person and a counterfactual one, whose scores should be alike. With differences
u of features the mean squared difference of scores is w.M w with M = mean of u u^T, a convex quadratic of the weights:
points that bound it are certified like those that bound losses. After it, a weight of which one sign is allowed is a
cell of its own, -sign * weight, that must not be above 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..exceptions import InputError, spelled
from ..objectives import Array, Objectives
from ..validation import counted, is_dask
from ..validation.inputs import check_matrix, shape_of
from .design import Frame
from .point import DENSE_LIMIT
from .signs import upward

EXPECTED = "row numbers of shape (m, 2), or a second matrix X' with one row for each of X"


def pair_sides(pairs: Any, X: Any, weight: Array | None = None) -> tuple[Any, Any, Array, NDArray[np.intp]]:
    """Return features of both sides, (m, d) each, the weight of every pair, and the rows that it is of, (m, 2).

    Of row numbers every pair weighs 1, of X' as much as its row, which is both of its rows.

    Parameters
    ----------
    pairs : integer array of shape (m, 2) of row numbers, or an array, frame or sparse matrix like X
    X : checked matrix of shape (n, d)
    weight : array of shape (n,), optional
    """
    if any(map(is_dask, (pairs, X))):
        raise InputError("pairs needs rows in memory, found Dask collections; compute() them, or leave pairs out.")
    numbers = None if sparse.issparse(pairs) or hasattr(pairs, "columns") else np.asarray(pairs)
    if numbers is not None and numbers.dtype.kind in "iu" and numbers.ndim == 2 and numbers.shape[1] == 2:
        if not len(numbers) or numbers.min() < 0 or numbers.max() >= X.shape[0]:
            found = "none" if not len(numbers) else f"{numbers.min()} to {numbers.max()}"
            raise InputError(f"pairs has row numbers {found}, expected 0 to {X.shape[0] - 1}: {EXPECTED}.")
        return X[numbers[:, 0]], X[numbers[:, 1]], np.ones(len(numbers)), numbers.astype(np.intp)
    if numbers is not None and (numbers.ndim != 2 or numbers.dtype.kind not in "biuf"):
        raise InputError(f"pairs has shape {numbers.shape} of {numbers.dtype}, expected {EXPECTED}.")
    if tuple(shape_of(pairs, "pairs")) != tuple(X.shape):
        raise InputError(f"pairs has shape {shape_of(pairs, 'pairs')}, expected {EXPECTED}; X has shape {X.shape}.")
    weight = np.ones(X.shape[0]) if weight is None else weight
    return X, check_matrix(pairs), weight, np.repeat(np.arange(X.shape[0])[:, None], 2, axis=1)


def pair_matrix(pairs: Any, X: Any, weight: Array | None, frame: Frame, offset: int | None) -> Array:
    """Return M (d, d) of framed columns, the intercept included, whose row is 0; X is checked, with every column."""
    if X.shape[1] > DENSE_LIMIT:
        raise InputError(
            f"pairs is for {DENSE_LIMIT} features at most, found {counted(X.shape[1], 'column')}; leave it out."
        )
    if offset is not None:
        raise InputError("pairs and offset were given, expected one of them: an offset has a difference of its own.")
    one, other, share, _ = pair_sides(pairs, X, weight)
    apart = one - other
    columns = X.shape[1]
    apart = apart.multiply(frame.factor[:columns]).tocsr() if sparse.issparse(apart) else apart * frame.factor[:columns]
    weighted = apart.multiply(share[:, None]).tocsr() if sparse.issparse(apart) else apart * share[:, None]
    product = weighted.T @ apart
    found = np.zeros((len(frame.factor), len(frame.factor)))
    dense = product.toarray() if sparse.issparse(product) else np.asarray(product)
    found[:columns, :columns] = 0.5 * (dense + dense.T) / share.sum()
    if not found.any():
        raise InputError("pairs has no two different rows, expected features that differ; give other pairs.")
    return found


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
