"""The methods that the paper names, for comparison only.

All but `ferm` and `against_own_best` take a function w -> (h (m,), J (m, d)) and answer with a `Found`.
"""

from .base import Found, Function
from .constrained import epsilon_constraint, nbi
from .exploration import exploration
from .ferm import ferm
from .gradient import epo, pareto_mtl, sectors
from .homotopy import Hessian, homotopy
from .minimax import against_own_best, almo, minimax_pareto
from .scalar import smooth_chebyshev, weight_perturbation, weighted_sum

__all__ = [
    "Found",
    "Function",
    "Hessian",
    "against_own_best",
    "almo",
    "epo",
    "epsilon_constraint",
    "exploration",
    "ferm",
    "homotopy",
    "minimax_pareto",
    "nbi",
    "pareto_mtl",
    "sectors",
    "smooth_chebyshev",
    "weight_perturbation",
    "weighted_sum",
]
