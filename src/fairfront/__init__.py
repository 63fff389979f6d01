"""Supervised models that are Pareto efficient between accuracy and fairness, and the frontier to choose from."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see of the names below
    from . import datasets as datasets
    from . import pareto as pareto
    from . import torch as torch
    from .estimators import FrontierClassifier as FrontierClassifier
    from .estimators import FrontierRegressor as FrontierRegressor
    from .estimators import ParetoFairClassifier as ParetoFairClassifier
    from .estimators import ParetoFairRegressor as ParetoFairRegressor
    from .estimators import scorer as scorer
    from .exceptions import ColumnWarning as ColumnWarning
    from .exceptions import FairfrontError as FairfrontError
    from .exceptions import FairfrontWarning as FairfrontWarning
    from .exceptions import GroupWarning as GroupWarning
    from .exceptions import InputError as InputError
    from .exceptions import MissingExtraError as MissingExtraError
    from .exceptions import ProxyWarning as ProxyWarning
    from .exceptions import UnboundedError as UnboundedError
    from .frontier import Frontier as Frontier
    from .frontier import Rates as Rates
    from .frontier import Reasons as Reasons
    from .frontier import reasons as reasons
    from .improvability import Alternatives as Alternatives
    from .improvability import alternatives as alternatives
    from .measures import Audit as Audit
    from .measures import audit as audit
    from .objectives import GroupProbabilities as GroupProbabilities
    from .objectives import Groups as Groups
    from .problems import linear_problem as linear_problem
    from .runs import Run as Run
    from .runs import TableModel as TableModel
    from .runs import load as load
    from .runs import trace_table as trace_table
    from .solution import MinimizeResult as MinimizeResult
    from .solution import minimize as minimize
    from .solution import solve as solve
    from .solvers import PBPDO as PBPDO
    from .solvers import PDO as PDO
    from .solvers import Newton as Newton
    from .solvers import PaperPBPDO as PaperPBPDO
    from .solvers import PaperPDO as PaperPDO
    from .solvers import Status as Status
    from .solvers import Weighting as Weighting
    from .tracing import trace as trace

__version__ = "0.3.0"

_ROOMS = {
    "datasets": "",
    "estimators": "FrontierClassifier FrontierRegressor ParetoFairClassifier ParetoFairRegressor scorer",
    "exceptions": "FairfrontError InputError MissingExtraError UnboundedError "
    "ColumnWarning FairfrontWarning GroupWarning ProxyWarning",
    "frontier": "Frontier Rates Reasons reasons",
    "improvability": "Alternatives alternatives",
    "measures": "Audit audit",
    "objectives": "GroupProbabilities Groups",
    "pareto": "",
    "problems": "linear_problem",
    "runs": "Run TableModel load trace_table",
    "solvers": "PBPDO PDO Newton PaperPBPDO PaperPDO Status Weighting",
    "torch": "",
    "solution": "MinimizeResult minimize solve",
    "tracing": "trace",
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names.split()}
__all__ = sorted({*_HOME, "datasets", "pareto"})


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
