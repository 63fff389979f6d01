"""The explorer: one self-contained page in which a person sees the trade-off and chooses; its forms in notebooks."""

from .details import Details, describe_points
from .notebook import frontier_fragment
from .page import write_explorer

__all__ = ["Details", "describe_points", "frontier_fragment", "write_explorer"]
