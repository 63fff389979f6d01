"""Rates per group against fairlearn, scikit-learn and repeated rows, for many models at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mean_squared_error as sk_mse
from sklearn.metrics import recall_score, roc_auc_score, zero_one_loss

from fairfront.exceptions import InputError
from fairfront.measures import auc, counts
from fairfront.measures.contrasts import gaps, selection_ratio, worst_gap
from fairfront.measures.counts import mean_sums
from fairfront.measures.rates import rates_of
from tests.support.extras import optional
from tests.support.rates import class_rates, group_rates

fairlearn_metrics = optional("fairlearn.metrics")

METRICS = {
    "selection": fairlearn_metrics.selection_rate,
    "tpr": fairlearn_metrics.true_positive_rate,
    "fpr": fairlearn_metrics.false_positive_rate,
    "error": zero_one_loss,
}
LEVELS = ("Green", "Purple", "Blue")


def sample(seed: int, n: int = 120, N: int = 4, c: int = 3) -> dict[str, Any]:
    """Random decisions; every group has rows with both labels."""
    random = np.random.default_rng(seed)
    codes = np.concatenate([np.repeat(np.arange(c), 2), random.integers(0, c, n - 2 * c)])
    favourable = np.concatenate([np.tile([True, False], c), random.random(n - 2 * c) < 0.4])
    return {
        "decided": random.random((N, n)) < random.random((N, 1)),
        "favourable": favourable,
        "codes": codes,
        "weight": random.integers(1, 5, n) * random.choice([1.0, 0.37]),
        "scores": np.round(random.normal(size=(N, n)), random.integers(0, 4)),
    }


def by_fairlearn(data: dict[str, Any], model: int, weight: np.ndarray | None) -> fairlearn_metrics.MetricFrame:
    params = None if weight is None else {name: {"sample_weight": weight} for name in METRICS}
    return fairlearn_metrics.MetricFrame(
        metrics=METRICS,
        y_true=data["favourable"].astype(int),
        y_pred=data["decided"][model].astype(int),
        sensitive_features=np.array(LEVELS)[data["codes"]],
        sample_params=params,
    )


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_rates_equal_fairlearn(seed: int, weighted: bool) -> None:
    data = sample(seed)
    weight = data["weight"] if weighted else None
    rates = group_rates(data["decided"], data["favourable"], data["codes"], LEVELS, weight)
    for model in range(4):
        frame = by_fairlearn(data, model, weight)
        for name in METRICS:
            expected = frame.by_group[name].reindex(LEVELS).to_numpy()
            np.testing.assert_allclose(rates.rate(name)[model], expected, atol=1e-12)
            assert worst_gap(rates, name)[model] == pytest.approx(frame.difference()[name], abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_weights_equal_repeated_rows(seed: int) -> None:
    data = sample(seed)
    times = np.random.default_rng(seed).integers(0, 4, len(data["codes"]))
    long = np.repeat(np.arange(len(times)), times)
    args = [data["favourable"], data["codes"]]
    weighted = group_rates(data["decided"], *args, LEVELS, times)
    repeated = group_rates(data["decided"][:, long], *[a[long] for a in args], LEVELS)
    for field in ("weight", "positives", "negatives", *weighted.names):
        np.testing.assert_allclose(getattr(weighted, field), getattr(repeated, field), atol=1e-12)
    np.testing.assert_allclose(
        auc(data["scores"], data["favourable"], times),
        auc(data["scores"][:, long], data["favourable"][long]),
        atol=1e-12,
    )


def test_rows_and_weights_are_counted() -> None:
    codes = np.array([0, 0, 1, -1, 1, 1])
    favourable = np.array([True, False, True, True, False, False])
    rates = group_rates(favourable, favourable, codes, ("a", "b"), [1.0, 2.0, 3.0, 9.0, 5.0, 0.5])
    np.testing.assert_array_equal(rates.n, [2, 3])
    np.testing.assert_array_equal(rates.weight, [3.0, 8.5])
    np.testing.assert_array_equal(rates.positives, [1.0, 3.0])
    np.testing.assert_array_equal(rates.negatives, [2.0, 5.5])
    np.testing.assert_array_equal(rates.accuracy, [[1.0, 1.0]])
    assert rates.reference == "b"


def test_rates_without_denominator_are_nan_and_stay_out_of_gaps() -> None:
    codes = np.array([0, 0, 1, 1, 2, 2])
    favourable = np.array([False, False, True, False, True, True])
    decided = np.array([[True, False, True, False, True, False], [False] * 6])
    rates = group_rates(decided, favourable, codes, (*LEVELS, "absent"))
    np.testing.assert_array_equal(rates.tpr, [[np.nan, 1.0, 0.5, np.nan], [np.nan, 0.0, 0.0, np.nan]])
    np.testing.assert_array_equal(rates.fpr, [[0.5, 0.0, np.nan, np.nan], [0.0, 0.0, np.nan, np.nan]])
    np.testing.assert_array_equal(worst_gap(rates, "tpr"), [0.5, 0.0])
    assert np.isnan(gaps(rates, "tpr")).all()
    np.testing.assert_array_equal(selection_ratio(rates), [1.0, np.nan])
    alone = group_rates(decided, favourable, np.where(codes == 1, 0, -1), ("only", "empty"))
    assert np.isnan(worst_gap(alone, "error")).all()
    assert np.isnan(selection_ratio(alone)).all()


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_gaps_are_group_minus_reference(seed: int) -> None:
    data = sample(seed)
    rates = group_rates(data["decided"], data["favourable"], data["codes"], LEVELS)
    signed = gaps(rates, "selection")
    assert signed.shape == (4, 2)
    np.testing.assert_allclose(signed[:, 1], rates.selection[:, 1] - rates.selection[:, 2])
    truth, groups = data["favourable"], data["codes"]
    for model, decided in enumerate(data["decided"]):
        difference = fairlearn_metrics.demographic_parity_difference(truth, decided, sensitive_features=groups)
        assert worst_gap(rates, "selection")[model] == pytest.approx(difference)
        expected = fairlearn_metrics.demographic_parity_ratio(truth, decided, sensitive_features=groups)
        assert selection_ratio(rates)[model] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("levels", [("a", "b"), ("b", "a")])
def test_selection_ratio_does_not_depend_on_the_reference(levels: tuple[str, str]) -> None:
    decided = np.array([True, True, True, False])
    rates = group_rates(decided, decided, np.array([0, 0, 1, 1]), levels)
    np.testing.assert_array_equal(selection_ratio(rates), [0.5])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_auc_equals_scikit_learn(seed: int, weighted: bool) -> None:
    data = sample(seed)
    weight = data["weight"] if weighted else None
    found = auc(data["scores"], data["favourable"], weight)
    expected = [roc_auc_score(data["favourable"], s, sample_weight=weight) for s in data["scores"]]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_auc_of_special_cases() -> None:
    truth = np.array([True, False, True, False])
    np.testing.assert_array_equal(auc([[1.0, 0, 1, 0], [0, 1, 0, 1], [2, 2, 2, 2]], truth), [1.0, 0.0, 0.5])
    np.testing.assert_array_equal(auc([np.inf, -np.inf, 0.0, 0.0], truth), [0.875])
    assert np.isnan(auc([1.0, 2.0], [True, True])).all()
    assert np.isnan(auc([1.0, 2.0], [True, False], [1.0, 0.0])).all()
    assert auc(np.empty((0, 4)), truth).shape == (0,)


def test_blocks_of_models_do_not_change_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    data = sample(3, N=7)
    whole = group_rates(data["decided"], data["favourable"], data["codes"], LEVELS, data["weight"])
    area = auc(data["scores"], data["favourable"])
    monkeypatch.setattr(counts, "BLOCK", 240)
    parts = group_rates(data["decided"], data["favourable"], data["codes"], LEVELS, data["weight"])
    for name in whole.names:
        np.testing.assert_allclose(whole.rate(name), parts.rate(name), atol=1e-14)
    np.testing.assert_allclose(area, auc(data["scores"], data["favourable"]), atol=1e-14)


def test_shares_of_zero_and_one_equal_codes() -> None:
    data = sample(5)
    shares = (data["codes"][:, None] == np.arange(3)).astype(float)
    hard = group_rates(data["decided"], data["favourable"], data["codes"], LEVELS, data["weight"])
    soft = group_rates(data["decided"], data["favourable"], shares, LEVELS, data["weight"])
    for name in hard.names:
        np.testing.assert_array_equal(hard.rate(name), soft.rate(name))


@pytest.mark.parametrize("weighted", [False, True])
def test_class_rates_equal_scikit_learn(weighted: bool) -> None:
    data = sample(1, n=300)
    random = np.random.default_rng(2)
    labels, decided = random.integers(0, 4, 300), random.integers(0, 4, (4, 300))
    weight = data["weight"] if weighted else np.ones(300)
    rates = class_rates(decided, labels, 4, 2, data["codes"], LEVELS, weight)
    np.testing.assert_allclose(rates.tpr, rates.recall[:, :, 2])
    np.testing.assert_allclose(rates.class_weight.sum(axis=1), rates.weight)
    for g in range(3):
        rows = data["codes"] == g
        for model in range(4):
            pair = (labels[rows], decided[model, rows])
            expected = recall_score(*pair, labels=range(4), average=None, sample_weight=weight[rows])
            np.testing.assert_allclose(rates.recall[model, g], expected)
            wrong = zero_one_loss(*pair, sample_weight=weight[rows])
            assert rates.error[model, g] == pytest.approx(wrong)
    assert gaps(rates, "recall").shape == (4, 2, 4)
    spread = rates.recall.max(axis=1) - rates.recall.min(axis=1)
    np.testing.assert_allclose(worst_gap(rates, "recall"), spread.max(axis=1))


@pytest.mark.parametrize("weighted", [False, True])
def test_means_of_predictions(weighted: bool) -> None:
    data = sample(7)
    values = np.random.default_rng(1).normal(3.0, 1.0, 120)
    weight = data["weight"] if weighted else None
    means = rates_of(mean_sums(data["scores"], values, data["codes"], 3, weight), LEVELS, 0)
    for g in range(3):
        rows = data["codes"] == g
        row_weight = None if weight is None else weight[rows]
        average = np.average(data["scores"][0, rows], weights=row_weight)
        assert means.prediction[0, g] == pytest.approx(average)
        assert means.residual[0, g] == pytest.approx(np.average(values[rows], weights=row_weight) - average)
        expected = sk_mse(values[rows], data["scores"][0, rows], sample_weight=row_weight)
        assert means.mse[0, g] == pytest.approx(expected)


def test_inputs_that_cannot_be_used() -> None:
    yes, codes = np.array([True, False, True]), np.array([0, 1, 1])
    with pytest.raises(InputError, match="unknown rate 'ppv', expected one of tpr, fpr"):
        gaps(group_rates(yes, yes, codes, ("a", "b")), "ppv")
