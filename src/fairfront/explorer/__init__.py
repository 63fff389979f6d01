"""The explorer: one self-contained page in which a person sees the trade-off and chooses."""

from .explorer import describe_points, write_explorer
from .page import frontier_fragment
from .rows import Details

__all__ = ["Details", "describe_points", "frontier_fragment", "write_explorer"]
