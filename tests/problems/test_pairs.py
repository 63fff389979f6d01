"""Pairs of people to be treated alike: against SLSQP and by hand, figures of evaluations, choices, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.problems import linear_problem
from tests.support.cli import fairfront
from tests.support.extras import optional

pd = optional("pandas")

EXCESS = 1e-6  # of the range of losses, over an independent optimum
RNG = np.random.default_rng(8)
N = 500
A = RNG.choice(["a", "b"], N)
X = RNG.normal(size=(N, 4)) * [1.0, 20.0, 0.1, 1.0]
X[:, 0] += 0.8 * (A == "a")
SCORE = X @ [0.7, 0.02, -2.0, 0.5]
Y = (SCORE + RNG.logistic(size=N) > 0).astype(int)
ROWS = RNG.integers(0, N, size=(150, 2))
OTHER = X.copy()
OTHER[:, 0] += RNG.random(N) * np.where(A == "a", -1.0, 1.0)
OTHER[:, 3] += 0.2 * RNG.normal(size=N)
KNOWN: dict[str, Any] = {"sensitive_features": A, "progress": False}


def counts() -> tuple[Any, dict[str, Any]]:
    return RNG.poisson(np.exp(0.4 * SCORE)), {"loss": "poisson", "ridge": 1e-3}


def labels() -> tuple[Any, dict[str, Any]]:
    return Y, {"ridge": 1e-3}


def values() -> tuple[Any, dict[str, Any]]:
    return SCORE + RNG.normal(size=N), {"loss": "squared", "ridge": 1e-3}


def apart(pairs: Any) -> Any:
    return X[pairs[:, 0]] - X[pairs[:, 1]] if pairs.shape[1] == 2 else X - pairs


@pytest.mark.parametrize("case", [labels, values, counts])
@pytest.mark.parametrize("pairs", [ROWS, OTHER], ids=["row numbers", "second matrix"])
def test_points_are_those_of_slsqp(case: Any, pairs: Any) -> None:
    y, known = case()
    front = ff.trace(X, y, notion=[], pairs=pairs, n_points=5, held_out=False, **KNOWN, **known)
    assert front.certified.all()
    coef, differences = front.models.coef[:, 0], apart(pairs)
    np.testing.assert_allclose(front.gaps[:, 0], ((coef @ differences.T) ** 2).mean(axis=1), rtol=1e-9, atol=1e-12)
    assert (np.diff(front.gaps[:, 0]) < 0).all()
    problem = linear_problem(X, y, sensitive_features=A, notion=[], pairs=pairs, **known)
    p, scale = problem.algebra.p, np.append(X.std(axis=0), 1.0)
    span = float(front.loss.max() - front.loss.min())
    M = differences.T @ differences / len(differences)

    def cells(v: Any) -> tuple[Any, Any]:
        point = problem.cells((v / scale)[None, None])
        return point.L[0], point.D[0] / scale

    for place in range(len(front) - 1):  # at the end both sides of a pair have one score, and constraints no slope
        cap = front.gaps[place, 0]
        limit = {
            "type": "ineq",
            "fun": lambda v, cap=cap: 1.0 - (v[:4] / scale[:4]) @ M @ (v[:4] / scale[:4]) / cap,
            "jac": lambda v, cap=cap: np.append(-2.0 * M @ (v[:4] / scale[:4]) / scale[:4] / cap, 0.0),
        }
        found = minimize(
            lambda v: float(cells(v)[0] @ p),
            front.models.weights[0, 0] * scale * 0.5,
            jac=lambda v: p @ cells(v)[1],
            method="SLSQP",
            constraints=[limit],
            options={"ftol": 1e-14, "maxiter": 500},
        )
        if limit["fun"](found.x) > -1e-9:
            assert front.loss[place] - found.fun <= EXCESS * span


def test_derivatives_are_central_differences() -> None:
    problem = linear_problem(X, Y, sensitive_features=A, pairs=OTHER, signs={1: "+"})
    for each in (problem, problem.framed()):
        w = np.random.default_rng(0).normal(size=5) * 0.1
        at = each.cells(w[None, None])
        omega = np.random.default_rng(1).normal(size=at.L.shape[1])
        step = 1e-6
        for j in range(5):
            up, down = (each.cells((w + s * step * (np.arange(5) == j))[None, None]) for s in (1.0, -1.0))
            slope = (up.L[0] - down.L[0]) / (2 * step)
            np.testing.assert_allclose(at.D[0][:, j], slope, rtol=1e-5, atol=1e-5)
            bend = omega @ (up.D[0] - down.D[0]) / (2 * step)
            np.testing.assert_allclose(each.hessian(w[None], omega)[j], bend, rtol=1e-4, atol=1e-4)


def test_pairs_beside_a_notion_and_signs_are_axes_of_their_own() -> None:
    front = ff.trace(X, Y, notion="demographic_parity", pairs=OTHER, signs={3: "-"}, n_points=4, **KNOWN)
    assert front.facts.notions == ("demographic_parity", "similar_pairs")
    assert front.facts.gap_columns == ("demographic_parity.gap", "similar_pairs.gap")
    assert front.sentences[1] == "Similar pairs compares the scores of both people of every pair."
    assert (front.models.coef[:, 0, 3] == 0.0).all()
    assert front.certified[0]
    assert "held_out" in front.evaluations


def test_weights_are_repeated_rows() -> None:
    weight = RNG.integers(0, 3, size=N)
    rows = np.repeat(np.arange(N), weight)
    asked: dict[str, Any] = {"notion": [], "n_points": 3, "progress": False, "held_out": False, "ridge": 1e-3}
    one = ff.trace(X, Y, pairs=OTHER, sample_weight=weight, sensitive_features=A, **asked)
    two = ff.trace(X[rows], Y[rows], pairs=OTHER[rows], sensitive_features=A[rows], **asked)
    np.testing.assert_allclose(one.models.coef, two.models.coef, rtol=1e-5, atol=1e-7)
    dense = ff.trace(X, Y, pairs=ROWS, sensitive_features=A, **asked)
    thin = ff.trace(sparse.csr_array(X), Y, pairs=ROWS, sensitive_features=A, **asked)
    np.testing.assert_allclose(dense.models.coef, thin.models.coef, rtol=1e-5, atol=1e-7)


def test_figures_of_pairs_are_those_by_hand_and_can_be_chosen_by(tmp_path: Path) -> None:
    front = ff.trace(X, Y, notion=[], pairs=OTHER, n_points=6, **KNOWN)
    front = front.evaluate(X, Y, sensitive_features=A, pairs=OTHER, approval_rate=0.4)
    for place, id in enumerate(front.ids):
        model = front.select(id=int(id))
        one, other = (model.predict_proba(side)[:, 1] for side in (X, OTHER))
        cut = front.operating().cutoffs[place]
        np.testing.assert_allclose(front.column("pair_difference")[place], np.abs(one - other).mean())
        np.testing.assert_allclose(front.column("pair_flips")[place], ((one >= cut) != (other >= cut)).mean())
    chosen = front.choose(at_most={"pair_flips": 0.05}, on="validation")
    assert front.column("pair_flips")[front.place(chosen)] <= 0.05
    front.save(tmp_path / "front")
    assert ff.load(tmp_path / "front").facts.notions == ("similar_pairs",)
    both = front.evaluate(X, Y, sensitive_features=A, pairs=ROWS, name="validation", cutoff=0.5)
    assert both.choose(least="pair_difference", within={"error": 0.05}) in front.ids


def test_first_order_solvers_aim_at_pairs_too() -> None:
    exact = ff.trace(X, Y, notion=[], pairs=OTHER, n_points=5, held_out=False, **KNOWN)
    front = ff.trace(X, Y, notion=[], pairs=OTHER, solver="pb_pdo", preferences=5, **KNOWN)
    curve = np.interp(front.gaps[:, 0], exact.gaps[::-1, 0], exact.loss[::-1])
    assert (front.loss <= curve + 1e-3).all()  # a chord of the exact front lies above it


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"pairs": [[0, N]]}, r"^pairs has row numbers 0 to 500, expected 0 to 499"),
        ({"pairs": np.zeros((0, 2), dtype=int)}, r"^pairs has row numbers none, expected"),
        ({"pairs": X[:-1]}, r"^pairs has shape \(499, 4\), expected"),
        ({"pairs": X}, r"^pairs has no two different rows, expected features that differ"),
        ({"pairs": ["a", "b"]}, r"^pairs has shape \(2,\)"),
        ({"pairs": ROWS, "estimator": LogisticRegression()}, r"^pairs is for linear models"),
        ({"pairs": ROWS, "units": "rates"}, r"^pairs is for linear models"),
        ({"notion": []}, r"^notion is empty, expected at least one notion, or pairs"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ff.InputError, match=said):
        ff.trace(X, Y, **KNOWN, **asked)


def test_estimators_take_pairs_at_fit() -> None:
    asked: dict[str, Any] = {"notion": [], "ridge": 1e-3}
    front = ff.trace(X, Y, pairs=OTHER, n_points=5, held_out=False, **KNOWN, **asked)
    cap = float(front.gaps[2, 0])
    one = ff.ParetoFairClassifier(max_loss_gap=cap, **asked).fit(X, Y, sensitive_features=A, pairs=OTHER)
    np.testing.assert_allclose(one.coef_, front.models.coef[2], rtol=1e-5, atol=1e-7)
    value = SCORE + np.random.default_rng(1).normal(size=N)
    far = ff.ParetoFairRegressor(notion=[]).fit(X, value, sensitive_features=A, pairs=ROWS)
    assert np.abs((X[ROWS[:, 0]] - X[ROWS[:, 1]]) @ far.coef_).max() < 0.01
    choose = {"least": "pair_flips", "within": {"error": 0.05}}
    many = ff.FrontierClassifier(validation_fraction=0.3, choose=choose, n_points=4, random_state=0, **asked)
    many.fit(X, Y, sensitive_features=A, pairs=OTHER)
    assert "pair_flips" in many.frontier_.record().columns
    with pytest.raises(ff.InputError, match=r"^pairs by row number cannot be split"):
        many.fit(X, Y, sensitive_features=A, pairs=ROWS)
    trees = ff.ParetoFairClassifier(estimator=LogisticRegression())
    with pytest.raises(ff.InputError, match=r"^pairs is for linear models"):
        trees.fit(X, Y, sensitive_features=A, pairs=OTHER)


def test_upper_ends_of_pairs_hold_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    front = ff.trace(X, Y, n_points=2, held_out=False, **KNOWN)
    many = rng.normal(size=(40_000, 4)) * [1.0, 20.0, 0.1, 1.0]
    turned = many + rng.normal(size=many.shape) * [1.0, 5.0, 0.1, 1.0]
    model = front.select(id=0)
    true = (model.predict(many) != model.predict(turned)).mean()
    apart = np.abs(model.predict_proba(many) - model.predict_proba(turned))[:, 1].mean()
    kept = np.zeros(2)
    for some in np.arange(40_000).reshape(200, 200):
        y = rng.integers(0, 2, 200)
        found = front.evaluate(many[some], y, sensitive_features=A[:200], pairs=turned[some])
        kept += [found.column("pair_flips_upper")[0] >= true, found.column("pair_difference_upper")[0] >= apart]
        assert found.record().figure("pair_flips", 0.95)[0] == found.column("pair_flips_upper")[0]
    assert (kept / 200 > 0.93).all()


def test_upper_ends_hold_where_a_few_people_are_in_most_pairs() -> None:
    rng = np.random.default_rng(5)
    front = ff.trace(X, Y, n_points=2, held_out=False, **KNOWN)
    model, unit, n = front.select(id=0), [1.0, 20.0, 0.1, 1.0], 200
    pairs = np.array([(i, j) for i in range(12) for j in range(12, n)])[rng.permutation(12 * (n - 12))]
    pairs[::2] = pairs[::2, ::-1]
    one, other = (model.predict_proba(rng.normal(size=(40_000, 4)) * unit)[:, 1] for _ in range(2))
    cut = float(np.quantile(one, 0.9))
    true, apart, kept = ((one >= cut) != (other >= cut)).mean(), np.abs(one - other).mean(), np.zeros(2)
    for _ in range(100):
        rows = rng.normal(size=(n, 4)) * unit
        found = front.evaluate(rows, rng.integers(0, 2, n), sensitive_features=A[:n], pairs=pairs, cutoff=cut)
        kept += [found.column("pair_flips_upper")[0] >= true, found.column("pair_difference_upper")[0] >= apart]
    assert (kept / 100 > 0.93).all()


def test_pairs_are_not_kept() -> None:
    front = ff.trace(X, Y, notion=[], pairs=ROWS, n_points=3, **KNOWN)
    with pytest.raises(ff.InputError, match=r"^this frontier was traced with pairs, which are not kept"):
        front.refine(X, Y, sensitive_features=A, between=(0, 1), n=2)
    with pytest.raises(ff.InputError, match=r"^pairs has 3 pairs, expected at least 10"):
        front.evaluate(X, Y, sensitive_features=A, pairs=ROWS[:3])
    with pytest.raises(ff.InputError, match=r"^pairs is for one score, found 3 classes"):
        ff.trace(X, Y + (SCORE > 1), pairs=ROWS, **KNOWN)


def test_a_shell_takes_a_column_of_pairs(tmp_path: Path) -> None:
    twins = np.repeat(RNG.normal(size=(600, 2)), 2, axis=0)
    men = np.tile([0, 1], 600)
    income = twins[:, 0] + 0.8 * men
    paid = (income + twins[:, 1] + RNG.logistic(size=1200) > 0).astype(int)
    known = {"income": income, "debt": twins[:, 1], "sex": np.where(men, "M", "F")}
    frame = pd.DataFrame({**known, "twin": np.repeat([f"t{i}" for i in range(600)], 2), "paid": paid})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    asked = ["trace", str(tmp_path / "rows.csv"), "--target", "paid", "--favourable", "1", "--groups", "sex"]
    said = fairfront(*asked, "--pairs", "twin", "--points", "4", "-o", tmp_path / "run")
    assert "pair flips: share of pairs that are decided differently." in said
    assert "error_gap" not in ff.load(tmp_path / "run").options()[0].figures  # pairs compare no errors of groups
    run = ff.load(tmp_path / "run")
    assert run.frontier.facts.notions == ("equal_opportunity", "similar_pairs")
    flips = run.frontier.column("pair_flips")
    assert flips[0] > flips[2]
    upper = float(run.frontier.column("pair_flips_upper")[2])
    rule = ["select", str(tmp_path / "run"), "--at-most", f"pair_flips={upper}", "-o", tmp_path / "capped"]
    assert f"pair_flips at most {upper:g} (95% upper bound)" in fairfront(*rule)
    fairfront("select", str(tmp_path / "run"), "--id", "2", "--by", "A. Smith", "-o", tmp_path / "model")
    card = json.loads((tmp_path / "model" / "card.json").read_text())
    told = {each["figure"]: each for each in card["parts"]["test"]["worst"] if each["attribute"] == "pairs"}
    assert set(told) == {"pair_difference", "pair_flips"}
    assert told["pair_flips"]["value"] < told["pair_flips"]["unconstrained"][0] < 1.0
    assert told["pair_flips"]["upper"] > told["pair_flips"]["value"]
    assert (
        "rows with the same value are people whose scores should be alike" in (tmp_path / "model/card.md").read_text()
    )
    fairfront("verify", str(tmp_path / "run"), str(tmp_path / "rows.csv"))
    refused = fairfront(*asked, "--pairs", "twin", "--units", "rates", "-o", tmp_path / "other", code=2)
    assert "--pairs is for linear models in losses" in refused
    refused = fairfront(*asked, "--pairs", "twim", "-o", tmp_path / "other", code=2)
    assert "--pairs names 'twim'" in refused
    refused = fairfront(*asked, "--strata", "each", "-o", tmp_path / "other", code=2)
    assert "--strata is for levels of --control, found none; name a column." in refused
    frame.assign(twin=np.arange(1200)).to_csv(tmp_path / "none.csv", index=False)
    refused = fairfront(
        "trace", str(tmp_path / "none.csv"), *asked[2:], "--pairs", "twin", "-o", tmp_path / "o", code=2
    )
    assert "--pairs has no two rows with the same value" in refused
