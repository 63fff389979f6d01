"""Offsets and quantiles: against exposures, SciPy and statistics by hand; refined, bootstrapped, kept, in a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

import fairfront as ff
from fairfront.objectives import LOSSES, Quantile
from fairfront.objectives.linear_predictor import LinearPredictor
from tests.support.cli import command
from tests.support.extras import optional

pd = optional("pandas")

RNG = np.random.default_rng(11)
N = 900
A = RNG.choice(["a", "b"], N)
X = RNG.normal(size=(N, 3))
X[:, 0] += 0.6 * (A == "a")
OFF = 0.5 * RNG.normal(size=N)
Y = RNG.poisson(np.exp(-0.5 + 0.3 * X[:, 0] - 0.2 * X[:, 1] + OFF + 0.2 * (A == "b")))
KNOWN: dict[str, Any] = {"sensitive_features": A, "progress": False, "n_points": 4, "ridge": 1e-3}
LOSS_VALUES = {"poisson": Y, "gamma": Y + 0.5, "tweedie": Y, "squared": Y, "quantile": Y + OFF, "binomial": Y / Y.max()}


def traced(**more: Any) -> ff.Frontier:
    return ff.trace(X, Y, loss="poisson", offset=OFF, **{"notion": "link_scale_parity", **KNOWN, **more})


def test_the_logarithm_of_an_exposure_is_an_offset_of_counts() -> None:
    exposure = np.exp(OFF)
    per_row = KNOWN | {"ridge": 1e-3 * N / exposure.sum(), "notion": "actual_over_expected", "loss": "poisson"}
    one = ff.trace(X, Y, exposure=exposure, **per_row)
    two = traced(notion="actual_over_expected")
    np.testing.assert_allclose(two.models.coef[:, 0, :3], one.models.coef[:, 0], atol=1e-7)
    np.testing.assert_allclose(two.gaps, one.gaps, atol=1e-8)
    assert (two.models.coef[:, 0, 3] == 1.0).all()


@pytest.mark.parametrize("loss", LOSS_VALUES)
def test_plain_training_with_an_offset_is_that_of_scipy(loss: str) -> None:
    y = LOSS_VALUES[loss]
    front = ff.trace(X, y, loss=loss, notion="disparate_mistreatment", offset=OFF, **KNOWN)
    bound = LOSSES[loss]().of_values(np.asarray(y, dtype=float))

    def value(w: np.ndarray) -> float:
        scores = (X @ w[:3] + w[3] + OFF)[None]
        return float(bound.value_slope(scores, np.asarray(y, dtype=float))[0].mean() + 0.5e-3 * (w[:3] ** 2).sum())

    found = minimize(value, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    ours = np.append(front.models.coef[0, 0, :3], front.models.intercept[0])
    assert value(ours) <= found.fun + 1e-10 * abs(found.fun)
    np.testing.assert_allclose(value(ours), front.loss[0], rtol=1e-9)
    assert front.certified[0]


def test_an_offset_is_a_column_by_name_place_or_array(tmp_path: Path) -> None:
    front = traced()
    assert front.certified.all()
    frame = pd.DataFrame(X, columns=list("xyz")).assign(before=OFF)[["x", "before", "y", "z"]]
    named = ff.trace(frame, Y, loss="poisson", notion="link_scale_parity", offset="before", **KNOWN)
    np.testing.assert_array_equal(named.models.coef[:, 0, [0, 2, 3, 1]], front.models.coef[:, 0])
    wide = np.column_stack([X, OFF])
    placed = ff.trace(wide, Y, loss="poisson", notion="link_scale_parity", offset=3, **KNOWN)
    thin = ff.trace(sparse.csr_array(wide), Y, loss="poisson", notion="link_scale_parity", offset=3, **KNOWN)
    beside = ff.trace(frame[["x", "y", "z"]], Y, loss="poisson", notion="link_scale_parity", offset=OFF, **KNOWN)
    assert beside.models.feature_names == ("x", "y", "z", "offset")
    for other in (placed, thin, beside):
        np.testing.assert_allclose(other.models.coef, front.models.coef, atol=1e-9)
    model = front.select(id=0)
    expected = np.exp(X @ model.coef_[:3] + model.intercept_ + OFF)
    np.testing.assert_allclose(model.predict(wide), expected)
    judged = front.evaluate(X, Y, sensitive_features=A, offset=OFF)
    np.testing.assert_allclose(judged.column("mse")[0], np.mean((Y - expected) ** 2))
    finer = front.refine(X, Y, sensitive_features=A, offset=OFF, between=(0, 1), n=1)
    assert len(finer) == 5
    bands = front.stability(X, Y, sensitive_features=A, offset=OFF, n=4, progress=False)
    assert bands.n == 4
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front").refine(X, Y, sensitive_features=A, offset=OFF, between=(0, 1), n=1)
    np.testing.assert_array_equal(again.models.coef, finer.models.coef)


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array], ids=["closed form", "folds"])
def test_an_offset_is_in_held_out_scores(rows: Any) -> None:
    """Residuals of a squared loss with an offset are those of what it leaves of the values."""
    known = KNOWN | {"loss": "squared", "notion": "disparate_mistreatment", "held_out": True}
    one, two = ff.trace(rows(X), Y, offset=OFF, **known), ff.trace(rows(X), Y - OFF, **known)
    for name in ("mse", "residual_gap"):
        found = (front.evaluations["held_out"][name] for front in (one, two))
        np.testing.assert_allclose(*found, rtol=1e-6)


def test_held_out_values_with_an_offset_are_those_of_models_without_the_row() -> None:
    some = slice(0, 40)
    known: dict[str, Any] = {"loss": "poisson", "notion": "disparate_mistreatment", "ridge": 0.1, "progress": False}
    known |= {"groups": ff.Groups(min_size=1), "n_points": 2}
    front = ff.trace(X[some], Y[some], offset=OFF[some], sensitive_features=A[some], held_out=True, **known)
    errors = []
    for i in range(40):
        left = np.delete(np.arange(40), i)
        given: dict[str, Any] = {"offset": OFF[left], "sensitive_features": A[left], "held_out": False}
        model = ff.trace(X[left], Y[left], **given, **known).select(id=0)
        errors.append((Y[i] - model.predict(np.append(X[i], OFF[i])[None])[0]) ** 2)
    assert front.evaluations["held_out"]["mse"][0] == pytest.approx(np.mean(errors), rel=0.02)


def test_refine_and_stability_take_an_exposure() -> None:
    exposure = np.exp(OFF)
    front = ff.trace(X, Y, loss="poisson", notion="link_scale_parity", exposure=exposure, **KNOWN)
    finer = front.refine(X, Y, sensitive_features=A, exposure=exposure, between=(0, 1), n=1)
    same = front.refine(X, Y / exposure, sensitive_features=A, sample_weight=exposure, between=(0, 1), n=1)
    np.testing.assert_array_equal(finer.models.coef, same.models.coef)
    assert front.stability(X, Y, sensitive_features=A, exposure=exposure, n=2, progress=False).n == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("nowhere", "offset is 'nowhere', expected the name or the place"),
        (7, "offset is 7, expected a place from 0 to 2"),
        (OFF[:-1], "offset has 899 numbers"),
        (np.full(N, np.nan), "expected 900 finite numbers"),
    ],
)
def test_offsets_that_are_none_are_refused(given: Any, words: str) -> None:
    with pytest.raises(ff.InputError, match=words):
        ff.trace(X, Y, loss="poisson", notion="link_scale_parity", offset=given, **KNOWN)


def test_offsets_are_for_linear_models_of_values() -> None:
    with pytest.raises(ff.InputError, match="offset is for values, found labels"):
        ff.trace(X, Y > 0, offset=OFF, **KNOWN)
    with pytest.raises(ff.InputError, match="offset is for linear models"):
        ff.trace(X, Y > 0, sensitive_features=A, offset=OFF, units="rates", progress=False)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantiles_are_those_of_the_values(q: float) -> None:
    y = RNG.gamma(2.0, 1.0, N)
    loss = Quantile(q=q, width=1e-3)
    front = ff.trace(np.zeros((N, 1)) + RNG.normal(size=(N, 1)), y, loss=loss, notion="disparate_mistreatment",
                     sensitive_features=A, ridge=10.0, n_points=2, progress=False)  # fmt: skip
    model = front.select(id=0)
    assert isinstance(model, LinearPredictor)
    assert abs((y <= model.predict(np.zeros((N, 1)))).mean() - q) < 5e-3
    score = RNG.normal(size=(1, 40))
    value = loss.value_slope(score, y[:40])[0]
    pinball = np.maximum(q * (y[:40] - score[0]), (q - 1.0) * (y[:40] - score[0]))
    assert (value >= pinball - 1e-12).all()
    assert (value <= pinball + 1e-3 * np.log(2.0)).all()


def test_the_quantile_loss_has_its_derivatives() -> None:
    loss, y, s, h = Quantile(q=0.8, width=0.3), RNG.normal(size=50), RNG.normal(size=(1, 50)), 1e-5
    (above, up), (below, down) = loss.value_slope(s + h, y), loss.value_slope(s - h, y)
    np.testing.assert_allclose(loss.value_slope(s, y)[1][0], (above - below) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(loss.curvature(s, y)[0], (up - down) / (2 * h), atol=1e-8)


def test_shares_of_trials_are_repeated_labels_and_never_more_than_them() -> None:
    trials = RNG.integers(1, 6, 200)
    hits = RNG.binomial(trials, 0.4)
    known: dict[str, Any] = {"notion": "disparate_mistreatment", "n_points": 2, "progress": False, "ridge": 1e-2}
    front = ff.trace(X[:200], hits, sensitive_features=A[:200], loss="binomial", exposure=trials, **known)
    rows = np.repeat(np.arange(200), trials)
    labels = np.concatenate([np.arange(t) < h for t, h in zip(trials, hits, strict=True)]).astype(int)
    plain = ff.trace(X[rows], labels, sensitive_features=A[rows], loss="logistic", **known)
    np.testing.assert_allclose(front.models.coef[0], plain.models.coef[0], atol=1e-6)
    np.testing.assert_allclose(front.select(id=0).predict(X[:3]), front.models.scores(X[:3])[0, 0])
    with pytest.raises(ff.InputError, match="expected shares of successes from 0 to 1"):
        ff.trace(X[:200], hits + 6, sensitive_features=A[:200], loss="binomial", exposure=trials, **known)


def run_ok(*words: str) -> None:
    found = command(*words)
    assert found.returncode == 0, found.stderr


@pytest.mark.slow
def test_exposure_and_offset_in_a_shell(tmp_path: Path) -> None:
    data = ff.datasets.load_motor()
    frame = pd.DataFrame(data.columns).iloc[:4000].drop(columns=["frequency", "cost"])
    frame["tariff"] = np.round(0.3 * RNG.normal(size=4000), 3)
    file, run, model, out = (tmp_path / name for name in ("motor.csv", "run", "model", "out.csv"))
    frame.to_csv(file, index=False)
    asked = ["--loss", "poisson", "--notion", "actual_over_expected", "--groups", "group", "--points", "3"]
    columns = ["--target", "claims", "--exposure", "exposure", "--offset", "tariff"]
    run_ok("trace", str(file), *columns, *asked, "--stability", "2", "-o", str(run))
    run_ok("evaluate", str(run), str(file), "--name", "again")
    run_ok("select", str(run), "--id", "1", "-o", str(model))
    card = (model / "card.md").read_text()
    assert "per unit of it" in card
    assert "added to every score as it is" in card
    run_ok("predict", str(model), str(file), "-o", str(out))
    unit = pd.read_csv(out)["prediction"].to_numpy()
    run_ok("predict", str(model), str(file), "--exposure", "exposure", "-o", str(out), "--overwrite")
    np.testing.assert_allclose(pd.read_csv(out)["prediction"], unit * frame["exposure"])
    again = frame.assign(tariff=frame["tariff"] + 1.0)
    again.to_csv(file, index=False)
    run_ok("predict", str(model), str(file), "-o", str(out), "--overwrite")
    np.testing.assert_allclose(pd.read_csv(out)["prediction"], np.e * unit)
