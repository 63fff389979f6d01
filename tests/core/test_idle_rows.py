"""Rows of weight 0 count as if they were not there, in every place that reads rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.estimators.scorers import GroupScore
from fairfront.explorer import describe_points
from tests.support.extras import optional

pd = optional("pandas")

RNG = np.random.default_rng(3)
N = 600
A = RNG.choice(["a", "b"], N)
X = RNG.normal(size=(N, 2)) + 0.4 * (A == "a")[:, None]
Y = (X[:, 0] + RNG.normal(size=N) > 0.3).astype(int)
WEIGHT = np.where(np.arange(N) % 2 == 0, RNG.uniform(0.5, 2.0, N), 0.0)
A[np.flatnonzero(WEIGHT == 0)[:60]] = "idle only"
KEPT = WEIGHT > 0
P = 1.0 / (1.0 + np.exp(-X[:, 0]))


@pytest.fixture(scope="module")
def front() -> ff.Frontier:
    return ff.trace(X, Y, sensitive_features={"g": A}, sample_weight=WEIGHT, n_points=4, progress=False)


def both(front: ff.Frontier) -> list[tuple[Any, Any]]:
    """Return what is known of the rows with weight 0 among them, and without."""
    whole = {"sensitive_features": {"g": A}, "sample_weight": WEIGHT}
    some = {"sensitive_features": {"g": A[KEPT]}, "sample_weight": WEIGHT[KEPT]}
    model = front.select(id=0)
    may = {"allow_group_at_prediction": True}
    return [
        (front.evaluate(X, Y, **whole), front.evaluate(X[KEPT], Y[KEPT], **some)),
        (
            front.postprocess(X, Y, **may, **whole).evaluate(X, Y, **whole),
            front.postprocess(X[KEPT], Y[KEPT], **may, **some).evaluate(X[KEPT], Y[KEPT], **some),
        ),
        (front.postprocess(X, Y, **may, **whole), front.postprocess(X[KEPT], Y[KEPT], **may, **some)),
        (
            ff.Frontier.from_models({"m": model}, X, Y, **whole),
            ff.Frontier.from_models({"m": model}, X[KEPT], Y[KEPT], **some),
        ),
    ]


def test_every_evaluation_counts_the_same_rows(front: ff.Frontier) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no new group: it has rows of weight 0 only
        for whole, some in both(front):
            for one, two in zip(whole.evaluations.values(), some.evaluations.values(), strict=True):
                assert one.n == two.n == KEPT.sum()
                assert one.groups["g"].levels == two.groups["g"].levels == ("b", "a")
                for name in two.columns:
                    np.testing.assert_array_equal(one[name], two[name])


def test_calibration_and_details_count_the_same_rows(front: ff.Frontier) -> None:
    one = front.calibration(0, X, Y, sensitive_features={"g": A}, sample_weight=WEIGHT)["g"]
    two = front.calibration(0, X[KEPT], Y[KEPT], sensitive_features={"g": A[KEPT]}, sample_weight=WEIGHT[KEPT])["g"]
    assert one.levels == two.levels
    details = describe_points(front, X, Y, sensitive_features={"g": A}, sample_weight=WEIGHT)
    assert details.n == KEPT.sum()


def test_the_audit_leaves_them_out_and_says_how_many() -> None:
    one = ff.audit(Y, P, sensitive_features={"g": A}, sample_weight=WEIGHT)
    two = ff.audit(Y[KEPT], P[KEPT], sensitive_features={"g": A[KEPT]}, sample_weight=WEIGHT[KEPT])
    assert one.n == two.n == KEPT.sum()
    said = "Rows of weight 0 were excluded: 300."
    assert said in one.sentences
    assert said in one.to_dict()["sentences"]
    assert said in one._repr_html_()
    assert one.tables["g"]["n"].tolist() == two.tables["g"]["n"].tolist()
    assert one.worst["g"]["tpr_gap"].upper == two.worst["g"]["tpr_gap"].upper
    assert not any("weight 0" in sentence for sentence in two.sentences)


def test_a_scorer_leaves_them_out() -> None:
    score = GroupScore("tpr_gap")
    one = score(Y, P > 0.5, sensitive_features={"g": A}, sample_weight=WEIGHT)
    assert one == score(Y[KEPT], P[KEPT] > 0.5, sensitive_features={"g": A[KEPT]}, sample_weight=WEIGHT[KEPT])


def test_a_table_leaves_them_out_and_says_how_many() -> None:
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "g": A, "y": Y, "w": WEIGHT})
    options: dict[str, Any] = {"target": "y", "groups": "g", "favourable": 1, "weight": "w"}
    whole = ff.trace_table(frame, **options, progress=False)
    some = ff.trace_table(frame[KEPT], **options, progress=False)
    assert whole.manifest["split"]["rows"] == some.manifest["split"]["rows"]
    np.testing.assert_array_equal(whole.frontier.loss, some.frontier.loss)
    assert "Rows with 0 in 'w' were left out: 300." in [found["sentence"] for found in whole.manifest["findings"]]
