"""Differences of two models on the same rows, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from fairfront.measures.paired import PairedRows, share_changes
from fairfront.objectives import Groups, Task


def test_changes_of_shares_are_those_of_weighted_flags():
    rng = np.random.default_rng(5)
    values, weight = rng.random((3, 400)) < 0.5, rng.exponential(size=400)
    found = share_changes(values, 0, weight[:, None], 0.95)
    means = values @ weight / weight.sum()
    assert found.value[:, 0] == pytest.approx(means - means[0])
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()


def test_changes_of_groups_are_counted_and_have_the_interval_of_agresti_and_min() -> None:
    rng = np.random.default_rng(3)
    labels, before = rng.integers(0, 2, 700), rng.integers(0, 2, 700)
    after = np.where(rng.random(700) < 0.1, 1 - before, before)
    group = rng.choice(["a", "b", "c"], 700, p=[0.6, 0.37, 0.03])
    attributes = Groups(min_size=1).resolve(group, 700)
    rows = PairedRows.of(
        np.stack([before, after]), labels, Task("binary", (0, 1), 1), attributes, None, plain=0, confidence=0.95
    )
    found = rows.by_group(0)
    for rate, among in {"selection": labels >= 0, "tpr": labels == 1, "fpr": labels == 0}.items():
        for k, level in enumerate((*found.levels, None)):
            inside = among if level is None else among & (group == level)
            b, c = (int((one > other)[inside].sum()) for one, other in ((after, before), (before, after)))
            assert [side[1, k] for side in found.sides[rate]] == [b, c]
            n, change = inside.sum(), found.changes[rate]
            half = 1.959964 * np.sqrt(b + c + 1 - (b - c) ** 2 / (n + 2)) / (n + 2)
            assert change.value[1, k] == pytest.approx((b - c) / n)
            assert change.lower[1, k] == pytest.approx(min((b - c) / (n + 2) - half, (b - c) / n), abs=1e-6)
            assert change.upper[1, k] == pytest.approx(max((b - c) / (n + 2) + half, (b - c) / n), abs=1e-6)
    wrongly = [side[1] for side in found.sides["error"]]
    newly_wrong = (after != labels) & (before == labels)
    assert wrongly[0].tolist() == [
        *((newly_wrong & (group == level)).sum() for level in found.levels),
        newly_wrong.sum(),
    ]
    assert rows.overall()["selection"].value[1] == pytest.approx(found.changes["selection"].value[1, -1])
