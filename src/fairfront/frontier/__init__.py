"""The models of a frontier, what is known of them, how they are kept, and how one is chosen."""

from .assembling import assemble
from .facts import Facts
from .frontier import Frontier
from .models import LinearModels, Models
from .points import Points

__all__ = [
    "Facts",
    "Frontier",
    "LinearModels",
    "Models",
    "Points",
    "assemble",
]
