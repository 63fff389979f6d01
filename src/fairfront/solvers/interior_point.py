"""A primal-dual interior point method for mean hinges under bounds on sums of cells.

For the program of `hinge_program`, (1), with lambda the prices above minus the prices below, an
optimum has

    R w + sum_c omega_c grad line_c = sum_t alpha_t a_t                                   (2)
    alpha_t + beta_t = q_t omega_c(t),   omega = p + B^T lambda                           (3)
    variable * multiplier = 0   for every inequality                                      (4)

The products in (4) sum to the duality gap. The method keeps variables and multipliers positive, and
takes Newton steps on (1) to (3) with products that go to 0 together (Mehrotra 1992). What a step
changes of a term follows from the move dw of the weights and domega of its cell. With D_t = alpha_t
x_t + beta_t y_t, and r the wanted changes of products,

    dx_t     = (x_t r^y_t + y_t r^x_t - x_t (alpha_t a_t.dw + y_t q_t domega)) / D_t     (5)
    dalpha_t = (beta_t r^y_t - alpha_t r^x_t
                + alpha_t (x_t q_t domega - beta_t a_t.dw)) / D_t                         (6)

which leaves a system in the weights and the prices alone,

    [ H    (B G)^T        ] [ dw      ]
    [ B G  -(B M B^T + N) ] [ dlambda ]  =  residuals                                     (7)

    H   = R + sum_t (alpha_t beta_t / D_t) a_t a_t^T             curvature
    G_c = grad line_c - sum_{t in c} q_t (alpha_t x_t / D_t) a_t gradients of the cells
    M_c = sum_{t in c} q_t^2 x_t y_t / D_t + e_c / omega_c       what omega takes from a cell
    N_j = 1 / (sum of price / room over the sides of row j)      what a price gives a row

These are the Newton steps of hinges that are rounded, each row by itself and as widely as it needs:
there is no width to choose and no merit that could stall, and equal rows or rare columns do no
harm. An iteration costs one weighted Gram matrix of the terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..objectives import Array
from .hinge_program import (
    HingeProgram,
    Inequalities,
    Iterate,
    cell_products,
    cell_values,
    scattered,
)


@dataclass(frozen=True)
class ProgramTolerances:
    """When a program is solved, and how an iteration begins and ends. All rows together weigh 1.

    max_iter        a program that needs more has no solution, or none that double precision finds
    boundary        share of the way to the nearest bound that a step goes at most
    accepted_gap    largest duality gap of a solved program, in units of the tolerance asked for
    accepted_residual, good_residual
                    largest residual of (1) to (3) in the same units: accepted, and aimed at
    pivot           added to the diagonal of H: neither penalty nor rows may hold the intercept
    """

    max_iter: int = 100
    boundary: float = 0.995
    accepted_gap: float = 1e3
    accepted_residual: float = 1e5
    good_residual: float = 1e2
    pivot: float = 1e-14


TOLERANCES = ProgramTolerances()


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """Where a program ended: w (d,), lambda (q,), alpha (T,), cells C with claims (k,)."""

    w: Array
    prices: Array
    alpha: Array
    cells: Array
    gap: float
    residual: float
    n_iter: int
    solved: bool


def solve_program(program: HingeProgram, start: Iterate, tol: float) -> ProgramSolution:
    """Iterate until the duality gap is below ``tol``, or as far as rounding allows."""
    at, system = start, NewtonSystem(program, start)
    n_iter = 0
    while n_iter < TOLERANCES.max_iter and not system.is_precise(tol):
        try:
            step = predictor_corrector(system)
        except (
            LinAlgError,
            np.linalg.LinAlgError,
        ):  # H is singular but for rounding: this is as far as it goes
            break
        moved = at.moved(step, min(1.0, TOLERANCES.boundary * at.length_to_boundary(step)))
        following = NewtonSystem(program, moved)
        if not (np.isfinite(following.residual) and moved.gap > 0.0):
            break
        at, system, n_iter = moved, following, n_iter + 1
    solved = at.gap <= TOLERANCES.accepted_gap * tol and system.residual <= TOLERANCES.accepted_residual * tol
    alpha = system.multipliers.spare
    return ProgramSolution(at.w, at.prices, alpha, system.cells, at.gap, system.residual, n_iter, solved)


def predictor_corrector(system: NewtonSystem) -> Iterate:
    """Return Mehrotra's step: its products aim as low as a plain step can get them."""
    at = system.at
    plain = system.step(-at.products)
    reached = at.moved(plain, min(1.0, at.length_to_boundary(plain))).gap
    target = (reached / at.gap) ** 3 * at.gap / len(at.variables)
    second_order = plain.variables * plain.multipliers  # what a linear step leaves out of the products
    return system.step(target - at.products - second_order)


class NewtonSystem:
    """The residuals of (1) to (3) at an iterate, and Newton steps from it by one factor of (7)."""

    def __init__(self, program: HingeProgram, at: Iterate) -> None:
        self.program, self.at = program, at
        self.variables = program.inequalities(at.variables)
        self.multipliers = program.inequalities(at.multipliers)
        x, alpha = self.variables, self.multipliers.spare
        omega = program.p + at.prices @ program.B
        self.omega = np.where(program.may_claim, program.on_claims(self.multipliers.claim), omega)
        self.omega_excess = self.omega - omega  # (3); alpha + beta = q omega holds at all iterates
        self.cells = cell_values(program, at.w, x.loss, x.claim)
        z = program.B @ self.cells
        self.gradient = program.penalty * at.w + self.omega @ program.line_slope - alpha @ program.terms  # (2)
        self.equation_excess = np.where(program.is_equation, z - program.upper, 0.0)
        self.above_excess = x.above + (z - program.upper)[program.has_upper]
        self.below_excess = x.below - (z - program.lower)[program.has_lower]

    @cached_property
    def residual(self) -> float:
        """Return the largest residual of (1) to (3)."""
        rows = (self.equation_excess, self.above_excess, self.below_excess)
        return max(float(np.abs(each).max(initial=0.0)) for each in (self.gradient, self.omega_excess, *rows))

    def is_precise(self, tol: float) -> bool:
        """Tell whether to stop; where the gap is far below ``tol``, residuals are rounding."""
        gap = self.at.gap
        return gap <= tol and (self.residual <= TOLERANCES.good_residual * tol or gap <= 1e-3 * tol)

    @cached_property
    def D(self) -> Array:
        x, u = self.variables, self.multipliers
        return u.spare * x.loss + u.loss * x.spare

    @cached_property
    def factor(self) -> Any:
        """Return the Cholesky factor of H in (7)."""
        u = self.multipliers
        rows = self.program.terms * np.sqrt(u.spare * u.loss / self.D)[:, None]
        H = rows.T @ rows
        H[np.diag_indices(len(H))] += self.program.penalty + TOLERANCES.pivot
        return cho_factor(H, overwrite_a=True, check_finite=False)

    @cached_property
    def G(self) -> Array:
        """Return the gradients of the cells in (7), (k, d)."""
        program = self.program
        slope = program.share * self.multipliers.spare * self.variables.loss / self.D
        return program.line_slope - cell_products(slope, program.cell, program.terms, len(program.p))

    @cached_property
    def M(self) -> Array:
        """Return what a unit of omega takes from each cell in (7), (k,)."""
        x, program = self.variables, self.program
        claims = program.on_claims(x.claim / self.multipliers.claim)
        return program.cell_sums(program.share**2 * x.loss * x.spare / self.D) + claims

    @cached_property
    def N(self) -> Array:
        """Return what a unit of price gives each row in (7), (q,), nothing to equations."""
        x, u, program = self.variables, self.multipliers, self.program
        stiffness = scattered(u.above / x.above, program.has_upper) + scattered(u.below / x.below, program.has_lower)
        return np.divide(1.0, stiffness, out=np.zeros_like(stiffness), where=stiffness > 0.0)

    @cached_property
    def H_inverse_rows(self) -> Array:
        """Return H^-1 (B G)^T, (d, q)."""
        return np.asarray(cho_solve(self.factor, (self.program.B @ self.G).T, check_finite=False))

    @cached_property
    def schur(self) -> Array:
        """Return what is left of (7) for the prices without the weights, (q, q)."""
        B = self.program.B
        return B @ self.G @ self.H_inverse_rows + (B * self.M) @ B.T + np.diag(self.N)

    def step(self, change: Array) -> Iterate:
        """Return the step that changes the products by ``change`` and undoes all residuals."""
        r, x, u = self.program.inequalities(change), self.variables, self.multipliers
        # what terms and cells change by themselves, before the weights move and the prices change
        own_loss = (x.spare * r.loss + x.loss * r.spare) / self.D  # (5)
        own_alpha = (u.loss * r.spare - u.spare * r.loss) / self.D  # (6)
        dw, dprices = self._weights_and_prices(r, own_loss, own_alpha)
        margin = self.program.terms @ dw
        domega = dprices @ self.program.B - self.omega_excess
        weight = self.program.share * domega[self.program.cell]
        dloss = own_loss - x.loss * (u.spare * margin + x.spare * weight) / self.D  # (5)
        dalpha = own_alpha + u.spare * (x.loss * weight - u.loss * margin) / self.D  # (6)
        dclaim_price = domega[self.program.may_claim]
        dclaim = (r.claim - x.claim * dclaim_price) / u.claim
        dz = self.program.B @ (self.program.line_slope @ dw + self._sums(dloss, dclaim))
        above = -dz[self.program.has_upper] - self.above_excess
        below = dz[self.program.has_lower] - self.below_excess
        above_price, below_price = (
            (r.above - u.above * above) / x.above,
            (r.below - u.below * below) / x.below,
        )
        variables = np.concatenate([dloss, dloss + margin, dclaim, above, below])
        multipliers = np.concatenate([weight - dalpha, dalpha, dclaim_price, above_price, below_price])
        return Iterate(dw, dprices, variables, multipliers)

    def _weights_and_prices(self, r: Inequalities, own_loss: Array, own_alpha: Array) -> tuple[Array, Array]:
        """Solve (7)."""
        program = self.program
        pull = own_alpha @ program.terms + self.omega_excess @ self.G - self.gradient
        dw = cho_solve(self.factor, pull, check_finite=False)
        if not len(program.upper):
            return dw, np.zeros(0)
        own_cells = self._sums(own_loss, r.claim / self.multipliers.claim) + self.M * self.omega_excess
        excess = program.B @ (self.G @ dw + own_cells) + self._row_excess(r)
        dprices = np.linalg.solve(self.schur, excess)
        return dw - self.H_inverse_rows @ dprices, dprices

    def _sums(self, loss: Array, claim: Array) -> Array:
        return self.program.cell_sums(self.program.share * loss) + self.program.on_claims(claim)

    def _row_excess(self, r: Inequalities) -> Array:
        """Return by how much each row is beyond what its rooms and prices are to be, (q,)."""
        x, u, program = self.variables, self.multipliers, self.program
        above = scattered((r.above + u.above * self.above_excess) / x.above, program.has_upper)
        below = scattered((r.below + u.below * self.below_excess) / x.below, program.has_lower)
        return self.equation_excess + self.N * (above - below)
