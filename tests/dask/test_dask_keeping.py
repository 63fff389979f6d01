"""Where rows on Dask stay between passes: in memory or where they come from, with the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from fairfront.problems.dask import problem
from tests.support.dask_rows import both

pytestmark = pytest.mark.usefixtures("on_dask")

KEEP = ("memory", "source")


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("name", ["weights", "classes", "mean predictions"])
def test_rows_may_be_kept_anywhere(name: str, keep: str) -> None:
    near, away = both(name, keep=keep)
    parts = away.rows.parts
    assert [len(part) for part in parts] == [3 if keep == "source" else 1] * 4
    W = np.random.default_rng(1).normal(size=(1, near.K, near.d))
    omega = np.abs(np.random.default_rng(2).normal(size=near.layout.k))
    np.testing.assert_allclose(away.values(W), near.values(W), rtol=1e-12)
    np.testing.assert_allclose(away.cells(W).D, near.cells(W).D, rtol=1e-11, atol=1e-11)
    first = away.passes
    found, expected = away.hessian(W[0], omega), near.hessian(W[0], omega)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    assert away.passes - first == (keep != "source")  # what reads its rows each time brings Hessians along
    again = away.cells(W)
    assert away.passes - first == (keep != "source")
    np.testing.assert_array_equal(again.D, away.cells(W).D)


def test_rows_that_take_much_memory_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _, kept = both("weights")
    assert not kept.rows.eager
    monkeypatch.setattr(problem, "KEPT_BYTES", 600 * 17)
    _, read = both("weights")
    assert read.rows.eager


@pytest.mark.parametrize("keep", KEEP)
@pytest.mark.parametrize("name", ["weights", "classes"])
def test_no_number_depends_on_what_is_remembered(name: str, keep: str) -> None:
    (_, one), (_, two), (_, three) = (both(name, keep=keep) for _ in range(3))
    W = np.random.default_rng(1).normal(size=(1, one.K, one.d))
    omega = np.abs(np.random.default_rng(2).normal(size=one.layout.k))
    found = one.cells(W)  # brings Hessians along where rows are read anew
    values = two.values(W)
    assert found.L.tobytes() == one.values(W).tobytes() == values.tobytes()
    assert found.D.tobytes() == two.cells(W).D.tobytes()
    for float32 in (False, True):
        hessians = [s.hessian(W[0], omega, float32=float32).tobytes() for s in (one, two, three)]
        assert hessians[0] == hessians[1] == hessians[2]
    assert found.D.tobytes() == three.cells(W).D.tobytes()
