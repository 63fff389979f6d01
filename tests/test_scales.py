"""Units: what is found does not depend on those of columns, weights and targets, and what has none is refused."""

from __future__ import annotations

import numpy as np
import pytest

import fairfront as ff
from fairfront.exceptions import FairfrontWarning


def drawn(n: int = 150, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, labels and groups of a problem whose smallest gaps are not certified."""
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, d)), rng.integers(0, 2, n)
    y = (X[:, 0] * (1.0 - 1.6 * group) + 0.5 * X[:, 1] + rng.normal(scale=0.7, size=n) > 0).astype(int)
    return X, y, group.astype(str)


def traced(X, y, group, **options):
    options = {"notion": "equalized_odds", "groups": ff.Groups(min_size=1), "n_points": 5, **options}
    return ff.trace(X, y, sensitive_features=group, progress=False, **options)


class TestCertificates:
    @pytest.mark.parametrize("scale", [1e-7, 1e5, 1e7, 1e12])
    def test_the_ridge_has_no_part_in_them(self, scale: float) -> None:
        """The tolerance had the ridge in it, so that a certified point had twice the loss that is possible."""
        X, y, group = drawn()
        one, other = traced(X, y, group, ridge=1e-2), traced(scale * X, y, group, ridge=1e-2 * scale**2)
        assert not one.certified.all()
        np.testing.assert_array_equal(other.certified, one.certified)
        np.testing.assert_allclose(other.loss, one.loss, rtol=1e-6)


class TestWeights:
    @pytest.mark.parametrize("size", [1e308, 1e-320, 1e101, 1e-101])
    def test_whose_sums_are_not_numbers_are_refused(self, size: float) -> None:
        X, y, group = drawn()
        with pytest.raises(ff.InputError, match=r"sample_weight has positive entries .* divide them all by their mean"):
            traced(X, y, group, sample_weight=np.full(len(y), size), ridge=0.1)

    @pytest.mark.parametrize("size", [2.0**-300, 2.0**-40, 2.0**40, 2.0**300])
    def test_rescaling_them_changes_nothing_at_a_given_ridge(self, size: float) -> None:
        X, y, group = drawn()
        weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
        one, other = (traced(X, y, group, sample_weight=s * weight, ridge=0.01) for s in (1.0, size))
        np.testing.assert_array_equal(other.points.coef, one.points.coef)
        np.testing.assert_array_equal(other.loss, one.loss)
        np.testing.assert_array_equal(other.certified, one.certified)

    @pytest.mark.parametrize("mean", [1 / 150, 0.09, 11.0])
    def test_far_from_1_have_a_default_ridge_that_is_said(self, mean: float) -> None:
        X, y, group = drawn()
        with pytest.warns(FairfrontWarning, match=r"default ridge is 1 / \(sum of weights\).*give ridge="):
            front = traced(X, y, group, sample_weight=np.full(len(y), mean))
        assert front.facts.ridge == pytest.approx(1.0 / (mean * len(y)))
        assert f"{front.facts.ridge:.3g}" in front.facts.sentences[-1]

    @pytest.mark.parametrize("mean", [0.2, 1.0, 9.0])
    def test_near_1_need_no_word(self, mean: float) -> None:
        X, y, group = drawn()
        front = traced(X, y, group, sample_weight=np.full(len(y), mean))
        assert len(front.facts.sentences) == 1


class TestTargets:
    @pytest.mark.parametrize("size", [1e200, 1e-200])
    def test_whose_squares_are_not_numbers_are_refused(self, size: float) -> None:
        X, _, group = drawn()
        y = size * (X[:, 0] + np.random.default_rng(2).normal(size=len(X)))
        with pytest.raises(ff.InputError, match=r"y has values up to .* give them in another unit"):
            traced(X, y, group, loss="squared", notion="disparate_mistreatment")
