"""Intervals against published worked examples, SciPy and simulation, for many models at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact

from fairfront.exceptions import InputError
from fairfront.measures import GroupMeans, GroupRates, newcombe, wilson
from fairfront.measures.contrasts import worst_gap
from fairfront.measures.counts import count
from fairfront.measures.intervals import share_interval, worst_gap_floor, worst_gap_upper
from fairfront.measures.proportions import katz, outer
from fairfront.measures.rates import Margins, SampleRates, effective_sizes
from fairfront.measures.significance import smallest_detectable_gap, two_by_two
from fairfront.measures.table_columns import percentiles
from tests.support.rates import class_rates, group_rates

NAMES = ("selection", "error", "accuracy", "tpr", "fpr")
LEVELS = ("Green", "Purple", "Blue")
# Newcombe (1998), Statistics in Medicine 17:873-890, Table II, method 10.
NEWCOMBE = [
    ((56, 70, 48, 80), (0.0524, 0.3339)),
    ((9, 10, 3, 10), (0.1705, 0.8090)),
    ((6, 7, 2, 7), (0.0582, 0.8062)),
    ((5, 56, 0, 29), (-0.0381, 0.1926)),
    ((0, 10, 0, 20), (-0.1611, 0.2775)),
    ((0, 10, 0, 10), (-0.2775, 0.2775)),
    ((10, 10, 0, 20), (0.6791, 1.0)),
    ((10, 10, 0, 10), (0.6075, 1.0)),
]


def sample(seed: int, n: int = 200, N: int = 4, c: int = 3) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "decided": random.random((N, n)) < random.random((N, 1)),
        "favourable": np.concatenate([np.tile([True, False], c), random.random(n - 2 * c) < 0.4]),
        "codes": np.concatenate([np.repeat(np.arange(c), 2), random.integers(0, c, n - 2 * c)]),
        "weight": random.integers(1, 5, n) * 0.37,
    }


def rates_of(data: dict[str, Any], weight: np.ndarray | None = None) -> GroupRates:
    return group_rates(data["decided"], data["favourable"], data["codes"], LEVELS, weight)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_wilson_equals_scipy(confidence: float) -> None:
    n = np.array([1, 2, 7, 30, 400])
    for share in (0.0, 0.1, 0.5, 1.0):
        successes = np.round(share * n)
        low, high = wilson(successes, n, confidence)
        for k in range(len(n)):
            by_scipy = binomtest(int(successes[k]), int(n[k])).proportion_ci(confidence, method="wilson")
            assert (low[k], high[k]) == pytest.approx((by_scipy.low, by_scipy.high), abs=1e-12)


def test_no_rows_say_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert newcombe(0, 0, 3, 10) == (-1.0, 1.0)
    assert katz(3, 10, 0, 0) == (0.0, np.inf)
    rows = np.array([0.0, 10.0])
    np.testing.assert_array_equal(share_interval(SampleRates(np.zeros(2), rows)), wilson([0, 0], rows))
    found = share_interval(SampleRates(np.array(0.25), np.array(40.5)))
    assert found[1] == pytest.approx(wilson(0.25 * 40.5, 40.5)[1])


@pytest.mark.parametrize(("counts", "published"), NEWCOMBE)
def test_newcombe_as_published(counts: tuple[int, ...], published: tuple[float, float]) -> None:
    np.testing.assert_allclose(newcombe(*counts), published, atol=5.1e-5)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=4, max_size=4), st.floats(0.5, 0.99))
def test_intervals_turn_round_with_their_groups_and_grow_with_confidence(counts: list[int], level: float) -> None:
    s1, more1, s2, more2 = counts
    one, other = (s1, s1 + more1), (s2, s2 + more2)
    low, high = newcombe(*one, *other, level)
    np.testing.assert_allclose(newcombe(*other, *one, level), (-high, -low), atol=1e-12)
    below, above = newcombe(*one, *other, 0.5 + level / 2)
    assert below <= low + 1e-12
    assert above >= high - 1e-12
    assert -1 <= low <= high <= 1
    narrow, wide = katz(*one, *other, level), katz(*one, *other, 0.5 + level / 2)
    assert wide[0] <= narrow[0] <= narrow[1] <= wide[1]


def test_katz_by_hand() -> None:
    half = 1.959964 * np.sqrt(1 / 15 - 1 / 50 + 1 / 10 - 1 / 40)
    np.testing.assert_allclose(katz(15, 50, 10, 40), (1.2 * np.exp(-half), 1.2 * np.exp(half)), rtol=1e-6)
    half = 1.959964 * np.sqrt(1 / 0.5 - 1 / 51 + 1 / 10.5 - 1 / 41)
    middle = (0.5 / 51) / (10.5 / 41)
    np.testing.assert_allclose(katz(0, 50, 10, 40), (0.0, middle * np.exp(half)), rtol=1e-6)
    np.testing.assert_allclose(katz(10, 40, 0, 50), (np.exp(-half) / middle, np.inf), rtol=1e-6)
    assert np.diff(katz(10, 10, 10, 10)) > 0.3


@pytest.mark.parametrize(("p1", "n1", "p2", "n2"), [(0.5, 40, 0.3, 60), (0.05, 200, 0.02, 300), (0.9, 30, 0.9, 400)])
def test_coverage_by_simulation(p1: float, n1: int, p2: float, n2: int) -> None:
    random = np.random.default_rng(0)
    s1, s2 = random.binomial(n1, p1, 20_000), random.binomial(n2, p2, 20_000)
    low, high = newcombe(s1, n1, s2, n2, 0.95)
    assert 0.93 < np.mean((low <= p1 - p2) & (p1 - p2 <= high)) < 0.99
    low, high = wilson(s1, n1, 0.9)
    assert 0.86 < np.mean((low <= p1) & (p1 <= high)) < 0.97
    if max(p1, p2) <= 0.5:  # Katz's interval is too short for small groups with rates near 1
        low, high = katz(s1, n1, s2, n2, 0.95)
        assert 0.93 < np.mean((low <= p1 / p2) & (p1 / p2 <= high)) < 1.0


def claimed_gap(s1: Any, n1: Any, s2: Any, n2: Any, confidence: float = 0.95) -> Any:
    """Return ends of s1/n1 - s2/n2, by the formula."""
    p1, p2, (low1, high1), (low2, high2) = s1 / n1, s2 / n2, outer(s1, n1, confidence), outer(s2, n2, confidence)
    return p1 - p2 - np.hypot(p1 - low1, high2 - p2), p1 - p2 + np.hypot(high1 - p1, p2 - low2)


def simulated(truth: np.ndarray, size: np.ndarray, N: int, seed: int) -> GroupRates:
    """Rates of N independent samples, as if they were N models."""
    rate = np.random.default_rng(seed).binomial(size.astype(int), truth, (N, len(truth))) / size
    fields = dict.fromkeys(("selection", "tpr", "fpr", "error"), rate)
    return GroupRates(tuple("abcd"), size, size, positives=size, negatives=size, **fields)


@pytest.mark.parametrize("truth", [[0.3, 0.3, 0.3, 0.3], [0.2, 0.5, 0.4, 0.3], [0.02, 0.01, 0.05, 0.02]])
def test_claims_about_the_worst_gap_hold(truth: list[float]) -> None:
    size = np.array([60.0, 90.0, 300.0, 1000.0])
    rates = simulated(np.array(truth), size, 4000, seed=1)
    upper = worst_gap_upper(rates, "tpr", 0.9)
    assert np.mean(upper >= max(truth) - min(truth)) > 0.89
    assert (upper >= worst_gap(rates, "tpr")).all()
    assert (upper < worst_gap_upper(rates, "tpr", 0.99)).all()


@pytest.mark.parametrize("name", NAMES)
def test_intervals_of_gaps_use_the_rows_behind_the_rate(name: str) -> None:
    data = sample(0)
    rates = rates_of(data)
    rows = {"tpr": data["favourable"], "fpr": ~data["favourable"]}.get(name, np.ones(200, dtype=bool))
    size = np.bincount(data["codes"][rows])
    for model in range(4):
        counts = [(rates.rate(name)[model, k] * size[k], size[k]) for k in range(3)]
        pairs = [claimed_gap(*counts[a], *counts[b], 0.9) for a, b in ((0, 1), (0, 2), (1, 2))]
        upper, floor = worst_gap_upper(rates, name, 0.9)[model], worst_gap_floor(rates, name, 0.9)[model]
        assert upper == pytest.approx(np.abs(pairs).max(), abs=1e-12)
        assert floor == pytest.approx(max(high - low for low, high in pairs) / 2, abs=1e-12)


def test_the_upper_end_of_the_worst_gap_is_that_of_each_pair_on_its_own() -> None:
    rates = rates_of(sample(1))
    ends = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        s1, s2 = rates.selection[:, a] * rates.n[a], rates.selection[:, b] * rates.n[b]
        ends += list(np.abs(claimed_gap(s1, rates.n[a], s2, rates.n[b])))
    np.testing.assert_allclose(worst_gap_upper(rates, "selection"), np.max(ends, axis=0))
    data = sample(1)
    data["codes"] = data["codes"] - 1
    pair = group_rates(data["decided"], data["favourable"], data["codes"], LEVELS[1:])
    rows = np.bincount(data["codes"][~data["favourable"] & (data["codes"] >= 0)])
    ends = claimed_gap(pair.fpr[:, 0] * rows[0], rows[0], pair.fpr[:, 1] * rows[1], rows[1])
    np.testing.assert_allclose(worst_gap_upper(pair, "fpr"), np.abs(ends).max(axis=0))


def test_groups_without_the_rate_stay_out() -> None:
    codes = np.repeat([0, 1, 2], 20)
    favourable = np.tile([True, False], 30) & (codes != 0)
    rates = group_rates(np.tile([True, True, False], 20), favourable, codes, (*LEVELS, "absent"))
    low, high = claimed_gap(*(rates.tpr[0, 1] * 10, 10), *(rates.tpr[0, 2] * 10, 10))
    np.testing.assert_allclose(worst_gap_upper(rates, "tpr"), max(-low, high))
    alone = group_rates(favourable, favourable, np.zeros(60, dtype=int), ("only",))
    assert np.isnan(worst_gap_upper(alone, "tpr")).all()
    nobody = group_rates(np.empty((0, 60), dtype=bool), favourable, codes, LEVELS)
    assert worst_gap_upper(nobody, "selection").shape == (0,)


def test_recall_of_classes_has_intervals() -> None:
    random = np.random.default_rng(5)
    labels, codes = random.integers(0, 3, 300), random.integers(0, 2, 300)
    rates = class_rates(random.integers(0, 3, (4, 300)), labels, 3, 1, codes, ("a", "b"))
    ends = []
    for k in range(3):
        size = np.bincount(codes[labels == k])
        ends += list(claimed_gap(rates.recall[:, 0, k] * size[0], size[0], rates.recall[:, 1, k] * size[1], size[1]))
    np.testing.assert_allclose(worst_gap_upper(rates, "recall"), np.abs(ends).max(axis=0))


def sizes_of(data: dict[str, Any], weight: np.ndarray | None = None, c: int = 3) -> dict[str, np.ndarray]:
    label = data["favourable"].astype(np.intp)
    counts = count(label[None], label, 2, data["codes"], c, weight)
    return effective_sizes(*(Margins.of(each[:, :-1], 1) for each in (counts.weight, counts.squared)))


def test_effective_sizes() -> None:
    data = sample(2)
    plain, even, kish = sizes_of(data), sizes_of(data, np.full(200, 7.5)), sizes_of(data, data["weight"])
    rates = rates_of(data)
    for name, field in (("selection", "weight"), ("tpr", "positives"), ("fpr", "negatives")):
        np.testing.assert_allclose(plain[name], getattr(rates, field))
        np.testing.assert_allclose(even[name], plain[name])
        assert (kish[name] < plain[name]).all()
    weight = data["weight"][data["favourable"] & (data["codes"] == 1)]
    assert kish["tpr"][1] == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert sizes_of(data, c=4)["tpr"][3] == 0
    weighted = rates_of(data, data["weight"])
    assert (worst_gap_upper(weighted, "tpr", sizes=kish) > worst_gap_upper(weighted, "tpr")).all()


def test_equal_weights_of_any_scale_change_nothing() -> None:
    data = sample(3)
    plain, scaled = rates_of(data), rates_of(data, np.full(200, 1e4))
    for name in NAMES:
        np.testing.assert_allclose(worst_gap_upper(plain, name), worst_gap_upper(scaled, name), atol=1e-9)


def test_smallest_detectable_gap() -> None:
    # Sample sizes of the two-proportion test: .50 and .75 with power .9 need 76.7 rows each, .6 and .7 need 356.
    assert smallest_detectable_gap(76.7, 76.7, 0.5, power=0.9) == pytest.approx(0.25, abs=2e-4)
    assert smallest_detectable_gap(356, 356, 0.7) == pytest.approx(0.1, abs=2e-4)
    assert smallest_detectable_gap(356, 356, 0.3) == pytest.approx(0.1, abs=2e-4)
    found = smallest_detectable_gap([10, 100, 1000, 1000], [1000, 1000, 1000, 10_000], 0.0)
    assert (np.diff(found) < 0).all()
    assert (found > 0).all()
    assert np.isnan(smallest_detectable_gap([0, 2], [50, 2], 0.5)).all()


def test_detectable_gaps_are_detected_with_that_power() -> None:
    gap = float(smallest_detectable_gap(300, 800, 0.2))
    random = np.random.default_rng(8)
    s1, s2 = random.binomial(300, 0.2, 20_000), random.binomial(800, 0.2 + gap, 20_000)
    m = (s1 + s2) / 1100
    z = (s2 / 800 - s1 / 300) / np.sqrt(m * (1 - m) * (1 / 300 + 1 / 800))
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.8, abs=0.02)


def test_percentiles_leave_out_what_is_unknown() -> None:
    draws = np.random.default_rng(0).normal(size=(400, 3))
    draws[:, 1], draws[::2, 2] = np.nan, np.nan
    low, high = percentiles(draws, 0.9)
    np.testing.assert_allclose((low[0], high[0]), np.quantile(draws[:, 0], [0.05, 0.95]))
    np.testing.assert_allclose((low[2], high[2]), np.quantile(draws[1::2, 2], [0.05, 0.95]))
    assert np.isnan([low[1], high[1]]).all()


def test_two_by_two_equals_scipy() -> None:
    chosen, size = np.array([12, 30, 41]), np.array([40, 66, 94])
    p, deviations = two_by_two(chosen[:2], size[:2], chosen[2], size[2])
    for g in range(2):
        table = [[chosen[k], size[k] - chosen[k]] for k in (g, 2)]
        assert p[g] == pytest.approx(fisher_exact(table)[1])
        mean = (chosen[g] + chosen[2]) / (size[g] + size[2])
        spread = np.sqrt(mean * (1 - mean) * (1 / size[g] + 1 / size[2]))
        assert deviations[g] == pytest.approx((chosen[g] / size[g] - chosen[2] / size[2]) / spread)


def test_two_by_two_of_special_cases() -> None:
    p, deviations = two_by_two([0, 0], [2, 0], 0, 2)
    np.testing.assert_array_equal(p, [1.0, np.nan])
    np.testing.assert_array_equal(deviations, [0.0, np.nan])


def test_inputs_that_cannot_be_used() -> None:
    yes, codes = np.array([True, False, True]), np.array([0, 1, 1])
    with pytest.raises(InputError, match=r"confidence is 95, expected a number between 0 and 1"):
        wilson(1, 2, 95)
    with pytest.raises(InputError, match=r"successes run from 3 to 3, expected 0 to n \(2 or more\)"):
        newcombe(1, 2, 3, 2)
    rates = group_rates(yes, yes, codes, ("a", "b"))
    with pytest.raises(InputError, match="unknown rate 'ppv'"):
        worst_gap_upper(rates, "ppv")
    one = np.ones((1, 2))
    means = GroupMeans(("a", "b"), one[0], one[0], one, one, one)
    with pytest.raises(InputError, match="mse is not a share of rows"):
        worst_gap_upper(means, "mse")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="confidence is 0"):
        percentiles(one, 0)
