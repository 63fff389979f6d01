"""Plain functions as a problem: the objectives are the cells themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import approx_fprime

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..objectives.gaps import Identity
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
        if not callable(functions) and not all(map(callable, np.ravel(np.array(functions, dtype=object)))):
            raise InputError(f"functions is {functions!r}, expected a callable or a sequence of callables.")
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
        return np.atleast_1d(np.asarray(parts, dtype=np.float64)).reshape(-1)

    def _with_gradients(self, x: Array) -> tuple[Array, Array]:
        if callable(self.functions):
            values, J = self.functions(x)
        else:
            values, J = zip(*(f(x) for f in self.functions), strict=True)
        flat = np.asarray(values, dtype=np.float64).reshape(-1)
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


def _shaped(J: Any, m: int, d: int) -> Array:
    array = np.asarray(J, dtype=np.float64)
    if array.size != m * d or (array.ndim == 2 and array.shape != (m, d)):
        raise InputError(f"jac has shape {array.shape}, expected ({m}, {d}): one row per objective.")
    return array.reshape(m, d)
