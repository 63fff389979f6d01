"""Differences of two models on the same rows, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from fairfront.measures.paired import share_changes


def test_changes_of_shares_are_those_of_weighted_flags():
    rng = np.random.default_rng(5)
    values, weight = rng.random((3, 400)) < 0.5, rng.exponential(size=400)
    sides = tuple(((a & ~b) * 1.0).sum(axis=1, keepdims=True) for a, b in ((values, values[0]), (values[0], values)))
    found = share_changes(values, 0, weight[:, None], weight, sides, np.ones(1), 0.95)
    means = values @ weight / weight.sum()
    assert found.value[:, 0] == pytest.approx(means - means[0])
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()
