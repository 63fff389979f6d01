"""Gap functions: slopes, inverses, and what the theory asks of an even gap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfront.exceptions import InputError
from fairfront.objectives import GAPS, Gap
from fairfront.objectives.gaps import ExponentialGap, Identity, PaperExponential
from tests.support.cases import central

ALL = [*(GAPS[name]() for name in GAPS), Identity()]
EVEN = [gap for gap in ALL if gap.even]
each = pytest.mark.parametrize("gap", ALL, ids=lambda gap: gap.name)
each_even = pytest.mark.parametrize("gap", EVEN, ids=lambda gap: gap.name)


@each
def test_slope_is_the_derivative_of_the_value(gap: Gap) -> None:
    z = np.random.default_rng(0).normal(scale=1.5, size=(3, 4))
    numeric = np.array([central(gap.value, np.array([x]), 1e-6)[0, 0] for x in z.ravel()])
    np.testing.assert_allclose(gap.slope(z), numeric.reshape(z.shape), rtol=1e-7, atol=1e-8)


@each
@settings(deadline=None, max_examples=50)
@given(z=st.floats(1e-6, 30.0))
def test_inverse_undoes_the_value(gap: Gap, z: float) -> None:
    there = gap.value(np.array([z]))
    np.testing.assert_allclose(gap.inverse(there), [z], rtol=1e-9)
    np.testing.assert_allclose(gap.value(gap.inverse(there)), there, rtol=1e-9)


@each
def test_arrays_are_new(gap: Gap) -> None:
    z = np.array([0.5, 1.0, 2.0])
    for result in (gap.value(z), gap.slope(z), gap.inverse(z)):
        assert result.shape == z.shape
        assert not np.shares_memory(result, z)


@each_even
def test_even_gaps_are_even_zero_at_zero_and_increasing(gap: Gap) -> None:
    z = np.linspace(0.0, 4.0, 200)
    np.testing.assert_array_equal(gap.value(z), gap.value(-z))
    np.testing.assert_array_equal(gap.slope(z), -gap.slope(-z))
    assert gap.value(np.zeros(1))[0] == gap.slope(np.zeros(1))[0] == gap.inverse(np.zeros(1))[0] == 0.0
    assert (np.diff(gap.value(z)) > 0.0).all()


@each_even
@settings(deadline=None, max_examples=50)
@given(z=st.lists(st.floats(-20, 20), min_size=2, max_size=8))
def test_even_gaps_order_points_alike(gap: Gap, z: list[float]) -> None:
    """An even increasing phi never changes the frontier: it ranks gaps by their size."""
    size = np.abs(np.array(z))
    value = gap.value(np.array(z))
    larger = size[:, None] > size[None] * (1.0 + 1e-9) + 1e-9
    assert (value[:, None] > value[None])[larger].all()


def test_exponential_keeps_its_digits_near_zero() -> None:
    z = np.array([1e-9])
    np.testing.assert_allclose(ExponentialGap().value(z), 0.5 * z**2, rtol=1e-12)
    np.testing.assert_allclose(ExponentialGap().value(np.array([2.0])), [np.cosh(2.0) - 1.0])


def test_paper_exponential_rewards_one_sign() -> None:
    gap = PaperExponential()
    np.testing.assert_allclose(gap.value(np.array([1.0, -1.0])), [np.exp(-1.0), np.e])
    assert not gap.even


def test_default_and_unknown_names() -> None:
    assert next(iter(GAPS)) == "squared"
    assert all(GAPS[name].name == name for name in GAPS)
    with pytest.raises(InputError, match=r"unknown gap 'sqared', expected one of .*did you mean 'squared'\?"):
        GAPS["sqared"]
