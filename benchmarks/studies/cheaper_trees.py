"""Cheaper weighted fits: a shared prefix of trees, and one run that walks along the frontier, against full fits."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier

from fairfront.problems import estimator_problem

from ..cases import Rows
from ..peers.base import Candidates, Fitting, Peer, model_candidates

TREES, POINTS, STEP = 100, 8, 10
INTRODUCTION = (
    f"Adult, sex, equal opportunity: {POINTS} weightings of {TREES} trees, chosen on validation. *Full*: every point from "
    "nothing. *Prefix*: half of the trees are those of plain training, the other half weighted. *Walk*: after plain "
    "training every point adds a few trees with its own weights to those of the point before. These three use the same "
    "row weights. *Descent* (LightGBM and XGBoost): one training run with a custom objective, which after plain training "
    "follows the direction in which loss and gap fall together, every round anew."
)
Continue = Callable[[Any, int, Rows, np.ndarray], Any]
"""(model, trees, rows, weights) -> the model with so many more trees; a model that is not fitted begins anew."""
Scores = Callable[[np.ndarray, int], np.ndarray]


def continue_hist(model: Any, trees: int, rows: Rows, weight: np.ndarray) -> Any:
    more = copy.deepcopy(model)
    before = getattr(more, "n_iter_", 0)
    return more.set_params(warm_start=True, max_iter=before + trees).fit(rows.X, rows.y, sample_weight=weight)


def continue_lightgbm(model: Any, trees: int, rows: Rows, weight: np.ndarray) -> Any:
    fresh = type(model)(**{**model.get_params(), "n_estimators": trees})
    start = model.booster_ if getattr(model, "fitted_", False) else None
    return fresh.fit(rows.X, rows.y, sample_weight=weight, init_model=start)


def continue_xgboost(model: Any, trees: int, rows: Rows, weight: np.ndarray) -> Any:
    fresh = type(model)(**{**model.get_params(), "n_estimators": trees})
    start = model.get_booster() if hasattr(model, "classes_") else None
    return fresh.fit(rows.X, rows.y, sample_weight=weight, xgb_model=start)


def hist() -> Any:
    return HistGradientBoostingClassifier(early_stopping=False, random_state=0)


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, verbose=-1, n_jobs=1)


def xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(random_state=0, learning_rate=0.1, max_depth=5, n_jobs=1)


def weights(rows: Rows) -> list[np.ndarray]:
    """Return row weights of evenly spaced multipliers, up to doubling the weight of the smaller compared cell."""
    problem = estimator_problem(rows.X, rows.y, estimator=hist(), sensitive_features=rows.groups, cv="train")
    row = problem.algebra.B[0]
    unit = float((problem.shares[row != 0] / np.abs(row[row != 0])).min())
    rare = row[np.argmin(np.where(row != 0, problem.shares, np.inf))]
    found = []
    for t in np.linspace(0.0, 1.0, POINTS):
        weighted = problem.weighted(np.array([np.sign(rare) * t * unit]))
        weight = np.zeros(len(rows.y))
        weight[weighted.index] = weighted.weight
        found.append(weight)
    return found


def full(learner: Any, go: Continue, rows: Rows) -> list[Any]:
    return [go(learner, TREES, rows, weight) for weight in weights(rows)]


def prefix(learner: Any, go: Continue, rows: Rows) -> list[Any]:
    known = weights(rows)
    first = go(learner, TREES // 2, rows, known[0])
    return [go(first, TREES // 2, rows, weight) for weight in known]


def walk(learner: Any, go: Continue, rows: Rows) -> list[Any]:
    known = weights(rows)
    models = [go(learner, TREES, rows, known[0])]
    for weight in known[1:]:
        models.append(go(models[-1], STEP, rows, weight))
    return models


@dataclass(frozen=True)
class Cut:
    """A booster up to some round, deciding as a classifier does."""

    scores: Scores
    rounds: int

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return 1 where the margin is above 0."""
        return (self.scores(X, self.rounds) > 0.0).astype(int)


def slopes(rows: Rows) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return gradients and curvatures of the direction in which loss and gap fall together, of margins (n,).

    In function space the loss has the gradient (sigma - y) / n, and the gap between the mean losses of two cells the
    same residuals, weighted by +1 or -1 over the size of the row's cell. Their shortest convex combination, both of
    unit length, is the bisector, so that neither the loss nor the gap rises more than it must.
    """
    cells = [(rows.groups == group) & rows.good for group in (0, 1)]
    side = cells[0] / cells[0].sum() - cells[1] / cells[1].sum()

    def at(margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, n = expit(margin), len(margin)
        loss = np.logaddexp(0.0, np.where(rows.good, -margin, margin))
        signed = np.sign(side @ loss) * side
        weight = 1.0 / np.linalg.norm(p - rows.y) + signed / np.linalg.norm(signed * (p - rows.y))
        weight *= n / np.abs(weight).sum()
        return weight * (p - rows.y), np.maximum(np.abs(weight) * p * (1.0 - p), 1e-6)

    return at


def descend_lightgbm(plain: Any, rounds: int, rows: Rows) -> Scores:
    """Continue a fitted LGBMClassifier with the custom objective; returns margins after any round."""
    import lightgbm

    at = slopes(rows)
    options = {"objective": lambda margin, _: at(margin), "num_threads": 1, "verbose": -1, "seed": 0}
    booster = lightgbm.train(options, lightgbm.Dataset(rows.X, rows.y), rounds, init_model=plain.booster_)
    return lambda X, upto: np.asarray(booster.predict(X, raw_score=True, num_iteration=upto))


def descend_xgboost(plain: Any, rounds: int, rows: Rows) -> Scores:
    """Continue a fitted XGBClassifier with the custom objective; returns margins after any round."""
    import xgboost

    at, known = slopes(rows), plain.get_params()
    options = {"max_depth": known["max_depth"], "eta": known["learning_rate"], "nthread": 1, "seed": 0}
    given = xgboost.DMatrix(rows.X, rows.y)
    booster = xgboost.train(options, given, rounds, obj=lambda margin, _: at(margin), xgb_model=plain.get_booster())
    return lambda X, upto: booster.predict(xgboost.DMatrix(X), output_margin=True, iteration_range=(0, upto))


def descent(continued: Callable[[Any, int, Rows], Scores]) -> Callable[[Any, Continue, Rows], list[Any]]:
    """Return the way of one training run: the points are the same booster, cut off after more and more rounds."""

    def models(learner: Any, go: Continue, rows: Rows) -> list[Any]:
        plain = go(learner, TREES, rows, weights(rows)[0])
        scores = continued(plain, STEP * (POINTS - 1), rows)
        return [Cut(scores, TREES + STEP * place) for place in range(POINTS)]

    return models


LEARNERS: dict[str, tuple[Callable[[], Any], Continue, Any, tuple[str, ...]]] = {
    "HistGradientBoosting": (hist, continue_hist, None, ()),
    "LightGBM": (lightgbm, continue_lightgbm, descend_lightgbm, ("lightgbm",)),
    "XGBoost": (xgboost, continue_xgboost, descend_xgboost, ("xgboost",)),
}


def peers(name: str) -> dict[str, Peer]:
    """Return all ways with one learner."""
    make, go, continued, packages = LEARNERS[name]
    ways = {"full": full, "prefix": prefix, "walk": walk} | ({"descent": descent(continued)} if continued else {})

    def fit(way: Any) -> Callable[[Fitting], Candidates]:
        return lambda fitting: model_candidates(way(make(), go, fitting.train))

    return {title: Peer(title, fit(way), packages=packages) for title, way in ways.items()}


CONTESTS = {f"cheaper_{name}": peers(name) for name in LEARNERS}
