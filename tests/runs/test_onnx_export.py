"""ONNX: another runtime gives the same predictions, from raw columns and from encoded features."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import fairfront as ff
from fairfront.datasets import load
from fairfront.exceptions import InputError, MissingExtraError
from fairfront.frontier import LinearModels
from fairfront.objectives import Task
from fairfront.runs.onnx_export import export_onnx
from fairfront.tables import coerce
from fairfront.tables.encoder import CategoryBlock, NumberBlock, TableEncoder
from fairfront.tables.table import MISSING, Column, Table
from tests.support.places import DATA

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

BINARY = Task("binary", ("no", "yes"), 1)
SEVERAL = Task("multiclass", ("a", "b", "c"), 2)
REGRESSION = Task("regression")


def session(content: bytes) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def answers(content: bytes, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Run the graph on raw columns: doubles as they are, texts with "" for None."""
    opened = session(content)
    named = json.loads(opened.get_modelmeta().custom_metadata_map["inputs"])
    feeds = {}
    for each in opened.get_inputs():
        values = np.asarray(columns[named[each.name]])
        if each.type == "tensor(string)":
            values = np.array(["" if value is None else value for value in values.tolist()], dtype=object)
        else:
            values = values.astype(np.float64)
        feeds[each.name] = values if each.name == "X" else values.reshape(-1, 1)
    names = [each.name for each in opened.get_outputs()]
    return dict(zip(names, opened.run(names, feeds), strict=True))


def linear(task: Task, d: int, loss: str, seed: int = 0) -> Any:
    """Build a stock model with random weights, as a frontier does."""
    random = np.random.default_rng(seed)
    K = len(task.classes) if task.kind == "multiclass" else 1
    W = random.normal(size=(1, K, d + 1))
    return LinearModels.from_weights(W, True, task=task, loss=loss, ridge=0.1, total=10.0).build(0)


def compare(found: dict[str, np.ndarray], model: Any, X: Any, task: Task) -> None:
    """Hold the graph's answers against those of scikit-learn."""
    if task.kind == "regression":
        assert list(found) == ["label"]
        np.testing.assert_allclose(found["label"], model.predict(X), rtol=1e-12, atol=1e-12)
        return
    assert found["label"].tolist() == model.predict(X).tolist()
    if isinstance(model, LogisticRegression):
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-12)
        np.testing.assert_allclose(found["probabilities"].sum(axis=1), 1.0)
    else:
        scores = model.decision_function(X).reshape(len(found["label"]), -1)
        np.testing.assert_allclose(found["scores"], scores, rtol=1e-12, atol=1e-12)


# Encoded features


@pytest.mark.parametrize(
    ("task", "loss", "kind"),
    [
        (BINARY, "logistic", LogisticRegression),
        (SEVERAL, "softmax", LogisticRegression),
        (BINARY, "hinge", LinearSVC),
        (BINARY, "squared", RidgeClassifier),
        (REGRESSION, "squared", Ridge),
        (Task("binary", (0, 1), 1), "logistic", LogisticRegression),
        (Task("binary", (False, True), 1), "logistic", LogisticRegression),
        (Task("multiclass", (-1, 5, 7), 1), "softmax", LogisticRegression),
        (Task("binary", (0.5, 1.5), 1), "smoothed_hinge", LinearSVC),
        (Task("binary", ("größer", "日本"), 1), "logistic", LogisticRegression),
    ],
)
def test_stock_models_on_encoded_features(task: Task, loss: str, kind: type) -> None:
    model = linear(task, 6, loss)
    assert isinstance(model, kind)
    X = np.random.default_rng(1).normal(scale=30.0, size=(500, 6))
    compare(answers(export_onnx(None, model, task), {"X": X}), model, X, task)


@pytest.mark.parametrize("learner", [LogisticRegression(), LinearSVC(), RidgeClassifier(), Ridge(), LinearRegression()])
def test_fitted_models_of_several_classes_and_regression(learner: Any) -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(300, 4))
    latent = X @ [1.0, -1.0, 0.5, 0.0] + random.normal(size=300)
    task = REGRESSION if isinstance(learner, (Ridge, LinearRegression)) else SEVERAL
    y = latent if task is REGRESSION else np.array(task.classes)[np.digitize(latent, [-0.5, 0.5])]
    model = learner.fit(X, y)
    compare(answers(export_onnx(None, model, task), {"X": X}), model, X, task)


@pytest.mark.parametrize(
    ("labels", "notion"), [(("no", "yes"), "equalized_odds"), (("a", "b", "c"), "equal_opportunity")]
)
def test_rules_on_logistic_posteriors(labels: tuple[str, ...], notion: str) -> None:
    rng = np.random.default_rng(0)
    X, y, group = rng.normal(size=(600, 4)), rng.integers(0, len(labels), 600), rng.choice(["u", "v"], 600)
    X[:, 0] += y + (group == "u")
    front = ff.trace(
        X, np.array(labels)[y], sensitive_features=group, notion=notion, units="rates", n_points=4,
        estimator=[None, LogisticRegression(C=0.01)],
    )  # fmt: skip
    for place in range(len(front)):
        model = front.models.build(place)
        found = answers(export_onnx(None, model, front.facts.task), {"X": X})
        np.testing.assert_allclose(found["scores"].squeeze(), model.decision_function(X), atol=1e-9)
        np.testing.assert_array_equal(found["label"], model.predict(X))
    trees = ff.trace(
        X, np.array(labels)[y], sensitive_features=group, units="rates", n_points=3, estimator=GaussianNB()
    )
    with pytest.raises(InputError, match="rule on posteriors of GaussianNB is not supported"):
        export_onnx(None, trees.models.build(0), trees.facts.task)


def test_no_rows() -> None:
    found = answers(export_onnx(None, linear(SEVERAL, 3, "softmax"), SEVERAL), {"X": np.zeros((0, 3))})
    assert found["label"].shape == (0,)
    assert found["probabilities"].shape == (0, 3)


# Raw columns


def blocks() -> TableEncoder:
    return TableEncoder(
        (
            NumberBlock("age", 40.0, 41.5, 0.1, True),
            CategoryBlock("work", ("own", "private"), True, True),
            NumberBlock("flat", 0.0, 0.0, 0.0, False),
            CategoryBlock("sector", ("x",), False, False),
            CategoryBlock("label", ("y", "é"), False, True),
            CategoryBlock("nothing", (), False, False),
        ),
        missing=("", "NA"),
    )


def raw(n: int = 400) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)

    def texts(*words: Any) -> np.ndarray:
        return random.choice(np.array(words, dtype=object), n)

    age = random.normal(40, 10, n)
    return {
        "age": np.where(random.random(n) < 0.2, np.nan, age),
        "work": texts("own", "private", "never seen", "(other)", "(missing)", "NA", "", None),
        "flat": random.normal(size=n),
        "sector": texts("x", "z", None, "NA"),
        "label": texts("y", "é", "e", ""),
        "nothing": texts("p", None),
    }


@pytest.mark.parametrize(("task", "loss"), [(BINARY, "logistic"), (SEVERAL, "softmax"), (REGRESSION, "squared")])
def test_raw_columns_with_unseen_and_missing_values(task: Task, loss: str) -> None:
    encoder, columns = blocks(), raw()
    model = linear(task, len(encoder.feature_names), loss)
    X = encoder.transform(coerce(columns, encoder))
    content = export_onnx(encoder, model, task)
    compare(answers(content, columns), model, X, task)
    inputs = {each.name: (each.type, each.shape) for each in session(content).get_inputs()}
    assert inputs["age"] == ("tensor(double)", ["N", 1])
    assert inputs["work"] == ("tensor(string)", ["N", 1])
    # The column "label" cannot have the name of an output.
    assert json.loads(session(content).get_modelmeta().custom_metadata_map["inputs"])["label_1"] == "label"


def test_only_numbers_and_only_categories() -> None:
    columns = raw()
    for kind in (NumberBlock, CategoryBlock):
        encoder = TableEncoder(tuple(block for block in blocks().blocks if isinstance(block, kind)))
        model = linear(BINARY, len(encoder.feature_names), "logistic")
        X = encoder.transform(coerce({name: columns[name] for name in encoder.columns}, encoder))
        compare(answers(export_onnx(encoder, model, BINARY), columns), model, X, BINARY)


WORDS = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=5)
CELLS = {
    "number": st.one_of(st.none(), st.floats(-1e6, 1e6)),
    "category": st.one_of(st.none(), st.sampled_from(["a", "b", "(other)", "NA", "?"]), WORDS),
}


@st.composite
def tables(draw: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Draw training rows and new rows of the same columns."""
    kinds = draw(st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4))
    drawn = []
    for n in (draw(st.integers(4, 30)), draw(st.integers(1, 20))):
        columns = {}
        for k, kind in enumerate(kinds):
            cells = draw(st.lists(CELLS[kind], min_size=n, max_size=n))
            columns[f"c{k}"] = np.array(cells, dtype=float if kind == "number" else object)
        drawn.append(columns)
    return drawn[0], drawn[1]


def column_of(values: np.ndarray) -> Column:
    """Make a column of training cells, without the reader of files."""
    if values.dtype.kind == "f":
        return Column(values)
    levels = sorted({cell for cell in values.tolist() if cell is not None and cell not in MISSING})
    codes = np.array([levels.index(cell) if cell in levels else -1 for cell in values.tolist()], dtype=np.int32)
    return Column.of_codes(codes, levels)


@settings(max_examples=60, deadline=None)
@given(drawn=tables(), several=st.booleans(), seed=st.integers(0, 9))
def test_any_table(drawn: tuple[dict, dict], several: bool, seed: int) -> None:
    train, new = drawn
    task, loss = (SEVERAL, "softmax") if several else (BINARY, "logistic")
    table = Table(len(next(iter(train.values()))), {name: column_of(values) for name, values in train.items()})
    try:
        encoder = TableEncoder.fit(table, tuple(train), min_count=1 + seed % 3)
    except InputError as error:  # a few rows, and no value in enough of them
        assume("too few training rows" not in str(error))
        raise
    model = linear(task, len(encoder.feature_names), loss, seed)
    content = export_onnx(encoder, model, task)
    for columns in (train, new):
        X = encoder.transform(coerce(columns, encoder))
        found = answers(content, columns)
        P = model.predict_proba(X)
        np.testing.assert_allclose(found["probabilities"], P, atol=1e-9)
        ordered = np.sort(P, axis=1)
        clear = ordered[:, -1] - ordered[:, -2] > 1e-9  # sums in another order may decide a tie otherwise
        assert found["label"][clear].tolist() == model.predict(X)[clear].tolist()


@pytest.mark.slow
def test_adult() -> None:
    if not (DATA / "adult").is_dir():
        pytest.skip("the files of adult are not here: set FAIRFRONT_DATA to the folder that holds them.")
    data = load("adult", folder=DATA, paper_split=False)
    train, test = data.split
    columns = {name: data.columns[name] for name in data.features}
    part = {name: values[train] for name, values in columns.items()}
    encoder = adult_encoder(part)
    model = LogisticRegression(max_iter=200).fit(encoder.transform(coerce(part, encoder)), data.y[train])
    unseen = {name: values[test].copy() for name, values in columns.items()}
    X = encoder.transform(coerce(unseen, encoder))
    task = Task("binary", tuple(model.classes_), 1)
    found = answers(export_onnx(encoder, model, task), unseen)
    compare(found, model, X, task)
    assert np.mean(found["label"] == data.y[test]) > 0.84


def adult_encoder(columns: dict[str, np.ndarray]) -> TableEncoder:
    """Fit on a frame, as a run does."""
    pandas = pytest.importorskip("pandas")
    from fairfront.tables import infer, open_source
    from fairfront.tables import load as load_table

    source = open_source(pandas.DataFrame(columns))
    table = load_table(source, infer(source))
    return TableEncoder.fit(table, tuple(columns))


# The file


def test_the_file_is_checked_the_same_every_time_and_says_what_it_is(tmp_path: Path) -> None:
    encoder = blocks()
    model = linear(BINARY, len(encoder.feature_names), "logistic")
    content = export_onnx(encoder, model, BINARY, tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == content == export_onnx(encoder, model, BINARY)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    loaded = onnx.load_model_from_string(content)
    onnx.checker.check_model(loaded, full_check=True)
    assert {each.domain: each.version for each in loaded.opset_import}[""] >= 17
    facts = {each.key: each.value for each in loaded.metadata_props}
    assert json.loads(facts["classes"]) == ["no", "yes"]
    assert facts["favourable"] == "yes"
    assert "NaN is missing" in loaded.doc_string


def test_what_cannot_be_exported() -> None:
    model, encoder = linear(BINARY, 3, "logistic"), blocks()
    with pytest.raises(InputError, match=r"HistGradientBoostingClassifier for binary labels .* expected LogisticReg"):
        export_onnx(None, HistGradientBoostingClassifier(), BINARY)
    with pytest.raises(
        InputError, match=r"LogisticRegression for regression labels .* expected Ridge, LinearRegression"
    ):
        export_onnx(None, model, REGRESSION)
    with pytest.raises(InputError, match="no coefficients, expected a fitted one"):
        export_onnx(None, LogisticRegression(), BINARY)
    with pytest.raises(InputError, match="1 row of coefficients, expected 3"):
        export_onnx(None, model, SEVERAL)
    with pytest.raises(InputError, match="reads 3 features, expected 11"):
        export_onnx(encoder, model, BINARY)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"fairfront\[onnx\]"):
        export_onnx(None, linear(BINARY, 3, "logistic"), BINARY)
