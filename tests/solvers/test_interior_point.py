"""The interior point method against linear programs and SLSQP, and its steps against what they promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from fairfront.solvers.hinge_program import HingeProgram, cell_products, first_iterate
from fairfront.solvers.interior_point import NewtonSystem, predictor_corrector, solve_program

INF = np.inf
BOUNDS = {
    "no rows": (np.full(3, -INF), np.full(3, INF)),
    "both sides": (np.full(3, -0.2), np.full(3, 0.2)),
    "one side": (np.array([-INF, 0.05, -INF]), np.array([0.1, INF, 0.3])),
    "an equation": (np.array([0.1, -INF, -0.3]), np.array([0.1, INF, 0.3])),
}


def drawn(bounds: str, penalty: float, seed: int = 0) -> HingeProgram:
    """Return a program of three cells with hinges, which may claim, and one that is a line."""
    rng = np.random.default_rng(seed)
    T, d = 60, 4
    cell = np.sort(rng.integers(3, size=T))
    share = rng.uniform(0.5, 1.5, T)
    share /= np.bincount(cell, share)[cell]
    lower, upper = BOUNDS[bounds]
    some = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
    B = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 1.0, -1.0, 0.5]])
    return HingeProgram(
        terms=rng.normal(size=(T, d)) + 0.3 * cell[:, None],
        share=share,
        cell=cell,
        line_value=np.array([0.1, 0.0, 0.0, 0.2]),
        line_slope=np.vstack([np.zeros((3, d)), rng.normal(size=d)]),
        may_claim=np.array([True, True, True, False]),
        p=np.array([0.3, 0.3, 0.4, 0.0]),
        B=B[some],
        lower=lower[some],
        upper=upper[some],
        penalty=np.append(np.full(d - 1, penalty), 0.0),
    )


def optimum(program: HingeProgram) -> float:
    """Return the smallest objective by a linear program, or by SLSQP where it is curved."""
    T, d, k = *program.terms.shape, len(program.p)
    n_claims = int(program.may_claim.sum())
    of_losses = np.zeros((k, T))
    of_losses[program.cell, np.arange(T)] = program.share
    C = np.hstack([program.line_slope, of_losses, np.eye(k)[:, program.may_claim]])
    rows = [np.hstack([-program.terms, -np.eye(T), np.zeros((T, n_claims))])]
    ends = [-np.ones(T)]
    for bound, sign in ((program.upper, 1.0), (program.lower, -1.0)):
        known = np.isfinite(bound)
        rows.append(sign * (program.B @ C)[known])
        ends.append(sign * (bound - program.B @ program.line_value)[known])
    A, b = np.vstack(rows), np.concatenate(ends)
    free = [(None, None)] * d + [(0.0, None)] * (T + n_claims)
    constant = float(program.p @ program.line_value)
    start = linprog(program.p @ C, A, b, bounds=free)
    assert start.success
    if not program.penalty.any():
        return float(start.fun) + constant

    def objective(x: np.ndarray) -> float:
        return float(program.p @ C @ x + 0.5 * program.penalty @ x[:d] ** 2)

    def slope(x: np.ndarray) -> np.ndarray:
        return program.p @ C + np.append(program.penalty * x[:d], np.zeros(T + n_claims))

    inside = {"type": "ineq", "fun": lambda x: b - A @ x, "jac": lambda x: -A}
    options = {"ftol": 1e-14, "maxiter": 2000}
    found = minimize(
        objective,
        start.x,
        jac=slope,
        bounds=free,
        constraints=inside,
        method="SLSQP",
        options=options,
    )
    assert found.success
    return float(found.fun) + constant


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("penalty", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_programs_end_at_their_optimum(bounds: str, penalty: float, seed: int) -> None:
    program = drawn(bounds, penalty, seed)
    start = first_iterate(program, np.zeros(4), np.zeros(len(program.upper)), rounding=1.0)
    found = solve_program(program, start, 1e-12)
    assert found.solved
    value = program.p @ found.cells + 0.5 * program.penalty @ found.w**2
    assert value == pytest.approx(optimum(program), abs=1e-8)
    z = program.B @ found.cells
    assert (z <= program.upper + 1e-9).all()
    assert (z >= program.lower - 1e-9).all()
    omega = program.p + found.prices @ program.B
    assert (omega[program.may_claim] >= -1e-9).all()


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_first_iterate_has_equal_products(bounds: str) -> None:
    program = drawn(bounds, 0.1)
    prices = np.linspace(-0.02, 0.01, len(program.upper))
    at = first_iterate(program, np.full(4, 0.1), prices, rounding=0.5)
    np.testing.assert_allclose(at.products, at.products[0])
    assert (at.variables > 0.0).all()
    x = program.inequalities(at.variables)
    np.testing.assert_allclose(x.loss - x.spare, 1.0 - program.terms @ at.w, atol=1e-12)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_full_step_undoes_all_residuals(bounds: str) -> None:
    program = drawn(bounds, 0.1)
    at = first_iterate(program, np.full(4, 0.1), np.zeros(len(program.upper)), rounding=0.5)
    step = predictor_corrector(NewtonSystem(program, at))
    assert NewtonSystem(program, at).residual > 1e-3
    assert NewtonSystem(program, at.moved(step, 1.0)).residual <= 1e-12


@pytest.mark.parametrize("bounds", BOUNDS)
def test_a_step_changes_products_as_it_is_told_to_first_order(bounds: str) -> None:
    program = drawn(bounds, 0.1)
    at = first_iterate(program, np.full(4, 0.1), np.zeros(len(program.upper)), rounding=0.5)
    change = np.random.default_rng(1).normal(size=len(at.variables))
    step = NewtonSystem(program, at).step(change)
    np.testing.assert_allclose(at.variables * step.multipliers + at.multipliers * step.variables, change, atol=1e-9)


def test_a_program_without_a_solution_is_not_solved() -> None:
    """The line cannot be above 1 and below 0; nothing claims for it."""
    program = drawn("one side", 0.1)
    B = np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    program = replace(program, B=B, lower=np.array([1.0, -INF]), upper=np.array([INF, 0.0]))
    start = first_iterate(program, np.zeros(4), np.zeros(2), rounding=1.0)
    assert not solve_program(program, start, 1e-10).solved


def test_products_of_cells_are_sums_over_their_terms() -> None:
    rng = np.random.default_rng(0)
    terms, weights, cell = (
        rng.normal(size=(7, 3)),
        rng.normal(size=7),
        np.array([0, 0, 2, 2, 2, 3, 3]),
    )
    expected = np.stack([(weights[:, None] * terms)[cell == c].sum(axis=0) for c in range(4)])
    np.testing.assert_allclose(cell_products(weights, cell, terms, 4), expected)
