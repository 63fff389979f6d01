"""Nobody who has a dossier can tell which of several small counts is behind it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.improvability.digits import coarse_p, outwards
from fairfront.improvability.drivers import count_steps, linear_drivers, told_part
from fairfront.improvability.split_search import halves
from fairfront.measures.disclosure import LIMIT

SMALL, LARGE = 80, 720


def dossier(hits: int, more: int = 0, scored: bool = False, improve: str = "tpr_gap") -> dict[str, Any]:
    """Return the record of people of whom the incumbent approves so many of 20 good judge rows of a small group.

    Whom it approves less there, it approves more in the large group, where the rival approves them too: totals and
    disagreements stay. ``more`` people of the small group are approved by the rival alone. An incumbent that is
    ``scored`` has two scores.
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
        incumbent=np.where(decided == 1, 0.7, 0.3) if scored else decided,
        keep={"error": 0.3},
        improve=improve,
        families="candidates",
        candidates={"rival": score},
        n_splits=1,
        progress=False,
    )
    return dict(json.loads(json.dumps(found.record)))


def values_of(record: dict[str, Any]) -> list[list[float]]:
    """Return figures of curves with their widths; all who are approved in the small group are no small count."""
    models = [model for each in record["curves"] for model in each["curves"].values()]
    told = [cells for model in models for name, cells in model.items() if name != "selection_ratio"]
    return [[0.0, 0.0] if each is None else each for some in told for each in some]


SAID = ("table", "finding", "p_value", "qualified", "split_p_values", "changes")
"""What is looked at entry by entry: whether a model qualifies is told, and rests on exact counts."""


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("around", [(3, 4), (5, 6), (6, 7), (13, 14)])
def test_neighbouring_small_counts_give_one_dossier(around: tuple[int, int], scored: bool) -> None:
    one, other = (dossier(hits, scored=scored) for hits in around)
    assert one["coarse"]
    assert {"moved", "swapped", "audit", "curves", "limit", "refutation", "drivers"} <= set(one)
    for mine, yours in zip(values_of(one), values_of(other), strict=True):
        assert mine[0] == yours[0]
        assert mine[1] == pytest.approx(yours[1], abs=0.005, rel=0.05)  # of draws of other rows
    for name in set(one) - {*SAID, "curves"}:
        if name != "refutation" or None not in (one[name], other[name]):  # given where nothing is shown
            assert one[name] == other[name], name
    said = ("qualified", "why", "p")
    for mine, yours in zip(one["table"], other["table"], strict=True):
        assert {**mine, **dict.fromkeys(said)} == {**yours, **dict.fromkeys(said)}
        assert {mine["p"], yours["p"]} <= {None, 0.05, 1.0}
    assert {*one["split_p_values"], *other["split_p_values"]} <= {0.05, 1.0}
    low, high = (np.array(each["changes"]["1"]["tpr_gap"]) for each in (one, other))
    assert np.abs(low - high).max() <= 5 / 20 + 1e-9
    assert np.allclose(low * 20 / 5, np.rint(low * 20 / 5))


@pytest.mark.parametrize(
    "improve", ["fnr", "odds", "precision", "npv", "favourable_errors", "f_score", "balanced_accuracy"]
)
def test_neighbouring_small_counts_give_one_dossier_whatever_has_to_improve(improve: str) -> None:
    name = f"{improve}_gap"
    one, other = (dossier(hits, scored=True, improve=name) for hits in (6, 7))
    for mine, yours in zip(values_of(one), values_of(other), strict=True):
        assert mine[0] == yours[0]
    for part in set(one) - {*SAID, "curves", "refutation"}:
        assert one[part] == other[part], part
    said = ("qualified", "why", "p")
    for mine, yours in zip(one["table"], other["table"], strict=True):
        assert {**mine, **dict.fromkeys(said)} == {**yours, **dict.fromkeys(said)}
    low, high = (np.array(each["changes"]["1"][name]) for each in (one, other))
    assert np.abs(low - high).max() <= 5 / 20


@pytest.mark.parametrize("size", [25, 40, 90])
def test_what_a_column_carries_does_not_tell_how_many_of_a_group_have_a_value(size: int) -> None:
    """A reader who knows the coefficients and all of the others finds several counts behind every part."""
    coef, told = np.array([0.8, -0.3]), dict[Any, list[int]]()
    for count in range(LIMIT):
        flag = np.concatenate([np.arange(size) < count, np.arange(300) % 3 == 0]).astype(float)
        X = np.column_stack([flag, np.random.default_rng(0).normal(size=size + 300)])
        sides = np.arange(size + 300) < size, np.arange(size + 300) >= size
        found = linear_drivers(X, coef, ["flag", "other"], np.ones(len(X)), sides)
        steps = count_steps(X, coef, ["flag", "other"], sides)
        assert set(steps) == ({"flag"} if count else set())
        told.setdefault(told_part(found["flag"], steps.get("flag", 5 / size * 0.8)), []).append(count)
    assert all(len(each) > 1 for key, each in told.items() if 0 not in each), told


def test_curves_leave_out_what_rests_on_few() -> None:
    for each in dossier(13, scored=True)["curves"]:
        assert all(cell is None for model in each["curves"].values() for cell in model["tpr_gap"])
        assert any(cell is not None for cell in each["curves"]["incumbent"]["error"])


def test_p_values_beside_small_counts_say_whether_they_pass() -> None:
    assert [coarse_p(p, 0.05) for p in (0.0, 0.03, 0.05, 0.06, 1.0)] == [0.05, 0.05, 0.05, 1.0, 1.0]


@pytest.mark.parametrize("step", [1e-4, 5 / 700, 5 / 90_000])
def test_ends_as_they_are_told_are_never_narrower(step: float) -> None:
    for value in np.random.default_rng(0).uniform(-0.2, 0.2, 300):
        told, low, high = outwards((value, value - 0.01, value + 0.01), step)
        assert low <= value - 0.01 < value + 0.01 <= high
        assert max(abs(told - value), value - 0.01 - low, high - value - 0.01) <= step + 1e-4
    assert outwards((0.0, -0.0, 0.0), step) == (0.0, 0.0, 0.0)
    assert outwards((0.0123, 0.0123, 0.0123), 1e-4) == (0.0123, 0.0123, 0.0123)
