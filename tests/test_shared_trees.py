"""Fits that share their first trees: the same model where weights are plain, other trees only after the shared ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairfront as ff
from fairfront.problems.learners import fit_learner
from fairfront.problems.sharing_trees import shared_trees

LEARNER = HistGradientBoostingClassifier(max_iter=12, early_stopping=False)


def rows(n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    group = np.where(rng.random(n) < 0.4, "a", "b")
    y = (X[:, 0] + 0.7 * (group == "a") * X[:, 1] + rng.normal(size=n) > 0).astype(int)
    return X, y, group


@pytest.mark.parametrize("early_stopping", [False, True])
def test_plain_weights_give_the_plain_model(early_stopping: bool) -> None:
    X, y, _ = rows()
    learner = clone(LEARNER).set_params(early_stopping=early_stopping, n_iter_no_change=20)
    shared = shared_trees(learner, 0.5)
    assert shared is not None
    assert (shared.first, shared.rest) == (6, 6)
    ones = np.ones(len(y))
    whole = fit_learner(learner, X, y, ones, 0, {})
    begun = fit_learner(shared.beginning, X, y, ones, 0, {})
    grown = shared.grow(begun, X, y, ones, {})
    np.testing.assert_allclose(grown.predict_proba(X), whole.predict_proba(X), rtol=1e-12)
    assert grown.get_params() == {**learner.get_params(), "random_state": 0}
    heavy = shared.grow(begun, X, y, np.where(X[:, 1] > 0, 5.0, 1.0), {})
    assert np.abs(heavy.predict_proba(X) - whole.predict_proba(X)).max() > 0.01
    np.testing.assert_allclose(
        fit_learner(shared.beginning, X, y, ones, 0, {}).predict_proba(X), begun.predict_proba(X)
    )


def test_a_class_without_weight_is_fitted_from_nothing() -> None:
    X, y, _ = rows()
    shared = shared_trees(LEARNER, 0.5)
    assert shared is not None
    begun = fit_learner(shared.beginning, X, y, np.ones(len(y)), 0, {})
    assert shared.grow(begun, X[y == 1], y[y == 1], np.ones(int(y.sum())), {}) is None


def test_regressors_share_too() -> None:
    X, y, _ = rows()
    shared = shared_trees(HistGradientBoostingRegressor(max_iter=10), 0.3)
    assert shared is not None
    begun = fit_learner(shared.beginning, X, X[:, 0], np.ones(len(y)), 0, {})
    assert shared.grow(begun, X, X[:, 0], np.ones(len(y)), {}).n_iter_ == 10


@pytest.mark.parametrize(("cv", "lazy"), [(2, False), ("train", False), (0.3, True)])
def test_frontiers_of_fits_that_share_trees(cv: Any, lazy: bool) -> None:
    X, y, group = rows()
    known = {"sensitive_features": group, "estimator": LEARNER, "max_fits": 4, "cv": cv, "lazy": lazy}
    full, shared = (ff.trace(X, y, shared_trees=share, **known) for share in (0.0, 0.5))
    plain = [int(np.flatnonzero(~front.multipliers.any(axis=1))[0]) for front in (full, shared)]
    models = [front.select(id=int(front.ids[place])) for front, place in zip((full, shared), plain, strict=True)]
    np.testing.assert_allclose(models[0].predict_proba(X), models[1].predict_proba(X), rtol=1e-12)
    assert np.isfinite(shared.loss).all()
    assert (shared.select(id=int(shared.ids[-1])).predict(X) == shared.points.build(len(shared) - 1).predict(X)).all()


def test_shared_trees_need_an_estimator() -> None:
    X, y, group = rows()
    with pytest.raises(ff.InputError, match="shared_trees is for weighted fits"):
        ff.trace(X, y, sensitive_features=group, shared_trees=0.5)


@pytest.mark.parametrize("share", [-0.1, 1.0, True, "half", 0.01])
def test_shares_that_leave_nothing(share: Any) -> None:
    with pytest.raises(ff.InputError, match="shared_trees is"):
        shared_trees(LEARNER, share)


@pytest.mark.parametrize("other", [RandomForestClassifier(), make_pipeline(StandardScaler(), LEARNER)])
def test_other_learners_are_refused(other: Any) -> None:
    assert shared_trees(other, 0) is None
    with pytest.raises(ff.InputError, match="for scikit-learn"):
        shared_trees(other, 0.5)
