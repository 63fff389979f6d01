"""Dominance, hypervolume and the check that a point is efficient; every objective is minimised."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, minimize

from .exceptions import InputError, MissingExtraError, require
from .validation import check_flag, check_positive, refuse
from .validation.inputs import Array, as_numbers, shape_of

__all__ = ["Efficiency", "hypervolume", "is_efficient", "nondominated"]

Mask = NDArray[np.bool_]
HUGE = 1e8  # stands for a change that is not a number, which the search must not like
PRECISE = {"maxiter": 200, "ftol": 1e-12}  # SLSQP to about rounding
ROUNDING = (1e-14, 4e-16)  # by how much an objective may be above that of x: of its typical change, and of its value
PAIRS = 1 << 22  # pairs of points that are compared at once


def nondominated(points: ArrayLike, /, *, keep_equal: bool = False) -> Mask:
    """Mark the points that no other point dominates, (N,) booleans.

    A point dominates another when it is at most as large in every objective and smaller in one. Up to two
    objectives take one sort. More go to moocore where it is installed (extra ``pareto``) and to a comparison
    of all pairs, in blocks, where it is not.

    Parameters
    ----------
    points : array of shape (N, m), one row per point, one column per objective, all to be minimised
    keep_equal : bool, whether to mark all copies of an efficient point; by default the first copy only
    """
    values = _check_points(points)
    check_flag(keep_equal, "keep_equal")
    distinct, first, copy_of = _distinct(values)
    best = _best(distinct)
    return best[copy_of] if keep_equal else np.isin(np.arange(len(values)), first[best])


def hypervolume(points: ArrayLike, /, reference: ArrayLike) -> float:
    """Measure the volume that the points dominate, up to a reference point.

    Three objectives or more need moocore (extra ``pareto``).

    Parameters
    ----------
    points : array of shape (N, m)
        All objectives are minimised; points not below ``reference`` in every objective contribute nothing.
    reference : array of shape (m,)
        The corner of the box; take it tight, because a roomy box hides the differences between fronts.
    """
    values = _check_points(points)
    corner = as_numbers(reference, "reference")
    if corner.shape != (values.shape[1],) or not np.isfinite(corner).all():
        raise refuse("reference", reference, f"{values.shape[1]} finite number(s), one per objective")
    inside = values[(values < corner).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    if values.shape[1] > 2:
        moocore = require("moocore", "pareto", "the hypervolume of three objectives or more")
        return float(moocore.hypervolume(inside, ref=corner))
    if values.shape[1] == 1:
        return float(corner[0] - inside.min())
    distinct, _, _ = _distinct(inside)
    x, y = distinct[_best(distinct)].T
    return float(((corner[0] - x) * -np.diff(y, prepend=corner[1])).sum())


def _check_points(points: ArrayLike) -> Array:
    values = as_numbers(points, "points")
    if values.ndim != 2 or values.shape[1] == 0:
        raise InputError(
            f"points has shape {values.shape}, expected (N, m): one row per point, one column per objective."
        )
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        raise InputError(
            f"points has NaN or infinity in {int(bad.sum())} row(s), first in row {int(np.argmax(bad))}, "
            "expected finite numbers; drop those points."
        )
    return np.asarray(values + 0.0)  # turns -0.0 into 0.0


def _distinct(values: Array) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct rows in lexicographic order, where each is first, and which one each row equals."""
    order = np.lexsort(values.T[::-1])
    ranked = values[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    copy_of = np.empty(len(values), dtype=np.intp)
    copy_of[order] = np.cumsum(new) - 1
    return ranked[new], order[new], copy_of


def _best(distinct: Array) -> Mask:
    """Mark the nondominated ones of distinct rows in lexicographic order."""
    if distinct.shape[1] <= 2:
        last = distinct[:, -1]
        lowest = np.minimum.accumulate(np.concatenate([[np.inf], last]))
        return np.asarray(last < lowest[:-1])
    if len(distinct) < 2:
        return np.ones(len(distinct), dtype=bool)
    with suppress(MissingExtraError):
        moocore = require("moocore", "pareto", "a fast dominance check")
        return np.asarray(moocore.is_nondominated(distinct), dtype=bool)
    size = max(1, PAIRS // len(distinct))
    best = []
    for start in range(0, len(distinct), size):
        rows = distinct[start : start + size]
        below = np.ones((len(rows), len(distinct)), dtype=bool)
        for one, all_of in zip(rows.T, distinct.T, strict=True):
            below &= all_of[None] <= one[:, None]
        best.append(below.sum(axis=1) == 1)  # only the row itself is nowhere above it
    return np.concatenate(best)


def spread(axes: Array, size: int) -> NDArray[np.intp]:
    """Choose at most ``size`` points that cover the others: the ends first, then always the farthest one."""
    if len(axes) <= size:
        return np.arange(len(axes))
    low, high = axes.min(axis=0), axes.max(axis=0)
    scaled = (axes - low) / np.where(high > low, high - low, 1.0)
    chosen = list(dict.fromkeys(int(i) for i in scaled.argmin(axis=0)))[:size]
    distance = np.min([np.abs(scaled - scaled[i]).max(axis=1) for i in chosen], axis=0)
    while len(chosen) < size:
        farthest = int(np.argmax(distance))
        chosen.append(farthest)
        distance = np.minimum(distance, np.abs(scaled - scaled[farthest]).max(axis=1))
    return np.sort(np.array(chosen, dtype=np.intp))


@dataclass(frozen=True, eq=False)
class Efficiency:
    """What `is_efficient` found; true when no better point was found.

    Attributes
    ----------
    efficient : bool
    improvement : float
        The largest total decrease found, the sum over the objectives of (h_i(x) - h_i(w)) / s_i with s_i the typical
        change of h_i around x.
    better : array of shape (d,), the w that reaches it, or None for an efficient point
    values : array of shape (m,), the objectives h(x)
    """

    efficient: bool
    improvement: float
    better: Array | None
    values: Array

    def __bool__(self) -> bool:
        return self.efficient


def is_efficient(
    functions: Any, x: ArrayLike, /, *, jac: Any = None, tol: float = 1e-6, bounds: Any = None
) -> Efficiency:
    """Check whether any point dominates x, by the auxiliary problem of the paper (appendix, existence).

        min over w of  sum_i h_i(w) / s_i      subject to  h(w) <= h(x)

    x is efficient if and only if it is a minimiser. Each h_i is divided by its typical change around x, which
    leaves the statement as it is. The problem is solved from x and from six fixed perturbations of it.

    Parameters
    ----------
    functions : one callable w -> m values, or a sequence of m callables w -> value
    x : array of shape (d,)
    jac : True, callable, sequence of callables or None
        True: the functions return (value, gradient); callable: w -> Jacobian (m, d), or one gradient per
        objective; None: central differences.
    tol : float, total decrease, in units of the objectives' typical change, up to which x counts as efficient
    bounds : sequence of (low, high) or scipy.optimize.Bounds, optional
        The region in which better points are looked for.

    Notes
    -----
    A better point shows that x is not efficient. The opposite verdict says that a local search found nothing;
    it can be relied on, up to ``tol``, for smooth convex objectives.
    """
    point = np.atleast_1d(as_numbers(x, "x"))
    if point.ndim != 1 or not np.isfinite(point).all():
        raise refuse("x", x, "d finite numbers, one per parameter")
    tol = check_positive(tol, "tol")
    search = _Search(functions, jac, point, _as_bounds(bounds, point))
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        search.run(tol)
    efficient = bool(search.improvement <= tol)
    return Efficiency(efficient, search.improvement, None if efficient else search.better, search.base)


def _as_bounds(bounds: Any, x: Array) -> Bounds:
    if bounds is None:
        bounds = Bounds()  # none at all
    if not isinstance(bounds, Bounds):
        shape = shape_of(bounds, "bounds")
        if len(shape) != 2 or shape[1] != 2:
            raise refuse("bounds", bounds, "one (low, high) per entry of x, or scipy.optimize.Bounds")
        ends = np.array([[-np.inf if low is None else low, np.inf if high is None else high] for low, high in bounds])
        bounds = Bounds(*as_numbers(ends, "bounds").T)
    lower, upper = (np.ravel(side) for side in (bounds.lb, bounds.ub))
    if any(len(side) not in (1, len(x)) for side in (lower, upper)):
        raise InputError(f"bounds has {len(lower)} pairs, expected {len(x)}, one per entry of x.")
    if not ((lower <= x) & (x <= upper)).all():
        raise InputError("x lies outside bounds, expected low <= x <= high in every entry.")
    return Bounds(np.broadcast_to(lower, x.shape), np.broadcast_to(upper, x.shape))


class _Search:
    """The auxiliary problem at x; keeps the best point that dominates x among all those evaluated."""

    def __init__(self, functions: Any, jac: Any, x: Array, bounds: Bounds) -> None:
        self.pairs = jac is True
        self.function = _stacked(functions, self.pairs)
        self.jac = None if jac is None or self.pairs else _stacked(jac, False)
        self.x, self.bounds = x, bounds
        self.seen, self.found = np.full(len(x), np.nan), None
        self.base = self._values(x)
        if not np.isfinite(self.base).all():
            raise InputError(f"functions give {self.base} at x, expected finite values.")
        self.scale, self.improvement, self.better = np.ones(len(self.base)), 0.0, x

    def run(self, tol: float) -> None:
        """Solve from x, then from points around it at three distances, until the decrease found exceeds tol."""
        random, d = np.random.default_rng(0), len(self.x)
        size = random.uniform(0.5, 1.0, (3, d)) * np.array([[0.01], [0.1], [1.0]]) * (1.0 + np.abs(self.x))
        moves = size * random.choice([-1.0, 1.0], (3, d))
        starts = [np.clip(self.x + move, self.bounds.lb, self.bounds.ub) for move in [*moves, *-moves]]
        changes = np.array([np.abs(self._values(w) - self.base) for w in starts])
        known = np.where(np.isfinite(changes) & (changes > 0), changes, np.nan)
        self.scale = np.nanmedian(np.where(np.isnan(known).all(axis=0), 1.0, known), axis=0)
        for start in [self.x, *starts]:
            if self._solve(start, 0.0) < -tol:  # lower, maybe a rounding outside: ask for a margin
                self._solve(start, 0.1 * tol / len(self.base))
            if self.improvement > tol:
                self._solve(self.better, 0.0)
                return

    def _solve(self, start: Array, margin: float) -> float:
        limits: dict[str, Any] = {"type": "ineq", "fun": lambda w: -self._change(w) - margin}
        settings: dict[str, Any] = {"jac": "3-point", "options": PRECISE}
        if self.pairs or self.jac is not None:
            limits["jac"] = lambda w: -self._slopes(w)
            settings["jac"] = lambda w: self._slopes(w).sum(axis=0)
        settings |= {"method": "SLSQP", "bounds": self.bounds, "constraints": limits}
        return float(minimize(lambda w: self._change(w).sum(), start, **settings).fun)

    def _change(self, w: Array) -> Array:
        """Return (h(w) - h(x)) / s and remember w if it is the best so far that dominates x."""
        change = np.nan_to_num((self._values(w) - self.base) / self.scale, nan=HUGE, posinf=HUGE, neginf=HUGE)
        rounding = ROUNDING[0] + ROUNDING[1] * np.abs(self.base) / self.scale
        if -change.sum() > self.improvement and (change <= rounding).all():
            self.improvement, self.better = float(-change.sum()), np.array(w, dtype=np.float64)
        return change

    def _evaluate(self, w: Array) -> Any:
        """Once for questions in a row about the same point."""
        if not np.array_equal(w, self.seen):
            self.seen, self.found = np.array(w), self.function(w)
        return self.found

    def _values(self, w: Array) -> Array:
        found = self._evaluate(w)
        return np.ravel(as_numbers(found[0] if self.pairs else found, "what functions return"))

    def _slopes(self, w: Array) -> Array:
        found = self._evaluate(w)[1] if self.jac is None else self.jac(w)
        J = np.asarray(found, dtype=np.float64)
        expected = (len(self.base), len(w))
        if J.shape != expected and not (J.ndim == 1 and J.size == max(expected) and 1 in expected):
            raise InputError(f"jac gives shape {J.shape}, expected {expected}: one gradient per objective.")
        return np.nan_to_num(J.reshape(expected) / self.scale[:, None], posinf=HUGE, neginf=-HUGE)


def _stacked(functions: Callable[[Array], Any] | Sequence[Any], pairs: bool) -> Callable[[Array], Any]:
    if callable(functions):
        return functions
    if not isinstance(functions, Sequence) or not functions or not all(map(callable, functions)):
        raise InputError("functions and jac: expected a callable or one callable per objective in a list.")

    def evaluate(w: Array) -> Any:
        found = [f(w) for f in functions]
        if pairs:
            return tuple(np.stack([np.ravel(v) for v in part]) for part in zip(*found, strict=True))
        return np.stack([np.ravel(v) for v in found])

    return evaluate
