"""Pictures for papers, with matplotlib (extra ``plot``)."""

from .frontier import plot_points
from .groups import plot_groups
from .panels import plot_frontier, plot_overview, plot_panels

__all__ = ["plot_frontier", "plot_groups", "plot_overview", "plot_panels", "plot_points"]
