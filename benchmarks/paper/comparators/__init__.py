"""The methods that the paper names, each in one small file, for comparison only.

All but `ferm` and `balashankar` take a function w -> (h (m,), J (m, d)) and answer with a `Found`.
"""

from .almo import almo
from .balashankar import against_own_best
from .base import Found, Function
from .chebyshev import smooth_chebyshev
from .epo import epo
from .epsilon_constraint import epsilon_constraint
from .ferm import ferm
from .minimax_pareto import minimax_pareto
from .nbi import nbi
from .pareto_mtl import pareto_mtl, sectors
from .weight_perturbation import weight_perturbation
from .weighted_sum import weighted_sum

__all__ = [
    "Found",
    "Function",
    "against_own_best",
    "almo",
    "epo",
    "epsilon_constraint",
    "ferm",
    "minimax_pareto",
    "nbi",
    "pareto_mtl",
    "sectors",
    "smooth_chebyshev",
    "weight_perturbation",
    "weighted_sum",
]
