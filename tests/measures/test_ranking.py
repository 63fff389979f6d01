"""AUC, Gini and KS of models on the same rows, against plain loops, scikit-learn, SciPy and simulations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp, norm
from sklearn.metrics import roc_auc_score

from fairfront.measures.paired import Change
from fairfront.measures.proportions import normal_quantile
from fairfront.measures.ranks import ranking


def drawn(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    common = rng.normal(size=n) + positive
    scores = np.round(np.stack([common, common + rng.normal(size=n), 0.3 * common + rng.normal(size=n)]), 1)
    return scores, positive, rng.exponential(size=n)


def area_changes(*given: Any) -> Change:
    return ranking(*given)["auc"][1]


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


def test_figures_are_those_of_scikit_learn_and_scipy():
    scores, positive, _ = drawn(400, 6)
    found = ranking(scores, positive, None, 0, 0.95)
    for model, each in enumerate(scores):
        area, distance = roc_auc_score(positive, each), ks_2samp(each[positive], each[~positive]).statistic
        for name, value in (("auc", area), ("gini", 2 * area - 1), ("ks", distance)):
            own, change = found[name]
            assert own.value[model] == pytest.approx(value)
            assert own.lower[model] <= value <= own.upper[model]
            assert change.value[model] == pytest.approx(value - found[name][0].value[0])
            assert change.lower[model] <= change.value[model] <= change.upper[model]


def test_scores_for_the_other_label_have_the_same_distance():
    scores, positive, weight = drawn(300, 7)
    one, other = (ranking(sign * scores, positive, weight, 0, 0.95) for sign in (1.0, -1.0))
    assert other["ks"][0].value == pytest.approx(one["ks"][0].value)
    assert other["auc"][0].value == pytest.approx(1.0 - one["auc"][0].value)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "shifts"), [(200, (1.35, 1.4)), (1000, (1.2, 1.4))])
def test_the_interval_of_a_difference_of_ks_covers_it(n, shifts):
    """Scores are normal given the label, so that KS is known: 2 Phi(shift / 2) - 1."""
    rng, covered, draws = np.random.default_rng(0), 0, 300
    known = [2 * norm.cdf(shift / 2) - 1 for shift in shifts]
    for _ in range(draws):
        positive, common = rng.random(n) < 0.7, rng.normal(size=n)
        scores = np.stack([common + 0.4 * rng.normal(size=n) for _ in shifts]) / np.hypot(1.0, 0.4)
        change = ranking(scores + np.outer(shifts, positive), positive, None, 1, 0.95)["ks"][1]
        covered += bool(change.lower[0] <= known[0] - known[1] <= change.upper[0])
    assert covered / draws >= 0.95
