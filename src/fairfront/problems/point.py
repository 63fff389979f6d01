"""Points: what is known of a problem at some weights, and weighted fits by Newton's method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from ..exceptions import InputError
from ..objectives import Array
from .base import Point as Point
from .base import gram as gram
from .factorisation import Factor, factorise

if TYPE_CHECKING:
    from .linear import LinearProblem

TINY = 1e-300  # what stands for 0 where it would be divided by
WITHIN = (
    "expected data and steps that stay within the range of floating-point numbers; give X and y in other units, a "
    "larger ridge, or shorter steps."
)


def check_finite(*results: Array) -> None:
    if not all(np.isfinite(each).all() for each in results):
        raise InputError(f"the solved models have weights or objectives that are not finite numbers, {WITHIN}")


@contextmanager
def decomposable() -> Iterator[None]:
    """Refuse in a sentence what cannot be decomposed: because it is not finite, or singular for rounding."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise InputError(f"a matrix that is solved with cannot be decomposed ({error}), {WITHIN}") from error


WIDTHS = (2.0, 0.6, 0.2, 0.06, 0.02)
"""Rounding of a kink, narrowed on the way (a narrow one has no curvature to start with); the last leaves an error
of at most 0.01."""
ROUNDING, MOST_STEPS = 1e-13, 100
"""Share of the value below which a predicted decrease is rounding, and most Newton steps."""
SEPARATED = 1e-3
"""Share of the first value below which further decrease is ignored; without it separable data would never end."""
FAST = 1e-3  # share of the promised decrease that steps leave while they keep a Hessian; behind links it bends little
ARMIJO, EQUAL, HALVINGS = 1e-4, 1e-15, 15
"""Share of the promised decrease that a step has to bring, change of a value that is none, and most shorter steps."""
QUASI = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 20}
"""L-BFGS as tight as double precision allows, with a memory that pays for problems of many columns."""


def fit_cells(problem: LinearProblem, omega: Array, W: Array, second_order: bool) -> Array:
    """Return the minimiser of omega.L from W on; hinges are rounded widely first, ever more narrowly then."""
    path = [problem.loss.smoothed(width) for width in WIDTHS]
    if problem.loss.smooth:
        path.append(problem.loss)
    for loss in dict.fromkeys(path):
        twin = problem.with_loss(loss).without_metric()
        W = newton(twin, omega, W, FAST if loss.link else 0.0) if second_order else lbfgs(twin, omega, W)
    return W


class Curved(Protocol):
    """What Newton's method needs: cell values and gradients at weights (1, K, d), and Hessians."""

    def cells(self, W: Array) -> Point: ...

    def hessian(self, W: Array, omega: Array) -> Array: ...


def _value_gradient(problem: Curved, omega: Array, W: Array) -> tuple[float, Array]:
    point = problem.cells(W[None])
    return float(point.L[0] @ omega), (omega @ point.D[0]).reshape(W.shape)


def newton(problem: Curved, omega: Array, W: Array, fast: float = 0.0) -> Array:
    """Damped Newton with exact Hessians; where they lack curvature, L-BFGS brings W nearer first."""
    W, done = _descend(problem, omega, W, fast)
    return W if done else _descend(problem, omega, lbfgs(problem, omega, W), fast)[0]


def _descend(problem: Curved, omega: Array, W: Array, fast: float) -> tuple[Array, bool]:
    """Take Newton steps until the decrease that the last Hessian predicts is rounding (done) or a step fails."""
    value, gradient = _value_gradient(problem, omega, W)
    first, decrement = max(abs(value), TINY), np.inf
    factor: Factor | None = None
    for _ in range(MOST_STEPS):
        least = ROUNDING * max(abs(value), SEPARATED * first)
        if factor is not None and _newton_step(factor, gradient)[1] <= least:
            return W, True
        if factor is None or _newton_step(factor, gradient)[1] > fast * decrement:
            factor = factorise(problem.hessian(W, omega), np.empty((0, W.size)), np.empty(0, dtype=bool))
        step, decrement = _newton_step(factor, gradient)
        if decrement <= least:
            return W, True
        length = 1.0
        for _ in range(HALVINGS):
            trial = W - length * step
            after, slope = _value_gradient(problem, omega, trial)
            if after <= value - ARMIJO * length * decrement or abs(after - value) <= EQUAL * abs(value):
                break
            length *= 0.5
        else:
            return W, False
        moved = after < value or length == 1.0
        W, value, gradient = trial, after, slope
        if not moved:
            break
    return W, False


def _newton_step(factor: Factor, gradient: Array) -> tuple[Array, float]:
    """H s = g, and the decrease that s promises, twice over."""
    step = factor.solve(gradient.reshape(1, -1)).reshape(gradient.shape)
    return step, float((step * gradient).sum())


def lbfgs(problem: Curved, omega: Array, W: Array) -> Array:
    def objective(flat: Array) -> tuple[float, Array]:
        value, gradient = _value_gradient(problem, omega, flat.reshape(W.shape))
        return value, gradient.reshape(-1)

    found = scipy_minimize(objective, W.reshape(-1), jac=True, method="L-BFGS-B", options=QUASI)
    return np.asarray(found.x, dtype=np.float64).reshape(W.shape)
