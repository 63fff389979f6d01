"""The level step against SciPy's quadratic program, and the roots that steps aim at."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from fairfront.solvers.level_step import level_step
from fairfront.solvers.roots import falling_root
from tests.support.twins import slsqp

few = settings(max_examples=60, deadline=None)
seeds = st.integers(0, 10**6)


@few
@given(seeds, st.integers(2, 8), st.integers(1, 6), st.floats(-3.0, 2.0))
def test_the_level_step_solves_its_program(seed: int, m: int, d: int, power: float) -> None:
    """min tau + |y|^2 / (2 eta) over v_i + a_i.y <= M + tau, with the eta that comes back."""
    rng = np.random.default_rng(seed)
    values, gradients = rng.uniform(0.1, 2.0, m), rng.normal(size=(m, d))
    step = level_step(values, gradients, 10.0**power)
    assert 0.0 < step.eta <= 10.0**power * (1.0 + 1e-9)
    if step.level >= 0.0:
        assert step.eta >= 0.5 * 10.0**power * (1.0 - 1e-9)
    y = -step.eta * step.weights @ gradients
    np.testing.assert_allclose((values + gradients @ y).max(), step.level, rtol=1e-12)

    def cost(x: np.ndarray) -> tuple[float, np.ndarray]:
        return x[-1] + x[:-1] @ x[:-1] / (2.0 * step.eta), np.append(x[:-1] / step.eta, 1.0)

    def room(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x[-1] - values - gradients @ x[:-1], np.column_stack([-gradients, np.ones(m)])

    best = slsqp(cost, room, [np.append(np.zeros(d), values.max()), np.append(y, step.level)])
    assert cost(np.append(y, step.level))[0] <= cost(best)[0] + 1e-7 * (1.0 + abs(cost(best)[0]))


@few
@given(seeds, st.integers(2, 8), st.integers(1, 6))
def test_multipliers_are_a_certificate(seed: int, m: int, d: int) -> None:
    """Weights on the simplex, and only on the largest predicted values; no step where they balance."""
    rng = np.random.default_rng(seed)
    values, gradients = rng.uniform(0.1, 2.0, m), rng.normal(size=(m, d))
    step = level_step(values, gradients, 0.5)
    assert (step.weights >= 0.0).all()
    np.testing.assert_allclose(step.weights.sum(), 1.0)
    after = values - step.eta * gradients @ gradients.T @ step.weights
    np.testing.assert_allclose(after[step.weights > 1e-9], step.level, rtol=1e-7)
    gradients[-1] = -gradients[:-1].sum(axis=0)
    still = level_step(np.ones(m), gradients, 0.5)
    assert np.linalg.norm(still.weights @ gradients) <= 1e-6 * np.linalg.norm(gradients)


@few
@given(seeds, st.integers(1, 20))
def test_falling_roots_are_those_of_brentq(seed: int, runs: int) -> None:
    rng = np.random.default_rng(seed)
    scale, shift = 10.0 ** rng.uniform(-3, 3, runs), rng.uniform(-0.5, 1.5, runs)

    def excess(t: np.ndarray) -> np.ndarray:
        return scale * (np.sqrt(shift.clip(0.0)) - np.sqrt(t)) + 0.1 * (shift - t)

    low, high = np.zeros(runs), np.ones(runs)
    found = falling_root(excess, low, high, 1e-9)
    f_low, f_high = excess(low), excess(high)
    for r in range(runs):
        if f_low[r] <= 0.0:
            assert found[r] == 0.0
        elif f_high[r] >= 0.0:
            assert found[r] == 1.0
        else:
            root = brentq(lambda t, r=r: excess(np.full(runs, t))[r], 0.0, 1.0, xtol=1e-14)
            np.testing.assert_allclose(found[r], root, atol=1e-8)
            assert excess(np.full(runs, found[r]))[r] <= 0.0
