"""Where data and models live: linear models in memory, and plain functions."""

from .base import FirstOrder, Point, SecondOrder, WeightedFit, gram
from .linear import LinearProblem

__all__ = ["FirstOrder", "LinearProblem", "Point", "SecondOrder", "WeightedFit", "gram"]
