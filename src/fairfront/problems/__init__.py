"""Where data and models live: linear models in memory or on Dask, estimators of any kind, and plain functions."""

from .base import FirstOrder, Point, SecondOrder, WeightedFit, gram
from .building import linear_problem, problem_of
from .dask.problem import DaskProblem
from .dask.running import ClusterError, DaskSettings
from .fits.laying import estimator_problem
from .fits.posterior_problem import PosteriorProblem
from .fits.posteriors import PosteriorClassifier
from .fits.problem import EstimatorProblem, Reading
from .function import FunctionProblem
from .linear import LinearProblem
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
    "WeightedFit",
    "blas_threads",
    "estimator_problem",
    "gram",
    "linear_problem",
    "problem_of",
]
