"""scikit-learn shells over the entry functions."""

from .pareto_estimators import FrontierClassifier as FrontierClassifier
from .pareto_estimators import FrontierRegressor as FrontierRegressor
from .pareto_estimators import ParetoFairClassifier as ParetoFairClassifier
from .pareto_estimators import ParetoFairRegressor as ParetoFairRegressor
from .scorers import scorer as scorer
