"""Solvers: frozen hyper-parameters and pure functions; they see cells, never rows or features."""

from .base import SOLVERS, Outcome, Solver, Status, Target
from .knots import Knot
from .loop import run
from .newton import Newton
from .paper import PaperPBPDO, PaperPDO
from .pb_pdo import PBPDO
from .pdo import PDO
from .search import Posteriors, Weighting

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
    "run",
]
