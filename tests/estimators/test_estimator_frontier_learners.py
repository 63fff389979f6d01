"""What learners of all kinds need: errors, weights through Pipelines, frames, labels, failing fits, shells."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fairfront as ff
from fairfront.exceptions import FairfrontWarning
from fairfront.objectives import Quantity
from fairfront.problems import estimator_problem
from fairfront.problems.fit_rows import row_sums
from fairfront.problems.learners import weight_keyword
from fairfront.solvers import Weighting
from tests.support.searches import searching, trace


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 900
    group = np.where(rng.random(n) < 0.4, "B", "A")
    X = rng.normal(size=(n, 4)) + 0.5 * (group == "A")[:, None]
    X[:, 3] = rng.integers(0, 3, n)
    y = np.where(X[:, 0] - X[:, 1] + (group == "A") * X[:, 2] + rng.logistic(size=n) > 0, "paid", "lost")
    return X, y, group


def tree(**options):
    return DecisionTreeClassifier(min_samples_leaf=40, **options)


class Labels(ClassifierMixin, BaseEstimator):
    """Gives labels and nothing else."""

    def fit(self, X, y, sample_weight=None):
        self.inner_ = tree(random_state=0).fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)


class Fragile(ClassifierMixin, BaseEstimator):
    """Fails when weights are far from equal."""

    def __init__(self, limit=1.2):
        self.limit = limit

    def fit(self, X, y, sample_weight=None):
        if sample_weight.max() > self.limit:
            raise RuntimeError("weights too large")
        self.inner_ = tree(random_state=0).fit(X, y, sample_weight)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


@pytest.mark.parametrize(
    ("estimator", "options", "words"),
    [
        (KNeighborsClassifier(), {}, "KNeighborsClassifier.fit takes no sample_weight"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), {}, "KNeighborsClassifier.fit takes no"),
        (OneVsRestClassifier(LogisticRegression()), {}, "OneVsRestClassifier.fit takes no"),
        (Labels(), {}, "neither probabilities nor a decision function"),
        (LogisticRegression, {}, "expected an instance"),
        (tree(), {"criterion": "speed"}, "criterion is 'speed'"),
        (tree(), {"cv": 1}, "expected 2 folds or more"),
        (tree(), {"cv": 1.5}, "held-out fraction"),
        (tree(), {"cv": "folds"}, "number of folds"),
        (tree(), {"max_fits": 1}, "max_fits"),
        (tree(), {"surrogate": "rate"}, "criterion='rate_gap'"),
        (tree(), {"preferences": [1, 50]}, "for linear models"),
        (tree(), {"solver": "pdo"}, "expected none or a Weighting"),
        (tree(), {"loss": "squared"}, "for regressors"),
        (tree(), {"n_points": 20}, "n_points is for linear models"),
        (tree(), {"ridge": 0.1}, "ridge is for linear models"),
        (tree(), {"random_state": np.random.RandomState(0)}, "expected a whole number"),
        (tree(), {"cv": [([0, 1], [9999])]}, "cv does not split these 900 rows"),
        (tree(), {"cv": GroupKFold(2)}, "cv.split"),
        (None, {"max_fits": 5}, "a Weighting searches the weights of an estimator, found none"),
        (Fragile(limit=0.5), {}, "could not be fitted with sample_weight"),
    ],
)
def test_errors_name_the_estimator_and_a_remedy(data, estimator, options, words) -> None:
    X, y, group = data
    with pytest.raises(ff.InputError, match=words):
        trace(X, y, sensitive_features=group, estimator=estimator, **options)


def test_regressors_have_no_rates_and_need_numbers(data) -> None:
    X, y, group = data
    with pytest.raises(ff.InputError, match="criterion 'rate_gap' compares decisions"):
        trace(X, X[:, 0], sensitive_features=group, estimator=Ridge(), criterion="rate_gap")
    with pytest.raises(ff.InputError, match="expected numbers for regression"):
        ff.trace(X, y, sensitive_features=group, estimator=Ridge())


def test_a_fit_that_fails_keeps_the_frontier_so_far(data) -> None:
    X, y, group = data
    with pytest.warns(FairfrontWarning, match="weights too large"):
        front = trace(X, y, sensitive_features=group, estimator=Fragile(), max_fits=8)
    assert 1 <= len(front) < 8
    assert front.select(id=0).predict(X).shape == (len(y),)


def test_decision_functions_and_labels_will_do(data) -> None:
    X, y, group = data
    front = trace(X, y, sensitive_features=group, estimator=LinearSVC(), max_fits=4)
    assert front.facts.loss == "hinge"
    scores = front.models.scores(X)[1, 0]
    assert ((scores > 0) == (front.models.build(1).predict(X) == "paid")).all()
    plain = trace(X, y, sensitive_features=group, estimator=Labels(), criterion="rate_gap", max_fits=4)
    assert plain.facts.unit == "rate gap"


def test_weights_are_routed_through_pipelines_and_searches(data) -> None:
    X, y, group = data
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10))
    assert weight_keyword(pipeline) == "logisticregression__sample_weight"
    front = trace(X, y, sensitive_features=group, estimator=pipeline, max_fits=4, cv="train")
    scaled = StandardScaler().fit_transform(X)
    alone = trace(scaled, y, sensitive_features=group, estimator=LogisticRegression(tol=1e-10), max_fits=4, cv="train")
    assert front.gaps == pytest.approx(alone.gaps, abs=1e-6)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = trace(X, y, sensitive_features=group, estimator=pipeline, max_fits=4, cv="train")
    assert np.array_equal(routed.gaps, front.gaps)
    grid = GridSearchCV(tree(), {"max_depth": [2, 4]}, cv=2)
    searched = trace(X, y, sensitive_features=group, estimator=grid, max_fits=3)
    assert searched.select(id=1).best_params_["max_depth"] in (2, 4)


@pytest.mark.slow
def test_frames_with_categories_go_to_the_estimator_as_they_are(data) -> None:
    pd = pytest.importorskip("pandas")
    X, y, group = data
    frame = pd.DataFrame(
        {"a": X[:, 0], "b": X[:, 1], "kind": pd.Categorical(np.array(list("xyz"))[X[:, 3].astype(int)])}
    )
    boosted = HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype")
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    for learner in (boosted, make_pipeline(encoder, LogisticRegression())):
        front = trace(frame, y, sensitive_features=group, estimator=learner, max_fits=3, cv=0.3)
        seen = front.evaluate(frame, y, sensitive_features=group, sample_weight=np.arange(len(y)) % 3)
        decided = front.models.build(1).predict(frame)
        wrong = np.average(decided != y, weights=np.arange(len(y)) % 3)
        assert seen.column("error")[1] == pytest.approx(wrong)
        model = ff.FrontierClassifier(
            **searching(
                estimator=learner,
                max_fits=3,
                validation_fraction=0.3,
                choose={"least": "tpr_gap", "within": {"error": 0.1}},
            )
        )
        model.fit(frame, y, sensitive_features=group)
        assert set(model.predict(frame)) <= {"paid", "lost"}
        assert list(model.feature_names_in_) == ["a", "b", "kind"]


def test_monotone_constraints_and_early_stopping_are_the_estimators_own(data) -> None:
    X, y, group = data
    learner = HistGradientBoostingClassifier(
        max_iter=60, monotonic_cst=[-1, 0, 0, 0], early_stopping=True, n_iter_no_change=2
    )
    front = trace(X, y, sensitive_features=group, estimator=learner, max_fits=3, favourable="paid", cv=0.3)
    for place in range(3):
        model = front.models.build(place)
        low, high = X.copy(), X.copy()
        low[:, 0] -= 1.0
        assert (model.predict_proba(low)[:, 1] >= model.predict_proba(high)[:, 1] - 1e-12).all()
        assert model.n_iter_ < 60


def test_several_classes_and_negative_weights(data) -> None:
    X, _, group = data
    y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.3, 0.6])
    front = trace(X, y, sensitive_features=group, estimator=tree(), max_fits=6, notion="equal_opportunity")
    assert front.models.scores(X).shape == (len(front), 3, len(y))
    parity = trace(X, y == 1, sensitive_features=group, estimator=tree(), max_fits=4, notion="demographic_parity")
    assert parity.facts.heuristic
    assert "heuristic" in parity.facts.sentences[-1]
    assert parity.gaps.min() < parity.gaps[0, 0]


def test_row_weights_are_omega_over_p_and_negative_ones_flip(data) -> None:
    X, y, group = data
    problem = estimator_problem(X, y, estimator=tree(), sensitive_features=group, favourable="paid", cv="train")
    lam = np.array([0.05])
    n, good = len(y), (y == "paid").astype(int)
    share = {g: ((group == g) & (good == 1)).mean() for g in "AB"}
    expected = np.ones(n)
    expected[(group == "B") & (good == 1)] += 0.05 / share["B"]
    expected[(group == "A") & (good == 1)] -= 0.05 / share["A"]
    assert row_sums(problem.objectives, Quantity("loss"), problem.omega(lam)) == pytest.approx(expected)
    wide = Weighting(max_fits=6, negative=True)
    front = ff.trace(X, y, sensitive_features=group, estimator=tree(max_depth=1), solver=wide, notion="group_loss")
    assert len(front) >= 1


def test_jobs_change_nothing(data) -> None:
    X, y, group = data
    options = {"sensitive_features": group, "estimator": tree(), "max_fits": 4}
    eager = trace(X, y, **options)
    with parallel_config(backend="threading"):
        both = trace(X, y, n_jobs=2, **options)
    assert np.array_equal(both.models.scores(X), eager.models.scores(X))


@pytest.mark.slow
def test_shells_predict_with_the_weighted_fit(data) -> None:
    X, y, group = data
    model = ff.FrontierClassifier(**searching(estimator=tree(), max_fits=4)).fit(X, y, sensitive_features=group)
    assert (model.predict(X) == model.model_.predict(X)).mean() > 0.99
    assert model.predict_proba(X) == pytest.approx(np.clip(model.model_.predict_proba(X), 1e-6, 1 - 1e-6), abs=1e-9)
    last = model.frontier_.ids[-1]
    assert model.use(last).model_ is model.frontier_.select(id=last)
    assert clone(model).get_params()["solver"] == ff.Weighting(max_fits=4)
    assert not hasattr(ff.FrontierClassifier(estimator=LinearSVC()), "predict_proba")
    capped = ff.ParetoFairClassifier(estimator=tree(), max_rate_gap=0.5).fit(X, y, sensitive_features=group)
    assert capped.rate_gaps_.shape == (1,)
    with pytest.raises(ff.InputError, match="max_rate_gap needs units='rates' or an estimator"):
        ff.ParetoFairClassifier(max_rate_gap=0.1).fit(X, y, sensitive_features=group)
    number = X[:, 0] + (group == "B") * X[:, 1]
    booster = HistGradientBoostingRegressor(max_iter=8)
    options = {"estimator": booster, "max_fits": 3, "cv": 0.3}
    both = (ff.FrontierRegressor(**searching(**options)), ff.ParetoFairRegressor(**searching(**options)))
    for regressor in both:
        regressor.fit(X, number, sensitive_features=group)
        assert np.array_equal(regressor.predict(X), regressor.model_.predict(X))


def boosters():
    """Return the boosters that are installed, each with a constraint that the first column only lowers the score."""
    made = {
        "lightgbm": (
            "LGBMClassifier",
            {"n_estimators": 8, "n_jobs": 1, "verbose": -1, "monotone_constraints": [-1, 0, 0, 0]},
        ),
        "xgboost": ("XGBClassifier", {"n_estimators": 8, "n_jobs": 1, "monotone_constraints": (-1, 0, 0, 0)}),
        "catboost": (
            "CatBoostClassifier",
            {"iterations": 8, "verbose": False, "allow_writing_files": False, "monotone_constraints": [-1, 0, 0, 0]},
        ),
    }
    return [
        pytest.param(
            module, *rest, id=module, marks=pytest.mark.skipif(find_spec(module) is None, reason=f"{module} is missing")
        )
        for module, rest in made.items()
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("module", "name", "options"), boosters())
def test_other_boosters(data, module: str, name: str, options: dict) -> None:
    X, y, group = data
    learner = getattr(__import__(module), name)(**options)
    front = trace(X, (y == "paid").astype(int), sensitive_features=group, estimator=learner, max_fits=3)
    scores = front.models.scores(X)
    low = X.copy()
    low[:, 0] -= 1.0
    assert (front.models.scores(low) >= scores - 1e-6).all()
    assert type(front.select(id=2)).__name__ == name
    assert np.isfinite(front.gaps).all()
