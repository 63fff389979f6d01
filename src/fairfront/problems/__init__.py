"""Where data and models live: linear models in memory, and plain functions."""

from .base import FirstOrder, Point, SecondOrder, WeightedFit, gram
from .building import Setup, linear_problem
from .function import FunctionProblem
from .linear import LinearProblem

__all__ = [
    "FirstOrder",
    "FunctionProblem",
    "LinearProblem",
    "Point",
    "SecondOrder",
    "Setup",
    "WeightedFit",
    "gram",
    "linear_problem",
]
