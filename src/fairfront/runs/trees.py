"""Boosted trees of a run, and what of them no file may tell."""

from __future__ import annotations

from typing import Any

from ..frontier import Frontier
from ..frontier.estimator_models import PosteriorModels
from .settings import Settings


def boosted_trees(settings: Settings) -> Any:
    """Scikit-learn's defaults and the run's seed, so that a rerun is the same."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if settings.regression else HistGradientBoostingClassifier
    return kind(random_state=settings.seed)


def without_counts(front: Frontier) -> Frontier:
    """Take the numbers of rows out of all trees: nodes of two trees differ by a few people, whom no file may count.

    Predictions do not read them.
    """
    points: Any = front.models
    if isinstance(points, PosteriorModels):
        models = [guess.model for guess in points.posteriors.guesses if guess.model is not None]
    else:
        models = [points.build(place) for place in range(len(points))]
    for trees in (trees for model in models for trees in model._predictors):
        for tree in trees:
            tree.nodes["count"] = 0
    return front
