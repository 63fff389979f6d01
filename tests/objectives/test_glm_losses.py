"""Losses of generalised linear models: against scikit-learn and SciPy, as rates of an exposure, and up to a card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance

import fairfront as ff
from fairfront.objectives import LOSSES
from fairfront.objectives.value_losses import Tweedie
from fairfront.problems import linear_problem
from tests.support.optima import slsqp

RNG = np.random.default_rng(3)
N = 1200
A = RNG.choice(["a", "b"], N, p=[0.4, 0.6])
X = RNG.normal(size=(N, 3))
X[:, 0] += 0.7 * (A == "a")
MEAN = np.exp(-0.8 + 0.4 * X[:, 0] - 0.3 * X[:, 1] + 0.25 * (A == "b"))
E = RNG.uniform(0.1, 1.0, N)
COUNTS = RNG.poisson(MEAN * E)
AMOUNTS = RNG.gamma(2.0, 1000.0 * MEAN / 2.0)
TOTALS = np.where(RNG.random(N) < 0.3, AMOUNTS, 0.0)
CASES: dict[str, tuple[Any, Any, Any]] = {
    "poisson": ("poisson", COUNTS / E, E),
    "gamma": ("gamma", AMOUNTS, None),
    "tweedie": (Tweedie(power=1.6), TOTALS / E, E),
}
"""Loss, values per unit of exposure, and weights."""
SETS: dict[str, dict[str, Any]] = {
    "two groups": {"sensitive_features": A},
    "three groups": {"sensitive_features": np.where(RNG.random(N) < 0.3, "c", A)},
    "weighted": {"sensitive_features": A[::-1], "sample_weight": RNG.uniform(0.5, 2.0, N)},
}
NAMES = ("disparate_mistreatment", "demographic_parity", "group_loss", "link_scale_parity")


def traced(case: str, **options: Any) -> ff.Frontier:
    loss, y, weight = CASES[case]
    known: dict[str, Any] = {"ridge": 1e-3, "n_points": 4, "notion": "link_scale_parity", "progress": False}
    known |= {"sensitive_features": A, "sample_weight": weight, **options}
    return ff.trace(X, y, loss=loss, **known)


@pytest.mark.parametrize(
    ("name", "deviance"),
    [("poisson", mean_poisson_deviance), ("gamma", mean_gamma_deviance), ("tweedie", mean_tweedie_deviance)],
)
def test_losses_are_half_the_deviance(name: str, deviance: Any) -> None:
    y, score = RNG.uniform(0.1, 3.0, 50), RNG.normal(size=(1, 50))
    value, _ = LOSSES[name]().value_slope(score, y)
    known = {"power": 1.5} if name == "tweedie" else {}
    np.testing.assert_allclose(value.mean(), 0.5 * deviance(y, np.exp(score[0]), **known))


@pytest.mark.parametrize("case", ["poisson", "gamma", "tweedie"])
def test_plain_training_is_the_regressor_of_scikit_learn(case: str) -> None:
    kind = {"poisson": PoissonRegressor, "gamma": GammaRegressor, "tweedie": TweedieRegressor}[case]
    known: dict[str, Any] = {"power": 1.6, "link": "log"} if case == "tweedie" else {}
    _, rate, weight = CASES[case]
    theirs = kind(alpha=1e-3, tol=1e-12, max_iter=5000, **known).fit(X, rate, sample_weight=weight)
    front = traced(case)
    ours = front.select(id=0)
    assert type(ours) is kind
    assert ours.get_params()["alpha"] == theirs.get_params()["alpha"]
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X), front.models.scores(X)[0, 0])
    if case == "tweedie":
        assert ours.power == 1.6


@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize(("case", "notion"), [(a, b) for a in CASES for b in NAMES])
def test_points_are_those_of_slsqp(case: str, notion: str, which: str) -> None:
    loss, rate, weight = CASES[case]
    weight = SETS[which].get("sample_weight", weight)
    front = traced(case, **{**SETS[which], "notion": notion, "sample_weight": weight})
    assert front.kkt[front.solved].max() <= 1e-7
    assert front.certified.all() or notion not in ("link_scale_parity", "group_loss")
    assert not (notion == "demographic_parity" and front.certified[1:].any())  # means behind a link
    known: dict[str, Any] = {"loss": loss, "notion": notion, "ridge": 1e-3, "sample_weight": weight}
    problem = linear_problem(X, rate, sensitive_features=SETS[which]["sensitive_features"], **known)
    reach = float(np.ptp(front.loss))
    for place in front.solved.tolist():
        cap = float(front.gaps[place, 0])
        found, left = slsqp(problem, cap, front.models.weights[place].reshape(-1))
        assert left < -1e-9 * max(cap, 1.0) or found >= front.loss[place] - 1e-6 * max(reach, 1e-3 * front.loss[place])


LOSS_UNITS = {"gamma": 0.0, "poisson": 1.0, "tweedie": 0.5, "squared": 2.0}
"""The loss of targets times u is that of the targets times u to this power."""


@pytest.mark.parametrize("unit", [1e-6, 1e6, 1e12])
@pytest.mark.parametrize("loss", LOSS_UNITS)
def test_traces_and_certificates_do_not_depend_on_the_unit_of_targets(loss: str, unit: float) -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 400).astype(str)
    X = rng.normal(size=(400, 4)) + 0.6 * (group == "1")[:, None]
    y = np.round(np.exp(X[:, 0] + (group == "1") + rng.normal(size=400))) + (loss == "gamma")
    fixed: dict[str, Any] = {"sensitive_features": group, "loss": loss, "notion": "disparate_mistreatment"}
    one, other = (
        ff.trace(X, y * u, **fixed, ridge=0.0, n_points=6, held_out=False, progress=False) for u in (1.0, unit)
    )
    factor = unit ** LOSS_UNITS[loss]
    np.testing.assert_allclose(other.loss, one.loss * factor, rtol=1e-10)
    np.testing.assert_allclose(other.gaps, one.gaps * factor, atol=1e-10 * factor * one.gaps.max())
    assert other.status == one.status
    np.testing.assert_array_equal(other.certified, one.certified)
    assert one.certified.any()


@pytest.mark.parametrize("unit", [1.0, 1e6])
def test_a_gamma_regressor_keeps_its_cap_in_any_unit(unit: float) -> None:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 500).astype(str)
    X = rng.normal(size=(500, 3)) + 0.6 * (group == "1")[:, None]
    y = unit * np.exp(X[:, 0] + rng.normal(size=500))
    model = ff.ParetoFairRegressor(loss="gamma", notion="disparate_mistreatment", max_loss_gap=0.002)
    share = y / model.fit(X, y, sensitive_features=group).predict(X)
    losses = share - np.log(share) - 1.0
    assert abs(losses[group == "0"].mean() - losses[group == "1"].mean()) <= 0.002 * (1 + 1e-6)


def test_actual_over_expected_is_what_it_says(tmp_path: Path) -> None:
    front = traced("poisson")
    front = front.evaluate(X, COUNTS / E, sensitive_features=A, sample_weight=E, notion="actual_over_expected")
    expected = front.models.scores(X)[:, 0] * E
    found = front.record().groups[next(iter(front.record().groups))].rate("actual_over_expected")
    by_hand = [[COUNTS[g == A].sum() / each[g == A].sum() for g in "ab"] for each in expected]
    np.testing.assert_allclose(found, by_hand)
    np.testing.assert_allclose(front.column("actual_over_expected_gap"), np.ptp(by_hand, axis=1), atol=1e-12)
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front")
    np.testing.assert_array_equal(again.models.scores(X), front.models.scores(X))
    np.testing.assert_array_equal(again.column("actual_over_expected_gap"), front.column("actual_over_expected_gap"))
    front.to_html(tmp_path / "page.html")
    audit = ff.audit(COUNTS / E, expected[0] / E, sensitive_features=A, sample_weight=E, notion="actual_over_expected")
    (worst,) = audit.worst.values()
    np.testing.assert_allclose(worst["actual_over_expected_gap"].value, np.ptp(by_hand[0]))


def test_estimators_predict_per_unit() -> None:
    model = ff.ParetoFairRegressor(loss="poisson", notion="link_scale_parity", max_loss_gap=0.0, ridge=1e-3)
    model.fit(X, COUNTS / E, sensitive_features=A, sample_weight=E)
    np.testing.assert_allclose(model.predict(X), np.exp(X @ model.coef_ + model.intercept_))
    gap = [np.average(np.log(model.predict(X))[g == A], weights=E[g == A]) for g in "ab"]
    np.testing.assert_allclose(gap[0], gap[1], atol=1e-7)
    shell = ff.FrontierRegressor(loss="gamma", n_points=3, ridge=1e-3).fit(X, AMOUNTS, sensitive_features=A)
    assert (shell.predict(X) > 0).all()


@pytest.mark.parametrize(
    ("loss", "y", "words"),
    [
        ("poisson", COUNTS - 1.0, "y has values down to -1, expected numbers at least 0 for loss 'poisson'"),
        ("gamma", TOTALS, "y has values down to 0, expected numbers above 0 for loss 'gamma'; model how many"),
    ],
)
def test_values_that_a_loss_has_no_value_for_are_refused(loss: str, y: Any, words: str) -> None:
    with pytest.raises(ff.InputError, match=words):
        ff.trace(X, y, sensitive_features=A, loss=loss, notion="group_loss", progress=False)


def test_powers_that_are_none_are_refused() -> None:
    with pytest.raises(ff.InputError, match="power"):
        Tweedie(power=2.5)


def test_what_does_not_know_links_refuses_them() -> None:
    known: dict[str, Any] = {"sensitive_features": A, "loss": "poisson", "notion": "group_loss", "progress": False}
    with pytest.raises(ff.InputError, match="loss 'poisson' is for linear models, found an estimator"):
        ff.trace(X, COUNTS, estimator=PoissonRegressor(), **known)
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (extra torch)")
    import fairfront.torch as fft

    with pytest.raises(ff.InputError, match="loss 'poisson' predicts behind a link"):
        fft.trace(torch.nn.Linear(3, 1), X, COUNTS, **known)


def test_a_run_of_the_motor_portfolio_has_a_card(tmp_path: Path) -> None:
    data = ff.datasets.load_motor(n=3000)
    file = tmp_path / "motor.csv"
    file.write_text(data.as_csv())
    known: dict[str, Any] = {"target": "frequency", "weight": "exposure", "groups": "group", "n_points": 3}
    known |= {"drop": ["sex", "claims"], "notion": "link_scale_parity", "progress": False}
    run = ff.trace_table(file, loss="poisson", **known)
    run.save(tmp_path / "run")
    run = ff.load(tmp_path / "run")
    assert "prediction_gap" in run.options()[0].figures
    model = run.select(id=run.options()[0].id, reason="it is a test", by="the tests")
    assert (np.asarray(model.predict(file)) > 0).all()
    np.testing.assert_allclose(np.average(model.predict(file), weights=data.columns["exposure"]), 0.12, atol=0.05)
    run.to_html(tmp_path / "page.html")


def test_the_portfolio_is_what_its_card_says() -> None:
    def ratios(bias: float) -> dict[str, float]:
        data = ff.datasets.load_motor(bias=bias)
        rows, group = data.matrix()[0], data.sensitive_features("group")
        known: dict[str, Any] = {"sensitive_features": group, "sample_weight": data.columns["exposure"]}
        front = ff.trace(rows, data.columns["frequency"], loss="poisson", notion="link_scale_parity", n_points=2,
                         progress=False, **known)  # fmt: skip
        record = front.evaluate(rows, data.columns["frequency"], notion="actual_over_expected", **known).record()
        return dict(
            zip(record.groups["group"].levels, record.groups["group"].rate("actual_over_expected")[0], strict=True)
        )

    biased, fair = ratios(1.0), ratios(0.0)
    assert biased["B"] < 0.92 < 1.03 < biased["A"]
    assert abs(fair["A"] - fair["B"]) < 0.03
    first, again = ff.datasets.load_motor(n=100), ff.datasets.load_motor(n=100)
    assert first.as_csv() == again.as_csv()
