"""Held-out figures where rows are on Dask: of small collections only; intervals of people in many partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairfront as ff
from tests.support.dask_rows import dask, far, given

CHUNK = 900
NEAR: dict[str, Any] = {"progress": False, "n_points": 6}


def unequal(name: str, n: int) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Return the rows of a case with labels that differ by sex, more than by noise."""
    X, y, rows, asked = given(name, n)
    if (columns := rows["sensitive_features"]).keys() <= {"sex", "race"}:
        woman, rng = columns["sex"] == "Female", np.random.default_rng(5)
        X[:, 1] += 1.5 * woman
        latent = X[:, 0] - 0.6 * X[:, 1] + (1.0 + woman) * rng.logistic(size=n)
        cuts = {"classes": [-0.8, 0.8]}.get(name, [0.0])
        y = latent if name == "regression" else np.digitize(latent, cuts)
    return X, y, rows, asked


def test_small_collections_are_judged_in_memory_by_leave_one_out() -> None:
    X, y, rows, asked = given(n=600)
    there = ff.trace(far(X), far(y), **far(rows), **asked, **NEAR, held_out=True)
    here = ff.trace(X, y, **rows, **asked, **NEAR, held_out=True)
    assert there.evaluations["held_out"].made == "leave-one-out in closed form"
    np.testing.assert_array_equal(there.evaluations["held_out"]["error"], here.evaluations["held_out"]["error"])
    assert not ff.trace(far(X), far(y), **far(rows), **asked, **NEAR).evaluations


def test_rows_that_stay_on_dask_are_refused() -> None:
    X, y, rows, asked = given(n=600)
    with dask.config.set({"fairfront.small_bytes": 0}), pytest.raises(ff.InputError, match="needs all rows in memory"):
        ff.trace(far(X), far(y), **far(rows), **asked, **NEAR, held_out=True)


def test_intervals_of_people_in_many_partitions_are_those_of_people_in_memory() -> None:
    """Copies of rows: a person with four of them, far apart, is one; sets of people are known within a few percent."""
    X, y, rows, asked = unequal("equal opportunity", 1500)
    again, person = np.tile(np.arange(1500), 4), np.tile(np.arange(1500), 4)
    sex = rows["sensitive_features"]["sex"]
    here = ff.trace(X, y, **rows, **asked, **NEAR, held_out=False)
    near = here.evaluate(X[again], y[again], sensitive_features=sex[again], person=person)
    given = {"sensitive_features": {"sex": far(sex[again], CHUNK)}, "person": far(person, CHUNK)}
    there = here.evaluate(far(X[again], CHUNK), far(y[again], CHUNK), **given)
    one, two = (each.evaluations["validation"] for each in (near, there))
    np.testing.assert_array_equal(one["tpr_gap"], two["tpr_gap"])
    width = [each.figure("tpr_gap", 0.95) - each["tpr_gap"] for each in (one, two)]
    np.testing.assert_allclose(*width, rtol=0.1)
    rowwise = here.evaluate(far(X[again], CHUNK), far(y[again], CHUNK), sensitive_features=given["sensitive_features"])
    narrow = rowwise.evaluations["validation"]
    assert (width[1] > 1.7 * (narrow.figure("tpr_gap", 0.95) - narrow["tpr_gap"])).all()
