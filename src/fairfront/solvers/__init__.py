"""Solvers: frozen hyper-parameters and pure functions; they see cells, never rows or features."""

from ..exceptions import InputError
from ..objectives import Algebra
from ..validation import Registry
from .base import Outcome, Solver, Status, Target
from .knots import Knot
from .loop import run
from .newton import Newton
from .paper import PaperPBPDO, PaperPDO
from .pb_pdo import PBPDO
from .pdo import PDO
from .search import Posteriors, Weighting

SOLVERS: Registry[type[Solver]] = Registry("solver", Newton, PBPDO, PDO, PaperPDO, PaperPBPDO)

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


def as_solver(solver: str | Solver, algebra: Algebra | None = None) -> Solver:
    """Return the solver by name or as given, for gaps of one sign (of ``algebra``) only one that accepts them."""
    chosen: Solver = SOLVERS.made(solver, Solver, "a name or an instance such as ff.Newton()")
    if "estimators" in chosen.accepts:
        raise InputError("a Weighting searches the weights of an estimator, found none; give estimator=.")
    if algebra is not None and not algebra.gap.even and "uneven gaps" not in chosen.accepts:
        raise InputError(
            f"gap {algebra.gap.name!r} rewards gaps of one sign and exists in paper mode only, found solver "
            f"{chosen.name!r}; use gap='exponential', or solver='paper_pdo' or 'paper_pb_pdo'."
        )
    return chosen
