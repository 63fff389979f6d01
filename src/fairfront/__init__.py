"""Supervised models that are Pareto efficient between accuracy and fairness, and the frontier to choose from."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see of the names below
    from . import datasets, pareto, torch  # noqa: F401
    from .estimators import (
        FrontierClassifier,
        FrontierRegressor,
        ParetoFairClassifier,
        ParetoFairRegressor,
        scorer,
    )
    from .exceptions import (
        FairfrontError,
        FairfrontWarning,
        GroupWarning,
        InputError,
        MissingExtraError,
        ProxyWarning,
        UnboundedError,
    )
    from .frontier import Frontier
    from .measures import Audit, audit
    from .objectives import GroupProbabilities, Groups
    from .problems import linear_problem
    from .runs import Run, TableModel, load, trace_table
    from .solvers import PBPDO, PDO, Newton, PaperPBPDO, PaperPDO, Status, Weighting
    from .tracing import MinimizeResult, minimize, solve, trace

__version__ = "0.2.0"

__all__ = [
    "PBPDO",
    "PDO",
    "Audit",
    "FairfrontError",
    "FairfrontWarning",
    "Frontier",
    "FrontierClassifier",
    "FrontierRegressor",
    "GroupProbabilities",
    "GroupWarning",
    "Groups",
    "InputError",
    "MinimizeResult",
    "MissingExtraError",
    "Newton",
    "PaperPBPDO",
    "PaperPDO",
    "ParetoFairClassifier",
    "ParetoFairRegressor",
    "ProxyWarning",
    "Run",
    "Status",
    "TableModel",
    "UnboundedError",
    "Weighting",
    "audit",
    "datasets",
    "linear_problem",
    "load",
    "minimize",
    "pareto",
    "scorer",
    "solve",
    "trace",
    "trace_table",
]

_ROOMS = {
    "datasets": (),
    "estimators": (
        "FrontierClassifier",
        "FrontierRegressor",
        "ParetoFairClassifier",
        "ParetoFairRegressor",
        "scorer",
    ),
    "exceptions": (
        "FairfrontError",
        "FairfrontWarning",
        "GroupWarning",
        "InputError",
        "MissingExtraError",
        "ProxyWarning",
        "UnboundedError",
    ),
    "frontier": ("Frontier",),
    "measures": ("Audit", "audit"),
    "objectives": ("GroupProbabilities", "Groups"),
    "pareto": (),
    "problems": ("linear_problem",),
    "runs": ("Run", "TableModel", "load", "trace_table"),
    "solvers": ("PBPDO", "PDO", "Newton", "PaperPBPDO", "PaperPDO", "Status", "Weighting"),
    "torch": (),
    "tracing": ("MinimizeResult", "minimize", "solve", "trace"),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}


def _import_name(name: str) -> Any:
    """Import a public name, or a room, when it is first asked for: nobody pays for what is not used."""
    if name not in _HOME and name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = importlib.import_module(f".{_HOME.get(name, name)}", __name__)
    found = getattr(room, name) if name in _HOME else room
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List what can be asked for, imported or not."""
    return sorted({*globals(), *__all__, *_ROOMS})


if not TYPE_CHECKING:  # a type checker that saw this would let every misspelt name pass
    __getattr__ = _import_name
