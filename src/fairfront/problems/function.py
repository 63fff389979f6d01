"""Plain functions as a problem: the objectives are the cells themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import approx_fprime

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..objectives.gaps import Identity
from ..validation import as_numbers, refuse
from .base import Point, gram

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
        _check_functions(functions, "functions", "a callable or a sequence of callables")
        if jac is not None and jac is not True:
            _check_functions(jac, "jac", "None, True, a callable or one per objective")
        self.functions, self.jac = functions, jac
        self.K, self.d = 1, x0.size
        values, J = self.evaluate(x0.reshape(-1))
        m = len(values)
        if not (np.isfinite(values).all() and np.isfinite(J).all()):
            raise InputError(f"functions give {values} at x0 with their gradients, expected finite numbers there.")
        if m < 2:
            raise InputError(f"minimize got {m} objective, expected 2 or more; use scipy.optimize.minimize for one.")
        eye = np.eye(m)
        self.algebra = Algebra(
            p=eye[0],
            B=eye[1:],
            b=np.zeros(m - 1),
            two_sided=np.zeros(m - 1, dtype=bool),
            gap=Identity(),
            names=tuple(f"h_{i + 1}" for i in range(m)),
        )

    def evaluate(self, x: Array) -> tuple[Array, Array]:
        """Return the values (m,) and the Jacobian (m, d) at x."""
        if self.jac is True:
            return self._with_gradients(x)
        values = self._values(x)
        return values, _shaped(self._gradients(x), len(values), self.d)

    def _gradients(self, x: Array) -> Any:
        if self.jac is None:
            return approx_fprime(x, self._values)
        return self.jac(x) if callable(self.jac) else [gradient(x) for gradient in self.jac]

    def _values(self, x: Array) -> Array:
        parts = self.functions(x) if callable(self.functions) else [f(x) for f in self.functions]
        return np.atleast_1d(as_numbers(parts, "what functions return")).reshape(-1)

    def _with_gradients(self, x: Array) -> tuple[Array, Array]:
        whole = callable(self.functions)
        found = [self.functions(x)] if callable(self.functions) else [f(x) for f in self.functions]
        if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in found):
            raise InputError("functions do not return pairs, expected (value, gradient) where jac is True.")
        values, J = found[0] if whole else tuple(zip(*found, strict=True))
        flat = as_numbers(values, "what functions return").reshape(-1)
        return flat, _shaped(J, len(flat), self.d)

    def cells(self, W: Array) -> Point:
        """Evaluate R points, one after the other; a step may land where functions overflow, and is refused then."""
        with np.errstate(all="ignore"):
            found = [self.evaluate(w.reshape(-1)) for w in W]
        L, G = np.array([f[0] for f in found]), np.array([f[1] for f in found])
        return Point(W, L, gram(G, G), G)

    def move(self, point: Point, beta: Array) -> Array:
        """Return x - J^T beta."""
        return np.asarray(point.W - np.einsum("rk,rkd->rd", beta, point.D).reshape(point.W.shape))


def _check_functions(given: Any, what: str, expected: str) -> None:
    several = isinstance(given, Sequence) and not isinstance(given, str) and all(map(callable, given))
    if not callable(given) and not (several and len(given)):
        raise refuse(what, given, expected)


def _shaped(J: Any, m: int, d: int) -> Array:
    array = as_numbers(J, "what jac returns")
    if array.size != m * d or (array.ndim == 2 and array.shape != (m, d)):
        raise InputError(f"jac has shape {array.shape}, expected ({m}, {d}): one row per objective.")
    return array.reshape(m, d)
