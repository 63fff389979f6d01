"""Which rows are held out, how many fits that costs, and scikit-learn's contract around any estimator."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator
from test_estimators import SMALL, Shell

import fairfront as ff
from fairfront.frontier import estimator_frontier
from fairfront.problems import estimator_problem
from fairfront.problems.fit_rows import find_folds
from tests.support.searches import trace


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 900
    group = np.where(rng.random(n) < 0.4, "B", "A")
    X = rng.normal(size=(n, 4)) + 0.5 * (group == "A")[:, None]
    y = np.where(X[:, 0] - X[:, 1] + (group == "A") * X[:, 2] + rng.logistic(size=n) > 0, "paid", "lost")
    return X, y, group


def tree(**options):
    return DecisionTreeClassifier(min_samples_leaf=40, **options)


@pytest.mark.parametrize("cv", [3, 0.25, KFold(4), None, "auto"])
def test_folds_hold_rows_out(data, cv) -> None:
    X, y, group = data
    cells = estimator_problem(X, y, estimator=tree(), sensitive_features=group, cv=2).objectives.layout.cells
    folds = find_folds(cv, X, y, np.arange(len(y)), cells, True, 0)
    for fit, held in folds.pairs:
        assert folds.same or not set(fit) & set(held)
    if cv in (3, "auto"):  # too few rows here for one held-out part
        assert len(folds.pairs) == 3
        assert sorted(np.concatenate([held for _, held in folds.pairs])) == list(range(len(y)))
        for _, held in folds.pairs:
            assert (group[held] == "A").mean() == pytest.approx((group == "A").mean(), abs=0.01)
    if cv == 0.25:
        assert len(folds.held) == pytest.approx(0.25 * len(y), abs=1)


def test_many_rows_in_every_cell_need_one_held_out_part_only() -> None:
    n = 20_000
    group, y = np.repeat(["a", "b"], n // 2), np.arange(n) % 2
    problem = estimator_problem(np.zeros((n, 1)), y, estimator=tree(), sensitive_features=group)
    assert len(problem.folds.pairs) == 1
    assert len(problem.folds.held) == n // 4
    few = estimator_problem(np.zeros((n, 1)), y, estimator=tree(), sensitive_features=np.arange(n) < 2000)
    assert len(few.folds.pairs) == 3


def test_pairs_that_are_given_count_rows_of_weight_zero(data) -> None:
    X, y, group = data
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0)
    pairs = list(KFold(3).split(X))
    problem = estimator_problem(X, y, estimator=tree(), sensitive_features=group, sample_weight=weight, cv=pairs)
    kept = np.flatnonzero(weight)
    for (fit, held), (first, second) in zip(problem.folds.pairs, pairs, strict=True):
        assert set(kept[fit]) == set(first) & set(kept)
        assert set(kept[held]) == set(second) & set(kept)


def test_every_fit_moves_the_bar(data, monkeypatch) -> None:
    seen: list[int] = []

    class Recorder:
        def update(self, done, note=""):
            seen.append(done)

    @contextmanager
    def bar(show, title, total):
        assert total == 4 * (3 + 1)
        yield Recorder()

    monkeypatch.setattr(estimator_frontier, "progress_bar", bar)
    X, y, group = data
    trace(X, y, sensitive_features=group, estimator=tree(), max_fits=4)
    assert seen == list(range(1, 17))


def test_more_rows_than_labels_are_refused(data) -> None:
    X, y, group = data
    for shell in (ff.FrontierClassifier(estimator=tree()), ff.ParetoFairClassifier(estimator=tree())):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            shell.fit(X, y[:-1], sensitive_features=group[:-1])


def test_sparse_matrices_of_every_format_have_rows(data) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    X, y, group = data
    options = {"sensitive_features": group, "estimator": LogisticRegression(), "max_fits": 2, "cv": 2}
    found = [trace(kind(X), y, **options).gaps for kind in (np.asarray, sparse.coo_matrix, sparse.csc_array)]
    assert found[1] == pytest.approx(found[0], abs=1e-4)
    assert np.array_equal(found[1], found[2])


class Classifier(Shell, ff.ParetoFairClassifier):
    pass


class ManyClassifiers(Shell, ff.FrontierClassifier):
    pass


class ManyRegressors(Shell, ff.FrontierRegressor):
    pass


OPTIONS = {"solver": ff.Weighting(max_fits=3, cv="train"), "groups": SMALL}
SHELLS = [
    Classifier(estimator=LogisticRegression(tol=1e-10), **OPTIONS),
    ManyClassifiers(estimator=LogisticRegression(tol=1e-10), **OPTIONS),
    ManyRegressors(estimator=Ridge(solver="sparse_cg", tol=1e-12), **OPTIONS),
]
WRAPPED = {"check_dtype_object", "check_array_api_input"}
"""The first wants the learner's own TypeError, which is told inside an InputError; the second skips itself."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", SHELLS, ids=lambda e: type(e).__name__)
def test_check_estimator_around_a_learner(estimator) -> None:
    for instance, check in estimator_checks_generator(estimator):
        name = getattr(check, "func", check).__name__
        if "sample_weight_equivalence" in name:
            instance.set_params(notion="disparate_mistreatment")  # these give a label a single row
        if name not in WRAPPED:
            check(instance)


@pytest.mark.filterwarnings("ignore")  # pandas deprecations inside fairlearn
def test_weights_of_two_groups_are_those_of_fairlearns_grid(data) -> None:
    reductions = pytest.importorskip("fairlearn.reductions")
    X, y, group = data
    good = (y == "paid").astype(int)
    seen = []

    class Spy(ClassifierMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            seen.append(np.where(np.asarray(y) == 1, 1.0, -1.0) * np.asarray(sample_weight))
            return self

        def predict(self, X):
            return np.zeros(len(X))

    reductions.GridSearch(Spy(), reductions.TruePositiveRateParity(), grid_size=5).fit(
        X, good, sensitive_features=group
    )
    problem = estimator_problem(X, good, estimator=tree(), sensitive_features=group, cv="train")
    share = ((group == "A") & (good == 1)).mean()
    for signed in seen:
        signed = signed / np.abs(signed[good == 0]).mean()
        size = (signed[(group == "A") & (good == 1)].mean() - 1.0) * share
        side = problem.algebra.B[0, np.argmax(np.isclose(problem.shares, share))]
        rows = problem.weighted(np.array([size * side]))
        assert np.array_equal(rows.index, np.arange(len(good))[signed != 0.0])
        assert np.where(rows.target == 1, 1.0, -1.0) * rows.weight == pytest.approx(signed[signed != 0.0])
