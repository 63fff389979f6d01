"""Rounding within levels: every exact count, figure, p-value and end of a pooled interval lies inside what is shown."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

import fairfront as ff
from fairfront.measures.disclosure import LIMIT, publish_levels, publish_table
from fairfront.measures.level_shifts import gap_ends, ratio_ends
from fairfront.measures.mantel_haenszel import mantel_haenszel_gap, mantel_haenszel_ratio, pooled_gap, pooled_ratio
from fairfront.measures.ranges import level_ranges, table_range
from fairfront.measures.spans import Range

BARELY = {"p_value": 5e-5}
"""How far an exact figure may be from what is shown without ends; 0.02 for others."""


def drawn_levels(seed: int, K: int) -> np.ndarray:
    """Draw counts by level, group, label and decision, (S, c, K, K), many of them small and some of nobody."""
    rng = np.random.default_rng(seed)
    S, c = rng.integers(1, 7), rng.integers(1, 5)
    mean = rng.gamma(0.5, rng.choice([3, 12, 40, 200]), (S, c, 1, 1)) * rng.gamma(1.0, 1.0, (1, 1, K, K))
    return np.asarray(rng.poisson(mean * rng.choice([0.0, 1.0], (S, c, 1, 1), p=[0.1, 0.9])), dtype=np.float64)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([2, 3]))
def test_exact_counts_lie_inside_the_ranges_of_published_ones(seed: int, K: int) -> None:
    cells, good = drawn_levels(seed, K), seed % K
    if cells.sum() < 20:
        return
    whole = publish_table(cells.sum(axis=0)[None], good)
    inner = publish_levels(cells, whole[0, :-1])
    shown, exact = (np.concatenate([some, some.sum(axis=1, keepdims=True)], axis=1) for some in (inner, cells))
    n = exact.sum(axis=(2, 3))
    found = level_ranges(shown, table_range(whole, good), (n > 0) & (n < LIMIT), 2)
    for level, table in enumerate(found):
        counts = exact[level], exact[level].sum(axis=2), exact[level].sum(axis=(1, 2))
        for span, own in zip((table.cells.at(0), table.labels, table.sizes), counts, strict=True):
            assert (span.low <= own + 1e-9).all()
            assert (own <= span.high + 1e-9).all()


def drawn_rows(seed: int, K: int) -> tuple[ff.Audit, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([150, 300, 900]))
    group, y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1]), rng.choice(K, n)
    level = rng.choice(["u", "v", "w", "x", "y"], n, p=rng.dirichlet([2.0, 2.0, 1.0, 0.5, 0.3]))
    decided = np.where(rng.random(n) < rng.choice([0.6, 0.9, 0.98]), y, rng.choice(K, n))
    known = {"sensitive_features": {"g": group}, "control_features": level, "favourable": 1}
    return ff.audit(y, decided, **known, groups=ff.Groups("b", min_size=int(rng.choice([2, 10, 30])))), known


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([2, 3]))
def test_exact_figures_within_levels_lie_inside(seed: int, K: int) -> None:
    found, _ = drawn_rows(seed, K)
    told = found.published()
    for level, tables in told.strata.items():
        shown, exact = tables["g"].columns, found.strata[level]["g"].columns
        places = [(i, j) for j, name in enumerate(shown["group"]) for i in np.flatnonzero(exact["group"] == name)]
        none = np.full(len(shown["group"]), np.nan)
        for name in (each for each in shown if each in exact and each != "weight"):
            ends = [shown.get(f"{name}_{end}", none) for end in ("least", "most", "lower", "upper")]
            for i, j in places:
                one, value = (columns[name][place] for columns, place in ((exact, i), (shown, j)))
                if isinstance(value, str) or one != one or value != value:
                    continue
                if name.endswith("_lower"):
                    assert value <= one + 1e-9, name
                elif name.endswith("_upper"):
                    assert value >= one - 1e-9, name
                else:
                    off = BARELY.get(name, 0.0 if name in ("n", "positives", "negatives") else 0.02)
                    least, most = (
                        end[j] if end[j] == end[j] else value + by for end, by in zip(ends, (-off, off), strict=False)
                    )
                    assert name == "selected" or least - 1e-9 <= one <= most + 1e-9, name
    names, pooled = found.pooled["g"]["group"], told.pooled["g"]
    for j, name in enumerate(pooled["group"]):
        for key in pooled:
            if name not in names or key == "group" or isinstance(pooled[key][j], str):
                continue
            base = key.removesuffix("_lower").removesuffix("_upper").removesuffix("_least").removesuffix("_most")
            one = found.pooled["g"][base if key.endswith(("_least", "_most")) else key][names.index(name)]
            if isinstance(one, str):
                continue
            ends = [pooled.get(f"{base}_{end}", pooled[base])[j] for end in ("least", "most")]
            if key.endswith("_lower"):
                assert pooled[key][j] <= one + 1e-9, key
            elif key.endswith("_upper"):
                assert pooled[key][j] >= one - 1e-9, key
            elif ends == [pooled[base][j]] * 2:  # hardly off: what is shown stands for its ends
                assert abs(one - pooled[base][j]) <= 0.02 + 1e-9, key
            elif not any(isinstance(end, str) for end in ends):
                assert ends[0] - 1e-9 <= one <= ends[1] + 1e-9, key


def around(count: float) -> list[float]:
    """Return the whole numbers that are rounded to a published count."""
    return [float(k) for k in range(200) if (5 * round(k / 5) if k < LIMIT else k) == count]


def test_pooled_ends_hold_for_all_counts_that_round_to_those_shown() -> None:
    """Two levels, brute force: selected and others of two groups in each, 3 to 5 whole numbers behind four of them."""
    shown = [(5.0, 10.0, 30.0, 20.0), (0.0, 5.0, 14.0, 40.0)]  # selected and not, of one group and of the reference
    every = list(product(*(around(count) for level in shown for count in level)))
    counts = np.array(every).reshape(-1, 2, 4).transpose(2, 1, 0)
    s1, n1, s0, n0 = counts[0], counts[0] + counts[1], counts[2], counts[2] + counts[3]
    cells = [Range(np.array([[a] for a in row]), *(np.array([[pick(around(a))] for a in row]) for pick in (min, max)))
             for row in np.array(shown).T]  # fmt: skip
    sizes = [Range(a.shown + b.shown, a.low + b.low, a.high + b.high) for a, b in (cells[:2], cells[2:])]
    rates = [Range(a.shown / (a.shown + b.shown), a.low / (a.low + b.high), a.high / (a.high + b.low))
             for a, b in (cells[:2], cells[2:])]  # fmt: skip
    sides = rates[0], sizes[0], rates[1], sizes[1]
    for point, bound in ((mantel_haenszel_gap, pooled_gap), (mantel_haenszel_ratio, pooled_ratio)):
        value, (low, high) = point(s1, n1, s0, n0)
        told, (lower, upper) = bound(*sides)
        assert told.low[0] <= value.min()
        assert value.max() <= told.high[0]
        assert lower[0] <= low.min()
        assert high.max() <= upper[0]
        scale = np.log if bound is pooled_ratio else np.asarray
        wide = (scale(upper[0]) - scale(lower[0])) / (scale(high.max()) - scale(low.min()))
        assert wide < 1.4  # not much wider than it must be


def test_pooled_ends_of_exact_counts_are_those_of_the_formula() -> None:
    rng = np.random.default_rng(0)
    n1, n0 = rng.integers(5, 60, (6, 40)).astype(float), rng.integers(5, 60, (6, 40)).astype(float)
    s1, s0 = rng.binomial(n1.astype(int), 0.4), rng.binomial(n0.astype(int), 0.6)
    sides = [Range.exactly(each) for each in (s1 / n1, n1, s0 / n0, n0)]
    for point, bound in ((mantel_haenszel_gap, pooled_gap), (mantel_haenszel_ratio, pooled_ratio)):
        value, ends = point(s1, n1, s0, n0)
        told, bounds = bound(*sides)
        np.testing.assert_allclose(told.shown, value, atol=1e-12)
        np.testing.assert_allclose(told.high, value, atol=1e-12)
        np.testing.assert_allclose(bounds, ends, rtol=1e-9)


@pytest.mark.slow
def test_p_values_of_equal_rates_are_not_too_small() -> None:
    """Many small levels without any difference: shares of p-values, and of pooled intervals that leave 0 out."""
    rng = np.random.default_rng(7)
    below, tests, out, runs = np.zeros(2), 0, 0, 40
    for _ in range(runs):
        n = 600
        group, level = rng.choice(["a", "b"], n, p=[0.3, 0.7]), rng.choice(list("stuvwxyz"), n)
        decided = (rng.random(n) < 0.2).astype(int)
        known = {"sensitive_features": {"g": group}, "control_features": level, "groups": ff.Groups("b", min_size=10)}
        shown = ff.audit(rng.integers(0, 2, n), decided, **known).published()
        for tables in shown.strata.values():
            columns = tables["g"].columns
            most = columns.get("p_value_most", columns["p_value"])[0]
            most = columns["p_value"][0] if most != most else most
            if most == most:
                below, tests = below + (most < np.array([0.05, 0.2])), tests + 1
        low, high = (shown.pooled["g"][f"selection_gap_{end}"][0] for end in ("lower", "upper"))
        out += not low <= 0.0 <= high
    assert tests > 250
    assert (below / tests <= [0.05, 0.2]).all()
    assert out / runs <= 0.05


@pytest.mark.parametrize("few", [1, 2, 4])
def test_what_is_told_does_not_depend_on_which_small_count_it_is(few: int) -> None:
    """Counts that are published alike have the same ranges, p-values and pooled intervals."""

    def told(chosen: int) -> Any:
        counts = {"x": (chosen, 37, 40, 12, 30, 78), "y": (113 - chosen, 40, 50, 90, 60, 150)}
        kinds = [("a", 1, 1), ("a", 1, 0), ("a", 0, 0), ("b", 1, 1), ("b", 1, 0), ("b", 0, 0)]
        rows = [
            (level, *kind)
            for level, some in counts.items()
            for kind, n in zip(kinds, some, strict=True)
            for _ in range(n)
        ]
        level, group, y, decided = (np.array(column) for column in zip(*rows, strict=True))
        known = {"sensitive_features": {"g": group}, "control_features": level, "groups": ff.Groups("b")}
        return ff.audit(y, decided, **known).to_dict()

    first, other = told(3), told(3 + few)
    assert first["strata"] == other["strata"]
    assert first["pooled"] == other["pooled"]
    table = first["strata"]["x"]["g"]
    exact = [fisher_exact([[k, 77], [12, 108]])[1] for k in range(3, 8)]
    assert table["p_value_least"][0] <= min(exact)
    assert table["p_value_most"][0] >= max(exact)


@pytest.mark.parametrize("seed", range(8))
def test_counts_that_add_up_leave_less_open(seed: int) -> None:
    """People moved between levels at random, all rows as they are: contrasts stay inside narrower ranges."""
    rng = np.random.default_rng(seed)
    S, moves = 5, 400
    exact = rng.integers(15, 80, (4, S)).astype(float)
    low, high = exact - rng.integers(0, 5, exact.shape), exact + rng.integers(0, 5, exact.shape)
    cells: Any = tuple(Range(*(each[:, None] for each in some)) for some in zip(exact, low, high, strict=True))
    totals: Any = tuple(Range.exactly(some.sum(keepdims=True)) for some in exact)
    tried = np.repeat(exact[..., None], moves, axis=2)
    for _ in range(40):
        giver, taker, count = rng.integers(0, S, moves), rng.integers(0, S, moves), rng.integers(0, 4, moves)
        there = (giver, np.arange(moves)), (taker, np.arange(moves))
        fits = (tried[count, *there[0]] > low[count, giver]) & (tried[count, *there[1]] < high[count, taker])
        np.subtract.at(tried, (count, *there[0]), fits * 1.0)
        np.add.at(tried, (count, *there[1]), fits * 1.0)
    s1, f1, s0, f0 = tried
    rows = [Range(*(getattr(s, end) + getattr(f, end) for end in ("shown", "low", "high"))) for s, f in
            (cells[:2], cells[2:])]  # fmt: skip
    rates = [Range(s.shown / (s.shown + f.shown), s.low / (s.low + f.high), s.high / (s.high + f.low)) for s, f in
             (cells[:2], cells[2:])]  # fmt: skip
    for ends, value, boxed in (
        (gap_ends, mantel_haenszel_gap, pooled_gap),
        (ratio_ends, mantel_haenszel_ratio, pooled_ratio),
    ):
        (least,), (most,) = ends(cells, totals)
        found = value(s1, s1 + f1, s0, s0 + f0)[0]
        assert least <= found.min()
        assert found.max() <= most
        alone = boxed(rates[0], rows[0], rates[1], rows[1])[0]
        assert most - least < 0.7 * float(alone.high[0] - alone.low[0])
        assert found.max() - found.min() > 0.1 * (most - least)  # people were moved
