"""Cut-offs: every way to choose one against a search over all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairfront.exceptions import InputError
from fairfront.measures.cutoffs import cutoffs_for_costs, cutoffs_for_rate, decide


def sample(seed: int, N: int = 3, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    scores = np.round(random.normal(size=(N, n)), random.integers(0, 3))
    return scores, random.random(n) < 0.4, random.integers(1, 4, n) * 0.5


def every_cutoff(scores: np.ndarray) -> np.ndarray:
    return np.append(np.unique(scores), scores.max() + 1.0)


@given(st.integers(0, 10_000), st.floats(0, 1), st.sampled_from(["above", "below"]))
@settings(max_examples=60, deadline=None)
def test_the_rate_is_the_nearest_that_ties_allow(seed: int, rate: float, side) -> None:
    scores, _, weight = sample(seed)
    cutoffs = cutoffs_for_rate(scores, rate, weight, side)
    for model, cutoff in zip(scores, cutoffs, strict=True):
        found = abs(weight @ decide(model, cutoff, side) / weight.sum() - rate)
        tried = [abs(weight @ decide(model, c, side) / weight.sum() - rate) for c in every_cutoff(model)]
        assert found == pytest.approx(min(tried), abs=1e-12)


@given(st.integers(0, 10_000), st.sampled_from(["above", "below"]))
@settings(max_examples=60, deadline=None)
def test_costs_are_the_least_of_all_cutoffs(seed: int, side) -> None:
    scores, good, weight = sample(seed)
    costs = {"false_positive": 3.0, "false_negative": 1.0}

    def cost(decided: np.ndarray) -> float:
        return float(weight @ (3.0 * (decided & ~good) + 1.0 * (~decided & good)))

    for model, cutoff in zip(scores, cutoffs_for_costs(scores, good, costs, weight, side), strict=True):
        tried = [cost(decide(model, c, side)) for c in every_cutoff(model)]
        assert cost(decide(model, cutoff, side)) == pytest.approx(min(tried))


def test_sides_are_complements() -> None:
    scores = np.array([0.1, 0.12, 0.3])
    assert decide(scores, 0.12, "above").tolist() == [False, True, True]
    assert decide(scores, 0.12, "below").tolist() == [True, False, False]


def test_bad_input_is_refused() -> None:
    scores = np.array([0.1, 0.2])
    with pytest.raises(InputError, match="approval_rate is"):
        cutoffs_for_rate(scores, 1.5)
    with pytest.raises(InputError, match="expected a mapping"):
        cutoffs_for_costs(scores, [True, False], {"fp": 1.0})
    with pytest.raises(InputError, match="both 0"):
        cutoffs_for_costs(scores, [True, False], {"false_positive": 0.0, "false_negative": 0.0})
    with pytest.raises(InputError, match="'above' or 'below'"):
        decide(scores, 0.1, "left")  # type: ignore[arg-type]
