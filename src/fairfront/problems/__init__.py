"""Where data and models live: linear models in memory or on Dask, estimators of any kind, and plain functions."""

from .base import FirstOrder as FirstOrder
from .base import Point as Point
from .base import SecondOrder as SecondOrder
from .base import WeightedFit as WeightedFit
from .base import gram as gram
from .dask.passes import DaskSettings as DaskSettings
from .dask.problem import DaskProblem as DaskProblem
from .fit_rows import Reading as Reading
from .functions import FunctionProblem as FunctionProblem
from .linear import LinearProblem as LinearProblem
from .linear_rows import linear_problem as linear_problem
from .linear_rows import problem_of as problem_of
from .posteriors import RuleClassifier as RuleClassifier
from .rate_problem import RateProblem as RateProblem
from .rate_problem import rate_problem as rate_problem
from .threads import one_blas_thread as one_blas_thread
from .weighted_fits import EstimatorProblem as EstimatorProblem
from .weighted_fits import estimator_problem as estimator_problem
