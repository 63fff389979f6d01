"""What cannot be used on Dask is refused with a sentence, before or at the pass that finds it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.exceptions import InputError
from fairfront.problems import linear_problem
from tests.support.dask_rows import dask, far, given

dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.usefixtures("on_dask")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": lambda X: np.where(X > 2.5, np.nan, X)}, "partition . X contains NaN or infinity"),
        ({"y": lambda y: y[:-1]}, "rows, expected 300"),
        ({"y": lambda y: np.where(y == 1, np.nan, 0.0)}, "y contains NaN"),
        ({"y": lambda y: y * 0}, "one class only"),
        ({"y": lambda y: y + 0.5 * np.random.default_rng(0).random(len(y))}, "not classes"),
        ({"groups": lambda g: np.full(len(g), "a", dtype=object)}, "is constant"),
        ({"groups": lambda g: np.arange(len(g))}, "expected groups"),
        ({"weight": lambda g: np.full(len(g), -1.0)}, "negative"),
        ({"weight": lambda g: np.zeros(len(g))}, "0 rows that count"),
    ],
)
def test_data_that_cannot_be_used(change: dict[str, Any], message: str) -> None:
    X, y, rows, _ = given(n=300)
    groups = rows["sensitive_features"]["sex"]
    same = lambda value: value  # noqa: E731
    weight = far(change["weight"](groups)) if "weight" in change else None
    with pytest.raises(InputError, match=message.replace("partition .", "partition [0-9]+:")):
        linear_problem(
            far(change.get("X", same)(X)),
            far(change.get("y", same)(y)),
            sensitive_features=far(change.get("groups", same)(groups)),
            sample_weight=weight,
        )


def test_kinds_that_cannot_be_used() -> None:
    X, y, rows, _ = given(n=300)
    soft = ff.GroupProbabilities(np.full((300, 2), 0.5), levels=["a", "b"])
    with pytest.raises(InputError, match="GroupProbabilities are for data in memory"):
        linear_problem(far(X), far(y), sensitive_features=soft)
    with pytest.raises(InputError, match="y is a Dask collection and X is in memory"):
        linear_problem(X, far(y), **rows)
    with pytest.raises(InputError, match="expected a Dask array of shape"):
        linear_problem(far(y), far(y), **far(rows))
    with pytest.raises(InputError, match="sensitive_features is None"):
        linear_problem(far(X), far(y), sensitive_features=None)
    with pytest.raises(InputError, match="expected numbers for regression"):
        linear_problem(far(X), far(y.astype(str).astype(object)), **far(rows), loss="squared")
    with pytest.raises(InputError, match=r"X is a Delayed\w*, expected a Dask array"):
        linear_problem(dask.delayed(X), far(y), **far(rows))
    with pytest.raises(InputError, match=r"y is a Delayed\w*, expected a Dask array"):
        linear_problem(far(X), dask.delayed(y), **far(rows))
    with pytest.raises(InputError, match=r"sensitive_features is a list of Dask collections.*\{'sex'"):
        linear_problem(far(X), far(y), sensitive_features=[far(y), far(y)])
    with pytest.raises(InputError, match="sensitive_features is a Dask collection and X is in memory"):
        linear_problem(X, y, sensitive_features=[far(y), far(y)])
    with pytest.raises(InputError, match=r"sample_weight has 200 rows, expected 300"):
        linear_problem(far(X), far(y), **far(rows), sample_weight=np.ones(200))
    with pytest.raises(InputError, match=r"sensitive_features\['b'\] has 200 rows, expected 300"):
        linear_problem(far(X), far(y), sensitive_features={"a": far(y), "b": far(y[:200])})
    frame, labels = dd.from_pandas(pd.DataFrame(X), npartitions=2), dd.from_pandas(pd.Series(y), npartitions=3)
    with pytest.raises(InputError, match="partitions"):
        linear_problem(frame, labels, sensitive_features=labels)


def test_rules_in_rates_are_for_rows_in_memory() -> None:
    X, y, rows, _ = given(n=300)
    with pytest.raises(InputError, match="units='rates' is for data in memory, found Dask collections"):
        ff.trace(far(X), far(y), **far(rows), units="rates")


def test_a_hinge_is_for_rows_in_memory() -> None:
    X, y, rows, options = given("hinge")
    with pytest.raises(InputError, match="loss='hinge' needs all rows in memory, found Dask collections"):
        ff.trace(far(X), far(y), **far(rows), **options)


def test_rows_where_x_has_an_empty_partition() -> None:
    X, y, rows, _ = given(n=300)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "row": np.arange(300)})
    frame["sex"] = rows["sensitive_features"]["sex"]
    stored = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(InputError, match="partition 0: a partition has 0 and 150 rows in two collections"):
        linear_problem(stored[stored["row"] >= 150][["a", "b"]], stored["y"], sensitive_features=stored["sex"])


@pytest.mark.parametrize("keep", ["memory", "source"])
def test_labels_that_were_not_there_before_are_refused(keep: str) -> None:
    X, y, rows, options = given(n=300)
    calls: list[int] = []

    def drifting(block: np.ndarray) -> np.ndarray:
        calls.append(1)
        return block if len(calls) <= 3 else block + 5

    drift = far(y, 100).map_blocks(drifting, meta=np.empty(0, dtype=int))
    calls.clear()
    with dask.config.set({"fairfront.keep": keep}), pytest.raises(InputError, match="same rows each time"):
        linear_problem(far(X, 100), drift, **far(rows, 100), **options)
    assert len(calls) > 3


@pytest.mark.parametrize(
    "shell",
    [
        ff.ParetoFairClassifier(),
        ff.ParetoFairRegressor(),
        ff.FrontierClassifier(),
        ff.FrontierRegressor(),
        ff.FrontierClassifier(estimator=LogisticRegression()),
    ],
    ids=lambda shell: type(shell).__name__ + (" of another" if shell.estimator else ""),
)
def test_shells_for_scikit_learn(shell: Any) -> None:
    X, y, rows, _ = given(n=300)
    said = rf"^{type(shell).__name__} fits to data in memory, found Dask collections; use ff.trace"
    with pytest.raises(InputError, match=said):
        shell.fit(far(X), far(y), **far(rows))
    with pytest.raises(InputError, match=said):
        shell.fit(X, y, **far(rows))
    assert not hasattr(shell, "n_features_in_")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("keep", "disk"), ("small_bytes", -1), ("small_bytes", "many"), ("small_bytes", True), ("small_bytes", np.nan)],
)
def test_settings_that_mean_nothing(setting: str, value: Any) -> None:
    X, y, rows, options = given(n=300)
    with dask.config.set({f"fairfront.{setting}": value}), pytest.raises(InputError, match=setting):
        linear_problem(far(X), far(y), **far(rows), **options)


def test_predictions_bring_no_rows_to_memory() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y, group = (X[:, 0] > 0).astype(int), np.array(["a", "b"])[(X[:, 1] > 0).astype(int)]
    model = ff.ParetoFairClassifier().fit(X, y, sensitive_features=group)
    rows = far(X, 100)
    with pytest.raises(InputError, match=r"predicts rows in memory, found a Dask collection; use X\.map_partitions"):
        model.predict(rows)
    np.testing.assert_array_equal(
        rows.map_blocks(model.predict, drop_axis=1, meta=np.empty(0, dtype=int)).compute(), model.predict(X)
    )
