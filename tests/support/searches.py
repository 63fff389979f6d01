"""Weighted fits by their options: what a `Weighting` takes goes into one, the rest stays."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import fairfront as ff
from fairfront.solvers import Weighting

OPTIONS = tuple(field.name for field in fields(Weighting))


def searching(**options: Any) -> dict[str, Any]:
    """Return the options, with a search as their solver if some of them are those of one."""
    inside = {name: options.pop(name) for name in OPTIONS if name in options}
    return {**options, "solver": Weighting(**inside)} if inside else options


def trace(X: Any, y: Any, **options: Any) -> ff.Frontier:
    """Trace the frontier of an estimator, or of linear models where options ask for no search."""
    return ff.trace(X, y, **searching(**options))
