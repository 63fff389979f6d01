"""The explorer: one self-contained page in which a person sees the trade-off and chooses."""

from .details import Details, describe_points
from .fragment import frontier_fragment
from .writing import write_explorer

__all__ = ["Details", "describe_points", "frontier_fragment", "write_explorer"]
