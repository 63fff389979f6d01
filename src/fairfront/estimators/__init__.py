"""scikit-learn shells over the entry functions."""

from .frontier_estimators import FrontierClassifier, FrontierRegressor
from .scorers import scorer
from .single import ParetoFairClassifier, ParetoFairRegressor

__all__ = [
    "FrontierClassifier",
    "FrontierRegressor",
    "ParetoFairClassifier",
    "ParetoFairRegressor",
    "scorer",
]
