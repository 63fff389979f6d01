"""Evaluations: names, signs and the favourable label; numbers against fairlearn and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, roc_auc_score

from fairfront.exceptions import InputError
from fairfront.measures import ClassRates, GroupMeans, GroupRates, evaluate_scores
from fairfront.objectives import GroupProbabilities, Groups, Task
from tests.support.extras import optional

fairlearn_metrics = optional("fairlearn.metrics")

BINARY = Task("binary", ("no", "yes"), 1)
GAPS = ["tpr_gap", "fpr_gap", "selection_gap", "error_gap"]


def people(seed: int, n: int = 400) -> tuple[np.random.Generator, dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    return random, {
        "sex": random.choice(["f", "m"], n, p=[0.4, 0.6]),
        "race": random.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
    }


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_binary_evaluation_equals_fairlearn(seed: int, weighted: bool) -> None:
    random, columns = people(seed)
    labels, scores = random.integers(0, 2, 400), random.normal(size=(3, 1, 400))
    weight = random.uniform(0.5, 2.0, 400) if weighted else None
    attributes = Groups(reference={"race": "b"}).resolve({"race": columns["race"]}, 400)
    found = evaluate_scores(scores, labels, BINARY, attributes, name="test", sample_weight=weight)
    assert (found.name, found.n, found.n_models) == ("test", 400, 3)
    assert list(found.columns) == ["error", "approval_rate", "auc", *GAPS, "selection_ratio"]
    for model in range(3):
        decided = (scores[model, 0] > 0).astype(int)
        frame = fairlearn_metrics.MetricFrame(
            metrics=fairlearn_metrics.true_positive_rate,
            y_true=labels,
            y_pred=decided,
            sensitive_features=columns["race"],
            sample_params=None if weight is None else {"sample_weight": weight},
        )
        assert found["tpr_gap"][model] == pytest.approx(frame.difference())
        expected = [frame.by_group[level] - frame.by_group["b"] for level in ("a", "c")]
        np.testing.assert_allclose(found.signed["tpr_gap"][model], expected, atol=1e-12)
        right = accuracy_score(labels, decided, sample_weight=weight)
        assert found["error"][model] == pytest.approx(1.0 - right)
        area = roc_auc_score(labels, scores[model, 0], sample_weight=weight)
        assert found["auc"][model] == pytest.approx(area)


def test_several_attributes_prefix_their_columns() -> None:
    random, columns = people(0)
    attributes = Groups().resolve(columns, 400)
    labels, scores = random.integers(0, 2, 400), random.normal(size=(2, 1, 400))
    found = evaluate_scores(scores, labels, BINARY, attributes, name="test")
    alone = evaluate_scores(scores, labels, BINARY, attributes[1:], name="test")
    assert list(found.columns)[3:] == [f"{a}.{c}" for a in columns for c in [*GAPS, "selection_ratio"]]
    assert list(found.signed) == [f"{a}.{c}" for a in columns for c in GAPS]
    assert list(found.groups) == ["sex", "race"]
    np.testing.assert_array_equal(found["race.tpr_gap"], alone["tpr_gap"])
    assert found.signed["race.fpr_gap"].shape == (2, 2)


def test_favourable_label_may_be_the_first_class() -> None:
    random, columns = people(1)
    attributes = Groups().resolve({"sex": columns["sex"]}, 400)
    labels, scores = random.integers(0, 2, 400), random.normal(size=(3, 1, 400))
    scores[:, :, :40] = 0.0  # a score of exactly 0 decides for the first class
    found = evaluate_scores(scores, labels, Task("binary", ("no", "yes"), 0), attributes, name="v")
    other = evaluate_scores(scores, labels, BINARY, attributes, name="v")
    rates, mirrored = found.groups["sex"], other.groups["sex"]
    assert isinstance(rates, GroupRates)
    assert isinstance(mirrored, GroupRates)
    np.testing.assert_allclose(rates.selection, 1.0 - mirrored.selection)
    np.testing.assert_allclose(rates.tpr, 1.0 - mirrored.fpr)
    np.testing.assert_allclose(rates.fpr, 1.0 - mirrored.tpr)
    np.testing.assert_allclose(rates.positives, mirrored.negatives)
    for column in ("error", "auc", "error_gap", "selection_gap"):
        np.testing.assert_allclose(found[column], other[column])
    kept = (attributes[0].codes == 0) & (labels == 0)
    assert rates.tpr[0, 0] == pytest.approx((scores[0, 0, kept] <= 0).mean())


def test_several_classes() -> None:
    random, columns = people(2)
    task = Task("multiclass", ("low", "middle", "high"), 2)
    attributes = Groups().resolve({"race": columns["race"]}, 400)
    labels, scores = random.integers(0, 3, 400), random.normal(size=(2, 3, 400))
    found = evaluate_scores(scores, labels, task, attributes, name="v")
    decided = scores.argmax(axis=1)
    np.testing.assert_allclose(found["error"], (decided != labels).mean(axis=1))
    assert list(found.columns) == ["error", "approval_rate", *GAPS, "recall_gap", "selection_ratio"]
    assert list(found.signed)[4:] == ["recall_gap[low]", "recall_gap[middle]", "recall_gap[high]"]
    np.testing.assert_allclose(found.signed["recall_gap[high]"], found.signed["tpr_gap"])
    rates = found.groups["race"]
    assert isinstance(rates, ClassRates)
    wrong = [(decided[1] != labels)[attributes[0].codes == g].mean() for g in range(3)]
    np.testing.assert_allclose(rates.error[1], wrong)
    assert found["error_gap"][1] == pytest.approx(max(wrong) - min(wrong))


def test_regression() -> None:
    random, columns = people(3)
    attributes = Groups(reference="f").resolve({"sex": columns["sex"]}, 400)
    values, scores = random.normal(size=400), random.normal(size=(2, 1, 400))
    found = evaluate_scores(scores, values, Task("regression"), attributes, name="v")
    assert list(found.columns) == ["mse", "prediction_gap", "residual_gap", "mse_gap"]
    np.testing.assert_allclose(found["mse"], ((values - scores[:, 0]) ** 2).mean(axis=1))
    assert isinstance(found.groups["sex"], GroupMeans)
    men = columns["sex"] == "m"
    expected = scores[0, 0, men].mean() - scores[0, 0, ~men].mean()
    assert found.signed["prediction_gap"][0] == pytest.approx(expected)
    assert found["prediction_gap"][0] == pytest.approx(abs(expected))


def test_rows_without_group_count_overall_and_stay_out_of_gaps() -> None:
    random, columns = people(4)
    sex = columns["sex"].astype(object)
    sex[:100] = None
    labels, scores = random.integers(0, 2, 400), random.normal(size=(2, 1, 400))
    whole = evaluate_scores(scores, labels, BINARY, Groups().resolve({"sex": sex}, 400), name="v")
    known = Groups().resolve({"sex": sex[100:]}, 300)
    part = evaluate_scores(scores[:, :, 100:], labels[100:], BINARY, known, name="v")
    np.testing.assert_allclose(whole["error"], ((scores[:, 0] > 0) != labels).mean(axis=1))
    for column in GAPS:
        np.testing.assert_allclose(whole[column], part[column], atol=1e-12)


def test_probabilities_of_membership() -> None:
    random, _ = people(5)
    shares = random.dirichlet([1.0, 1.0], 400)
    attributes = Groups().resolve(GroupProbabilities(shares, ("u", "v")), 400)
    labels, scores = random.integers(0, 2, 400), random.normal(size=(1, 1, 400))
    found = evaluate_scores(scores, labels, BINARY, attributes, name="v").groups["group"]
    assert isinstance(found, GroupRates)
    column = list(found.levels).index("u")
    rows = labels == 1
    expected = np.average(scores[0, 0, rows] > 0, weights=shares[rows, 0])
    assert found.tpr[0, column] == pytest.approx(expected)
    assert found.n[column] == pytest.approx(shares[:, 0].sum())


def test_inputs_that_cannot_be_used() -> None:
    random, columns = people(6)
    attributes = Groups().resolve({"sex": columns["sex"]}, 400)
    labels, scores = random.integers(0, 2, 400), random.normal(size=(2, 1, 400))
    found = evaluate_scores(scores, labels, BINARY, attributes, name="v")
    with pytest.raises(InputError, match=r"no column 'trp_gap'.* did you mean 'tpr_gap'"):
        found["trp_gap"]
    with pytest.raises(InputError, match=r"scores has shape \(2, 400\), expected \(N, 1, n\)"):
        evaluate_scores(scores[:, 0], labels, BINARY, attributes, name="v")
    scores[1, 0, 7] = np.nan
    with pytest.raises(InputError, match=r"NaN .* model 1"):
        evaluate_scores(scores, labels, BINARY, attributes, name="v")
