"""The judge of the peers agrees with fairlearn's metrics and with figures worked out by hand."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import zero_one_loss

from tests.support.extras import optional

fairlearn_metrics = optional("fairlearn.metrics")
postprocessing = optional("fairlearn.postprocessing")
reductions = optional("fairlearn.reductions")

judge = pytest.importorskip("benchmarks.judge", reason="the benchmarks are not part of this installation")
cases = pytest.importorskip("benchmarks.cases", reason="the benchmarks are not part of this installation")
peers = pytest.importorskip("benchmarks.peers", reason="the benchmarks are not part of this installation")


def rows(n: int = 1500, seed: int = 0, groups: int = 2) -> cases.Rows:
    random = np.random.default_rng(seed)
    g = random.integers(0, groups, n)
    X = random.normal(size=(n, 4))
    X[:, 0] += 0.7 * g
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.5 * g + random.logistic(size=n) > 0.5).astype(np.intp)
    return cases.Rows(X, y, g)


def fitting(groups: int = 2, points: int = 6) -> peers.Fitting:
    return peers.Fitting(rows(700, 0, groups), rows(500, 1, groups), ("a", "b", "c", "d"), points)


@pytest.mark.parametrize("groups", [2, 4])
def test_figures_are_those_of_fairlearn(groups: int) -> None:
    data = rows(groups=groups)
    decided = np.random.default_rng(3).random((5, len(data.y))) < 0.2 + 0.5 * data.y
    found = judge.figures(decided.astype(float), data)
    for i, one in enumerate(decided.astype(int)):
        assert found.error[i] == pytest.approx(zero_one_loss(data.y, one))
        assert found.gap[i] == pytest.approx(
            fairlearn_metrics.equal_opportunity_difference(data.y, one, sensitive_features=data.groups)
        )
        frame = fairlearn_metrics.MetricFrame(
            metrics=fairlearn_metrics.selection_rate, y_true=data.y, y_pred=one, sensitive_features=data.groups
        )
        assert found.approval[i] == pytest.approx(frame.overall)


def test_random_decisions_are_judged_by_expectation() -> None:
    data, held = rows(seed=5), rows(seed=6)
    made = postprocessing.ThresholdOptimizer(estimator=LogisticRegression(), constraints="true_positive_rate_parity")
    made.set_params(predict_method="predict_proba").fit(held.X, held.y, sensitive_features=held.groups)
    chance = made._pmf_predict(data.X, sensitive_features=data.groups)[:, 1]
    expected = judge.figures(chance[None], data)
    draws = [made.predict(data.X, sensitive_features=data.groups, random_state=s) for s in range(60)]
    drawn = judge.figures(np.array(draws, dtype=float), data)
    assert expected.error[0] == pytest.approx(drawn.error.mean(), abs=0.005)


@pytest.mark.filterwarnings("ignore")
def test_a_mixture_is_judged_as_fairlearn_weighs_it() -> None:
    data, held = rows(300, 5), rows(300, 6)
    made = reductions.ExponentiatedGradient(LogisticRegression(), reductions.TruePositiveRateParity(), max_iter=5)
    made.fit(held.X, held.y, sensitive_features=held.groups)
    mixture = importlib.import_module("benchmarks.peers.fairlearn")
    assert mixture.expected(made, data.X) == pytest.approx(made._pmf_predict(data.X)[:, 1])


def test_choosing_keeps_to_the_cap_or_takes_the_smallest_gap() -> None:
    found = judge.Figures(np.array([0.1, 0.2, 0.15]), np.array([0.3, 0.01, 0.04]), np.zeros(3))
    assert judge.chosen(found, 0.05) == 2
    assert judge.chosen(found, 0.02) == 1
    assert judge.chosen(found, 0.001) == 1
    assert judge.chosen(found, 1.0) == 0


def test_intervals_holes_boxes_and_shortfalls_by_hand() -> None:
    mean, low, high = judge.paired_interval(np.array([0.0, 0.02]), share=0.0)
    assert mean == pytest.approx(0.01)
    assert high - mean == pytest.approx(12.706 * 0.01, rel=1e-3)
    assert judge.paired_interval(np.array([0.0, 0.02]))[1] < low
    assert judge.largest_hole(np.array([0.05, 0.2]), 0.2) == pytest.approx(0.75)
    offer = judge.Figures(np.array([0.2]), np.array([0.05]), np.zeros(1))
    assert judge.box_share(offer, np.array([True]), 0.3, (0.2, 0.1)) == pytest.approx(0.5)
    caps, best = np.array([0.0, 0.1]), np.array([0.4, 0.3])
    assert judge.shortfall(np.array([0.35]), np.array([0.1]), caps, best, 0.1) == pytest.approx((0.1 + 0.05) / 2)


def test_unprocessing_undoes_a_shift_of_one_group() -> None:
    here, there = rows(seed=1), rows(seed=2)
    w = np.append(LogisticRegression().fit(here.X, here.y).coef_[0], -0.4)
    one = peers.Candidates(lambda X, g: np.zeros((1, len(X))), scores=lambda X: (X @ w[:-1] + w[-1])[None])
    two = peers.Candidates(lambda X, g: np.zeros((1, len(X))), scores=lambda X: (X @ w[:-1] + 7.0)[None])
    assert judge.unprocessed_error(one, here, there) == pytest.approx(judge.unprocessed_error(two, here, there))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(peers.PEERS))
@pytest.mark.filterwarnings("ignore")
def test_every_peer_offers_candidates_or_says_why_not(name: str) -> None:
    peer = peers.PEERS[name]
    given = fitting()
    reason = peer.missing() or peer.limits(given)
    if reason:
        pytest.skip(reason)
    found = peer.fit(given)
    held = given.validation
    approve = found.approve(held.X, held.groups)
    assert approve.ndim == 2
    assert approve.min() >= 0.0
    assert approve.max() <= 1.0
    if found.scores is not None:
        assert np.array_equal(found.scores(held.X) > 0, approve > 0.5)
    if not peer.needs_group_at_prediction:
        assert np.array_equal(approve, found.approve(held.X, held.groups[::-1]))
    if name not in ("plain", "aif360_reweighing"):
        plain = judge.figures(peers.PEERS["plain"].fit(given).approve(held.X, held.groups), held)
        assert judge.figures(approve, held).gap.min() < plain.gap[0]


def test_ours_lose_nothing_to_the_linear_program_but_what_drawing_gains() -> None:
    given = fitting(points=60)
    held = given.validation
    ours, program = (
        judge.figures(peers.PEERS[name].fit(given).approve(held.X, held.groups), held)
        for name in ("fairfront_thresholds", "linear_program")
    )
    for cap in (0.02, 0.05, 0.1):
        gained = ours.error[judge.chosen(ours, cap)] - program.error[judge.chosen(program, cap)]
        assert -0.003 < gained < 0.01


def test_errors_at_equal_gap_are_those_of_the_first_crossing() -> None:
    train = {"error": [0.2, 0.21, 0.22, 0.25], "gap": [0.3, 0.2, 0.1, -0.1]}
    held = {"error": [0.21, 0.22, 0.24, 0.28], "gap": [0.25, 0.15, 0.05, -0.15]}
    assert judge.at_equal_gap(train, held, 0.15) == pytest.approx(0.22)
    assert judge.at_equal_gap(train, held, 0.10) == pytest.approx(0.23)
    assert judge.at_equal_gap(train, held, 0.0) == pytest.approx(0.25)
    assert np.isnan(judge.at_equal_gap(train, held, -0.2))
    mirrored = [{**each, "gap": [-gap for gap in each["gap"]]} for each in (train, held)]
    assert judge.at_equal_gap(*mirrored, 0.10) == pytest.approx(0.23)
    shuffled = [{name: [values[i] for i in (2, 0, 3, 1)] for name, values in each.items()} for each in (train, held)]
    assert judge.at_equal_gap(*shuffled, 0.10) == pytest.approx(0.23)
