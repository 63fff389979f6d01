"""Differences of two models on the same rows, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from fairfront.measures.paired import PairedRows, share_changes
from fairfront.objectives import Groups, Task


def test_changes_of_shares_are_those_of_weighted_flags():
    rng = np.random.default_rng(5)
    values, weight = rng.random((3, 400)) < 0.5, rng.exponential(size=400)
    sides = tuple(((a & ~b) * 1.0).sum(axis=1, keepdims=True) for a, b in ((values, values[0]), (values[0], values)))
    found = share_changes(values, 0, weight[:, None], weight, sides, np.ones(1), 0.95)
    means = values @ weight / weight.sum()
    assert found.value[:, 0] == pytest.approx(means - means[0])
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()


@pytest.mark.parametrize("seed", range(40))
def test_intervals_of_rounded_changes_are_no_shorter_than_exact_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 900))
    labels, plain = rng.integers(0, 2, n), rng.integers(0, 2, n)
    decided = np.stack([plain, np.where(rng.random(n) < rng.uniform(0.0, 0.1), 1 - plain, plain)])
    group = rng.choice(["a", "b", "c"], n, p=[0.6, 0.32, 0.08])
    attributes = Groups(min_size=1).resolve(group, n)
    found = []
    for small in (0, 10):
        rows = PairedRows.of(
            decided, labels, Task("binary", (0, 1), 1), attributes, None, plain=0, confidence=0.95, small=small
        )
        found.append(rows.overall(rows.by_group(0)))
    for rate, exact in found[0].items():
        told = found[1][rate]
        assert told.upper[1] - told.lower[1] >= exact.upper[1] - exact.lower[1] - 1e-12
        moved = (decided[1] != decided[0]) & (decided[1] == 1), (decided[1] != decided[0]) & (decided[1] == 0)
        if min(each.sum() for each in moved) >= 12 and np.bincount(labels).min() > 60:  # published exactly
            assert told.upper[1] - told.lower[1] == pytest.approx(exact.upper[1] - exact.lower[1])
        assert told.lower[0] == told.upper[0] or told.lower[0] <= 0.0 <= told.upper[0]
