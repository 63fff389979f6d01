"""Boosted trees for tables: the learner behind ``--model boosting``."""

from __future__ import annotations

from typing import Any

from .settings import Settings


def boosted_trees(settings: Settings) -> Any:
    """Return scikit-learn's histogram boosting with its defaults and the run's seed, so that a rerun is the same."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if settings.regression else HistGradientBoostingClassifier
    return kind(random_state=settings.seed)
