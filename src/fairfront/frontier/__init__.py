"""The models of a frontier, what is known of them, how they are kept, and how one is chosen."""

from .frontier import Frontier
from .linear_frontier import assemble
from .models import LinearModels, Models
from .points import Facts, Points

__all__ = [
    "Facts",
    "Frontier",
    "LinearModels",
    "Models",
    "Points",
    "assemble",
]
