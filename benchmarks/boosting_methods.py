"""Ways to lower a gap of boosted trees: each returns its candidates' decisions on validation and test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from fairlearn.reductions import ExponentiatedGradient, GridSearch, TruePositiveRateParity
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier

import fairfront as ff

from .boosting_data import Part, Split

LEVELS = np.linspace(0.05, 0.95, 91)


@dataclass(frozen=True)
class Candidates:
    """Shares decided favourable (N, n) on validation and test, and the seconds it took to have the models."""

    validation: np.ndarray
    test: np.ndarray
    seconds: float


CALLS = [0]
"""How often learners were fitted, by whomever."""


class CountedHist(HistGradientBoostingClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        CALLS[0] += 1
        return super().fit(X, y, sample_weight=sample_weight)


class CountedLight(LGBMClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        CALLS[0] += 1
        return super().fit(X, y, sample_weight=sample_weight)


LEARNERS = {"lightgbm": "LightGBM", "hist": "HistGradientBoosting"}


def learner(kind: str, seed: int, quick: bool = False) -> Any:
    """Return a learner as its library sets it up, one thread."""
    if kind == "hist":
        return CountedHist(random_state=seed, max_iter=30 if quick else 100)
    return CountedLight(random_state=seed, n_estimators=30 if quick else 100, n_jobs=1, verbose=-1)


def _decided(models: list[Any], part: Part) -> np.ndarray:
    return np.stack([np.asarray(m.predict(part.X), dtype=float) for m in models])


def _from_models(models: list[Any], data: Split, start: float) -> Candidates:
    seconds = time.process_time() - start
    return Candidates(_decided(models, data.validation), _decided(models, data.test), seconds)


def fairfront(drive: str, max_fits: int = 12, cv: Any = "auto", posteriors: bool = False) -> Callable[..., Candidates]:
    def run(data: Split, base: Any, seed: int) -> Candidates:
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ff.GroupWarning)
            front = ff.trace(
                data.train.X, data.train.y, sensitive_features=data.train.group, estimator=base, drive=drive,
                max_fits=max_fits, cv=cv, posteriors=posteriors, random_state=seed, progress=False,
            )  # fmt: skip
        seconds = time.process_time() - start
        decided = [(front.points.scores(p.X)[:, 0] > 0).astype(float) for p in (data.validation, data.test)]
        return Candidates(*decided, seconds)

    return run


def plain(data: Split, base: Any, seed: int) -> Candidates:
    start = time.process_time()
    return _from_models([base.fit(data.train.X, data.train.y)], data, start)


def grid_search(size: int) -> Callable[..., Candidates]:
    def run(data: Split, base: Any, seed: int) -> Candidates:
        start = time.process_time()
        search = GridSearch(base, TruePositiveRateParity(), grid_size=size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(data.train.X, data.train.y, sensitive_features=data.train.group)
        return _from_models(list(search.predictors_), data, start)

    return run


def exponentiated_gradient(data: Split, base: Any, seed: int) -> Candidates:
    """Randomised decisions at two tolerances; errors and gaps are expected ones."""
    start = time.process_time()
    models = []
    for eps in (0.01, 0.04):
        model = ExponentiatedGradient(base, TruePositiveRateParity(difference_bound=eps), max_iter=30)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(data.train.X, data.train.y, sensitive_features=data.train.group)
        models.append(model)
    seconds = time.process_time() - start
    shares = [np.stack([m._pmf_predict(p.X)[:, 1] for m in models]) for p in (data.validation, data.test)]
    return Candidates(*shares, seconds)


SPREAD: dict[type, dict[str, Any]] = {
    CountedHist: {"max_features": 0.8},
    CountedLight: {"colsample_bytree": 0.8},
}
"""What makes seeds differ."""


def columns_and_seeds(data: Split, base: Any, seed: int) -> Candidates:
    """Drop the columns that go most with the group, and try several seeds: 4 times 3 models."""
    start = time.process_time()
    train = data.train
    member = (train.group == np.unique(train.group)[0]).astype(float)
    spread = train.X.std(axis=0) + 1e-12
    strength = np.abs(((train.X - train.X.mean(axis=0)) * (member - member.mean())[:, None]).mean(axis=0) / spread)
    order = np.argsort(-strength)
    decided: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for dropped in (0, 1, 3, 8):
        kept = np.sort(order[dropped:])
        for number in range(3):
            model = base.__class__(**{**base.get_params(), "random_state": 100 * seed + number, **SPREAD[type(base)]})
            model.fit(train.X[:, kept], train.y)
            for place, part in enumerate((data.validation, data.test)):
                decided[place].append(model.predict(part.X[:, kept]).astype(float))
    seconds = time.process_time() - start
    return Candidates(np.stack(decided[0]), np.stack(decided[1]), seconds)


def linear_newton(data: Split, base: Any, seed: int) -> Candidates:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ff.GroupWarning)
        front = ff.trace(data.train.X, data.train.y, sensitive_features=data.train.group, n_points=12)
    return _from_models([front.select(id=int(i)) for i in front.ids], data, start)


def group_thresholds(data: Split, base: Any, seed: int) -> Candidates:
    """Give each group its own cut-off, chosen on validation for a common true positive rate: needs the group later."""
    start = time.process_time()
    model = base.fit(data.train.X, data.train.y)
    held, test = (model.predict_proba(p.X)[:, 1] for p in (data.validation, data.test))
    shares: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for level in LEVELS:
        for place, (part, score) in enumerate(((data.validation, held), (data.test, test))):
            decided = np.zeros(len(score))
            for g in np.unique(part.group):
                known = held[(data.validation.group == g) & (data.validation.y == 1)]
                cut = np.quantile(known, 1.0 - level) if len(known) else 0.5
                decided[part.group == g] = score[part.group == g] >= cut
            shares[place].append(decided)
    return Candidates(np.stack(shares[0]), np.stack(shares[1]), time.process_time() - start)


POSTERIORS = "fairfront, posteriors"
METHODS: dict[str, Callable[..., Candidates]] = {
    "plain": plain,
    "fairfront, loss gap": fairfront("loss_gap"),
    "fairfront, rate gap": fairfront("rate_gap"),
    "fairfront, one held-out part": fairfront("loss_gap", cv=0.25),
    "fairfront, rate gap, 12 fits": fairfront("rate_gap", 6, 0.25),
    POSTERIORS: fairfront("loss_gap", 40, posteriors=True),
    "GridSearch 12": grid_search(12),
    "GridSearch 100": grid_search(100),
    "ExponentiatedGradient": exponentiated_gradient,
    "columns and seeds": columns_and_seeds,
    "linear Newton": linear_newton,
    "group thresholds": group_thresholds,
}
RACE_METHODS: dict[str, Callable[..., Candidates]] = {
    "plain": plain,
    "fairfront, loss gap": fairfront("loss_gap", 10),
    "fairfront, rate gap": fairfront("rate_gap", 10),
    "fairfront, one held-out part": fairfront("loss_gap", 20, 0.25),
    POSTERIORS: fairfront("loss_gap", 40, posteriors=True),
    "GridSearch 100": grid_search(100),
    "linear Newton": linear_newton,
}
FITS = {
    "plain": 1,
    "fairfront, loss gap": 48,
    "fairfront, rate gap": 48,
    "fairfront, one held-out part": 24,
    "fairfront, rate gap, 12 fits": 12,
    POSTERIORS: 8,
    "GridSearch 12": 12,
    "GridSearch 100": 100,
    "ExponentiatedGradient": 70,
    "columns and seeds": 12,
    "linear Newton": 3,
    "group thresholds": 1,
}
"""About how many fits every method makes, to say what a run will take."""
