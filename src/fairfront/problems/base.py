"""Problems: where the data and the model live, and the conventions of all numerics.

Conventions sheet
-----------------
Axes, always in this order: run R, objective m, cell k, class K, feature d, sample n.

    W (R, K, d)      weights of R runs; K = 1 for binary and regression; the intercept, if any, is last
    L (R, k)         cell values; the last cell is the penalty |w|^2 / 2
    G (R, k, K d)    cell gradients
    D (R, k, K d)    cell directions M^-1 G in the problem's metric M (the identity unless set)
    Q (R, k, k)      inner products G M^-1 G^T
    p, B, b, A, h, z see `objectives.gaps`
    beta (R, k)      what a solver answers: the step is  w <- w - D^T beta
    omega (k)        weights of the cells in a weighted fit: minimise omega.L

A solver sees (L, Q) and the algebra, never n or d. Problems offer capabilities; a solver says which it needs:
first order (`cells`, `move`), weighted fit (`fit`), second order (`hessian`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.optimize import approx_fprime

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..objectives.gaps import Identity
from ..validation import refuse
from ..validation.inputs import as_numbers
from .point import Point, gram


@runtime_checkable
class FirstOrder(Protocol):
    """Evaluates cells with their gradients, and moves along them."""

    algebra: Algebra

    def cells(self, W: Array) -> Point:
        """Evaluate R runs: one pass over the data."""

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


Function = Callable[..., Any]


class FunctionProblem:
    """A vector of differentiable functions of x.

    Parameters
    ----------
    functions : callable or sequence of callables
        One callable that returns m values, or m callables that return one value each.
    jac : None, True, callable or sequence of callables
        As in SciPy: True when functions return (value, gradient), a callable for the (m, d) Jacobian, or one per
        objective for its gradient, None for finite differences.
    """

    def __init__(self, functions: Function | Sequence[Function], x0: Array, jac: Any = None) -> None:
        for given, what, expected in (
            (functions, "functions", "a callable or a sequence of callables"),
            (jac, "jac", "None, True, a callable or one per objective"),
        ):
            several = isinstance(given, Sequence) and not isinstance(given, str) and all(map(callable, given))
            open_ = what == "jac" and (given is None or given is True)
            if not (open_ or callable(given) or (several and len(given))):
                raise refuse(what, given, expected)
        self.functions, self.jac, self.K, self.d = functions, jac, 1, x0.size
        values, J = self.evaluate(x0.reshape(-1))
        m = len(values)
        if not (np.isfinite(values).all() and np.isfinite(J).all()):
            raise InputError(f"functions give {values} at x0 with their gradients, expected finite numbers there.")
        if m < 2:
            raise InputError(f"minimize got {m} objective, expected 2 or more; use scipy.optimize.minimize for one.")
        eye, names = np.eye(m), tuple(f"h_{i + 1}" for i in range(m))
        self.algebra = Algebra(eye[0], eye[1:], np.zeros(m - 1), np.zeros(m - 1, dtype=bool), Identity(), names)

    def heights(self, x: Array) -> tuple[Array, Any]:
        """Values (m,), and gradients where functions return both."""
        found = _called(self.functions, x)
        if self.jac is not True:
            return _flat(found), None
        pairs = [found] if callable(self.functions) else found
        if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
            raise InputError("functions do not return pairs, expected (value, gradient) where jac is True.")
        found, gradients = pairs[0] if callable(self.functions) else zip(*pairs, strict=True)
        return _flat(found), gradients

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        """Values (m,) and Jacobian (m, d)."""
        values, gradients = self.heights(x)
        if self.jac is None:
            gradients = approx_fprime(x, lambda at: _flat(_called(self.functions, at)))
        elif self.jac is not True:
            gradients = _called(self.jac, x)
        J = as_numbers(gradients, "what jac returns")
        m, d = len(values), self.d
        if J.size != m * d or (J.ndim == 2 and J.shape != (m, d)):
            raise InputError(f"jac has shape {J.shape}, expected ({m}, {d}): one row per objective.")
        return values, J.reshape(m, d)

    def cells(self, W: Array) -> Point:
        """One after the other; a step may land where functions overflow, and is refused then."""
        with np.errstate(all="ignore"):
            L, G = map(np.array, zip(*(self.evaluate(w.reshape(-1)) for w in W), strict=True))
        return Point(W, L, gram(G, G), G)

    def move(self, point: Point, beta: Array) -> Array:
        return point.moved(beta)


def _called(functions: Function | Sequence[Function], x: Array) -> Any:
    return functions(x) if callable(functions) else [function(x) for function in functions]


def _flat(values: Any) -> Array:
    return np.atleast_1d(as_numbers(values, "what functions return")).reshape(-1)
