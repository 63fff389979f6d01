"""The explorer: one self-contained page in which a person sees the trade-off and chooses."""

from .details import Details, describe_points
from .page import frontier_fragment, write_explorer

__all__ = ["Details", "describe_points", "frontier_fragment", "write_explorer"]
