"""Where data and models live: linear models in memory or on Dask, estimators of any kind, and plain functions."""

from .base import FirstOrder, FunctionProblem, SecondOrder, WeightedFit
from .dask.passes import ClusterError, DaskSettings
from .dask.problem import DaskProblem
from .fit_rows import Reading
from .linear import LinearProblem, linear_problem, problem_of
from .point import Point, gram
from .posteriors import PosteriorClassifier
from .resources import blas_threads
from .user_data import estimator_problem
from .weighted_fits import EstimatorProblem, PosteriorProblem

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
    "WeightedFit",
    "blas_threads",
    "estimator_problem",
    "gram",
    "linear_problem",
    "problem_of",
]
