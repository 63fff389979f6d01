"""Programs of mean hinges with bounds on sums of cells, and where an iteration on one begins.

A term t is a hinge max(0, v_t) of the shortfall v_t = 1 - a_t.w, and counts q_t in its cell c(t).

    min  p.C + w.R w / 2    subject to    lower <= B C <= upper,
         C_c = line_c(w) + sum_{t in c} q_t x_t + e_c                                     (1)
         losses x_t >= 0,   spares y_t = x_t - v_t >= 0,   claims e_c >= 0 (in some cells)

is convex: line_c is affine, R diagonal, and by a claim a cell has a larger value than its losses
give it. Every inequality has a multiplier: beta_t of losses, alpha_t of spares, omega_c of claims,
and prices of the rooms upper - B C and B C - lower. `interior_point` solves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..objectives import Array
from .base import Mask

Ints = NDArray[np.intp]
FIRST_PRICE = 1e-2  # price that a row begins with at least, as all rows together weigh 1
FIRST_OMEGA, FIRST_SHARE = 1e-4, 1e-2
"""Weight that a cell with claims begins with at least, and the same as a share of its p."""


@dataclass(frozen=True, eq=False)
class HingeProgram:
    """The program (1).

    terms (T, d), share (T,), cell (T,)    a_t, q_t and c(t), sorted by cell
    line_value (k,), line_slope (k, d)     line_c(w) = value + slope.w
    may_claim (k,)                         cells that have a claim: all with terms that a row bounds
    p (k,), B (q, k)                       weights of the cells in the objective and in the rows
    lower, upper (q,)                      bounds of the rows, infinite where there is none; equal
                                           ones make equations, with independent rows of B
    penalty (d,)                           diagonal of R
    """

    terms: Array
    share: Array
    cell: Ints
    line_value: Array
    line_slope: Array
    may_claim: Mask
    p: Array
    B: Array
    lower: Array
    upper: Array
    penalty: Array

    @cached_property
    def is_equation(self) -> Mask:
        return np.asarray(self.lower == self.upper)

    @cached_property
    def has_upper(self) -> Mask:
        return np.asarray(np.isfinite(self.upper) & ~self.is_equation)

    @cached_property
    def has_lower(self) -> Mask:
        return np.asarray(np.isfinite(self.lower) & ~self.is_equation)

    def cell_sums(self, values: Array) -> Array:
        """Return the sum over each cell, (k,), of one value per term."""
        return np.bincount(self.cell, weights=values, minlength=len(self.p)).astype(np.float64)

    def on_claims(self, values: Array) -> Array:
        """Return values (k,) of the cells that may claim, and 0 for the others."""
        return scattered(values, self.may_claim)

    def inequalities(self, values: Array) -> Inequalities:
        T, counts = len(self.share), (self.may_claim, self.has_upper, self.has_lower)
        ends = np.cumsum([T, T, *(int(each.sum()) for each in counts)])
        return Inequalities(values, tuple(ends.tolist()))


@dataclass(frozen=True, eq=False)
class Inequalities:
    """One number for every inequality of a program: variables, multipliers, or their changes."""

    values: Array
    ends: tuple[int, ...]

    @property
    def loss(self) -> Array:
        return self.values[: self.ends[0]]

    @property
    def spare(self) -> Array:
        return self.values[self.ends[0] : self.ends[1]]

    @property
    def claim(self) -> Array:
        return self.values[self.ends[1] : self.ends[2]]

    @property
    def above(self) -> Array:
        return self.values[self.ends[2] : self.ends[3]]

    @property
    def below(self) -> Array:
        return self.values[self.ends[3] :]


@dataclass(frozen=True, eq=False)
class Iterate:
    """Weights (d,), lambda (q,), variables and multipliers of all inequalities; or a step."""

    w: Array
    prices: Array
    variables: Array
    multipliers: Array

    def moved(self, step: Iterate, length: float) -> Iterate:
        return Iterate(
            self.w + length * step.w,
            self.prices + length * step.prices,
            self.variables + length * step.variables,
            self.multipliers + length * step.multipliers,
        )

    def length_to_boundary(self, step: Iterate) -> float:
        """Return the length at which a variable or multiplier is 0, infinite if none falls."""
        lengths = (
            np.min(-at[change < 0.0] / change[change < 0.0], initial=np.inf)
            for at, change in (
                (self.variables, step.variables),
                (self.multipliers, step.multipliers),
            )
        )
        return float(min(lengths))

    @property
    def products(self) -> Array:
        return self.variables * self.multipliers

    @property
    def gap(self) -> float:
        """Return the duality gap, where (1) to (3) hold."""
        return float(self.variables @ self.multipliers)


def first_iterate(program: HingeProgram, w: Array, prices: Array, rounding: float) -> Iterate:
    """Return a start near weights (d,) and prices (q,), in which all products are equal.

    Equal products matter: a program that starts with some of them near 0 may take twice as many
    steps.

    Parameters
    ----------
    rounding : width, in units of the margin, over which kinks are round at the start
    """
    omega = program.p + prices @ program.B
    least = np.maximum(FIRST_SHARE * program.p, FIRST_OMEGA)
    omega = np.where(program.may_claim, np.maximum(omega, least), omega)
    weight = program.share * omega[program.cell]
    product = rounding * float(np.mean(weight)) if len(weight) else rounding
    loss, spare = _loss_and_spare(1.0 - program.terms @ w, product / weight)
    claim = product / omega[program.may_claim]
    cells = cell_values(program, w, loss, claim)
    above, below = _rooms(program, program.B @ cells, prices, product)
    variables = np.concatenate([loss, spare, claim, above, below])
    sides = scattered(product / above, program.has_upper) - scattered(product / below, program.has_lower)
    return Iterate(w, np.where(program.is_equation, prices, sides), variables, product / variables)


def _loss_and_spare(v: Array, width: Array) -> tuple[Array, Array]:
    """Solve x - y = v and 1 / x + 1 / y = 1 / width for x, y > 0, without cancellation."""
    root = np.hypot(v, 2.0 * width)
    large = 0.5 * (root + np.abs(v))
    small = 2.0 * width**2 / (root + np.abs(v))
    return width + np.where(v > 0.0, large, small), width + np.where(v > 0.0, small, large)


def _rooms(program: HingeProgram, z: Array, prices: Array, product: float) -> tuple[Array, Array]:
    """Return the rooms above and below the rows z (q,), or what prices make of the product."""
    dear = np.maximum(prices, 0.0) + FIRST_PRICE
    cheap = np.maximum(-prices, 0.0) + FIRST_PRICE
    above = np.maximum(program.upper - z, product / dear)[program.has_upper]
    below = np.maximum(z - program.lower, product / cheap)[program.has_lower]
    return above, below


def cell_values(program: HingeProgram, w: Array, loss: Array, claim: Array) -> Array:
    """Return C (k,) of (1)."""
    lines = program.line_value + program.line_slope @ w
    return np.asarray(lines + program.cell_sums(program.share * loss) + program.on_claims(claim))


def cell_products(weights: Array, cell: Ints, terms: Array, n_cells: int) -> Array:
    """Return sum_{t in c} weights_t a_t of every cell, (k, d); terms are sorted by cell."""
    bounds = np.searchsorted(cell, np.arange(n_cells + 1)).tolist()
    return np.stack([weights[a:b] @ terms[a:b] for a, b in pairwise(bounds)])


def scattered(values: Array, places: Mask) -> Array:
    """Return values at the places of a mask, and 0 elsewhere."""
    everywhere = np.zeros(len(places))
    everywhere[places] = values
    return everywhere
