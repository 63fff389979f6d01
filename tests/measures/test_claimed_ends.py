"""Ends that are claimed: how often they fail on their one side, counted over all samples of two groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from fairfront.measures.intervals import gap_interval, ratio_ends, span_of
from fairfront.measures.proportions import katz, newcombe, outer, wilson

NEAR = np.geomspace(0.0005, 0.1, 13)
RATES = np.concatenate([NEAR, np.arange(0.12, 0.9, 0.06), 1.0 - NEAR[::-1]])
SIZES = [(12, 12), (12, 400), (30, 30), (30, 400), (30, 4000), (120, 4000), (400, 400)]


def of_two(ends: object, s1: np.ndarray, n1: float, s2: np.ndarray, n2: float, **asked: object) -> tuple:
    """Return ends of samples s1 and s2 of two groups, in the shape of both together."""
    one, other = np.broadcast_arrays(np.asarray(s1) / max(n1, 1), np.asarray(s2) / max(n2, 1))
    span = span_of(np.column_stack([one.ravel(), other.ravel()]), np.array([n1, n2], dtype=float))
    low, high = ends(span, np.array([0]), np.array([1]), 0.95, **asked)  # type: ignore[operator]
    return low.reshape(one.shape), high.reshape(one.shape)


def claimed_gap(*counts: object) -> tuple:
    return of_two(gap_interval, *counts, claimed=True)  # type: ignore[arg-type]


def claimed_ratio(*counts: object) -> tuple:
    return of_two(ratio_ends, *counts)  # type: ignore[arg-type]


def failures(untrue: np.ndarray, one: float, other: float) -> float:
    """Return the chance of samples of which something untrue is said, (n1 + 1, n2 + 1)."""
    n1, n2 = (size - 1 for size in untrue.shape)
    found = binom.pmf(np.arange(n1 + 1), n1, one) @ untrue @ binom.pmf(np.arange(n2 + 1), n2, other)
    return float(found)


def gap_failures(ends: object, n1: int, n2: int) -> list[float]:
    """Return how often a gap of 0.02 to 0.3 is claimed to be smaller than it is, in either order."""
    s1, s2 = np.arange(n1 + 1)[:, None], np.arange(n2 + 1)[None]
    low, high = ends(s1, n1, s2, n2)  # type: ignore[operator]
    found = []
    for one in RATES:
        for other in RATES[(np.abs(one - RATES) >= 0.02) & (np.abs(one - RATES) <= 0.3)]:
            gap = one - other
            found.append(failures(high < gap - 1e-12 if gap > 0 else low > gap + 1e-12, one, other))
    return found


def ratio_failures(ends: object, n1: int, n2: int) -> list[float]:
    """Return how often a ratio of 0.4 to 0.98 is claimed to be larger than it is, in either order."""
    s1, s2 = np.arange(n1 + 1)[:, None], np.arange(n2 + 1)[None]
    low, high = ends(s1, n1, s2, n2)  # type: ignore[operator]
    found = []
    for one in RATES:
        for other in RATES:
            if 0.4 <= one / other <= 0.98:
                found.append(failures(low > one / other + 1e-12, one, other))
            elif 0.4 <= other / one <= 0.98:
                found.append(failures(high < one / other - 1e-12, one, other))
    return found


@pytest.mark.parametrize(("n1", "n2"), SIZES)
def test_claims_of_gaps_and_ratios_fail_in_at_most_four_percent(n1: int, n2: int) -> None:
    assert max(gap_failures(claimed_gap, n1, n2)) <= 0.04
    assert max(ratio_failures(claimed_ratio, n1, n2)) <= 0.04


def test_intervals_for_both_sides_do_not_claim_so_much() -> None:
    assert max(gap_failures(newcombe, 30, 4000)) > 0.08
    assert max(ratio_failures(katz, 30, 400)) > 0.17


@pytest.mark.parametrize("n", [1, 2, 7, 30, 250, 1500])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_outer_ends_fail_on_one_side_in_at_most_all_that_may_fail(n: int, confidence: float) -> None:
    s = np.arange(n + 1)
    low, high = outer(s, n, confidence)
    assert (low <= wilson(s, n, confidence)[0]).all()
    np.testing.assert_allclose(high, 1.0 - low[::-1], atol=1e-12)
    assert (np.diff(low) > -1e-12).all()
    for p in np.concatenate([low[low > 0] - 1e-9, RATES]).tolist():  # worst just below an end
        assert binom.pmf(s, n, p) @ (low > p) <= 1.0 - confidence + 1e-6


def test_claims_of_groups_without_rows_or_rates_say_nothing() -> None:
    none = np.array([0.0])
    np.testing.assert_array_equal(outer(0, 0), (0.0, 1.0))
    low, high = claimed_gap(none, 0, np.array([3.0]), 10)
    assert (low[0], high[0]) == (-1.0, 1.0)
    for counts in ((none, 10, np.array([5.0]), 10), (none, 10, none, 10), (none, 0, np.array([4.0]), 10)):
        assert claimed_ratio(*counts)[0][0] == 0.0
    assert claimed_ratio(np.array([5.0]), 10, none, 10)[1][0] == np.inf
    assert claimed_ratio(np.array([5.0]), 10, none, 10)[0][0] > 0.0
    one, other = (claimed_ratio(*counts) for counts in ((np.array([8]), 10, 30, 50), (np.array([30]), 50, 8, 10)))
    np.testing.assert_allclose(other, 1.0 / np.array(one)[::-1])
