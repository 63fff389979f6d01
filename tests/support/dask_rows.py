"""What tests of linear problems on Dask share: cases, their rows in memory and far away, and what is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.problems import LinearProblem, linear_problem
from tests.support.cases import draw

dask = pytest.importorskip("dask", reason="the extra dask is not installed")
da = pytest.importorskip("dask.array")


CASES: dict[str, dict[str, Any]] = {
    "equal opportunity": {},
    "equalized odds by rate": {"notion": "equalized_odds", "surrogate": "rate"},
    "two notions, two attributes": {
        "notion": ("demographic_parity", "equal_opportunity"),
        "columns": ("sex", "race"),
        "groups": ff.Groups(min_size=20),
    },
    "crossed": {"columns": ("sex", "race"), "groups": ff.Groups(cross=True, min_size=10)},
    "missing groups, reference": {"columns": ("region",), "groups": ff.Groups(reference="south")},
    "weights": {"weight": "some are 0"},
    "unit weights": {"weight": "all are 1"},
    "no intercept": {"fit_intercept": False, "ridge": 0.3},
    "classes": {"kind": "multiclass", "notion": "equalized_odds"},
    "classes by rate": {"kind": "multiclass", "notion": "demographic_parity", "surrogate": "rate"},
    "regression": {"kind": "regression", "notion": "disparate_mistreatment", "loss": "squared"},
    "mean predictions": {"kind": "regression", "notion": "demographic_parity", "loss": "squared", "weight": "some"},
    "covariance": {"notion": "score_covariance"},
    "hinge": {"loss": "hinge"},
    "signs": {"signs": {0: "-", 1: "+"}},
}


def given(name: str = "equal opportunity", n: int = 600) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Return X, y, what goes by row (groups, weights), and the options of a case."""
    options = dict(CASES[name])
    kind, columns, weight = (options.pop(k, v) for k, v in (("kind", "binary"), ("columns", ("sex",)), ("weight", "")))
    X, y, known = draw(kind, n=n)
    rows = {"sensitive_features": {column: known[column] for column in columns}}
    if weight:
        drawn = np.random.default_rng(3).integers(0, 4, len(y)).astype(float)
        rows["sample_weight"] = np.ones(len(y)) if weight == "all are 1" else drawn
    return X, y, rows, options


def far(values: Any, chunk: int = 170) -> Any:
    """Return arrays as Dask arrays of some rows per chunk, mappings of them too."""
    if isinstance(values, dict):
        return {name: far(part, chunk) for name, part in values.items()}
    return da.from_array(values, chunks=(chunk, 2) if values.ndim == 2 else chunk)


def both(name: str, n: int = 600, keep: str = "auto") -> tuple[LinearProblem, LinearProblem]:
    X, y, rows, options = given(name, n)
    near = linear_problem(X, y, **rows, **options)
    with dask.config.set({"fairfront.keep": keep}):
        return near, linear_problem(far(X), far(y, 200), **far(rows), **options)


def assert_same(one: ff.Frontier, other: ff.Frontier) -> None:
    assert one.objective_names == other.objective_names
    assert one.status == other.status
    for name in ("objectives", "gaps", "signed_gaps", "multipliers"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8, atol=1e-8, err_msg=name)
    np.testing.assert_allclose(one.models.coef, other.models.coef, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.models.intercept, other.models.intercept, rtol=1e-8, atol=1e-8)
