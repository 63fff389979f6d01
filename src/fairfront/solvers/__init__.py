"""Solvers: frozen hyper-parameters and pure functions; they see cells, never rows or features."""

from .base import SOLVERS, Solver, Status, Target, as_solver
from .loop import Outcome, run
from .newton import Newton
from .pb_pdo import PBPDO, PaperPBPDO
from .pdo import PDO, PaperPDO
from .search import Posteriors, Weighting
from .sqp import Knot

for _solver in (Newton, PBPDO, PDO, PaperPDO, PaperPBPDO):
    SOLVERS.add(_solver.name, _solver)

__all__ = [
    "PBPDO",
    "PDO",
    "SOLVERS",
    "Knot",
    "Newton",
    "Outcome",
    "PaperPBPDO",
    "PaperPDO",
    "Posteriors",
    "Solver",
    "Status",
    "Target",
    "Weighting",
    "as_solver",
    "run",
]
