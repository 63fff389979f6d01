"""Where data and models live: linear models in memory, estimators of any kind, and plain functions."""

from .base import FirstOrder, Point, SecondOrder, WeightedFit, gram
from .building import Setup, linear_problem
from .estimator import EstimatorProblem, Reading, estimator_problem
from .function import FunctionProblem
from .linear import LinearProblem

__all__ = [
    "EstimatorProblem",
    "FirstOrder",
    "FunctionProblem",
    "LinearProblem",
    "Point",
    "Reading",
    "SecondOrder",
    "Setup",
    "WeightedFit",
    "estimator_problem",
    "gram",
    "linear_problem",
]
