"""Figures of scores on many rows, with ties, weights and risk scores, against scikit-learn; and class by class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp, norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score

import fairfront as ff
from fairfront.measures.scores import ScoredRows, bins_of, drawn, drawn_counts, figures_of
from fairfront.measures.table_columns import distance_ends


def scored(n: int, decimals: int | None, weighted: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray, Any]:
    random = np.random.default_rng(seed)
    p = random.beta(0.7, 1.5, n)
    p = p if decimals is None else p.round(decimals)
    return (random.random(n) < p**1.3), p, (random.random(n) * 3 if weighted else None)


@pytest.mark.parametrize(("n", "decimals"), [(90_000, None), (90_000, 2), (400, None), (400, 1)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("below", [False, True])
def test_figures_are_exact(n: int, decimals: int | None, weighted: bool, below: bool) -> None:
    good, p, weight = scored(n, decimals, weighted)
    given = ScoredRows(1.0 - p if below else p, good, weight, True, below)
    found, _ = figures_of(given.tally())
    assert found["auc"] == pytest.approx(roc_auc_score(good, p, sample_weight=weight), abs=1e-12)
    assert found["brier"] == pytest.approx(brier_score_loss(good, p, sample_weight=weight), abs=1e-12)
    assert found["in_the_large"] == pytest.approx(np.average(good - p, weights=weight), abs=1e-12)
    assert found["mean_score"] == pytest.approx(np.average(given.scores, weights=weight))
    assert found["spread"] == pytest.approx(np.sqrt(np.cov(p, aweights=weight, ddof=0)))
    if not weighted:
        assert found["ks"] == pytest.approx(ks_2samp(p[good], p[~good]).statistic, abs=1e-12)
    clipped = np.clip(p, 1e-12, 1 - 1e-12)
    odds = np.log(clipped / (1 - clipped))[:, None]
    line = LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000).fit(odds, good, sample_weight=weight)
    assert found["slope"] == pytest.approx(line.coef_[0, 0], rel=1e-5)
    if not weighted:
        q = line.predict_proba(odds)[:, 1]
        design = np.column_stack([np.ones(n), odds])
        wald = np.sqrt(np.linalg.inv(design.T @ (design * (q * (1 - q))[:, None]))[1, 1])
        assert found["slope_error"] == pytest.approx(wald, rel=1e-4)


@given(st.lists(st.tuples(st.sampled_from([0.0, -0.0, 1e-300, 2e-300, 0.25, 0.5, 1.0]), st.booleans()), min_size=1))
@settings(max_examples=200, deadline=None)
def test_sorting_packed_numbers_is_sorting_rows(rows: list[tuple[float, bool]]) -> None:
    scores, good = np.array([s for s, _ in rows]), np.array([g for _, g in rows])
    packed = ScoredRows(scores, good, None, True, False).tally()
    plain = ScoredRows(scores, good, np.ones(len(rows)), True, False).tally()
    for name in ("value", "up", "down"):
        assert getattr(packed, name).tolist() == getattr(plain, name).tolist()
    assert packed.size == pytest.approx(plain.size)


def test_tiny_risks_keep_their_order() -> None:
    risk = np.array([1e-18, 2e-18, 3e-18, 4e-18] * 20)
    good = np.array([1, 1, 0, 0] * 20)
    found = ff.audit(
        good, risk, sensitive_features=np.tile(["a", "b"], 40), favourable=1, favourable_side="below", cutoff=2.5e-18
    )
    assert found.tables["group"]["auc"][-1] == 1.0


def test_scores_far_from_0_have_a_spread() -> None:
    random = np.random.default_rng(0)
    score, y = 1e9 + random.normal(size=300), random.integers(0, 2, 300)
    found = ff.audit(y, score, sensitive_features=random.choice(["a", "b"], 300), cutoff=1e9).tables["group"]
    assert found["smd"][0] == pytest.approx(found["mean_score_gap"][0] / score.std(), rel=1e-6)


def test_several_classes_have_figures_of_scores_per_class() -> None:
    random = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[random.integers(0, 3, 600)]
    P = random.dirichlet([1.0, 1.0, 1.0], 600) + (y[:, None] == np.array(["a", "b", "c"]))
    P /= P.sum(axis=1, keepdims=True)
    group = random.choice(["f", "m"], 600)
    found = ff.audit(y, P, sensitive_features=group, favourable="c")
    columns = found.tables["group"]
    for line, name in enumerate(columns["group"][:2]):
        rows = group == name
        for k, label in enumerate("abc"):
            assert columns[f"auc[{label}]"][line] == pytest.approx(roc_auc_score(y[rows] == label, P[rows, k]))
            assert columns[f"brier[{label}]"][line] == pytest.approx(np.mean(((y == label) - P[:, k])[rows] ** 2))
    gaps = [found.worst["group"][f"recall[{label}]_gap"].value for label in "abc"]
    assert found.worst["group"]["recall_gap"].value == max(gaps)
    assert found.check("auc[a]_gap.upper<=1")[0].outcome == "met"
    assert found.groups["group"].readable["smd[a]"][1] == "reference group"


def test_worst_gaps_of_scores_hold_for_all_pairs() -> None:
    good, p, _ = scored(3000, None, False)
    group = np.array(["a", "b", "c"])[np.random.default_rng(1).integers(0, 3, 3000)]
    found = ff.audit(good, p, sensitive_features=group)
    areas = [roc_auc_score(good[group == g], p[group == g]) for g in "abc"]
    worst = found.worst["group"]["auc_gap"]
    assert worst.value == pytest.approx(max(areas) - min(areas))
    assert worst.lower <= worst.value < worst.upper
    (pair,) = (w for w in found.groups["group"].worst if w.figure == "auc_gap")
    assert pair.upper > max(abs(found.tables["group"]["auc_gap_lower"][:2]))
    assert any("calibration in the large, gap" in sentence for sentence in found.sentences)


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("no", "yes")])
def test_probabilities_of_0_and_1_are_scores(labels: tuple[Any, Any]) -> None:
    """A tree's probabilities are often all 0 or 1; a cut-off among them is no mistake."""
    random = np.random.default_rng(0)
    y, p = np.array(labels)[random.integers(0, 2, 200)], random.integers(0, 2, 200).astype(float)
    found = ff.audit(y, p, sensitive_features=random.choice(["a", "b"], 200), cutoff=0.5)
    assert found.tables["group"]["error"][-1] == pytest.approx(np.mean((p == 1) != (y == labels[1])))
    assert found.tables["group"]["auc"][-1] == pytest.approx(roc_auc_score(y == labels[1], p))
    plain = ff.audit(y, p, sensitive_features=random.choice(["a", "b"], 200))
    assert "auc" in plain.tables["group"]


def test_rows_and_counts_are_drawn_alike() -> None:
    weight = np.array([[3.0, 0.0, 40.0, 7.0], [20.0, 5.0, 0.0, 25.0]])
    rows = drawn_counts(weight, 100, 4000, np.random.default_rng(0))
    counts = drawn_counts(weight * (1.0 + 1e-9), 100, 4000, np.random.default_rng(0))  # not whole: a multinomial
    for found in (rows, counts):
        assert found.shape == (4000, 2, 4)
        assert (found.sum(axis=(1, 2)) == 100).all()
        np.testing.assert_allclose(found.mean(axis=0), weight, atol=0.35)
        np.testing.assert_allclose(found.var(axis=0), weight * (1.0 - weight / 100.0), rtol=0.1, atol=1e-12)


@pytest.mark.parametrize("block", [1, 7, 1 << 14])
def test_bins_do_not_depend_on_how_many_are_taken_at_a_time(monkeypatch, block) -> None:
    random = np.random.default_rng(0)
    for weight in (None, random.uniform(size=3000)):
        scores = np.round(random.uniform(size=3000), 3)
        tally = ScoredRows(scores, random.uniform(size=3000) < scores, weight, True, False).tally()
        whole = bins_of(tally)
        monkeypatch.setattr("fairfront.measures.scores.BLOCK", block)
        parts = bins_of(tally)
        monkeypatch.undo()
        np.testing.assert_allclose(parts.sums, whole.sums, rtol=1e-12)
        assert (parts.area, *parts.apart) == pytest.approx((whole.area, *whole.apart), rel=1e-12)
        up, down = whole.sums[0].sum(axis=1)
        sides = (tally.up, tally.down)
        curve = [np.concatenate([np.zeros(1), np.cumsum(side) / side.sum()]) for side in sides]
        assert np.ptp(whole.apart) == pytest.approx(np.abs(curve[0] - curve[1]).max(), rel=1e-12)
        assert whole.area / (up * down) == pytest.approx(1.0 - np.trapezoid(curve[0], curve[1]), rel=1e-12)


def test_the_line_of_all_rows_is_that_of_every_attribute() -> None:
    random = np.random.default_rng(0)
    p = random.uniform(size=400)
    groups = {"one": random.integers(2, size=400), "two": random.integers(3, size=400)}
    found = ff.audit(random.uniform(size=400) < p, p, sensitive_features=groups, n_resamples=50).groups
    for name in ("auc_lower", "ks_upper", "brier_upper", "slope_lower"):
        assert found["one"].columns[name][-1] == found["two"].columns[name][-1]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share", "shift"), [(200, 0.5, 1.0), (500, 0.2, 1.0), (1000, 0.5, 1.4)])
def test_the_interval_of_ks_covers_it(n: int, share: float, shift: float) -> None:
    """Scores are normal given the label, so that KS is known: 2 Phi(shift / 2) - 1."""
    random, known, draws, covered = np.random.default_rng(0), 2 * norm.cdf(shift / 2) - 1, 500, 0
    for seed in range(draws):
        y = random.random(n) < share
        tally = ScoredRows(norm.cdf((random.normal(size=n) + shift * y) / 3), y, None, True, False).tally()
        figures, binned = figures_of(tally)
        drawn_again = drawn(tally, binned, figures, 200, np.random.default_rng(seed))["ks"]
        value = {name: np.array([each]) for name, each in figures.items()}
        low, high = distance_ends(value, drawn_again[:, None], 0.95)
        covered += bool(low[0] <= known <= high[0])
    assert covered / draws >= 0.93
