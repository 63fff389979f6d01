"""Hessians made solvable, whatever the scale of the columns, and weighted fits by Newton's method with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize as scipy_minimize

from ..objectives import Array

if TYPE_CHECKING:
    from .linear import LinearProblem


class Factor:
    """Cholesky factor of a Hessian whose columns were scaled to a unit diagonal.

    A singular Hessian (collinear one-hot columns, free intercepts) gets jitter; an indefinite one raises
    LinAlgError, because jitter would hide it.
    """

    def __init__(self, H: Array) -> None:
        diagonal = np.diag(H)
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        scaled = H * self.scale[:, None] * self.scale
        for jitter in (1e-13, 1e-11, 1e-9):
            try:
                self.factor = cho_factor(scaled + jitter * np.eye(len(H)), check_finite=False)
                return
            except LinAlgError:
                continue
        raise LinAlgError("the Hessian is indefinite")

    def solve(self, V: Array) -> Array:
        """Return H^-1 applied to the rows of V (r, size)."""
        found = cho_solve(self.factor, (V * self.scale).T, check_finite=False).T
        return np.asarray(found * self.scale)


class Shifted(Factor):
    """Factor of a Hessian that was made positive definite by raising its negative eigenvalues."""

    def __init__(self, H: Array) -> None:
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        floor = 1e-8 * max(float(np.abs(values).max()), 1e-12)
        self.inverse = (vectors / np.maximum(np.abs(values), floor)) @ vectors.T

    def solve(self, V: Array) -> Array:
        """Return the inverse applied to the rows of V."""
        return np.asarray(V @ self.inverse)


class Conjugate:
    """Solves with a Hessian that is known by its products only, by conjugate gradients on all rows at once.

    ``product`` maps rows (r, size) to rows H v; ``diagonal`` scales the columns (Jacobi).
    """

    def __init__(
        self, product: Callable[[Array], Array], diagonal: Array, tol: float = 1e-9, max_iter: int = 500
    ) -> None:
        self.product, self.tol, self.max_iter = product, tol, max_iter
        self.inverse_diagonal = 1.0 / np.where(diagonal > 0, diagonal, 1.0)

    def solve(self, V: Array) -> Array:
        """Return H^-1 applied to the rows of V; rows stop improving together."""
        x, r = np.zeros_like(V), V.copy()
        z = r * self.inverse_diagonal
        d, rz = z.copy(), (r * z).sum(axis=1)
        goal = self.tol**2 * np.maximum(rz, 1e-300)
        for _ in range(self.max_iter):
            if (rz <= goal).all():
                break
            Hd = self.product(d)
            bend = (d * Hd).sum(axis=1)
            length = np.where(bend > 0, rz / np.where(bend > 0, bend, 1.0), 0.0)
            x += length[:, None] * d
            r -= length[:, None] * Hd
            z = r * self.inverse_diagonal
            new = (r * z).sum(axis=1)
            d = z + np.where(rz > 0, new / np.where(rz > 0, rz, 1.0), 0.0)[:, None] * d
            rz = new
        return x


WIDTHS = (2.0, 0.6, 0.2, 0.06, 0.02)
"""Rounding of a kink, narrowed on the way (a narrow one has no curvature to start with); the last leaves an error
of at most 0.01."""


def fit_cells(problem: LinearProblem, omega: Array, start: Array, second_order: bool) -> Array:
    """Return the minimiser of omega.L; hinges are rounded widely first, ever more narrowly then."""
    W = start
    path = [problem.loss.smoothed(width) for width in WIDTHS]
    if problem.loss.smooth:
        path.append(problem.loss)
    for loss in dict.fromkeys(path):
        twin = problem.with_loss(loss)
        W = newton(twin, omega, W) if second_order else lbfgs(twin, omega, W)
    return W


def value_gradient(problem: LinearProblem, omega: Array, W: Array) -> tuple[float, Array]:
    """Return omega.L and its gradient at weights (K, d)."""
    point = problem.cells(W[None])
    return float(point.L[0] @ omega), (omega @ point.D[0]).reshape(W.shape)


def newton(problem: LinearProblem, omega: Array, W: Array, tol: float = 1e-13, max_iter: int = 100) -> Array:
    """Damped Newton with exact Hessians; where they lack curvature, L-BFGS brings W nearer first."""
    plain = problem.without_metric()
    W, done = _descend(plain, omega, W, tol, max_iter)
    if not done:
        W, _ = _descend(plain, omega, lbfgs(plain, omega, W), tol, max_iter)
    return W


def _descend(problem: LinearProblem, omega: Array, W: Array, tol: float, max_iter: int) -> tuple[Array, bool]:
    """Take Newton steps until the predicted decrease is below rounding (done) or a step fails (not done).

    The last Hessian says that as well as one taken anew at the end.
    """
    value, gradient = value_gradient(problem, omega, W)
    first = max(abs(value), 1e-300)
    factor: Factor | None = None
    for _ in range(max_iter):
        least = tol * max(abs(value), 1e-3 * first)  # without the second, separable data would never end
        if factor is not None and _newton_step(factor, gradient)[1] <= least:
            return W, True
        factor = _factor(problem.hessian(W, omega))
        step, decrement = _newton_step(factor, gradient)
        if decrement <= least:
            return W, True
        W, value, gradient, moved = _backtrack(problem, omega, W, step, value, gradient, decrement)
        if not moved:
            break
    return W, False


def _factor(H: Array) -> Factor:
    """Factor a Hessian; one without enough curvature is made positive definite."""
    try:
        return Factor(H)
    except LinAlgError:
        return Shifted(H)


def _newton_step(factor: Factor, gradient: Array) -> tuple[Array, float]:
    """Solve H s = g, and return s with the decrease that it promises, twice over."""
    step = factor.solve(gradient.reshape(1, -1)).reshape(gradient.shape)
    return step, float((step * gradient).sum())


def _backtrack(
    problem: LinearProblem,
    omega: Array,
    W: Array,
    step: Array,
    value: float,
    gradient: Array,
    decrement: float,
) -> tuple[Array, float, Array, bool]:
    """Halve the step until the value falls enough (Armijo); give up on steps far too long."""
    length = 1.0
    for _ in range(15):
        trial = W - length * step
        new_value, new_gradient = value_gradient(problem, omega, trial)
        if new_value <= value - 1e-4 * length * decrement or abs(new_value - value) <= 1e-15 * abs(value):
            return trial, new_value, new_gradient, new_value < value or length == 1.0
        length *= 0.5
    return W, value, gradient, False


def lbfgs(problem: LinearProblem, omega: Array, W: Array, max_iter: int = 2000) -> Array:
    """SciPy's L-BFGS with tight tolerances."""
    plain = problem.without_metric()

    def objective(flat: Array) -> tuple[float, Array]:
        value, gradient = value_gradient(plain, omega, flat.reshape(W.shape))
        return value, gradient.reshape(-1)

    found = scipy_minimize(
        objective,
        W.reshape(-1),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 20},
    )
    return np.asarray(found.x, dtype=np.float64).reshape(W.shape)
