"""Preferences: both imbalances against central differences (Proposition 1), their zeros and scales, and targets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairfront as ff
from fairfront.objectives import GAPS
from fairfront.solvers import Target
from fairfront.solvers.base import SOLVERS
from fairfront.solvers.paper import Balance, kl_divergence, kl_gradient_weights
from tests.support.cases import central
from tests.support.people import people
from tests.support.twins import assert_on_line, cohort

BALANCES = ("softmax", "ratio")
few = settings(max_examples=40, deadline=None)
seeds = st.integers(0, 10**6)


def imbalance(pi: np.ndarray, h: np.ndarray, balance: Balance) -> tuple[np.ndarray, np.ndarray]:
    """Return the divergence and its derivatives with respect to the objectives."""
    return kl_divergence(pi, h, balance), kl_gradient_weights(pi, h, balance)


def draw(seed: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return 10.0 ** rng.uniform(-1, 1, (1, m)), rng.uniform(0.05, 1.0, (1, m))


@few
@given(seeds, st.integers(2, 11), st.sampled_from(BALANCES))
def test_derivatives_are_those_of_the_value(seed: int, m: int, balance: str) -> None:
    """Proposition 1 for the softmax; the ratio's by the same formula with pi / sum(pi h) in front."""
    pi, h = draw(seed, m)
    _, slopes = imbalance(pi, h, balance)
    measured = central(lambda v: imbalance(pi, v, balance)[0], h, 1e-6)
    np.testing.assert_allclose(slopes, measured, atol=1e-6 * (1.0 + np.abs(measured).max()))


@few
@given(seeds, st.integers(2, 6))
def test_the_gradient_in_the_weights_is_a_combination_of_the_gradients(seed: int, m: int) -> None:
    """Proposition 1 as it is used: grad h_KL = sum_i lambda_i g_i, here for quadratic objectives of three weights."""
    rng = np.random.default_rng(seed)
    pi, centres, w = rng.uniform(0.2, 3.0, (1, m)), rng.normal(size=(m, 3)), rng.normal(size=3)

    def value(x: np.ndarray) -> np.ndarray:
        return imbalance(pi, 0.1 * ((x - centres) ** 2).sum(axis=1)[None], "softmax")[0]

    slopes = imbalance(pi, 0.1 * ((w - centres) ** 2).sum(axis=1)[None], "softmax")[1]
    np.testing.assert_allclose(slopes[0] @ (0.2 * (w - centres)), central(value, w)[0], atol=1e-8)


@few
@given(seeds, st.integers(2, 6), st.sampled_from(BALANCES))
def test_zero_on_the_line_and_only_there(seed: int, m: int, balance: str) -> None:
    pi, h = draw(seed, m)
    assert_on_line(pi[0], 0.3 / pi[0])
    value, slopes = imbalance(pi, 0.3 / pi, balance)
    np.testing.assert_allclose(value, 0.0, atol=1e-14)
    np.testing.assert_allclose(slopes, 0.0, atol=1e-12)
    assert imbalance(pi, h, balance)[0] > 0.0


@few
@given(seeds, st.integers(2, 6), st.floats(-4.0, 4.0))
def test_the_ratio_is_free_of_the_scale_of_a_preference(seed: int, m: int, power: float) -> None:
    pi, h = draw(seed, m)
    value, slopes = imbalance(pi, h, "ratio")
    again, same = imbalance(10.0**power * pi, h, "ratio")
    np.testing.assert_allclose(again, value, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(same, slopes, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose((slopes * h).sum(axis=1), 0.0, atol=1e-12)  # scaling h changes nothing either


def test_the_softmax_is_not_free_of_scale_and_saturates() -> None:
    """pi and 10 pi share a line but not a gradient; far off the line the gradient vanishes (design, item 7)."""
    pi, h = np.array([[1.0, 50.0]]), np.array([[0.3, 0.9]])
    near = imbalance(pi / 50.0, h, "softmax")[1]
    here = imbalance(pi, h, "softmax")[1]
    there = imbalance(10.0 * pi, h, "softmax")[1]
    assert np.abs(near).max() > 1e-2 * pi.max() / 50.0
    assert np.abs(here).max() < 1e-12
    assert np.abs(there).max() < 1e-100
    np.testing.assert_allclose(imbalance(10.0 * pi, h, "softmax")[0], np.log(2.0))
    assert np.abs(imbalance(10.0 * pi, h, "ratio")[1]).max() > 0.1


@pytest.mark.parametrize("balance", BALANCES)
def test_extremes_stay_finite(balance: str) -> None:
    pi = np.array([[1.0, 1e6], [1.0, 1.0], [1e-6, 1e6]])
    h = np.array([[0.5, 2.0], [0.5, 0.0], [0.0, 0.0]])
    value, slopes = imbalance(pi, h, balance)
    assert np.isfinite(value).all()
    assert np.isfinite(slopes).all()
    assert (value >= 0.0).all()


@pytest.mark.parametrize("name", ["squared", "absolute", "exponential"])
def test_caps_of_a_preference_lie_on_its_line(name: str) -> None:
    algebra = cohort(0, 3).problem(gap=name).algebra
    pi = np.array([[1.0, 4.0, 0.5, 20.0], [2.0, 1.0, 1.0, 1.0]])
    level = np.array([0.4, 1.1])
    caps = Target.from_preferences(pi).caps_at(algebra, level)
    np.testing.assert_allclose(pi[:, 1:] * GAPS[name]().value(caps), np.tile(level, (3, 1)).T)


def test_the_next_level_is_a_newton_step() -> None:
    """On a frontier that is a line, loss = a - price * cap, one step finds pi_1 loss = level exactly."""
    algebra = cohort(0, 2).problem(gap="absolute").algebra
    pi, price, level = np.array([[1.5, 4.0]]), np.array([[0.7]]), np.array([0.9])
    target = Target.from_preferences(pi)

    def loss(at: np.ndarray) -> np.ndarray:
        return 0.6 - 0.7 * target.caps_at(algebra, at)[:, 0]

    found = target.next_level(algebra, level, loss(level), target.caps_at(algebra, level), price)
    np.testing.assert_allclose(pi[:, 0] * loss(found), found)


def test_preferences_and_caps_live_in_one_batch() -> None:
    algebra = cohort(0, 2).problem().algebra
    caps, pi = Target.from_caps(np.array([[0.1], [0.2]])), Target.from_preferences(np.array([[1.0, 8.0]]))
    both = Target(np.concatenate([caps.pi, pi.pi]), np.concatenate([caps.caps, pi.caps]))
    np.testing.assert_array_equal(both.by_preference, [False, False, True])
    found = both.caps_at(algebra, np.array([np.nan, np.nan, 1.0]))
    np.testing.assert_allclose(found[:, 0], [0.1, 0.2, 0.5])
    kept = both.take(np.array([False, True, True]))
    np.testing.assert_array_equal(kept.by_preference, [False, True])


@pytest.mark.parametrize("solver", list(SOLVERS))
def test_preferences_of_different_lengths_are_refused_in_a_sentence(solver: str) -> None:
    X, y, group = people(300)
    with pytest.raises(ff.InputError, match="preferences"):
        ff.trace(X, y, sensitive_features=group, solver=solver, preferences=[[1.0], [1.0, 2.0]], progress=False)
