"""Where data and models live: linear models in memory or on Dask, estimators of any kind, and plain functions."""

from .base import FirstOrder, Point, SecondOrder, WeightedFit, gram
from .building import Setup, linear_problem
from .dask.problem import DaskProblem
from .dask.running import ClusterError, DaskSettings
from .estimator import EstimatorProblem, Reading
from .function import FunctionProblem
from .laying_estimators import estimator_problem
from .linear import LinearProblem
from .posterior_problem import PosteriorProblem
from .posteriors import PosteriorClassifier
from .threads import blas_threads

__all__ = [
    "ClusterError",
    "DaskProblem",
    "DaskSettings",
    "EstimatorProblem",
    "FirstOrder",
    "FunctionProblem",
    "LinearProblem",
    "Point",
    "PosteriorClassifier",
    "PosteriorProblem",
    "Reading",
    "SecondOrder",
    "Setup",
    "WeightedFit",
    "blas_threads",
    "estimator_problem",
    "gram",
    "linear_problem",
]
