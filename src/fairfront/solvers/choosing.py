"""Choosing: which solver or search a call asks for, and what it may not ask for with it."""

from __future__ import annotations

from typing import Any

from ..exceptions import InputError
from ..problems import Setup
from . import SOLVERS, PaperPDO, Solver, Weighting

LINEAR: dict[str, Any] = {
    "surrogate": "loss",
    "preferences": None,
    "preference": None,
    "n_points": None,
    "ridge": None,
    "fit_intercept": True,
    "path": "worst_gap",
}
"""What only linear models have, and how it is when nobody asked for it."""
SEARCH: dict[str, Any] = {
    "max_fits": 12,
    "cv": "auto",
    "drive": "loss_gap",
    "fit_params": None,
    "shared_trees": 0.0,
    "posteriors": False,
    "lazy": False,
}
"""What only the weighted fits of an estimator have, and how it is when nobody asked for it."""


def resolve_solver(solver: str | Solver, setup: Setup) -> Any:
    """Return the solver by name or as given, checked against what was asked of it."""
    if isinstance(solver, type) or not (isinstance(solver, str) or hasattr(solver, "needs")):
        raise InputError(f"solver is {solver!r}, expected a name or an instance such as ff.Newton().")
    chosen: Any = SOLVERS[solver]() if isinstance(solver, str) else solver
    algebra = setup.problem.algebra
    if not algebra.gap.even and not isinstance(chosen, PaperPDO):
        raise InputError(
            f"gap {algebra.gap.name!r} rewards gaps of one sign and exists in paper mode only, found solver "
            f"{chosen.name!r}; use gap='exponential', or solver='paper_pdo' or 'paper_pb_pdo'."
        )
    return chosen


def resolve_search(solver: Any, max_fits: int, **linear: Any) -> Weighting:
    """Return the search in weights, refusing what only linear models have."""
    for name, value in linear.items():
        if value is not LINEAR[name] and not (isinstance(value, str) and value == LINEAR[name]):
            raise InputError(
                f"{name} is for linear models, found an estimator; use max_fits=, drive='rate_gap' or a cap, or set it "
                "in the estimator."
            )
    if isinstance(solver, Weighting):
        return solver
    if solver != "newton":
        raise InputError(f"solver is {solver!r}, expected none or a Weighting with an estimator.")
    return Weighting(max_fits=max_fits)


def refuse_search(**given: Any) -> None:
    """Refuse what only an estimator's weighted fits have, where there is no estimator."""
    for name, value in given.items():
        usual = SEARCH[name]
        if value is not usual and not (isinstance(value, (str, int, float)) and value == usual):
            raise InputError(f"{name} is for an estimator, found none; give estimator=, or leave it out.")
