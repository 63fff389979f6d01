"""Ways to lower a gap of boosted trees, for LightGBM and for scikit-learn's histogram boosting.

`solved` counts every call of the learner: 12 weightings are 36 fits of two thirds of the rows to measure and 12 to keep;
rules in rates are 8 fits, of labels and of groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

import fairfront as ff

from ..peers.base import Candidates, Fitting, Peer, model_candidates, two_groups

LEVELS = np.linspace(0.05, 0.95, 91)
"""Common true positive rates that cut-offs per group are placed for."""
TREES, QUICK_TREES = 100, 20
REFERENCE = "fairfront_loss_gap"
INTRODUCTION = (
    "Equal opportunity, sensitive columns not in X, random splits 60 : 20 : 20; the smallest validation error with a gap "
    "of true positive rates of at most the cap, else the smallest gap; figures are those of the test rows. Differences "
    "are to the default, 'fairfront, loss gap', paired, with 95 % intervals that allow for splits sharing rows (Nadeau and "
    "Bengio). Solved counts every call of the learner: 12 weightings are 36 fits of two thirds of the rows to measure and "
    "12 to keep; rules in rates are 8 fits, of labels and of groups. Errors and gaps of "
    "ExponentiatedGradient are those expected of its random decisions."
)
Build = Callable[[Fitting, Any], Candidates]


def hist(fitting: Fitting) -> Any:
    trees = QUICK_TREES if fitting.quick else TREES
    return HistGradientBoostingClassifier(random_state=fitting.seed, max_iter=trees), {"max_features": 0.8}


def lightgbm(fitting: Fitting) -> Any:
    from lightgbm import LGBMClassifier

    trees = QUICK_TREES if fitting.quick else TREES
    return LGBMClassifier(random_state=fitting.seed, n_estimators=trees, n_jobs=1, verbose=-1), {
        "colsample_bytree": 0.8
    }


LEARNERS = {"boosting": lightgbm, "boosting_hist": hist}


def counted(learner: Any) -> tuple[Any, list[int]]:
    """Return a learner of a class whose fits are counted, and the count."""
    count, kind = [0], type(learner)

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        count[0] += 1
        return kind.fit(self, X, y, sample_weight=sample_weight)

    made = type(f"Counted{kind.__name__}", (kind,), {"fit": fit, "__module__": __name__})
    return made(**learner.get_params()), count


def in_rates(fitting: Fitting, learner: Any) -> Candidates:
    """Return the rules on posteriors of the learner."""
    rows = fitting.train
    known = {"estimator": learner, "random_state": fitting.seed, "progress": False, "units": "rates", "held_out": False}
    front = ff.trace(rows.X, rows.y, sensitive_features=rows.groups, **known)
    return Candidates(lambda X, groups: (front.models.scores(X)[:, 0] > 0).astype(float))


def fairfront(criterion: str, weightings: int = 12, for_many: int = 10, **options: Any) -> Build:
    """Return the frontier of weighted fits; with more than two groups it has another number of weightings."""

    def build(fitting: Fitting, learner: Any) -> Candidates:
        rows = fitting.train
        search = ff.Weighting(
            max_fits=weightings if fitting.n_groups == 2 else for_many, criterion=criterion, **options
        )
        known = {"estimator": learner, "solver": search, "random_state": fitting.seed, "progress": False}
        front = ff.trace(rows.X, rows.y, sensitive_features=rows.groups, **known)
        return Candidates(lambda X, groups: (front.models.scores(X)[:, 0] > 0).astype(float))

    return build


def plain(fitting: Fitting, learner: Any) -> Candidates:
    return model_candidates([learner.fit(fitting.train.X, fitting.train.y)])


def grid_search(size: int) -> Build:
    def build(fitting: Fitting, learner: Any) -> Candidates:
        from fairlearn.reductions import GridSearch, TruePositiveRateParity

        search = GridSearch(learner, TruePositiveRateParity(), grid_size=size)
        search.fit(fitting.train.X, fitting.train.y, sensitive_features=fitting.train.groups)
        return model_candidates(list(search.predictors_))

    return build


def exponentiated_gradient(fitting: Fitting, learner: Any) -> Candidates:
    from fairlearn.reductions import ExponentiatedGradient, TruePositiveRateParity

    models = []
    for slack in (0.01, 0.04):
        model = ExponentiatedGradient(learner, TruePositiveRateParity(difference_bound=slack), max_iter=30)
        models.append(model.fit(fitting.train.X, fitting.train.y, sensitive_features=fitting.train.groups))
    return Candidates(lambda X, groups: np.stack([model._pmf_predict(X)[:, 1] for model in models]))


def columns_and_seeds(fitting: Fitting, learner: Any, spread: dict[str, Any]) -> Candidates:
    """Drop the columns that go most with the group, and try several seeds: 4 times 3 models."""
    train = fitting.train
    member = (train.groups == 0).astype(float)
    away = (train.X - train.X.mean(axis=0)) * (member - member.mean())[:, None]
    order = np.argsort(-np.abs(away.mean(axis=0) / (train.X.std(axis=0) + 1e-12)))
    kept = [np.sort(order[dropped:]) for dropped in (0, 1, 3, 8) for _ in range(3)]
    models = [
        type(learner)(**{**learner.get_params(), "random_state": 100 * fitting.seed + place % 3, **spread}).fit(
            train.X[:, columns], train.y
        )
        for place, columns in enumerate(kept)
    ]
    return Candidates(
        lambda X, groups: np.stack([m.predict(X[:, c]).astype(float) for m, c in zip(models, kept, strict=True)])
    )


def linear_newton(fitting: Fitting, learner: Any) -> Candidates:
    front = ff.trace(
        fitting.train.X, fitting.train.y, sensitive_features=fitting.train.groups, n_points=12, progress=False
    )
    return model_candidates([front.select(id=int(i)) for i in front.ids])


def group_thresholds(fitting: Fitting, learner: Any) -> Candidates:
    """Give each group its own cut-off, chosen on validation for a common true positive rate."""
    model, held = learner.fit(fitting.train.X, fitting.train.y), fitting.validation
    known = model.predict_proba(held.X)[:, 1]
    cells = [known[held.good & (held.groups == g)] for g in range(fitting.n_groups)]
    cuts = np.column_stack(
        [np.quantile(cell, 1.0 - LEVELS) if len(cell) else np.full(len(LEVELS), 0.5) for cell in cells]
    )
    return Candidates(lambda X, groups: (model.predict_proba(X)[None, :, 1] >= cuts[:, groups]).astype(float))


WAYS: dict[str, tuple[str, Any, bool]] = {
    "plain": ("plain", plain, True),
    REFERENCE: ("fairfront, loss gap", fairfront("loss_gap"), True),
    "fairfront_rate_gap": ("fairfront, rate gap", fairfront("rate_gap"), True),
    "fairfront_one_part": ("fairfront, one held-out part", fairfront("loss_gap", 12, 20, cv=0.25), True),
    "fairfront_12_fits": ("fairfront, rate gap, 12 fits", fairfront("rate_gap", 6, cv=0.25), False),
    "fairfront_rates": ("fairfront, rates", in_rates, True),
    "grid_search_12": ("GridSearch 12", grid_search(12), False),
    "grid_search_100": ("GridSearch 100", grid_search(100), True),
    "exponentiated_gradient": ("ExponentiatedGradient", exponentiated_gradient, False),
    "columns_and_seeds": ("columns and seeds", columns_and_seeds, False),
    "linear_newton": ("linear Newton", linear_newton, True),
    "group_thresholds": ("group thresholds", group_thresholds, False),
}
"""Per method: its name, how it is fitted, and whether it is tried on more than two groups."""


def counting(build: Any, learner: Callable[[Fitting], Any]) -> Callable[[Fitting], Candidates]:
    """Return one way with a learner whose fits are counted."""

    def fitted(fitting: Fitting) -> Candidates:
        (made, count), spread = counted(learner(fitting)[0]), learner(fitting)[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ff.GroupWarning)
            more = {"spread": spread} if build is columns_and_seeds else {}
            found = build(fitting, made, **more)
        return replace(found, solved=count[0])

    return fitted


def peers(learner: Callable[[Fitting], Any]) -> dict[str, Peer]:
    """Return all ways with one learner."""
    packages = ("lightgbm", "fairlearn.reductions") if learner is lightgbm else ("fairlearn.reductions",)
    return {
        name: Peer(
            words,
            counting(build, learner),
            needs_group_at_prediction=build is group_thresholds,
            packages=packages,
            **({} if many else {"limits": two_groups}),
        )
        for name, (words, build, many) in WAYS.items()
    }


CONTESTS = {name: peers(learner) for name, learner in LEARNERS.items()}
