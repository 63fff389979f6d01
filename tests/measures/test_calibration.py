"""Calibration by group against plain sums and scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

from fairfront.measures.calibration import calibration_table
from fairfront.measures.contrasts import gaps, worst_gap

LEVELS = ("Green", "Purple", "Blue")


def sample(seed: int, n: int = 400, N: int = 3, slope: float = 1.0, offset: float = 0.0) -> dict[str, Any]:
    """Scores whose log odds of a positive label are slope * score + offset for the first model."""
    random = np.random.default_rng(seed)
    scores = random.normal(0.0, 1.5, (N, n)) + 0.2 * np.arange(N)[:, None]
    return {
        "scores": scores,
        "positive": random.random(n) < expit(slope * scores[0] + offset),
        "codes": random.integers(0, 3, n),
        "weight": random.integers(1, 4, n) * 0.5,
    }


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_weights_equal_repeated_rows(seed: int) -> None:
    data = sample(seed)
    data["scores"] = np.round(data["scores"], 1)
    times = np.random.default_rng(seed).integers(0, 4, 400)
    long = np.repeat(np.arange(400), times)
    probabilities = expit(data["scores"][0])
    args = (data["positive"], data["codes"])
    one = calibration_table(probabilities, *args, LEVELS, times)
    other = calibration_table(probabilities[long], *(a[long] for a in args), LEVELS)
    np.testing.assert_allclose(one.weight, other.weight)
    for name in one.names:
        np.testing.assert_allclose(one.rate(name), other.rate(name), atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_table_against_plain_sums(weighted: bool) -> None:
    data = sample(5)
    weight = data["weight"] if weighted else np.ones(400)
    probabilities = expit(data["scores"])
    tables = [calibration_table(p, data["positive"], data["codes"], LEVELS, weight) for p in probabilities]
    for g in range(3):
        rows = data["codes"] == g
        y, w = data["positive"][rows], weight[rows]
        for model, table in enumerate(tables):
            p = probabilities[model, rows]
            assert table.predicted[0, g] == pytest.approx(np.average(p, weights=w))
            assert table.observed[0, g] == pytest.approx(np.average(y, weights=w))
            assert table.in_the_large[0, g] == pytest.approx(np.average(y - p, weights=w))
            assert table.brier[0, g] == pytest.approx(brier_score_loss(y, p, sample_weight=w))
            peer = LogisticRegression(C=np.inf, tol=1e-10).fit(logit(p)[:, None], y, sample_weight=w)
            assert table.slope[0, g] == pytest.approx(peer.coef_[0, 0], abs=1e-5)
            assert table.intercept[0, g] == pytest.approx(peer.intercept_[0], abs=1e-5)
            if not weighted:
                place = 10 * (np.argsort(np.argsort(p)) + 0.5) / len(p)
                error = [abs(np.sum((y - p)[place.astype(int) == b])) for b in range(10)]
                assert table.ece[0, g] == pytest.approx(sum(error) / len(p))


def test_perfectly_calibrated_probabilities() -> None:
    random = np.random.default_rng(6)
    probabilities = random.beta(2, 3, 60_000)
    codes = random.integers(0, 3, 60_000)
    table = calibration_table(probabilities, random.random(60_000) < probabilities, codes, LEVELS)
    np.testing.assert_allclose(table.slope, 1.0, atol=0.05)
    np.testing.assert_allclose(table.intercept, 0.0, atol=0.05)
    np.testing.assert_allclose(table.in_the_large, 0.0, atol=0.01)
    assert (table.ece < 0.02).all()
    extreme = calibration_table(expit(2 * logit(probabilities)), random.random(60_000) < probabilities, codes, LEVELS)
    np.testing.assert_allclose(extreme.slope, 0.5, atol=0.03)
    assert (extreme.ece > 0.05).all()


def test_groups_are_compared() -> None:
    data = sample(7, n=9000, N=1)
    underrated = expit(data["scores"][0] - np.where(data["codes"] == 0, 1.0, 0.0))
    table = calibration_table(underrated, data["positive"], data["codes"], LEVELS)
    assert table.in_the_large[0, 0] > 0.1
    assert gaps(table, "in_the_large")[0, 0] > 0.1
    assert worst_gap(table, "intercept")[0] == pytest.approx(1.0, abs=0.2)
    assert (table.n == np.bincount(data["codes"])).all()


def test_groups_without_a_line() -> None:
    codes = np.repeat([0, 1, 2, -1], [6, 6, 6, 2])
    positive = np.concatenate([np.ones(6, dtype=bool), np.tile([True, False], 6), [True, False]])
    probabilities = np.concatenate([np.linspace(0.1, 0.9, 6), np.full(6, 0.5), [0.9, 0.1] * 3, [0.5, 0.5]])
    table = calibration_table(probabilities, positive, codes, (*LEVELS, "absent"))
    assert np.isnan(table.slope).all()
    np.testing.assert_allclose(table.ece, [[0.5, 0.0, 0.1, np.nan]], atol=1e-12)
    np.testing.assert_allclose(table.observed, [[1.0, 0.5, 0.5, np.nan]])
    certain = calibration_table(positive.astype(float), positive, codes, LEVELS)
    np.testing.assert_array_equal(certain.brier, np.zeros((1, 3)))


def test_shares_of_zero_and_one_equal_codes() -> None:
    data = sample(8)
    args = (expit(data["scores"][0]), data["positive"])
    hard = calibration_table(*args, data["codes"], LEVELS)
    soft = calibration_table(*args, (data["codes"][:, None] == np.arange(3)).astype(float), LEVELS)
    for name in hard.names:
        np.testing.assert_array_equal(hard.rate(name), soft.rate(name))
