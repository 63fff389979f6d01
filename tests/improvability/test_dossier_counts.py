"""Nobody who has a dossier can tell which of several small counts is behind it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.improvability.digits import coarse_p
from fairfront.improvability.split_search import halves

SMALL, LARGE = 80, 720


def dossier(hits: int, more: int = 0) -> dict[str, Any]:
    """Return the record of people of whom the incumbent approves so many of 20 good judge rows of a small group.

    Whom it approves less there, it approves more in the large group, where the rival approves them too: totals and
    disagreements stay. ``more`` people of the small group are approved by the rival alone.
    """
    random = np.random.default_rng(0)
    group = np.repeat(["a", "b"], [SMALL, LARGE])
    y = np.tile([0, 1], (SMALL + LARGE) // 2)
    atoms = np.unique(np.column_stack([y == 1, group == "b"]), axis=0, return_inverse=True)[1].ravel()
    _, judge = halves(atoms, 0, 0)
    score = np.where(y == 1, 0.65, 0.35) + random.uniform(-0.3, 0.3, len(y))
    decided = (score > 0.5).astype(int)
    small = judge[(group[judge] == "a") & (y[judge] == 1)]
    large = judge[(group[judge] == "b") & (y[judge] == 1) & (score[judge] > 0.5)]
    score[small] = 0.9
    decided[small] = 0
    decided[small[:hits]] = 1
    decided[large] = 1
    decided[large[: 10 + hits]] = 0
    score[small[len(small) - 1 - more :]] = 0.1
    found = ff.alternatives(
        random.normal(size=(len(y), 2)),
        y,
        sensitive_features={"g": group},
        incumbent=decided,
        keep={"error": 0.3},
        families="candidates",
        candidates={"rival": score},
        n_splits=1,
        progress=False,
    )
    record = json.loads(json.dumps(found.record))
    record.pop("drivers", None)
    return dict(record)


@pytest.mark.parametrize("around", [(3, 4), (5, 6), (6, 7), (13, 14)])
def test_neighbouring_small_counts_give_one_dossier(around: tuple[int, int]) -> None:
    one, other = (dossier(hits) for hits in around)
    assert one["coarse"]
    for name in ("moved", "swapped", "audit", "curves", "curves_left_out"):
        assert one[name] == other[name], name
    said = ("qualified", "why", "p")  # whether a model qualifies is told, and rests on exact counts
    for mine, yours in zip(one["table"], other["table"], strict=True):
        assert {**mine, **dict.fromkeys(said)} == {**yours, **dict.fromkeys(said)}
        assert {mine["p"], yours["p"]} <= {None, 0.05, 1.0}
    assert {*one["split_p_values"], *other["split_p_values"]} <= {0.05, 1.0}
    low, high = (np.array(each["changes"]["1"]["tpr_gap"]) for each in (one, other))
    assert np.abs(low - high).max() <= 5 / 20 + 1e-9
    assert np.allclose(low * 20 / 5, np.rint(low * 20 / 5))


def test_p_values_beside_small_counts_say_whether_they_pass() -> None:
    assert [coarse_p(p, 0.05) for p in (0.0, 0.03, 0.05, 0.06, 1.0)] == [0.05, 0.05, 0.05, 1.0, 1.0]
