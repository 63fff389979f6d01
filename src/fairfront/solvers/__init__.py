"""Solvers: frozen hyper-parameters and pure functions; they see cells, never rows or features."""

from .base import SOLVERS as SOLVERS
from .base import Solver as Solver
from .base import Status as Status
from .base import Target as Target
from .base import as_solver as as_solver
from .loop import Outcome as Outcome
from .loop import run as run
from .newton import Newton as Newton
from .pb_pdo import PBPDO as PBPDO
from .pb_pdo import PaperPBPDO as PaperPBPDO
from .pdo import PDO as PDO
from .pdo import PaperPDO as PaperPDO
from .search import Weighting as Weighting
from .sqp import Knot as Knot

for _solver in (Newton, PBPDO, PDO, PaperPDO, PaperPBPDO):
    SOLVERS.add(_solver.name, _solver)
