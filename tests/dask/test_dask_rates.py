"""Rules in rates of rows that stay with Dask: the same frontier as of the same rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

import fairfront as ff
from fairfront.exceptions import InputError
from tests.support.cases import draw

dask = pytest.importorskip("dask", reason="needs the extra dask")
da = pytest.importorskip("dask.array", reason="needs the extra dask")
pytestmark = pytest.mark.usefixtures("on_dask")

KINDS: dict[str, dict[str, Any]] = {
    "equal opportunity": {},
    "weights": {"weighted": True, "notion": "equalized_odds"},
    "several groups": {"sensitive": ("race",), "notion": "demographic_parity", "groups": ff.Groups(min_size=60)},
    "missing groups": {"sensitive": ("region",)},
    "classes": {"kind": "multiclass", "notion": "equalized_odds"},
    "approval rate": {"units": ff.Rates(approval_rate=0.6)},
    "costs, ridge": {"units": ff.Rates(costs={"false_positive": 2.0, "false_negative": 1.0}), "ridge": 0.01},
}


def far(values: Any, chunk: int = 310) -> Any:
    if isinstance(values, dict):
        return {name: far(part, chunk) for name, part in values.items()}
    return None if values is None else da.from_array(values, chunks=(chunk, *values.shape[1:]))


def given(kind: str = "binary", sensitive: tuple[str, ...] = ("sex",), weighted: bool = False) -> tuple[Any, ...]:
    X, y, columns = draw(kind, n=900)
    weight = np.random.default_rng(2).integers(0, 4, len(y)).astype(float) if weighted else None
    return X, y, {name: columns[name] for name in sensitive}, weight


@pytest.mark.filterwarnings("ignore::fairfront.GroupWarning")
@pytest.mark.parametrize("name", KINDS)
def test_frontiers_are_those_of_memory(name: str) -> None:
    spec = dict(KINDS[name])
    X, y, groups, weight = given(
        *(spec.pop(k, v) for k, v in (("kind", "binary"), ("sensitive", ("sex",)))), spec.pop("weighted", False)
    )
    asked: dict[str, Any] = {"units": "rates", "n_points": 3, "progress": False, **spec}
    near = ff.trace(X, y, sensitive_features=groups, sample_weight=weight, held_out=False, **asked)
    there = ff.trace(far(X), far(y), sensitive_features=far(groups), sample_weight=far(weight), **asked)
    assert len(there) == len(near) > 1
    np.testing.assert_allclose(there.loss, near.loss, atol=1e-12)
    np.testing.assert_allclose(there.gaps, near.gaps, atol=1e-12)
    np.testing.assert_allclose(there.models.scores(X), near.models.scores(X), rtol=1e-4, atol=1e-6)
    assert there.facts.measured_on == "rows left out one at a time, in closed form"
    assert there.models.n_features == X.shape[1]
    both = [
        front.evaluate(*rows, sensitive_features=who, name="judged")
        for front, rows, who in ((near, (X, y), groups), (there, (far(X), far(y)), far(groups)))
    ]
    np.testing.assert_allclose(*(front.column("error", "judged") for front in both), atol=1e-12)


@pytest.mark.parametrize("keep", ["memory", "source"])
def test_wherever_rows_are_kept(keep: str) -> None:
    X, y, groups, _ = given()
    asked: dict[str, Any] = {"units": "rates", "n_points": 4}
    with dask.config.set({"fairfront.keep": keep}):
        one, other = (
            ff.trace(far(X), far(y), sensitive_features=far(groups), **asked).models.scores(X) for _ in range(2)
        )
    assert one.tobytes() == other.tobytes()


def test_small_collections_are_brought_to_memory() -> None:
    X, y, groups, _ = given()
    asked: dict[str, Any] = {"units": "rates", "n_points": 4}
    with dask.config.set({"fairfront.small_bytes": 1e9}):
        there = ff.trace(far(X), far(y), sensitive_features=far(groups), **asked)
    near = ff.trace(X, y, sensitive_features=groups, **asked)
    assert there.models.scores(X).tobytes() == near.models.scores(X).tobytes()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"estimator": GaussianNB()}, "leaves rows out in closed form, found an estimator"),
        ({"units": ff.Rates(cv=3)}, "leaves rows out in closed form, found cv"),
        ({"person": np.arange(900)}, "leaves rows out in closed form, found person"),
        ({"held_out": True}, "held_out=True needs all rows in memory"),
    ],
)
def test_what_needs_memory_is_refused(more: dict[str, Any], says: str) -> None:
    X, y, groups, _ = given()
    with pytest.raises(InputError, match=says):
        ff.trace(far(X), far(y), sensitive_features=far(groups), **{"units": "rates", **more})


def test_sparse_partitions_and_many_columns_are_refused() -> None:
    X, y, groups, _ = given()
    thin = far(X).rechunk((310, -1)).map_blocks(sparse.csr_matrix)
    with pytest.raises(InputError, match="needs dense partitions, found sparse matrices"):
        ff.trace(thin, far(y), sensitive_features=far(groups), units="rates")
    wide = np.random.default_rng(0).normal(size=(900, 500))
    with pytest.raises(InputError, match="fits at most 500 weights, found 501"):
        ff.trace(far(wide), far(y), sensitive_features=far(groups), units="rates")
