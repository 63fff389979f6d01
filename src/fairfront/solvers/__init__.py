"""Solvers: frozen settings and pure functions; they see cells, never rows or features."""

from .base import SOLVERS as SOLVERS
from .base import History as History
from .base import Outcome as Outcome
from .base import Solver as Solver
from .base import Status as Status
from .base import Target as Target
from .base import as_solver as as_solver
from .descent import descend as descend
from .newton import Newton as Newton
from .paper import PaperPBPDO as PaperPBPDO
from .paper import PaperPDO as PaperPDO
from .pb_pdo import PBPDO as PBPDO
from .pdo import PDO as PDO
from .search import Weighting as Weighting
from .trajectory import Visited as Visited

for _solver in (Newton, PBPDO, PDO, PaperPDO, PaperPBPDO):
    SOLVERS.add(_solver.name, _solver)
