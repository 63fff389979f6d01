"""One training run that walks along the frontier: a custom objective for LightGBM and XGBoost.

In function space the loss has the gradient (sigma - y) / n, and the gap between the mean losses of two cells the same
residuals, weighted by +1 or -1 over the size of the row's cell. Their shortest convex combination, both of unit length,
is the bisector; every round after plain training fits its tree to it, so that neither the loss nor the gap rises more
than it must. The points of the frontier are the same booster, cut off after more and more rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
import xgboost
from scipy.special import expit

from .boosting_data import Part, Split

Slopes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Cut:
    """A booster up to some round, deciding as a classifier does."""

    scores: Callable[[np.ndarray, int], np.ndarray]
    rounds: int

    def predict(self, X: np.ndarray) -> np.ndarray:
        return (self.scores(X, self.rounds) > 0.0).astype(int)


def descent(part: Part) -> Slopes:
    """Return gradients and curvatures of the direction in which loss and gap fall together, of margins (n,)."""
    first, second = np.unique(part.group)[:2]
    cells = [(part.group == group) & (part.y == 1) for group in (first, second)]
    side = cells[0] / cells[0].sum() - cells[1] / cells[1].sum()

    def slopes(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = expit(margin)
        loss = np.logaddexp(0.0, np.where(part.y == 1, -margin, margin))
        plain = (p - part.y) / len(margin)
        gap = np.sign(side @ loss) * side * (p - part.y)
        weight = 1.0 / len(margin) / np.linalg.norm(plain) + np.sign(side @ loss) * side / np.linalg.norm(gap)
        weight *= len(margin) / np.abs(weight).sum()
        return weight * (p - part.y), np.maximum(np.abs(weight) * p * (1.0 - p), 1e-6)

    return slopes


def walk_lightgbm(plain: Any, rounds: int, data: Split) -> Callable[[np.ndarray, int], np.ndarray]:
    """Continue a fitted LGBMClassifier with the custom objective; returns margins after any round."""
    slopes = descent(data.train)
    options = {"objective": lambda margin, _: slopes(margin), "num_threads": 1, "verbose": -1, "seed": 0}
    rows = lightgbm.Dataset(data.train.X, data.train.y)
    booster = lightgbm.train(options, rows, rounds, init_model=plain.booster_)
    return lambda X, upto: np.asarray(booster.predict(X, raw_score=True, num_iteration=upto))


def walk_xgboost(plain: Any, rounds: int, data: Split) -> Callable[[np.ndarray, int], np.ndarray]:
    """Continue a fitted XGBClassifier with the custom objective; returns margins after any round."""
    slopes = descent(data.train)
    known = plain.get_params()
    options = {"max_depth": known["max_depth"], "eta": known["learning_rate"], "nthread": 1, "seed": 0}
    rows = xgboost.DMatrix(data.train.X, data.train.y)
    booster = xgboost.train(options, rows, rounds, obj=lambda margin, _: slopes(margin), xgb_model=plain.get_booster())
    return lambda X, upto: booster.predict(xgboost.DMatrix(X), output_margin=True, iteration_range=(0, upto))


WALKS = {"LightGBM": walk_lightgbm, "XGBoost": walk_xgboost}
