"""Fits that share their first trees: the same model where weights are plain, other trees only after the shared ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.ensemble._hist_gradient_boosting import gradient_boosting
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairfront as ff
from fairfront.problems import learners
from fairfront.problems.learners import fit_learner, shared_trees
from tests.support.searches import searching, trace

LEARNER = HistGradientBoostingClassifier(max_iter=12, early_stopping=False)


def rows(n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    group = np.where(rng.random(n) < 0.4, "a", "b")
    y = (X[:, 0] + 0.7 * (group == "a") * X[:, 1] + rng.normal(size=n) > 0).astype(int)
    return X, y, group


@pytest.mark.slow
@pytest.mark.parametrize("early_stopping", [False, True])
def test_plain_weights_give_the_plain_model(early_stopping: bool) -> None:
    X, y, _ = rows()
    learner = clone(LEARNER).set_params(early_stopping=early_stopping, n_iter_no_change=20)
    shared = shared_trees(learner, 0.5)
    assert shared is not None
    assert (shared.first, shared.rest) == (6, 6)
    ones = np.ones(len(y))
    whole = fit_learner(learner, X, y, ones, 0, {})
    every = np.arange(len(y))
    begun = shared.begin(every, X, y, ones, 0, {})
    grown = shared.grow(begun, every, X, y, ones, {})
    np.testing.assert_allclose(grown.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    assert grown.get_params() == {**learner.get_params(), "random_state": 0}
    heavy = shared.grow(begun, every, X, y, np.where(X[:, 1] > 0, 5.0, 1.0), {})
    assert np.abs(heavy.predict_proba(X) - whole.predict_proba(X)).max() > 0.01
    again = shared.begin(every, X, y, ones, 0, {})
    np.testing.assert_allclose(again[0].predict_proba(X), begun[0].predict_proba(X))


def test_a_class_without_weight_is_fitted_from_nothing() -> None:
    X, y, _ = rows()
    shared = shared_trees(LEARNER, 0.5)
    assert shared is not None
    begun = shared.begin(np.arange(len(y)), X, y, np.ones(len(y)), 0, {})
    left = np.flatnonzero(y == 1)
    assert shared.grow(begun, left, X[left], y[left], np.ones(len(left)), {}) is None


def test_regressors_share_too() -> None:
    X, y, _ = rows()
    shared = shared_trees(HistGradientBoostingRegressor(max_iter=10), 0.3)
    assert shared is not None
    every, ones = np.arange(len(y)), np.ones(len(y))
    begun = shared.begin(every, X, X[:, 0], ones, 0, {})
    assert shared.grow(begun, every, X, X[:, 0], ones, {}).n_iter_ == 10


@pytest.mark.parametrize("learner", [HistGradientBoostingClassifier, HistGradientBoostingRegressor])
def test_rows_kept_for_early_stopping_are_never_trained_on(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other rows, or other labels of classes, would be split anew; a regression's split does not look at targets."""
    X, y, _ = rows()
    kept: list[set[float]] = []
    split = gradient_boosting.train_test_split

    def spied(*args: Any, **kwargs: Any) -> Any:
        found = split(*args, **kwargs)
        kept.append(set(found[1][:, 0]))
        return found

    monkeypatch.setattr(gradient_boosting, "train_test_split", spied)
    shared = shared_trees(learner(max_iter=12, early_stopping=True, n_iter_no_change=20), 0.5)
    assert shared is not None
    every, ones = np.arange(len(y)), np.ones(len(y))
    begun = shared.begin(every, X, y, ones, 0, {})
    assert shared.grow(begun, every, X, y, ones * np.where(y, 3.0, 1.0), {}) is not None
    doubled = np.repeat(every, 2)
    assert shared.grow(begun, doubled, X[doubled], np.tile([0, 1], len(y)), np.ones(2 * len(y)), {}) is None
    other = shared.grow(begun, every, X, 1 - y, ones, {})
    assert (other is None) == (learner is HistGradientBoostingClassifier)
    assert all(each == kept[0] for each in kept)


def test_doubled_rows_that_switch_early_stopping_on_are_fitted_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = rows()
    shared = shared_trees(HistGradientBoostingClassifier(max_iter=6), 0.5)
    assert shared is not None
    every, doubled = np.arange(len(y)), np.repeat(np.arange(len(y)), 2)
    begun = shared.begin(every, X, y, np.ones(len(y)), 0, {})
    twice = (doubled, X[doubled], np.tile([0, 1], len(y)), np.ones(2 * len(y)), {})
    assert shared.grow(begun, *twice) is not None
    monkeypatch.setattr(learners, "MANY", 600)
    assert shared.grow(begun, *twice) is None


@pytest.mark.slow
@pytest.mark.parametrize(("cv", "lazy"), [(2, False), ("train", False), (0.3, True)])
def test_frontiers_of_fits_that_share_trees(cv: Any, lazy: bool) -> None:
    X, y, group = rows()
    known = {"sensitive_features": group, "estimator": LEARNER, "max_fits": 4, "cv": cv, "lazy": lazy}
    full, shared = (trace(X, y, shared_trees=share, **known) for share in (0.0, 0.5))
    plain = [int(np.flatnonzero(~front.multipliers.any(axis=1))[0]) for front in (full, shared)]
    models = [front.select(id=int(front.ids[place])) for front, place in zip((full, shared), plain, strict=True)]
    np.testing.assert_allclose(models[0].predict_proba(X), models[1].predict_proba(X), rtol=1e-12)
    assert np.isfinite(shared.loss).all()
    assert (shared.select(id=int(shared.ids[-1])).predict(X) == shared.models.build(len(shared) - 1).predict(X)).all()


def test_shared_trees_need_an_estimator() -> None:
    X, y, group = rows()
    with pytest.raises(ff.InputError, match="a Weighting searches the weights of an estimator, found none"):
        trace(X, y, sensitive_features=group, shared_trees=0.5)


@pytest.mark.parametrize("share", [-0.1, 1.0, True, "half", 0.01])
def test_shares_that_leave_nothing(share: Any) -> None:
    with pytest.raises(ff.InputError, match="shared_trees is"):
        shared_trees(LEARNER, share)


@pytest.mark.parametrize("other", [RandomForestClassifier(), make_pipeline(StandardScaler(), LEARNER)])
def test_other_learners_are_refused(other: Any) -> None:
    assert shared_trees(other, 0) is None
    with pytest.raises(ff.InputError, match="for scikit-learn"):
        shared_trees(other, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("shell", [ff.FrontierClassifier, ff.FrontierRegressor])
def test_estimators_of_frontiers_share_trees_too(shell: Any) -> None:
    X, y, group = rows()
    regression = shell is ff.FrontierRegressor
    learner = HistGradientBoostingRegressor(max_iter=12) if regression else LEARNER
    labels = X[:, 0] + y if regression else y
    model = shell(**searching(estimator=learner, max_fits=3, cv=2, shared_trees=0.5, fit_params={}))
    assert clone(model).get_params()["solver"].shared_trees == 0.5
    model.fit(X, labels, sensitive_features=group)
    notion = {"notion": "disparate_mistreatment", "loss": "squared"} if regression else {}
    known = {"sensitive_features": group, "estimator": learner, "max_fits": 3, "cv": 2, **notion}
    front = trace(X, labels, shared_trees=0.5, **known)
    np.testing.assert_array_equal(model.frontier_.objectives, front.objectives)
    assert not np.array_equal(front.objectives, trace(X, labels, **known).objectives)
    with pytest.raises(ff.InputError, match="a Weighting searches the weights of an estimator, found none"):
        shell(**searching(shared_trees=0.5)).fit(X, labels, sensitive_features=group)
