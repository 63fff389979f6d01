"""Dask collections judged: the same counts, rates, gaps and sentences as the same rows in memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import fairfront as ff
from fairfront.exceptions import FairfrontWarning, GroupWarning, InputError
from fairfront.frontier.dask_judgement import count_scores, score_edges
from fairfront.problems.dask.passes import reduced
from fairfront.validation import is_dask
from tests.support.cases import draw

dask = pytest.importorskip("dask", reason="needs the extra dask")
da = pytest.importorskip("dask.array", reason="needs the extra dask")
dd = pytest.importorskip("dask.dataframe", reason="needs the extra dask")
pd = pytest.importorskip("pandas", reason="needs pandas")

KINDS: dict[str, dict[str, Any]] = {
    "two groups": {},
    "weights": {"weighted": True, "sensitive": ("sex", "race")},
    "missing groups": {"sensitive": ("region",)},
    "crossed": {"sensitive": ("sex", "region"), "groups": ff.Groups(cross=True, min_size=5)},
    "left out": {"sensitive": ("race",), "groups": ff.Groups(min_size=30)},
    "classes": {"kind": "multiclass", "sensitive": ("race",), "loss": "softmax", "weighted": True},
    "regression": {"kind": "regression", "loss": "squared", "notion": "disparate_mistreatment", "weighted": True},
}


def front_of(spec: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a frontier and the rows to judge it on."""
    spec = dict(spec)
    kind, sensitive = spec.pop("kind", "binary"), spec.pop("sensitive", ("sex",))
    weighted = spec.pop("weighted", False)
    X, y, columns = draw(kind, n=420)
    groups = {name: columns[name] for name in sensitive}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GroupWarning)
        front = ff.trace(X, y, sensitive_features=groups, n_points=4, progress=False, **spec)
    X, y, columns = draw(kind, n=701, seed=3)
    weight = np.random.default_rng(2).integers(0, 4, len(y)).astype(float) if weighted else None
    rows = {"y": y, "sensitive_features": {name: columns[name] for name in sensitive}, "sample_weight": weight}
    return front, {"X": X, **rows}


def in_parts(rows: dict[str, Any], size: int = 150) -> dict[str, Any]:
    """Return the same rows as Dask arrays."""

    def cut(values: Any) -> Any:
        if isinstance(values, dict):
            return {name: cut(each) for name, each in values.items()}
        return None if values is None else da.from_array(values, chunks=(size, *values.shape[1:]))

    return {name: cut(values) for name, values in rows.items()}


def agree(one: Any, two: Any) -> None:
    """Compare two evaluations: counts exactly, rates to 1e-12, the AUC within what its bins promise."""
    assert (one.name, one.n) == (two.name, two.n)
    assert list(one.columns) == list(two.columns)
    assert list(one.signed) == list(two.signed)
    for name, values in one.columns.items():
        np.testing.assert_allclose(two.columns[name], values, rtol=0, atol=1e-4 if name == "auc" else 1e-12)
    for name, values in one.signed.items():
        np.testing.assert_allclose(two.signed[name], values, rtol=0, atol=1e-12)
    for name, rates in one.groups.items():
        assert rates.levels == two.groups[name].levels
        for field, values in vars(rates).items():
            if field != "levels":
                exact = 0.0 if field in ("n", "weight", "positives", "negatives") else 1e-12
                np.testing.assert_allclose(getattr(two.groups[name], field), values, rtol=0, atol=exact)
    assert (one.effective_n is None) == (two.effective_n is None)
    for name, sizes in one.sizes.items():
        for rate, values in sizes.items():
            np.testing.assert_allclose(two.sizes[name][rate], values, rtol=1e-12)


def judged(front: Any, rows: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GroupWarning)
        return front.evaluate(**rows, name="v").evaluations["v"]


@pytest.mark.parametrize("name", KINDS)
def test_arrays_are_judged_as_in_memory(name: str) -> None:
    front, rows = front_of(KINDS[name])
    agree(judged(front, rows), judged(front, in_parts(rows)))


@pytest.mark.parametrize("name", ["two groups", "weights", "crossed"])
def test_frames_are_judged_as_in_memory(name: str) -> None:
    front, rows = front_of(KINDS[name])
    frame = pd.DataFrame({f"x{j}": rows["X"][:, j] for j in range(rows["X"].shape[1])})
    frame["label"], frame["weight"] = rows["y"], 1.0 if rows["sample_weight"] is None else rows["sample_weight"]
    for column, values in rows["sensitive_features"].items():
        frame[column] = values
    parts = dd.from_pandas(frame, npartitions=4)
    given = {
        "X": parts[["x0", "x1", "x2"]],
        "y": parts["label"],
        "sensitive_features": parts[list(rows["sensitive_features"])],
        "sample_weight": parts["weight"],
    }
    agree(judged(front, rows), judged(front, given))


def test_groups_that_are_numbers_keep_their_names_and_order() -> None:
    front, rows = front_of({})
    rng = np.random.default_rng(0)
    for values in (rng.integers(0, 12, 701), rng.choice([0.5, 1.0, 2.0, np.nan], 701), rng.random(701) < 0.3):
        rows["sensitive_features"] = {"sex": values}
        agree(judged(front, rows), judged(front, in_parts(rows)))


def test_numbers_among_objects_keep_their_names() -> None:
    front, rows = front_of({})
    for values in ([1.0, 2.0, None], [1, 2, None], [True, False, None], ["1", 1, 2]):
        drawn = np.random.default_rng(0).integers(0, 3, 701)
        rows["sensitive_features"] = {"sex": np.array(values, dtype=object)[drawn]}
        agree(judged(front, rows), judged(front, in_parts(rows)))


def test_groups_that_change_between_passes() -> None:
    front, rows = front_of({})
    parts, calls = in_parts(rows), []

    def drifting(block: np.ndarray) -> np.ndarray:
        calls.append(1)
        return block if len(calls) <= 5 else np.where(block == block[0], "other", block).astype(object)

    sex = parts["sensitive_features"]["sex"].map_blocks(drifting, meta=np.empty(0, dtype=object))
    calls.clear()
    with dask.config.set(scheduler="synchronous"), pytest.raises(InputError, match="groups that it did not have when"):
        judged(front, parts | {"sensitive_features": {"sex": sex}})


def test_combinations_are_bounded_in_all_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    front, rows = front_of({})
    rows["sensitive_features"] = {"sex": np.arange(701) % 100}
    monkeypatch.setattr("fairfront.problems.dask.scan.MOST_IN_ALL", 99)
    parts = in_parts(rows, 60)
    said = "more than 99 combinations of values in all partitions"
    with pytest.raises(InputError, match=said):
        front.evaluate(**parts)
    with dask.config.set({"fairfront.small_bytes": 0}), pytest.raises(InputError, match=said):
        ff.trace(parts["X"], parts["y"], sensitive_features=parts["sensitive_features"])


def test_partitions_may_be_empty_uneven_or_of_narrow_columns() -> None:
    front, rows = front_of({"weighted": True})
    parts = in_parts(rows)
    parts["X"] = da.from_array(rows["X"], chunks=((0, 1, 400, 300), (1, 2)))
    agree(judged(front, rows), judged(front, parts))
    parts["y"] = rows["y"]  # one column in memory beside partitions of known sizes
    agree(judged(front, rows), judged(front, parts))


def test_new_groups_are_told_as_in_memory() -> None:
    front, rows = front_of({})
    rows["sensitive_features"]["sex"][:40] = "other"
    for each in (rows, in_parts(rows)):
        with pytest.warns(GroupWarning, match="did not have are evaluated too: other"):
            front.evaluate(**each)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": np.full(701, 7)}, "y has the label 7"),
        ({"sensitive_features": {"sex": np.full(701, "a", dtype=object)}}, r"constant \(all 701 rows are 'a'\)"),
        ({"sensitive_features": {"sex": np.arange(701)}}, "701 values in 701 rows"),
        ({"sample_weight": np.zeros(701)}, "zero in every row"),
        ({"sample_weight": np.full(701, -1.0)}, "negative"),
        ({"X": np.ones((701, 2))}, "X has 2 columns, expected 3"),
        ({"X": np.full((701, 3), np.nan)}, "NaN"),
        ({"y": np.zeros(700, dtype=int)}, "700 rows"),
        ({name: np.zeros((0, 3) if name == "X" else 0) for name in ("X", "y", "sensitive_features")}, "in all 0 rows"),
    ],
)
def test_bad_parts_are_refused_with_a_sentence(change: dict[str, Any], words: str) -> None:
    front, rows = front_of({})
    with pytest.raises(InputError, match=words):
        front.evaluate(**in_parts(rows | change))


@pytest.mark.filterwarnings("ignore::fairfront.ProxyWarning")
def test_mixtures_that_cannot_be_matched_are_refused() -> None:
    front, rows = front_of({})
    parts = in_parts(rows)
    with pytest.raises(InputError, match="X is not"):
        front.evaluate(**(parts | {"X": rows["X"]}))
    soft = ff.GroupProbabilities(np.full((701, 2), 0.5), levels=["Female", "Male"])
    with pytest.raises(InputError, match="probabilities in memory"):
        front.evaluate(**(parts | {"sensitive_features": soft}))
    frame = dd.from_pandas(pd.DataFrame(rows["X"]), npartitions=3)
    with pytest.raises(InputError, match="found 3 and 5 partitions at y"):
        front.evaluate(**(parts | {"X": frame}))


def test_auc_is_left_out_where_its_bins_do_not_tell() -> None:
    front, rows = front_of({})
    X = np.zeros((5000, 3))
    X[500:2000, 0] = np.linspace(0.001, 0.002, 1500)  # mostly in partitions that bins are not cut from
    rows = {
        "X": X,
        "y": np.arange(5000) % 2,
        "sensitive_features": {"sex": np.array(["Female", "Male", "Male"] * 1667, dtype=object)[:5000]},
    }
    with pytest.warns(FairfrontWarning, match="auc is left out"):
        record = front.evaluate(**in_parts(rows, 100), name="v").evaluations["v"]
    assert np.isnan(record["auc"]).any()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 400), st.integers(1, 30))
def test_bins_bound_how_far_the_area_is_off(seed: int, n: int, distinct: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, distinct, (1, n)) / 7.0 if seed % 2 else rng.normal(size=(1, n))
    positive = rng.random(n) < 0.4
    positive[:2] = [True, False]
    weight = rng.uniform(0.1, 2.0, n)
    edges = score_edges(scores[:, : max(1, n // 3)])
    cut = n // 2
    parts = [count_scores(scores[:, rows], positive[rows], weight[rows], edges) for rows in (slice(cut), slice(cut, n))]
    area, off = (parts[0] + parts[1]).auc()
    assert abs(area[0] - roc_auc_score(positive, scores[0], sample_weight=weight)) <= off[0] + 1e-12


def test_results_join_in_the_order_of_partitions() -> None:
    parts = da.from_array(np.arange(100), chunks=3)
    found = reduced(lambda block: [int(block[0])], parts, combine=lambda some: [each for one in some for each in one])
    assert found == list(range(0, 100, 3))


def test_dask_is_recognised_without_being_imported() -> None:
    frame = dd.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=1)
    assert all(map(is_dask, (da.ones(3), frame, frame["a"], {"a": da.ones(3)})))
    assert not any(map(is_dask, (np.ones(3), pd.Series([1]), None, {"a": np.ones(3)}, "dask")))


def scored(n: int = 900) -> dict[str, Any]:
    """Return labels, probabilities, groups and weights to audit."""
    rng = np.random.default_rng(4)
    y = rng.choice(np.array(["denied", "granted"], dtype=object), n)
    scores = np.clip(rng.normal(0.45, 0.2, n) + 0.2 * (y == "granted"), 0.0, 1.0)
    groups = {
        "sex": rng.choice(np.array(["f", "m", None], dtype=object), n, p=[0.5, 0.4, 0.1]),
        "age": rng.integers(2, 5, n),
    }
    return {"y_true": y, "scores_or_labels": scores, "sensitive_features": groups, "sample_weight": rng.random(n)}


@pytest.mark.parametrize("given", ["scores", "decisions", "weights", "classes", "regression", "strata"])
def test_an_audit_of_parts_has_the_figures_of_one_in_memory(given: str) -> None:
    rows = scored()
    n = len(rows["y_true"])
    if given != "weights":
        del rows["sample_weight"]
    if given == "decisions":
        rows["scores_or_labels"] = np.where(rows["scores_or_labels"] > 0.5, "granted", "denied").astype(object)
    if given == "classes":
        rows["scores_or_labels"] = np.column_stack([1.0 - rows["scores_or_labels"], rows["scores_or_labels"]])
    if given == "regression":
        rows["y_true"] = rows["scores_or_labels"] + np.linspace(0.0, 0.3, n)
    if given == "strata":
        rows["control_features"] = np.array(["north", "south"] * (n // 2), dtype=object)
    one, two = ff.audit(**rows), ff.audit(**in_parts(rows, 111))
    assert one.to_dict() == two.to_dict()
    for name, table in one.tables.items():
        for column, values in table.items():
            np.testing.assert_array_equal(two.tables[name][column], values)


def test_an_audit_of_frames_keeps_the_names_of_columns() -> None:
    rows = scored()
    frame = pd.DataFrame({"y": rows["y_true"], "p": rows["scores_or_labels"], **rows["sensitive_features"]})
    parts = dd.from_pandas(frame, npartitions=3)
    found = [
        ff.audit(each["y"], each["p"], sensitive_features=each[["sex", "age"]], favourable="granted")
        for each in (frame, parts)
    ]
    assert found[0].to_dict() == found[1].to_dict()
    assert list(found[1].groups) == ["sex", "age"]
