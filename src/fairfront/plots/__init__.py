"""Pictures for papers, with matplotlib (extra ``plot``)."""

from .frontier import plot_frontier, plot_overview

__all__ = ["plot_frontier", "plot_overview"]
