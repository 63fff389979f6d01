"""A chosen model is a fitted estimator of scikit-learn, and whatever users print fits on a screen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import fairfront as ff
from fairfront.tables import coerce
from tests.support.extras import optional

pd = optional("pandas")
LONGEST = 1000
pytestmark = pytest.mark.filterwarnings("ignore::fairfront.FairfrontWarning")


@pytest.fixture(scope="module")
def frame() -> Any:
    return ff.datasets.load_loans(n=1500, seed=1).frame()


@pytest.fixture(scope="module")
def run(frame: Any) -> ff.Run:
    known: dict[str, Any] = {"drop": ["applied"], "n_points": 12, "progress": False}
    return ff.trace_table(frame, target="outcome", favourable="repaid", groups="sex,group", approval_rate=0.6, **known)


def values(frame: Any) -> ff.TableModel:
    known: dict[str, Any] = {"drop": ["applied", "outcome"], "n_points": 3, "progress": False}
    return ff.trace_table(frame, target="income", loss="squared", groups="sex", **known).model(1)


def test_a_model_is_a_fitted_classifier(run: ff.Run, frame: Any) -> None:
    model = run.model(3)
    assert is_classifier(model)
    assert not is_regressor(model)
    assert get_tags(model).input_tags.categorical
    check_is_fitted(model)
    assert clone(model) is model
    params = model.get_params()
    assert set(params) == set(signature(ff.TableModel).parameters)
    assert all(params[name] is getattr(model, name) for name in params)
    assert model.set_params() is model
    with pytest.raises(ff.exceptions.InputError, match="a chosen model is not changed"):
        model.set_params(cutoff=0.3)
    assert model.fit(frame, frame["outcome"]) is model
    assert model.classes_.tolist() == ["defaulted", "repaid"]
    assert model.feature_names_in_.tolist() == list(model.columns)
    assert model.n_features_in_ == len(model.columns)
    right = np.mean(model.predict(frame) == frame["outcome"])
    assert model.score(frame, frame["outcome"]) == pytest.approx(right)
    weight = np.arange(len(frame))
    assert model.score(frame, frame["outcome"], sample_weight=weight) == pytest.approx(
        np.average(model.predict(frame) == frame["outcome"], weights=weight)
    )


def test_a_model_of_values_is_a_fitted_regressor(frame: Any) -> None:
    model = values(frame)
    assert is_regressor(model)
    assert not hasattr(model, "classes_")
    assert 0 < model.score(frame, frame["income"]) < 1
    assert "predicts values" in repr(model)


def test_tools_of_scikit_learn_take_a_model(run: ff.Run, frame: Any) -> None:
    model, y = run.model(3), frame["outcome"]
    X = frame[list(model.columns)]
    found = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert found.importances_mean.shape == (len(model.columns),)
    assert found.importances_mean.max() > 0.01
    frozen = FrozenEstimator(model)
    np.testing.assert_array_equal(frozen.fit(X, y).predict(X), model.predict(X))
    fitted = CalibratedClassifierCV(frozen).fit(X, y)
    assert fitted.predict_proba(X).shape == (len(X), 2)
    assert len(set(cross_val_score(model, X, y, cv=3))) > 1
    assert get_scorer("roc_auc")(model, X, y) > 0.7
    assert make_pipeline(model).predict(X).tolist() == model.predict(X).tolist()


def reached(thing: Any, name: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Return every record of fairfront that can be reached from a thing through fields, mappings and short lists."""
    if id(thing) in seen or isinstance(thing, (str, bytes, np.ndarray)):
        return
    seen.add(id(thing))
    inner: list[tuple[str, Any]] = []
    if type(thing).__module__.startswith("fairfront"):
        yield name, thing
        if is_dataclass(thing):
            inner = [(each.name, getattr(thing, each.name)) for each in fields(thing)]
    elif isinstance(thing, dict):
        inner = list(thing.items())
    elif isinstance(thing, (list, tuple)):
        inner = list(enumerate(thing[:50]))
    for each, value in inner:
        yield from reached(value, f"{name}.{each}", seen)


def test_whatever_is_printed_fits_on_a_screen(run: ff.Run, frame: Any) -> None:
    run = run.evaluate(frame.sample(500, random_state=0), name="oot")
    model, decision = run.decide(id=3, reason="long " * 500)
    X = np.random.default_rng(0).normal(size=(600, 8))
    rows: dict[str, Any] = {"sensitive_features": np.tile(["a", "b", "c"], 200)}
    y = X[:, 0] + 0.3 * X[:, 1] * (rows["sensitive_features"] == "a") > 0
    front = ff.trace(X, y, n_points=9, **rows).evaluate(X, y, **rows)
    two: dict[str, Any] = {"sensitive_features": np.tile(["a", "b"], 300)}
    thresholds = ff.trace(X, y, n_points=3, **two).postprocess(X, y, allow_group_at_prediction=True, **two)
    things = {
        "run": run,
        "model": model,
        "decision": decision,
        "options": run.options(),
        "front": front,
        "explanation": front.explain(0, 5, X, y, **rows),
        "calibration": front.calibration(1, X, y, **rows),
        "thresholds": thresholds,
        "threshold model": thresholds.select(id=int(thresholds.ids[0])),
        "candidates": ff.Frontier.from_scores({"one": X[:, 0], "two": X[:, 1]}, y, cutoff=0.0, **rows),
        "audit": ff.audit(y, X[:, 0] > 0, **rows),
        "data": ff.datasets.load_loans(n=50),
        "groups": ff.GroupProbabilities({"p": np.full(500, 0.4), "q": np.full(500, 0.6)}),
        "minimum": ff.minimize([lambda x: ((x - 1) ** 2).sum(), lambda x: ((x + 1) ** 2).sum()], np.zeros(200)),
        "estimator": ff.FrontierClassifier().fit(X, y, **rows),
    }
    found = {name: len(repr(each)) for name, each in reached(things, "", set())}
    assert len(found) > 60
    assert not {name: length for name, length in found.items() if length >= LONGEST}


def test_the_reprs_of_a_run_and_a_model_say_what_they_are(run: ff.Run, frame: Any) -> None:
    said = repr(run.evaluate(frame.sample(500, random_state=0), name="oot"))
    assert said.count("\n") == 3
    for part in ("'outcome' of 'data frame'", "groups of sex, group", "on validation, oot", "0 decisions; not saved"):
        assert part in said
    assert "<svg" in run._repr_html_()
    said = repr(run.select(id=3))
    for part in (
        "id 3: linear model",
        "(favourable 'repaid') at the cut-off 0.",
        "reads income, debt_ratio",
        "chosen at",
    ):
        assert part in said
    assert repr(run.frontier.explain(0, 1)).startswith("Explanation(Moved most: ")


@pytest.mark.parametrize("kind", ["values", "two classes", "three classes"])
def test_the_model_without_its_preprocessing_decides_alike(run: ff.Run, frame: Any, kind: str) -> None:
    """It is the stock estimator of what was traced, on encoded columns."""
    if kind == "three classes":
        third = np.digitize(frame["income"], np.quantile(frame["income"], [0.3, 0.7]))
        frame = frame.assign(third=np.array(["low", "middle", "high"])[third]).drop(columns="income")
        known: dict[str, Any] = {"drop": ["applied", "outcome"], "n_points": 3, "progress": False}
        model = ff.trace_table(frame, target="third", favourable="high", groups="sex", **known).model(1)
    else:
        model = values(frame) if kind == "values" else run.model(3)
    table = coerce({name: frame[name].to_numpy() for name in model.columns}, model.encoder)
    bare = model.model
    X = pd.DataFrame(model.encoder.transform(table), columns=bare.feature_names_in_)
    if kind == "values":
        np.testing.assert_allclose(bare.predict(X), model.predict(frame), rtol=1e-9)
        (prediction,) = model.outputs(table).values()
        np.testing.assert_array_equal(prediction, model.predict(frame))
        return
    assert (bare.predict(X) == model.predict(frame)).all()
    np.testing.assert_allclose(bare.predict_proba(X), model.predict_proba(frame), rtol=1e-9)
