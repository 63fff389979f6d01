"""Problems: where the data and the model live, and the conventions of all numerics.

Conventions sheet
-----------------
Axes, always in this order: run R, objective m, cell k, class K, feature d, sample n.

    W (R, K, d)      weights of R runs; K = 1 for binary and regression; the intercept, if any, is last
    L (R, k)         cell values; the last cell is the penalty |w|^2 / 2
    G (R, k, K d)    cell gradients
    D (R, k, K d)    cell directions M^-1 G in the problem's metric M (the identity unless set)
    Q (R, k, k)      inner products G M^-1 G^T
    p, B, b, A, h, z see `objectives.algebra`
    beta (R, k)      what a solver answers: the step is  w <- w - D^T beta
    omega (k)        weights of the cells in a weighted fit: minimise omega.L

A solver sees (L, Q) and the algebra, never n or d. Problems offer capabilities; a solver says which it needs:
first order (`cells`, `move`), weighted fit (`fit`), second order (`hessian`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..objectives import Algebra, Array


@dataclass(frozen=True)
class Point:
    """R runs at one place each: weights, cell values, inner products and directions of the cells."""

    W: Array
    L: Array
    Q: Array
    D: Array

    @property
    def runs(self) -> int:
        """Return R."""
        return len(self.L)

    def take(self, runs: NDArray[np.bool_] | NDArray[np.intp]) -> Point:
        """Return the chosen runs."""
        return Point(self.W[runs], self.L[runs], self.Q[runs], self.D[runs])

    def where(self, mask: NDArray[np.bool_], other: Point) -> Point:
        """Return this point where the mask holds and the other elsewhere."""
        if mask.all():
            return self

        def mixed(mine: Array, its: Array) -> Array:
            return np.where(mask.reshape(-1, *([1] * (mine.ndim - 1))), mine, its)

        return Point(*(mixed(getattr(self, f), getattr(other, f)) for f in ("W", "L", "Q", "D")))


@runtime_checkable
class FirstOrder(Protocol):
    """Evaluates cells with their gradients, and moves along them."""

    algebra: Algebra

    def cells(self, W: Array) -> Point:
        """Evaluate R runs: one pass over the data."""
        ...

    def move(self, point: Point, beta: Array) -> Array:
        """Return the weights w - D^T beta."""
        ...


@runtime_checkable
class WeightedFit(Protocol):
    """Fits the model that minimises omega.L."""

    def fit(self, omega: Array, start: Array | None = None) -> Array:
        """Return the weights (K, d) of the minimiser."""
        ...


@runtime_checkable
class SecondOrder(Protocol):
    """Gives Hessians of weighted cells."""

    def hessian(self, W: Array, omega: Array) -> Array:
        """Return the (K d, K d) Hessian of omega.L at weights (K, d)."""
        ...


def gram(G: Array, D: Array) -> Array:
    """Return Q = G D^T, symmetrised against rounding."""
    Q = G @ D.transpose(0, 2, 1)
    return np.asarray(0.5 * (Q + Q.transpose(0, 2, 1)))


WITHIN = (
    "expected data and steps that stay within the range of floating-point numbers; give X and y in other units, a "
    "larger ridge, or shorter steps."
)


def check_finite(*results: Array) -> None:
    """Refuse to return numbers of a result that are not finite."""
    if not all(np.isfinite(each).all() for each in results):
        raise InputError(f"the solved models have weights or objectives that are not finite numbers, {WITHIN}")


@contextmanager
def decomposable() -> Iterator[None]:
    """Refuse in a sentence what cannot be decomposed: because it is not finite, or singular for rounding."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise InputError(f"a matrix that is solved with cannot be decomposed ({error}), {WITHIN}") from error
