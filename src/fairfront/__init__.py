"""Supervised models that are Pareto efficient between accuracy and fairness, and the frontier to choose from."""

__version__ = "0.1.0"  # before the imports: files name the version that wrote them

import importlib
from typing import Any

from . import datasets, pareto
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


def __getattr__(name: str) -> Any:
    """Import `fairfront.torch` when it is first asked for, so that nobody pays for it who does not use it."""
    if name == "torch":
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
