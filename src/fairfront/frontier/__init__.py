"""The models of a frontier, what is known of them, how they are kept, and how one is chosen."""

from .assembling import assemble, assemble_knots
from .facts import Facts
from .frontier import Frontier
from .models import LinearModels, Models
from .points import Archive, Points

__all__ = [
    "Archive",
    "Facts",
    "Frontier",
    "LinearModels",
    "Models",
    "Points",
    "assemble",
    "assemble_knots",
]
