"""The models of a frontier, how they are kept, and how one is chosen."""

from .archive import Archive
from .assembling import assemble, assemble_knots, facts_of
from .facts import Facts
from .frontier import Frontier
from .points import LinearPoints, Points

__all__ = ["Archive", "Facts", "Frontier", "LinearPoints", "Points", "assemble", "assemble_knots", "facts_of"]
