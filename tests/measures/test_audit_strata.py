"""Like with like: pooled gaps against a worked example, plain gaps, and their coverage."""

from __future__ import annotations

import numpy as np
import pytest

import fairfront as ff
from fairfront.measures.mantel_haenszel import mantel_haenszel_gap, mantel_haenszel_ratio
from fairfront.objectives.strata import Strata


def test_worked_example_of_two_age_bands() -> None:
    """Deaths on tolbutamide and placebo by age in the UGDP trial: 3.553 / 101.8 and 14.47 / 10.91 by hand."""
    s1, n1 = np.array([[8.0], [22.0]]), np.array([[106.0], [98.0]])
    s0, n0 = np.array([[5.0], [16.0]]), np.array([[120.0], [85.0]])
    assert mantel_haenszel_gap(s1, n1, s0, n0)[0][0] == pytest.approx(0.035, abs=5e-4)
    assert mantel_haenszel_ratio(s1, n1, s0, n0)[0][0] == pytest.approx(1.33, abs=5e-3)


def test_one_level_is_the_plain_gap_and_ratio() -> None:
    s1, n1, s0, n0 = (np.array([[v]]) for v in (30.0, 100.0, 60.0, 120.0))
    gap, (low, high) = mantel_haenszel_gap(s1, n1, s0, n0)
    assert gap[0] == pytest.approx(-0.2)
    wald = 1.959964 * np.sqrt(0.3 * 0.7 / 100 + 0.25 / 120)
    assert (high - low)[0] / 2 == pytest.approx(wald, rel=0.02)
    ratio, (below, above) = mantel_haenszel_ratio(s1, n1, s0, n0)
    assert ratio[0] == pytest.approx(0.6)
    half = 1.959964 * np.sqrt(1 / 30 - 1 / 100 + 1 / 60 - 1 / 120)
    assert np.log(above / below)[0] / 2 == pytest.approx(half)


def test_intervals_cover_the_truth_over_many_small_levels() -> None:
    random = np.random.default_rng(0)
    n1, n0 = np.full((25, 2000), 12.0), np.full((25, 2000), 30.0)
    base = np.linspace(0.2, 0.6, 25)[:, None]
    s1, s0 = random.binomial(12, base + 0.1, (25, 2000)), random.binomial(30, base, (25, 2000))
    low, high = mantel_haenszel_gap(s1, n1, s0, n0)[1]
    assert np.mean((low < 0.1) & (high > 0.1)) == pytest.approx(0.95, abs=0.02)
    s1 = random.binomial(12, 1.3 * base, (25, 2000))
    low, high = mantel_haenszel_ratio(s1, n1, s0, n0)[1]
    assert np.mean((low < 1.3) & (high > 1.3)) == pytest.approx(0.95, abs=0.02)


def test_a_gap_that_comes_from_levels_alone_vanishes_within_them() -> None:
    """Berkeley's admissions in small: each department decides alike, the groups apply to different ones."""
    department = np.repeat(["easy", "hard"], [1000, 1000])
    group = np.concatenate([np.repeat(["f", "m"], [200, 800]), np.repeat(["f", "m"], [800, 200])])
    decided = np.concatenate([np.tile([1, 1, 1, 0], 250), np.tile([1, 0, 0, 0], 250)])
    y = np.tile([0, 1], 1000)
    found = ff.audit(y, decided, sensitive_features={"sex": group}, control_features={"department": department},
                     groups=ff.Groups("m"))  # fmt: skip
    assert found.worst["sex"]["selection_gap"].value == pytest.approx(0.3)
    assert found.pooled["sex"]["selection_gap"][0] == pytest.approx(0.0, abs=1e-12)
    assert found.pooled["sex"]["selection_over_reference"][0] == pytest.approx(1.0)
    for tables in found.strata.values():
        assert tables["sex"].columns["selection_gap"][0] == pytest.approx(0.0, abs=1e-12)


def test_groups_too_few_within_a_level_are_said_to_be() -> None:
    level = np.repeat(["x", "y"], [100, 300])
    group = np.concatenate([np.repeat(["a", "b"], [10, 90]), np.tile(["a", "b"], 150)])
    y = np.tile([0, 1], 200)
    found = ff.audit(y, y, sensitive_features={"g": group}, control_features=level, groups=ff.Groups("b"))
    assert found.strata["x"]["g"].lines.status[0] == "too few"
    assert found.strata["y"]["g"].lines.status[0] == "compared"
    assert "fewer than 30 rows" in found.strata["x"]["g"].readable["selection_gap"][0]


def test_levels_are_crossed_and_missing_is_a_level() -> None:
    found = Strata.of({"a": ["x", "y", None, "x"], "b": [1, 1, 2, 2]}, 4).rows
    assert {k: v.tolist() for k, v in found.items()} == {"x & 1": [0], "x & 2": [3], "y & 1": [1], "(missing) & 2": [2]}
    many = {f"c{k}": np.arange(400) // 100 * 40 + 7 * k for k in range(12)}
    assert len(Strata.of(many, 400).rows) == 4  # names are made of levels that occur, not of all that could
    with pytest.raises(ff.InputError, match="cut numbers first"):
        Strata.of(np.arange(2000), 2000)
