"""Problems: where the data and the model live, and the conventions of all numerics.

Conventions sheet
-----------------
Axes, always in this order: run R, objective m, gap q, cell k, class K, feature d, sample n.

    W (R, K, d)      weights of R runs; K = 1 for binary labels and regression; the intercept, if
                     any, is the last feature
    L (R, k)         values of the cells: means of a measure over some rows. The last cell of a
                     model with a ridge is the penalty |w|^2 / 2
    G (R, k, K d)    gradients of the cells
    D (R, k, K d)    directions M^-1 G of the cells in the problem's metric M, the identity unless
                     a solver sets another
    Q (R, k, k)      inner products G M^-1 G^T
    omega (k,)       weights of the cells in a weighted fit, which minimises omega.L

With the rows p (k,), B (q, k) and b (q,) of `objectives.Algebra`:

    loss  = p.L                                            the training loss
    z     = B L - b                                        signed gaps, (R, q)
    h     = [loss, phi(z_1), ..., phi(z_q)]                objectives, (R, m), m = 1 + q
    dh/dw = A G,  A = [p ; diag(phi'(z)) B]                their gradients, A is (R, m, k)
    g_i   = A_i G                                          the gradient of objective i

A first-order solver sees (L, Q) and the algebra, never n or d. It answers in cell coordinates:

    beta (R, k)      a step; the problem moves by  w <- w - D^T beta
    pi (R, m)        preferences; a run should end where all pi_i h_i are equal
    alpha (R, m)     weights of the objectives on the simplex (paper, section 2.3)
    d_t              the direction sum_i alpha_i g_i of step t, a combination of gradients

So the same solver drives NumPy, Dask and torch, and R preferences cost one pass over the data
together. Problems offer capabilities, each a protocol below; a solver says which it needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..objectives import Algebra, Array

Runs = NDArray[np.bool_] | NDArray[np.intp]
"""A choice of runs: a mask over all, or their places."""


@dataclass(frozen=True)
class Point:
    """R runs at one place each: weights, cell values, inner products and directions of cells."""

    W: Array
    L: Array
    Q: Array
    D: Array

    @property
    def runs(self) -> int:
        """Return how many runs there are."""
        return len(self.L)

    def take(self, runs: Runs) -> Point:
        """Return some of the runs."""
        return Point(self.W[runs], self.L[runs], self.Q[runs], self.D[runs])

    def moved(self, beta: Array) -> Array:
        """Return the weights w - D^T beta."""
        step = np.einsum("rk,rkd->rd", beta, self.D)
        return np.asarray(self.W - step.reshape(self.W.shape))

    def where(self, mask: NDArray[np.bool_], other: Point) -> Point:
        """Return this point for the runs in the mask and the other one elsewhere."""
        if mask.all():
            return self

        def chosen(here: Array, there: Array) -> Array:
            per_run = mask.reshape(-1, *[1] * (here.ndim - 1))
            return np.where(per_run, here, there)

        return Point(
            chosen(self.W, other.W),
            chosen(self.L, other.L),
            chosen(self.Q, other.Q),
            chosen(self.D, other.D),
        )


def gram(G: Array, D: Array) -> Array:
    """Return Q = G D^T, symmetrised against rounding."""
    Q = G @ D.transpose(0, 2, 1)
    return np.asarray(0.5 * (Q + Q.transpose(0, 2, 1)))


@runtime_checkable
class FirstOrder(Protocol):
    """Evaluates cells with their gradients, and moves along them."""

    algebra: Algebra

    def cells(self, W: Array) -> Point:
        """Evaluate R runs in one pass; cells that are not finite lie outside the domain."""

    def move(self, point: Point, beta: Array) -> Array:
        """Return the weights w - D^T beta."""


@runtime_checkable
class WeightedFit(Protocol):
    """Fits the model that minimises omega.L."""

    def fit(self, omega: Array, start: Array | None = None) -> Array:
        """Return the weights (K, d) of the minimiser."""


@runtime_checkable
class SecondOrder(Protocol):
    """Gives Hessians of weighted cells."""

    def hessian(self, W: Array, omega: Array) -> Array:
        """Return the (K d, K d) Hessian of omega.L at weights (K, d)."""
