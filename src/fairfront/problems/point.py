"""Points: what is known of a problem at some weights, Hessians made solvable, and weighted fits by Newton's method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize as scipy_minimize

from ..exceptions import InputError
from ..objectives import Array
from .base import Point as Point
from .base import gram as gram

if TYPE_CHECKING:
    from .linear import LinearProblem

DENSE_LIMIT = 3000
"""Largest K d for which second-order quantities are formed."""
JITTERS = (1e-13, 1e-11, 1e-9)
"""What is added to a unit diagonal, rounding first; a Hessian that needs more is not singular but indefinite."""
FLOOR, LEAST, TINY = 1e-8, 1e-12, 1e-300
"""Smallest eigenvalue that is taken, as a share of the largest; what the largest counts for at least; and what stands
for 0 where it would be divided by."""
PUSHES = (1.0, 1e2, 1e4)
"""Multiples of the Hessian's size that are added across the active gaps, in turn: large ones cost digits."""
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


class Factor:
    """Cholesky factor of a Hessian whose columns were scaled to a unit diagonal.

    A singular Hessian (collinear one-hot columns, free intercepts) gets jitter; an indefinite one raises
    LinAlgError, because jitter would hide it.
    """

    def __init__(self, H: Array) -> None:
        diagonal = np.diag(H)
        self.scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        scaled = H * self.scale[:, None] * self.scale
        for jitter in JITTERS:
            try:
                self.factor = cho_factor(scaled + jitter * np.eye(len(H)), check_finite=False)
                return
            except LinAlgError:
                continue
        raise LinAlgError("the Hessian is indefinite")

    def solve(self, V: Array) -> Array:
        """H^-1 applied to the rows of V (r, size)."""
        found = cho_solve(self.factor, (V * self.scale).T, check_finite=False).T
        return np.asarray(found * self.scale)


class Shifted(Factor):
    """Factor of a Hessian that was made positive definite by raising its negative eigenvalues."""

    def __init__(self, H: Array) -> None:
        values, vectors = np.linalg.eigh(0.5 * (H + H.T))
        floor = FLOOR * max(float(np.abs(values).max()), LEAST)
        self.inverse = (vectors / np.maximum(np.abs(values), floor)) @ vectors.T

    def solve(self, V: Array) -> Array:
        return np.asarray(V @ self.inverse)


class Augmented(Factor):
    """Factor of H + rho A^T A with the gradients A of the gaps that were active, kept to correct the multipliers."""

    def __init__(self, H: Array, A: Array, rho: float, active: NDArray[np.bool_]) -> None:
        self.A, self.rho, self.active = A, rho, active
        super().__init__(H + rho * A.T @ A)

    def corrected(self, x: Array, move: Array) -> Array:
        """Return the multipliers of the program without rho A^T A; gaps that the step leaves alone have none."""
        full = x.copy()
        full[self.active] -= self.rho * (self.A @ move.reshape(-1))
        return full


def convexified(H: Array, A: Array, active: NDArray[np.bool_]) -> Factor:
    """Add rho A^T A on the active gaps, which leaves the step on them as it is; else raise eigenvalues."""
    scale = float(np.abs(np.diag(H)).max())
    push = scale / max(float((A**2).sum(axis=1).max(initial=0.0)), TINY)
    for rho in (0.0, *(times * push for times in PUSHES if len(A))):
        try:
            return Augmented(H, A, rho, active) if rho else Factor(H)
        except LinAlgError:
            continue
    return Shifted(H)


SAME, STRAIGHT = 1e-9, 1e-11
"""Share of the largest singular value below which a gap depends on others, and curvature (of columns at unit scale)
that is nothing: no row moves along such directions."""
BENT = -1e-9  # curvature along the caps that is negative, not rounding: the point is no minimum there


@dataclass(frozen=True, eq=False)
class Bordered:
    """Blocks of the inverse of [[H, A^T], [A, 0]]: P = T T^T, Q and R, of sizes (size, size), (size, q) and (q, q).

    ``bent`` says that H is not positive along the caps; directions in which it is not are left out of P.
    """

    T: Array
    Q: Array
    R: Array
    bent: bool

    @classmethod
    def of(cls, H: Array, A: Array) -> Bordered:
        """By the null space of A, where H has to be positive; elsewhere it need not be."""
        diagonal = np.abs(np.diag(H))
        unit = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        inner = H * unit[:, None] * unit
        left, sizes, right = np.linalg.svd(A * unit)
        rank = int((sizes > SAME * sizes.max(initial=0.0)).sum())
        along = right[rank:].T
        values, vectors = np.linalg.eigh(along.T @ inner @ along)
        known = values > STRAIGHT
        T = along @ (vectors[:, known] / np.sqrt(values[known]))
        across = (right[:rank].T / sizes[:rank]) @ left[:, :rank].T
        Q = across - T @ (T.T @ (inner @ across))
        return cls(T * unit[:, None], Q * unit[:, None], -Q.T @ inner @ Q, bool(values.min(initial=0.0) < BENT))


RESIDUAL, MOST_PRODUCTS = 1e-9, 500
"""Share of a right-hand side that conjugate gradients leave, and most products that they take."""


class Conjugate:
    """Solves with a Hessian that is known by its products only, by conjugate gradients on all rows at once.

    ``product`` maps rows (r, size) to rows H v; ``diagonal`` scales the columns (Jacobi).
    """

    def __init__(self, product: Callable[[Array], Array], diagonal: Array) -> None:
        self.product, self.inverse_diagonal = product, 1.0 / np.where(diagonal > 0, diagonal, 1.0)

    def solve(self, V: Array) -> Array:
        """H^-1 applied to the rows of V, which stop improving together."""
        x, r = np.zeros_like(V), V.copy()
        z = r * self.inverse_diagonal
        d, rz = z.copy(), (r * z).sum(axis=1)
        goal = RESIDUAL**2 * np.maximum(rz, TINY)
        for _ in range(MOST_PRODUCTS):
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
            factor = convexified(problem.hessian(W, omega), np.empty((0, W.size)), np.empty(0, dtype=bool))
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
