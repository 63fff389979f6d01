"""Losses and measures: derivatives against central differences, extremes, and ladders to known losses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from fairfront.exceptions import InputError
from fairfront.objectives import LOSSES, Measure, Quantity
from fairfront.objectives.losses import Hinge, Logistic, Loss, SmoothedHinge, Softmax
from fairfront.objectives.question import measure
from fairfront.objectives.surrogates import BinaryRate, ClassRate
from tests.support.cases import TASKS

PAIRS = [(name, kind) for name in LOSSES for kind in LOSSES[name].kinds]


def loss_measures() -> list[tuple[str, Measure, str]]:
    """Return every registered loss on its own label and as each label, for every kind of task it serves."""
    found = []
    for name, kind in PAIRS:
        labels = [None] if kind == "regression" else [None, *TASKS[kind].label_codes]
        for label in labels:
            bound = measure(Quantity("loss", label), LOSSES[name](), TASKS[kind])
            found.append((f"{name} {kind} as {label}", bound, kind))
    return found


def other_measures() -> list[tuple[str, Measure, str]]:
    binary = [(f"rate {c}", measure(Quantity("rate", c), Logistic(), TASKS["binary"]), "binary") for c in (None, 0, 1)]
    several = [
        (f"class rate {c}", measure(Quantity("rate", c), Softmax(), TASKS["multiclass"]), "multiclass")
        for c in (None, 0, 1, 2)
    ]
    score = measure(Quantity("score"), LOSSES["squared"](), TASKS["regression"])
    return [*binary, *several, ("score", score, "regression")]


MEASURES = loss_measures() + other_measures()


def sample(kind: str, n: int = 40, runs: int = 2, scale: float = 1.5) -> tuple[np.ndarray, np.ndarray]:
    """Return scores (runs, K, n) and targets (n,)."""
    rng = np.random.default_rng(3)
    score = rng.normal(scale=scale, size=(runs, 3 if kind == "multiclass" else 1, n))
    target = {"binary": rng.choice([-1.0, 1.0], n), "multiclass": rng.integers(0, 3, n).astype(float)}
    return score, target.get(kind, rng.uniform(0.05, 0.95, n))  # which counts, amounts and shares may be


def by_class(f, score: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Differentiate f by each class's score: a class axis before the samples, as f is per sample."""
    columns = []
    for c in range(score.shape[-2]):
        shift = np.zeros_like(score)
        shift[..., c, :] = step
        columns.append((f(score + shift) - f(score - shift)) / (2.0 * step))
    return np.stack(columns, axis=-2)


@pytest.mark.parametrize(("bound", "kind"), [m[1:] for m in MEASURES], ids=[m[0] for m in MEASURES])
class TestEveryMeasure:
    def test_slope_is_the_derivative_of_the_value(self, bound: Measure, kind: str) -> None:
        score, target = sample(kind)
        value, slope = bound.value_slope(score, target)
        assert value.shape == (2, 40)
        assert slope.shape == score.shape
        numeric = by_class(lambda s: bound.value_slope(s, target)[0], score)
        np.testing.assert_allclose(slope, numeric, atol=2e-8)

    def test_curvature_is_the_derivative_of_the_slope(self, bound: Measure, kind: str) -> None:
        score, target = sample(kind)
        curvature = bound.curvature(score, target)
        assert curvature.shape == (2, score.shape[1], score.shape[1], 40)
        numeric = by_class(lambda s: bound.value_slope(s, target)[1], score)
        np.testing.assert_allclose(curvature, numeric, atol=2e-8)

    def test_convex_as_it_claims(self, bound: Measure, kind: str) -> None:
        score, target = sample(kind)
        lowest = np.linalg.eigvalsh(np.moveaxis(bound.curvature(score, target), -1, 0)).min()
        assert (lowest >= -1e-12) == bound.convex

    @pytest.mark.parametrize("extreme", [800.0, -800.0])
    def test_extremes_are_finite(self, bound: Measure, kind: str, extreme: float) -> None:
        score, target = sample(kind)
        score = np.sign(score) * extreme
        for array in (*bound.value_slope(score, target), bound.curvature(score, target)):
            assert np.isfinite(array).all()

    def test_inputs_are_left_alone(self, bound: Measure, kind: str) -> None:
        score, target = sample(kind)
        before = score.copy(), target.copy()
        value, slope = bound.value_slope(score, target)
        bound.curvature(score, target)
        value += 1.0
        slope += 1.0
        np.testing.assert_array_equal(score, before[0])
        np.testing.assert_array_equal(target, before[1])


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_every_loss_keeps_its_word(name: str, kind: str) -> None:
    loss = LOSSES[name]()
    score, target = sample(kind)
    value, slope = loss.value_slope(score, target)
    assert loss.name == name
    assert loss.n_scores(TASKS[kind]) == score.shape[1]
    assert (value >= 0.0).all()
    assert slope.shape == score.shape


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_smoothed_is_smooth_and_near(name: str, kind: str) -> None:
    loss = LOSSES[name]()
    score, target = sample(kind)
    for width in (1e-1, 1e-3, 1e-6):
        near = loss.smoothed(width)
        assert near.smooth
        np.testing.assert_allclose(near.value_slope(score, target)[0], loss.value_slope(score, target)[0], atol=width)


def test_unknown_loss_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown loss 'logitsic', expected one of .*did you mean 'logistic'\?"):
        LOSSES["logitsic"]
    with pytest.raises(InputError, match=r"unknown loss 3, expected one of logistic, .*tweedie\.$"):
        LOSSES[3]  # type: ignore[index]


def margins(loss: Loss, u: np.ndarray) -> np.ndarray:
    return loss.value_slope(u[None], np.ones_like(u))[0]


def test_softmax_of_two_classes_is_logistic_on_the_difference() -> None:
    rng = np.random.default_rng(0)
    score, code = rng.normal(scale=3.0, size=(2, 50)), rng.integers(0, 2, 50).astype(float)
    difference, sign = score[1:] - score[:1], 2.0 * code - 1.0
    value, slope = Softmax().value_slope(score, code)
    binary_value, binary_slope = Logistic().value_slope(difference, sign)
    np.testing.assert_allclose(value, binary_value, atol=1e-13)
    np.testing.assert_allclose(slope, np.vstack([-binary_slope, binary_slope]), atol=1e-13)
    curvature = Logistic().curvature(difference, sign)[0, 0]
    expected = np.array([[curvature, -curvature], [-curvature, curvature]])
    np.testing.assert_allclose(Softmax().curvature(score, code), expected, atol=1e-13)


def test_class_rates_are_shares_and_two_of_them_are_the_binary_rate() -> None:
    score, target = sample("multiclass")
    shares = [ClassRate(c).value_slope(score, target) for c in range(3)]
    np.testing.assert_allclose(sum(v for v, _ in shares), 1.0, atol=1e-13)
    np.testing.assert_allclose(sum(s for _, s in shares), 0.0, atol=1e-13)
    two = score[:, :2]
    binary = BinaryRate(1.0).value_slope(two[:, 1:] - two[:, :1], np.ones(40))[0]
    np.testing.assert_allclose(ClassRate(1).value_slope(two, np.ones(40))[0], binary, atol=1e-13)


def test_smooth_error_is_one_minus_the_own_rate() -> None:
    score, target = sample("multiclass")
    own = np.take_along_axis(softmax(score, axis=-2), target.astype(int)[None, None], axis=1)[:, 0]
    np.testing.assert_allclose(ClassRate().value_slope(score, target)[0], 1.0 - own, atol=1e-13)
    score, target = sample("binary")
    expected = 1.0 / (1.0 + np.exp(target * score[:, 0]))
    np.testing.assert_allclose(BinaryRate().value_slope(score, target)[0], expected, atol=1e-13)


@settings(deadline=None, max_examples=60)
@given(u=st.floats(-50, 50), width=st.floats(1e-6, 5.0))
def test_smoothed_hinge_lies_below_the_hinge_by_at_most_half_its_width(u: float, width: float) -> None:
    hinge, smooth = (margins(loss, np.array([u]))[0] for loss in (Hinge(), SmoothedHinge(width)))
    assert smooth <= hinge + 1e-12
    assert hinge <= smooth + width / 2.0 + 1e-12


def test_smoothed_hinge_tends_to_the_hinge() -> None:
    u = np.linspace(-3.0, 3.0, 601)
    hinge = margins(Hinge(), u)
    distance = [np.abs(margins(SmoothedHinge(width), u) - hinge).max() for width in (0.5, 0.05, 0.005)]
    np.testing.assert_allclose(distance, [0.25, 0.025, 0.0025], rtol=1e-9)
    assert SmoothedHinge(0.1).smoothed(0.5) == SmoothedHinge(0.5)
    assert SmoothedHinge(0.5).smoothed(0.1) == SmoothedHinge(0.5)
