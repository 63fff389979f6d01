"""Choosing: which solver or search a call asks for, and what it may not ask for with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from ..exceptions import InputError
from ..validation import refuse
from .weighting import Weighting

LINEAR = ("surrogate", "preferences", "preference", "n_points", "ridge", "fit_intercept", "path")
"""What only linear models have."""
SEARCH = ("max_fits", "cv", "drive", "fit_params", "shared_trees", "posteriors", "lazy", "n_jobs")
"""What only the weighted fits of an estimator have."""


def resolve_search(owner: Callable[..., Any], given: Mapping[str, Any]) -> Weighting:
    """Return the search in weights that ``owner`` was asked for, refusing what only linear models have."""
    linear = _asked_for(owner, given, LINEAR)
    if linear is not None:
        raise InputError(
            f"{linear} is for linear models, found an estimator; use max_fits=, drive='rate_gap' or a cap, or set it "
            "in the estimator."
        )
    solver = given["solver"]
    if isinstance(solver, Weighting):
        if _asked_for(owner, given, ("max_fits",)) is not None:
            raise InputError("max_fits and a Weighting were given, expected one; set Weighting(max_fits=...).")
        return solver
    if not isinstance(solver, str) or solver != "newton":
        raise refuse("solver", solver, "none or a Weighting with an estimator")
    return Weighting(max_fits=given["max_fits"])


def refuse_search(owner: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse what only an estimator's weighted fits have, where ``owner`` was given no estimator."""
    name = _asked_for(owner, given, SEARCH)
    if name is not None:
        raise InputError(f"{name} is for an estimator, found none; give estimator=, or leave it out.")


def _asked_for(owner: Callable[..., Any], given: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """Return the first of the names whose value is not the default that the owner's signature has."""
    usual = {name: parameter.default for name, parameter in signature(owner).parameters.items()}
    for name in names:
        value = given.get(name, usual.get(name))
        plain = isinstance(value, (str, int, float)) and value == usual.get(name)
        if value is not usual.get(name) and not plain:
            return name
    return None
