"""Supervised models that are Pareto efficient between accuracy and fairness, and the frontier to choose from."""

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
    UnboundedError,
)
from .frontier import Frontier
from .measures import Audit, audit
from .objectives import GroupProbabilities, Groups
from .problems import linear_problem
from .solvers import PBPDO, PDO, Newton, PaperPBPDO, PaperPDO, Status
from .tracing import MinimizeResult, minimize, solve, trace

__version__ = "0.1.0"

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
    "Status",
    "UnboundedError",
    "audit",
    "datasets",
    "linear_problem",
    "minimize",
    "pareto",
    "scorer",
    "solve",
    "trace",
]
