"""Solvers: frozen hyper-parameters and pure functions; they see cells, never rows or features."""

from typing import Any

from ..registry import Registry
from .base import Outcome, Status, Target
from .loop import Solver, run
from .newton import Knot, Newton
from .paper import PaperPBPDO, PaperPDO
from .pb_pdo import PBPDO
from .pdo import PDO
from .weighting import Weighting

SOLVERS: Registry[Any] = Registry("solver")
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
    "Solver",
    "Status",
    "Target",
    "Weighting",
    "run",
]
