"""Selection: rules that turn a wish into one point of a frontier, or say what came nearest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..exceptions import InputError
from ..objectives import Array

Column = Callable[[str], Array]


def knee(loss: Array, gap: Array) -> int:
    """Return the point farthest below the chord between the two ends, both axes scaled to [0, 1]."""
    x, y = _scaled(gap), _scaled(loss)
    return int(np.argmin(x + y))


def _scaled(values: Array) -> Array:
    span = float(values.max() - values.min())
    return (values - values.min()) / span if span > 0 else np.zeros_like(values)


def nearest_preference(objectives: Array, pi: Array) -> int:
    """Return the point with the smallest largest pi_i h_i (weighted Chebyshev)."""
    return int(np.argmin((objectives * pi).max(axis=1)))


def at_most(column: Column, caps: Mapping[str, float], best: Array) -> int:
    """Return the point with the smallest ``best`` among those whose columns are within their caps."""
    allowed = np.ones(len(best), dtype=bool)
    for name, cap in caps.items():
        allowed &= _finite(column(name), name) <= cap
    if not allowed.any():
        raise InputError(_nothing(column, caps))
    return int(np.flatnonzero(allowed)[np.argmin(best[allowed])])


def least(column: Column, name: str, within: Mapping[str, float]) -> int:
    """Return the smallest ``name`` among points at most ``within`` above the smallest of those columns."""
    allowed = np.ones(len(column(name)), dtype=bool)
    for other, tolerance in within.items():
        values = _finite(column(other), other)
        allowed &= values <= values.min() + tolerance
    values = np.where(allowed, _finite(column(name), name), np.inf)
    return int(np.argmin(values))


def _finite(values: Array, name: str) -> Array:
    if np.isnan(values).all():
        raise InputError(f"{name} is not defined on these data for any point: a group has no rows that it needs.")
    return np.where(np.isnan(values), np.inf, values)


def _nothing(column: Column, caps: Mapping[str, float]) -> str:
    """Say that nothing meets the caps, and which point comes nearest."""
    over = sum(np.maximum(_finite(column(n), n) / max(c, 1e-12) - 1.0, 0.0) for n, c in caps.items())
    place = int(np.argmin(over))
    asked = ", ".join(f"{n} <= {c:g}" for n, c in caps.items())
    found = ", ".join(f"{n} = {column(n)[place]:.4g}" for n in caps)
    return f"no point has {asked}; the nearest is at place {place} with {found}; allow more, or trace more points."


def one_rule(rules: Mapping[str, Any]) -> str:
    """Return the name of the single rule that was given."""
    given = [name for name, value in rules.items() if value is not None and value is not False]
    if len(given) != 1:
        raise InputError(f"select takes exactly one rule of {', '.join(rules)}, found {', '.join(given) or 'none'}.")
    return given[0]
