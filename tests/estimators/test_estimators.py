"""scikit-learn's contract, and what the estimators add to it."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import fairfront as ff

SMALL = ff.Groups(min_size=1)
NEEDS_TWO_ROWS_PER_LABEL = {
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
}
"""These give a label a single row, which cannot be in two groups: they run with a notion over all labels."""


def shell_groups(X, y, weight):
    """Make two groups inside each label out of the rows' content, so that repeated rows stay together."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=object)
    labels = np.ravel(np.asarray(y, dtype=object)).tolist()
    live = np.ones(len(labels), bool) if weight is None else np.asarray(weight) > 0
    rows = [repr(list(row)) for row in X]
    keys = [""] * len(labels) if len(set(labels)) > 10 else [repr(v) for v in labels]
    group = np.zeros(len(labels), dtype=int)
    for key in set(keys):
        here = [i for i in range(len(labels)) if keys[i] == key]
        rank = {row: j for j, row in enumerate(sorted({rows[i] for i in here if live[i]}))}
        group[here] = [rank.get(rows[i], 0) % 2 for i in here]
    return group if len(set(group)) > 1 else np.arange(len(labels)) % 2


class Shell:
    """Supplies groups, which scikit-learn's checks do not know about."""

    def fit(self, X, y, sample_weight=None):
        try:
            groups = shell_groups(X, y, sample_weight)
        except (TypeError, ValueError):
            groups = None if y is None else np.arange(len(y)) % 2
        return super().fit(X, y, sensitive_features=groups, sample_weight=sample_weight)


class Classifier(Shell, ff.ParetoFairClassifier):
    pass


class Regressor(Shell, ff.ParetoFairRegressor):
    pass


class ManyClassifiers(Shell, ff.FrontierClassifier):
    pass


class ManyRegressors(Shell, ff.FrontierRegressor):
    pass


ESTIMATORS = [
    Classifier(groups=SMALL),
    Regressor(groups=SMALL),
    ManyClassifiers(groups=SMALL, preferences=3),
    ManyRegressors(groups=SMALL, preferences=3),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_check_estimator(estimator) -> None:
    for instance, check in estimator_checks_generator(estimator):
        name = getattr(check, "func", check).__name__
        if name == "check_array_api_input":
            continue  # skips itself unless SCIPY_ARRAY_API is set
        if name in NEEDS_TWO_ROWS_PER_LABEL:
            instance.set_params(notion="disparate_mistreatment", solver=ff.Newton(tol=1e-14))
            if "choose" in instance.get_params():
                instance.set_params(choose={"least": "loss_gap"})  # a solved point, not one seen on the way
        check(instance)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    n = 400
    group = np.where(rng.random(n) < 0.5, "B", "A")
    X = rng.normal(size=(n, 4)) + 0.6 * (group == "A")[:, None]
    y = np.where(X[:, 0] - X[:, 1] + rng.logistic(size=n) > 0, "paid", "lost")
    return X, y, group


def test_cap_and_preference_reach_what_was_asked(data) -> None:
    X, y, group = data
    plain = ff.ParetoFairClassifier(max_loss_gap=10.0).fit(X, y, sensitive_features=group)
    capped = ff.ParetoFairClassifier(max_loss_gap=0.02).fit(X, y, sensitive_features=group)
    closed = ff.ParetoFairClassifier().fit(X, y, sensitive_features=group)
    assert abs(plain.loss_gaps_[0]) > 0.05
    assert abs(capped.loss_gaps_[0]) == pytest.approx(0.02, abs=1e-5)
    assert abs(closed.loss_gaps_[0]) < 1e-5
    assert plain.objectives_[0] < capped.objectives_[0] < closed.objectives_[0]
    met = ff.ParetoFairClassifier(preference=[1.0, 2000.0]).fit(X, y, sensitive_features=group)
    assert met.status_ is ff.Status.LINE
    assert met.objectives_[0] == pytest.approx(2000.0 * met.objectives_[1], rel=5e-3)
    assert met.history_.shape[1] == 2


def test_parameters_are_never_written_and_predict_needs_no_group(data) -> None:
    X, y, group = data
    model = ff.ParetoFairClassifier(favourable="paid")
    before = model.get_params()
    model.fit(X, y, sensitive_features=group)
    assert model.get_params() == before
    assert clone(model).get_params() == before
    assert (model.predict(X) == model.predict(X)).all()
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


def test_probabilities_only_where_the_loss_is_a_likelihood(data) -> None:
    X, y, group = data
    hinge = ff.ParetoFairClassifier(loss="squared_hinge").fit(X, y, sensitive_features=group)
    assert not hasattr(hinge, "predict_proba")
    with pytest.raises(AttributeError, match="no attribute 'predict_proba'"):
        hinge.predict_proba(X)


def test_fitted_objects_hold_no_training_row(data) -> None:
    X, y, group = data
    n = len(y)

    def sizes(value, seen):
        if id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            yield value.size, value.shape
        elif isinstance(value, dict):
            for item in value.values():
                yield from sizes(item, seen)
        elif isinstance(value, (list, tuple)):
            yield len(value), ()
            for item in value:
                yield from sizes(item, seen)
        elif hasattr(value, "__dict__"):
            yield from sizes(vars(value), seen)

    for model in (ff.ParetoFairClassifier(), ff.FrontierClassifier(preferences=3)):
        model.fit(X, y, sensitive_features=group)
        assert all(n not in shape for _, shape in sizes(model, set()))


def test_missing_groups_say_how_to_pass_them(data) -> None:
    X, y, _ = data
    for model in (ff.ParetoFairClassifier(), make_pipeline(StandardScaler(), ff.FrontierClassifier())):
        with pytest.raises(ff.InputError, match=r"needs sensitive_features to fit.*Pipeline"):
            model.fit(X, y)


def test_routing_through_pipeline_search_and_scorers(data) -> None:
    X, y, group = data
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), ff.ParetoFairClassifier())
        pipe.fit(X, y, sensitive_features=group)
        scoring = {"gap": ff.scorer("tpr_gap", favourable="paid"), "accuracy": "accuracy"}
        found = cross_validate(pipe, X, y, cv=3, scoring=scoring, params={"sensitive_features": group})
        assert (found["test_gap"] <= 0).all()
        search = GridSearchCV(
            ff.ParetoFairClassifier(), {"max_loss_gap": [0.0, 0.1]}, cv=3, scoring=scoring, refit="gap"
        )
        search.fit(X, y, sensitive_features=group)
        assert search.best_params_["max_loss_gap"] in (0.0, 0.1)


def test_scorer_agrees_with_a_count(data) -> None:
    X, y, group = data
    model = ff.ParetoFairClassifier().fit(X, y, sensitive_features=group)
    decided = model.predict(X) == "paid"
    rates = [decided[(group == g) & (y == "paid")].mean() for g in ("A", "B")]
    with sklearn.config_context(enable_metadata_routing=True):
        score = ff.scorer("tpr_gap", favourable="paid")(model, X, y, sensitive_features=group)
    assert score == pytest.approx(-abs(rates[0] - rates[1]))
    with pytest.raises(ff.InputError, match="did you mean 'tpr_gap'"):
        ff.scorer("trp_gap")


def test_frontier_classifier_chooses_on_held_out_rows(data) -> None:
    X, y, group = data
    model = ff.FrontierClassifier(
        preferences=4, validation_fraction=0.3, choose={"least": "tpr_gap", "within": {"error": 0.02}}, random_state=0
    ).fit(X, y, sensitive_features=group)
    assert "validation" in model.frontier_.evaluations
    assert model.frontier_.evaluations["validation"].n == pytest.approx(120, abs=2)
    stock = model.frontier_.select(id=model.chosen_id_)
    assert (stock.predict(X) == model.predict(X)).all()
    plain = model.use(0).predict(X)
    assert (model.frontier_.select(id=0).predict(X) == plain).all()


@pytest.mark.parametrize("kind", [ff.FrontierClassifier, ff.ParetoFairClassifier])
def test_a_random_state_is_taken_as_in_scikit_learn(kind) -> None:
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(200, 3)), rng.choice(["a", "b"], 200)
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    given = kind(random_state=np.random.RandomState(3)), kind(random_state=np.random.RandomState(3))
    one, other = (each.fit(X, y, sensitive_features=group).predict_proba(X) for each in given)
    np.testing.assert_array_equal(one, other)
