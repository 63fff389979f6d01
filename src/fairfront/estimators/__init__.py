"""scikit-learn shells over the entry functions."""

from .pareto_estimators import FrontierClassifier, FrontierRegressor, ParetoFairClassifier, ParetoFairRegressor
from .scorers import scorer

__all__ = [
    "FrontierClassifier",
    "FrontierRegressor",
    "ParetoFairClassifier",
    "ParetoFairRegressor",
    "scorer",
]
