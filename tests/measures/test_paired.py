"""Differences of two models on the same rows, against plain loops, scikit-learn and a bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairfront.measures.intervals import normal_quantile
from fairfront.measures.paired import area_changes, share_changes


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    common = rng.normal(size=n) + positive
    scores = np.round(np.stack([common, common + rng.normal(size=n), 0.3 * common + rng.normal(size=n)]), 1)
    return scores, positive, rng.exponential(size=n)


def delong(one: np.ndarray, two: np.ndarray, positive: np.ndarray) -> float:
    """The variance of the difference of two areas as the paper writes it: covariances of structural components."""
    parts = []
    for scores in (one, two):
        x, y = scores[positive][:, None], scores[~positive][None, :]
        psi = (x > y) + 0.5 * (x == y)
        parts.append((psi.mean(axis=1), psi.mean(axis=0)))
    found = 0.0
    for place in (0, 1):
        S = np.cov(np.stack([parts[0][place], parts[1][place]]))
        found += (S[0, 0] + S[1, 1] - 2 * S[0, 1]) / len(parts[0][place])
    return found


@pytest.mark.parametrize("seed", [0, 1])
def test_the_area_s_change_is_that_of_delong(seed):
    scores, positive, _ = drawn(160, seed)
    found = area_changes(scores, positive, None, 0, 0.95)
    for model in (1, 2):
        expected = roc_auc_score(positive, scores[model]) - roc_auc_score(positive, scores[0])
        half = normal_quantile(0.95) * np.sqrt(delong(scores[model], scores[0], positive))
        assert found.value[model] == pytest.approx(expected)
        assert (found.lower[model], found.upper[model]) == pytest.approx((expected - half, expected + half))
    assert found.value[0] == found.lower[0] == found.upper[0] == 0.0


def test_weights_count_as_in_scikit_learn_and_whole_ones_as_no_weights():
    scores, positive, weight = drawn(300, 2)
    found = area_changes(scores, positive, weight, 0, 0.95)
    areas = [roc_auc_score(positive, each, sample_weight=weight) for each in scores]
    assert found.value == pytest.approx([area - areas[0] for area in areas])
    one, same = (area_changes(scores, positive, w, 0, 0.95) for w in (None, np.full(300, 7.0)))
    assert same.lower == pytest.approx(one.lower)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_width_is_that_of_a_bootstrap(weighted):
    scores, positive, weight = drawn(1500, 3)
    known = weight if weighted else np.ones(len(weight))
    found = area_changes(scores, positive, known, 0, 0.95)
    rng, draws = np.random.default_rng(0), []
    for _ in range(300):
        rows = rng.integers(0, 1500, 1500)
        draws.append(area_changes(scores[:, rows], positive[rows], known[rows], 0, 0.95).value)
    width = 2 * normal_quantile(0.95) * np.std(draws, axis=0)[1:]
    assert (found.upper - found.lower)[1:] == pytest.approx(width, rel=0.15)


def test_one_label_alone_has_no_area():
    scores, _, _ = drawn(50, 4)
    found = area_changes(scores, np.ones(50, dtype=bool), None, 0, 0.95)
    assert np.isnan(found.value).all()


def test_changes_of_shares_are_those_of_weighted_flags():
    rng = np.random.default_rng(5)
    values, weight = rng.random((3, 400)) < 0.5, rng.exponential(size=400)
    sides = tuple(((a & ~b) * 1.0).sum(axis=1, keepdims=True) for a, b in ((values, values[0]), (values[0], values)))
    found = share_changes(values, 0, weight[:, None], weight, sides, np.ones(1), 0.95)
    means = values @ weight / weight.sum()
    assert found.value[:, 0] == pytest.approx(means - means[0])
    assert (found.lower <= found.value).all()
    assert (found.value <= found.upper).all()
