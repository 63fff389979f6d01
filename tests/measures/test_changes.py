"""Who gains and who loses, counted by hand, against rates, and with weights as repeated rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfront.measures.contrasts import gaps
from fairfront.measures.moves import flips
from tests.support.rates import group_rates

LEVELS = ("Green", "Purple", "Blue")


def sample(seed: int, n: int = 200, N: int = 4) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "before": random.random(n) < 0.4,
        "after": random.random((N, n)) < random.random((N, 1)),
        "favourable": random.random(n) < 0.5,
        "codes": random.integers(-1, 3, n),
        "weight": random.integers(1, 5, n) * 0.37,
    }


def test_by_hand() -> None:
    before = np.array([True, False, False, True, True, False])
    after = np.array([False, True, True, True, False, True])
    label = np.array([True, True, False, True, True, False])
    found = flips(before, after, label, np.array([0, 0, 0, 1, 1, -1]), ("a", "b"), [1.0, 2.0, 4.0, 1.0, 3.0, 5.0])
    everyone, deserving = found.among_all, found.among_favourable
    assert everyone.levels == deserving.levels == ("a", "b", "overall")
    np.testing.assert_array_equal(everyone.gained, [[6.0, 0.0, 11.0]])
    np.testing.assert_array_equal(everyone.lost, [[1.0, 3.0, 4.0]])
    np.testing.assert_array_equal(everyone.n_gained, [[2, 0, 3]])
    np.testing.assert_array_equal(everyone.n_lost, [[1, 1, 2]])
    np.testing.assert_array_equal(everyone.n, [3, 2, 6])
    np.testing.assert_array_equal(everyone.weight, [7.0, 4.0, 16.0])
    np.testing.assert_allclose(everyone.net_per_1000, [[5000 / 7, -750.0, 437.5]])
    np.testing.assert_allclose(everyone.changed_per_1000, [[1000.0, 750.0, 937.5]])
    np.testing.assert_array_equal(deserving.gained, [[2.0, 0.0, 2.0]])
    np.testing.assert_array_equal(deserving.lost, [[1.0, 3.0, 4.0]])
    np.testing.assert_array_equal(deserving.n, [2, 2, 4])
    np.testing.assert_allclose(deserving.net_per_1000, [[1000 / 3, -750.0, -2000 / 7]])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_net_changes_are_changes_of_rates(seed: int) -> None:
    data = sample(seed)
    args = (data["favourable"], data["codes"], LEVELS, data["weight"])
    found = flips(data["before"], data["after"], *args)
    first, second = group_rates(data["before"], *args), group_rates(data["after"], *args)
    net = found.among_all.net_per_1000[:, :3]
    np.testing.assert_allclose(net, 1000 * (second.selection - first.selection), atol=1e-9)
    net = found.among_favourable.net_per_1000[:, :3]
    np.testing.assert_allclose(net, 1000 * (second.tpr - first.tpr), atol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_weights_equal_repeated_rows(seed: int) -> None:
    data = sample(seed)
    times = np.random.default_rng(seed).integers(0, 4, 200)
    long = np.repeat(np.arange(200), times)
    rows = [data["favourable"], data["codes"]]
    weighted = flips(data["before"], data["after"], *rows, LEVELS, times)
    repeated = flips(data["before"][long], data["after"][:, long], *[a[long] for a in rows], LEVELS)
    for part in ("among_all", "among_favourable"):
        one, other = getattr(weighted, part), getattr(repeated, part)
        for field in ("gained", "lost", "weight", "net_per_1000", "changed_per_1000"):
            np.testing.assert_allclose(getattr(one, field), getattr(other, field), atol=1e-9)
        np.testing.assert_array_equal(other.gained, other.n_gained)
        np.testing.assert_array_equal(other.lost, other.n_lost)


def test_turning_round_swaps_gains_and_losses() -> None:
    data = sample(1)
    args = (data["favourable"], data["codes"], LEVELS)
    there = flips(data["before"], data["after"][0], *args).among_all
    back = flips(data["after"][0], data["before"], *args).among_all
    np.testing.assert_array_equal(there.gained, back.lost)
    np.testing.assert_array_equal(there.n_lost, back.n_gained)
    nothing = flips(data["before"], data["before"], *args).among_all
    assert not nothing.changed_per_1000.any()
    assert there.gained.shape == (1, 4)


def test_groups_are_compared_with_everyone() -> None:
    data = sample(2)
    moves = flips(data["before"], data["after"], data["favourable"], data["codes"], LEVELS).among_all
    assert moves.reference == "overall"
    expected = moves.net_per_1000[:, :3] - moves.net_per_1000[:, 3:]
    np.testing.assert_allclose(gaps(moves, "net_per_1000"), expected)


def test_groups_without_rows_are_nan() -> None:
    before, label = np.array([True, False]), np.array([False, False])
    found = flips(before, ~before, label, np.array([0, 0]), ("a", "absent"))
    np.testing.assert_array_equal(found.among_all.net_per_1000, [[0.0, np.nan, 0.0]])
    assert np.isnan(found.among_favourable.net_per_1000).all()
