"""Problems made of plain functions: every function is a cell, and an objective.

The functions say where they are defined by what they return: a value that is not finite, or an
error of arithmetic (`math.log(-1.0)`), marks a place outside their domain, and solvers refuse the
step that led there. Bounds on x need no refusals: runs move in free variables u with x = x(u)
(`Box`), so that every step stays inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, approx_fprime

from ..exceptions import InputError
from ..objectives import Algebra, Array
from ..objectives.gaps import Identity
from ..validation import refuse
from ..validation.inputs import as_numbers, shape_of
from .base import Point, gram

Function = Callable[..., Any]
Mask = NDArray[np.bool_]
OUTSIDE_DOMAIN = (ValueError, ArithmeticError)
"""What functions raise where they are not defined: math.log(-1.0), 1 / 0, an overflow."""
INSIDE = 1e-3
"""How far inside its bounds a run begins at least, as a share of their distance (of 1 + |x| with a
single bound): on a bound itself x(u) has no slope, and the run could not leave it."""


@dataclass(frozen=True, eq=False)
class Values:
    """Objectives h (m,) at a point and their Jacobian J (m, d)."""

    h: Array
    J: Array


@dataclass(frozen=True, eq=False)
class Box:
    """Bounds lower <= x <= upper, (d,) each, and the map from free variables u (d,) into them.

    x = u                                                    where there is no bound
    x = lower - 1 + sqrt(1 + u^2), upper + 1 - sqrt(1 + u^2) where there is one
    x = middle + half sin(u), half = (upper - lower) / 2     where there are two

    A minimum on a bound becomes an ordinary minimum over u, at which dx/du = 0.
    """

    lower: Array
    upper: Array

    @classmethod
    def of(cls, bounds: Any, x0: Array) -> Box:
        """Return bounds given in SciPy's ways: pairs (low, high), or `scipy.optimize.Bounds`."""
        lower, upper = _bound_arrays(bounds, x0)
        if not (lower < upper).all():
            raise InputError("bounds has low >= high, expected low < high; leave fixed entries out of x.")
        if not ((lower <= x0) & (x0 <= upper)).all():
            raise InputError("x0 lies outside bounds, expected low <= x0 <= high in every entry.")
        return cls(lower, upper)

    @property
    def _has_lower(self) -> Mask:
        return np.isfinite(self.lower)

    @property
    def _has_upper(self) -> Mask:
        return np.isfinite(self.upper)

    def point(self, u: Array) -> Array:
        """Return x(u)."""
        root = np.sqrt(1.0 + u**2)
        x = np.where(self._has_lower, self.lower - 1.0 + root, u)
        x = np.where(self._has_upper, self.upper + 1.0 - root, x)
        both = self._has_lower & self._has_upper
        middle, half = self._middle_and_half(both)
        x = np.where(both, middle + half * np.sin(u), x)
        return np.clip(x, self.lower, self.upper)  # against rounding

    def slope(self, u: Array) -> Array:
        """Return dx/du, (d,)."""
        single = u / np.sqrt(1.0 + u**2)
        slope = np.where(self._has_lower, single, 1.0)
        slope = np.where(self._has_upper, -single, slope)
        both = self._has_lower & self._has_upper
        return np.where(both, self._middle_and_half(both)[1] * np.cos(u), slope)

    def free(self, x: Array) -> Array:
        """Return the u with x(u) = x, from a little inside the bounds for an x on them."""
        both = self._has_lower & self._has_upper
        middle, half = self._middle_and_half(both)
        margin = INSIDE * np.where(both, half, 1.0 + np.abs(x))
        x = np.clip(x, self.lower + margin, self.upper - margin)
        distance = np.where(self._has_lower, x - self.lower, np.where(self._has_upper, self.upper - x, 0.0))
        u = np.where(self._has_lower | self._has_upper, np.sqrt(distance * (distance + 2.0)), x)
        share = np.where(both, (x - middle) / half, 0.0)
        return np.where(both, np.arcsin(share), u)

    def _middle_and_half(self, both: Mask) -> tuple[Array, Array]:
        lower, upper = np.where(both, self.lower, -1.0), np.where(both, self.upper, 1.0)
        return 0.5 * (lower + upper), 0.5 * (upper - lower)


def _bound_arrays(bounds: Any, x0: Array) -> tuple[Array, Array]:
    if not isinstance(bounds, Bounds):
        if shape_of(bounds, "bounds") != (len(x0), 2):
            raise refuse("bounds", bounds, f"{len(x0)} pairs (low, high), or scipy.optimize.Bounds")
        if any(isinstance(each, (bool, np.bool_)) for pair in bounds for each in pair):
            raise refuse("bounds", bounds, "numbers, or None where there is no bound")
        low = [-np.inf if pair[0] is None else pair[0] for pair in bounds]
        high = [np.inf if pair[1] is None else pair[1] for pair in bounds]
        bounds = Bounds(low, high)
    lower = as_numbers(bounds.lb, "bounds")
    upper = as_numbers(bounds.ub, "bounds")
    if lower.size not in (1, len(x0)) or upper.size not in (1, len(x0)):
        raise InputError(f"bounds has {lower.size} pairs, expected {len(x0)}, one per entry of x.")
    return np.broadcast_to(lower, x0.shape), np.broadcast_to(upper, x0.shape)


class FunctionProblem:
    """A vector of m differentiable functions of x (d,); every function is a cell and an objective.

    Parameters
    ----------
    functions : callable or sequence of callables
        One callable that returns m values, or m callables that return one value each.
    x0 : array of shape (d,)
        Where the functions are called first; they have to be defined there.
    jac : None, True, callable or sequence of callables
        As in SciPy: True when functions return (value, gradient), a callable for the (m, d)
        Jacobian, or one per objective for its gradient, None for finite differences.
    """

    K = 1

    def __init__(
        self, functions: Function | Sequence[Function], x0: Array, jac: Any = None, box: Box | None = None
    ) -> None:
        _check_callables(functions, "functions", "a callable or a sequence of callables")
        if jac is not None and jac is not True:
            _check_callables(jac, "jac", "None, True, a callable or one per objective")
        self.functions, self.jac, self.box, self.d = functions, jac, box, x0.size
        # At x0 errors of the functions are for their author to see; elsewhere they mark the domain.
        first = self.values(x0.reshape(-1))
        m = len(first.h)
        if not (np.isfinite(first.h).all() and np.isfinite(first.J).all()):
            raise InputError(f"functions give {first.h} at x0 with their gradients, expected finite numbers there.")
        if m < 2:
            raise InputError(f"minimize got {m} objective, expected 2 or more; use scipy.optimize.minimize for one.")
        rows = np.eye(m)
        names = tuple(f"h_{i + 1}" for i in range(m))
        one_sided = np.zeros(m - 1, dtype=bool)
        self.algebra = Algebra(rows[0], rows[1:], np.zeros(m - 1), one_sided, Identity(), names)

    def values(self, x: Array) -> Values:
        """Return values and Jacobian at x."""
        if self.jac is True:
            return self._values_of_pairs(x)
        h = _flat(_called(self.functions, x))
        if self.jac is None:
            J = approx_fprime(x, lambda at: _flat(_called(self.functions, at)))
        else:
            J = _called(self.jac, x)
        return Values(h, self._checked_jacobian(J, len(h)))

    def _values_of_pairs(self, x: Array) -> Values:
        """Return what functions give that return both a value and a gradient."""
        result = _called(self.functions, x)
        pairs = [result] if callable(self.functions) else result
        if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
            raise InputError("functions do not return pairs, expected (value, gradient) where jac is True.")
        if callable(self.functions):
            h, J = pairs[0]
        else:
            h, J = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        values = _flat(h)
        return Values(values, self._checked_jacobian(J, len(values)))

    def _checked_jacobian(self, J: Any, m: int) -> Array:
        jacobian = as_numbers(J, "what jac returns")
        several_rows = jacobian.ndim == 2 and jacobian.shape != (m, self.d)
        if jacobian.size != m * self.d or several_rows:
            raise InputError(f"jac has shape {jacobian.shape}, expected ({m}, {self.d}): one row per objective.")
        return jacobian.reshape(m, self.d)

    def cells(self, W: Array) -> Point:
        """Evaluate runs one after the other; values are not finite outside the domain."""
        with np.errstate(all="ignore"):
            found = [self._inside_domain(w.reshape(-1)) for w in W]
        G = np.array([each.J for each in found])
        return Point(W, np.array([each.h for each in found]), gram(G, G), G)

    def _inside_domain(self, u: Array) -> Values:
        try:
            if self.box is None:
                return self.values(u)
            inner = self.values(self.box.point(u))
            return Values(inner.h, inner.J * self.box.slope(u))
        except InputError:
            raise
        except OUTSIDE_DOMAIN:
            m = self.algebra.m
            return Values(np.full(m, np.nan), np.zeros((m, self.d)))

    def move(self, point: Point, beta: Array) -> Array:
        """Return the weights w - D^T beta."""
        return point.moved(beta)


def _check_callables(given: Any, name: str, expected: str) -> None:
    several = isinstance(given, Sequence) and not isinstance(given, str)
    if callable(given) or (several and len(given) and all(map(callable, given))):
        return
    raise refuse(name, given, expected)


def _called(functions: Function | Sequence[Function], x: Array) -> Any:
    return functions(x) if callable(functions) else [function(x) for function in functions]


def _flat(values: Any) -> Array:
    return np.atleast_1d(as_numbers(values, "what functions return")).reshape(-1)
