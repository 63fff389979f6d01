"""Platt's line against scikit-learn and known distortions; calibration by group against plain sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

from fairfront.exceptions import InputError
from fairfront.measures.calibration import FLAT, calibration_table, fit_platt
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


class Scorer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose decision function is its only feature."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Scorer:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X[:, 0])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes_[(X[:, 0] > 0).astype(int)])


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator does not appear to accept sample_weight")
@pytest.mark.parametrize("weighted", [False, True])
def test_platt_equals_scikit_learn(weighted: bool) -> None:
    data = sample(0)
    data["scores"] += 0.5 * data["positive"]
    weight = data["weight"] if weighted else None
    for scores in data["scores"]:
        slope, offset = fit_platt(scores, data["positive"], weight)
        X = scores[:, None]
        scorer = Scorer().fit(X, data["positive"])
        peer = CalibratedClassifierCV(FrozenEstimator(scorer), cv=[(np.arange(400), np.arange(400))], ensemble=True)
        peer.fit(X, data["positive"], sample_weight=weight)
        np.testing.assert_allclose(expit(slope * scores + offset), peer.predict_proba(X)[:, 1], atol=1e-4)


def test_platt_minimises_its_loss() -> None:
    data = sample(1, n=120)
    up, down = data["positive"].sum(), (~data["positive"]).sum()
    targets = np.where(data["positive"], (up + 1) / (up + 2), 1 / (down + 2))

    def loss(line: np.ndarray, scores: np.ndarray) -> float:
        u = line[0] * scores + line[1]
        return float(np.sum(np.logaddexp(0.0, u) - targets * u))

    for scores in data["scores"]:
        slope, offset = fit_platt(100.0 + 1e3 * scores, data["positive"])
        line = np.array([slope * 1e3, offset + 100 * slope])
        if slope * 1e3 > FLAT:
            best = minimize(loss, np.array([0.5, 0.0]), args=(scores,), tol=1e-10)
            assert loss(line, scores) <= best.fun + 1e-9
            np.testing.assert_allclose(line, best.x, atol=1e-3)


def test_platt_recovers_a_known_distortion() -> None:
    data = sample(2, n=60_000, N=1, slope=0.4, offset=-0.7)
    slope, offset = fit_platt(data["scores"][0], data["positive"])
    assert slope == pytest.approx(0.4, abs=0.02)
    assert offset == pytest.approx(-0.7, abs=0.03)
    table = calibration_table(expit(slope * data["scores"][0] + offset), data["positive"], data["codes"], LEVELS)
    np.testing.assert_allclose(table.slope, 1.0, atol=0.1)
    np.testing.assert_allclose(table.in_the_large, 0.0, atol=0.02)


@pytest.mark.parametrize("kind", ["against", "constant", "silent"])
def test_platt_without_a_rising_line_is_flat_and_keeps_the_order(kind: str) -> None:
    data = sample(3, N=1, slope=-2.0)
    scores = {"against": data["scores"][0], "constant": np.full(400, 3.0), "silent": np.zeros(400)}[kind]
    slope, offset = fit_platt(scores, data["positive"])
    probabilities = expit(slope * scores + offset)
    assert slope > 0
    np.testing.assert_allclose(probabilities, data["positive"].mean(), atol=0.01)
    if kind == "against":
        np.testing.assert_array_equal(np.argsort(probabilities), np.argsort(scores))
        assert slope * scores.std() == pytest.approx(FLAT)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e6])
@pytest.mark.parametrize("outlier", [0.0, 40.0, 1e4])
def test_platt_of_separated_labels_has_an_optimum(outlier: float, scale: float) -> None:
    scores = scale * np.concatenate([np.linspace(-2, 2, 50), [outlier]])
    positive = scores >= 0
    slope, offset = fit_platt(scores, positive)
    targets = np.where(positive, (positive.sum() + 1) / (positive.sum() + 2), 1 / ((~positive).sum() + 2))
    residual = targets - expit(slope * scores + offset)
    np.testing.assert_allclose([residual.sum(), residual @ scores / np.abs(scores).max()], 0.0, atol=1e-8)
    assert slope > 0


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_weights_equal_repeated_rows(seed: int) -> None:
    data = sample(seed)
    data["scores"] = np.round(data["scores"], 1)
    times = np.random.default_rng(seed).integers(0, 4, 400)
    long = np.repeat(np.arange(400), times)
    for scores in data["scores"]:
        weighted = fit_platt(scores, data["positive"], times)
        np.testing.assert_allclose(weighted, fit_platt(scores[long], data["positive"][long]), rtol=1e-7, atol=1e-9)
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


def test_one_label_has_no_line() -> None:
    with pytest.raises(InputError, match=r"labels have weights 3 \(true\) and 0 \(false\)"):
        fit_platt(np.array([0.1, 0.2, 0.3]), np.ones(3, dtype=bool))
