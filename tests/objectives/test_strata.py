"""Groups compared within strata: by hand, against SLSQP, pooled and each, small ones, evaluations, audits, a shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.objectives import NOTIONS, Within
from fairfront.problems import linear_problem
from tests.support.cli import command
from tests.support.extras import optional
from tests.support.optima import slsqp

pd = optional("pandas")

RNG = np.random.default_rng(5)
N = 1500
A = RNG.choice(["a", "b"], N)
S = np.where(RNG.random(N) < np.where(A == "a", 0.6, 0.3), "x", np.where(RNG.random(N) < 0.5, "y", "z"))
X = RNG.normal(size=(N, 3))
X[:, 0] += 0.5 * (A == "a")
X[:, 1] += S == "x"
Y = (RNG.random(N) < 1.0 / (1.0 + np.exp(-X[:, 0] - X[:, 1] + 0.5 * (A == "a")))).astype(int)
W = RNG.integers(1, 4, N).astype(float)
ROWS: dict[str, Any] = {"sensitive_features": A, "control_features": {"dep": S}, "progress": False}
BINARY = [name for name in NOTIONS if "binary" in NOTIONS[name].kinds]
CERTIFIED = ("equal_opportunity", "demographic_parity", "group_loss", "mean_score_parity", "score_covariance")


def laid_out(notion: str, strata: str, rows: Any = slice(None), weight: Any = None, **more: Any) -> Any:
    groups = Within.of(A[rows], {"dep": S[rows]})
    known = {
        "notion": notion,
        "groups": ff.Groups(strata=strata, reference="b"),
        "ridge": 1e-3,
        "sample_weight": weight,
        **more,
    }
    return linear_problem(X[rows], Y[rows], sensitive_features=groups, **known)


def by_hand(value: Any, kept: Any, weight: Any) -> tuple[dict[str, float], dict[str, float]]:
    gaps, sizes = {}, {}
    for s in np.unique(S):
        one, two = (kept & (s == S) & (g == A) for g in "ab")
        gaps[s] = np.average(value[one], weights=weight[one]) - np.average(value[two], weights=weight[two])
        n1, n0 = weight[one].sum(), weight[two].sum()
        sizes[s] = n1 * n0 / (n1 + n0)
    return gaps, sizes


@pytest.mark.parametrize("weight", [None, W])
def test_gaps_within_strata_are_those_by_hand(weight: Any) -> None:
    w = RNG.normal(size=4)
    score = X @ w[:3] + w[3]
    loss, known = np.logaddexp(0.0, -np.where(Y == 1, score, -score)), np.ones(N) if weight is None else weight
    gaps, sizes = by_hand(loss, Y == 1, known)
    pooled, each = (laid_out("equal_opportunity", how, weight=weight) for how in ("pooled", "each"))
    found = each.algebra.gaps(each.values(w.reshape(1, 1, -1)))[0]
    np.testing.assert_allclose(found, [gaps[s] for s in "xyz"])
    together = sum(gaps[s] * sizes[s] for s in "xyz") / sum(sizes.values())
    np.testing.assert_allclose(pooled.algebra.gaps(pooled.values(w.reshape(1, 1, -1)))[0], [together])
    assert each.algebra.names[1] == "a - b | y=1 | dep=x"
    assert pooled.algebra.names[1] == "a - b | y=1 | within dep"


@pytest.mark.parametrize("strata", ["pooled", "each"])
@pytest.mark.parametrize("notion", BINARY)
def test_every_notion_has_its_derivatives_and_takes_weights_as_repeated_rows(notion: str, strata: str) -> None:
    problem, w = laid_out(notion, strata, weight=W), 0.4 * RNG.normal(size=(1, 1, 4))
    point, h = problem.cells(w), 1e-6
    slopes = (problem.algebra.B @ point.D[0]).reshape(-1, 4)
    for j in range(4):
        step = h * (np.arange(4) == j)
        up, down = (problem.algebra.gaps(problem.values(w + sign * step))[0] for sign in (1, -1))
        np.testing.assert_allclose(slopes[:, j], (up - down) / (2 * h), rtol=1e-5, atol=1e-7)
    twice = laid_out(notion, strata, rows=np.repeat(np.arange(N), W.astype(int)))
    np.testing.assert_allclose(
        twice.algebra.gaps(twice.values(w)), problem.algebra.gaps(problem.values(w)), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("strata", ["pooled", "each"])
@pytest.mark.parametrize("notion", ["equal_opportunity", "demographic_parity", "group_loss", "mean_score_parity"])
def test_points_are_those_of_slsqp(notion: str, strata: str) -> None:
    front = ff.trace(X, Y, notion=notion, groups=ff.Groups(strata=strata), ridge=1e-3, n_points=4, **ROWS)
    problem = laid_out(notion, strata)
    reach = float(np.ptp(front.loss))
    assert front.kkt[front.solved].max() <= 1e-7
    assert front.certified[0] == (notion in CERTIFIED)
    for place in front.solved.tolist():
        cap = float(front.gaps[place, 0])
        found, left = slsqp(problem, cap, front.models.weights[place].reshape(-1))
        assert left < -1e-9 or found >= front.loss[place] - 1e-6 * max(reach, 1e-3 * front.loss[place])


def test_small_strata_are_reported_and_not_compared() -> None:
    few = np.where(np.arange(N) < 20, "rare", S)
    front = ff.trace(X, Y, sensitive_features=A, control_features={"dep": few}, n_points=2, progress=False)
    assert any(
        "in which fewer than two groups have 30 rows to compare are in no gap: rare." in s for s in front.sentences
    )
    each = ff.trace(X, Y, sensitive_features=A, control_features={"dep": few}, n_points=2, progress=False,
                    groups=ff.Groups(strata="each"))  # fmt: skip
    assert not any("rare" in name for name in each.objective_names)
    with pytest.raises(ff.InputError, match="no level of 'dep' has two groups with at least 30 rows to compare"):
        ff.trace(X, Y, sensitive_features=A, control_features={"dep": A}, n_points=2, progress=False)


def test_one_stratum_is_none() -> None:
    plain = ff.trace(X, Y, sensitive_features=A, n_points=3, progress=False)
    for strata in ("pooled", "each"):
        one = ff.trace(X, Y, sensitive_features=A, control_features=np.full(N, "all"), n_points=3, progress=False,
                       groups=ff.Groups(strata=strata))  # fmt: skip
        np.testing.assert_array_equal(one.models.coef, plain.models.coef)


def test_evaluations_have_gaps_within_strata_as_audits_do(tmp_path: Path) -> None:
    front = ff.trace(X, Y, n_points=3, **ROWS).evaluate(
        X, Y, sensitive_features=A, control_features={"dep": S}, name="validation"
    )
    decided = (front.models.scores(X)[:, 0] > 0).astype(int)
    for place in range(3):
        audit = ff.audit(Y, decided[place], sensitive_features={"group": A}, control_features={"dep": S}, favourable=1)
        for name in ("selection", "tpr", "fpr", "error"):
            expected = abs(audit.pooled["group"][f"{name}_gap"][0])
            np.testing.assert_allclose(front.column(f"{name}_within_gap")[place], expected, atol=1e-9)
            upper = max(abs(audit.pooled["group"][f"{name}_gap{end}"][0]) for end in ("_lower", "_upper"))
            found = front.record().figure(f"{name}_within_gap", 0.95)[place]
            np.testing.assert_allclose(found, upper, atol=1e-9)
    assert front.column("tpr_within_gap")[-1] < front.column("tpr_within_gap")[0]
    assert "tpr_within_gap" in front.record("held_out").columns
    assert front.choose(least="tpr_within_gap") == front.ids[-1]
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front")
    np.testing.assert_allclose(again.column("tpr_within_gap"), front.column("tpr_within_gap"), atol=6e-4)


def test_weighted_fits_and_predicted_values_take_strata() -> None:
    from sklearn.linear_model import LogisticRegression

    fits = ff.trace(X, Y, estimator=LogisticRegression(), solver=ff.Weighting(max_fits=4, cv="train"), **ROWS)
    assert fits.gaps[-1, 0] < fits.gaps[0, 0]
    value = X @ [0.5, 0.2, 0.1] + RNG.normal(size=N) + 0.3 * (A == "a")
    front = ff.trace(X, value, loss="squared", notion="demographic_parity", n_points=3, **ROWS)
    judged = front.evaluate(X, value, sensitive_features=A, control_features={"dep": S})
    assert judged.column("prediction_within_gap")[-1] < 1e-6


@pytest.mark.slow
def test_control_columns_in_a_shell(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["u", "v", "w"]).assign(paid=Y, sex=A, dep=S)
    file, run, model = tmp_path / "rows.csv", tmp_path / "run", tmp_path / "model"
    frame.to_csv(file, index=False)
    words = ["--target", "paid", "--favourable", "1", "--groups", "sex", "--control", "dep", "--points", "3"]
    for said in (
        command("trace", file, *words, "-o", run),
        command("evaluate", run, file, "--name", "again"),
        command("select", run, "--least-gap", "tpr_within", "-o", model),
    ):
        assert said.returncode == 0, said.stderr
    card = json.loads((model / "card.json").read_text())
    assert card["data"]["control"] == ["dep"]
    figures = {part: {each["figure"] for each in known["worst"]} for part, known in card["parts"].items()}
    assert all("tpr_within_gap" in known for known in figures.values())
    assert "Groups are compared within dep" in (model / "card.md").read_text()


def test_estimators_compare_within_strata() -> None:
    level = np.random.default_rng(9).integers(0, 3, len(Y))
    front = ff.trace(X, Y, sensitive_features=A, control_features=level, n_points=4, held_out=False, progress=False)
    known: dict[str, Any] = {"sensitive_features": A, "control_features": level}
    one = ff.ParetoFairClassifier(max_loss_gap=float(front.gaps[2, 0])).fit(X, Y, **known)
    np.testing.assert_allclose(one.coef_, front.models.coef[2], rtol=1e-5, atol=1e-7)
    many = ff.FrontierClassifier(n_points=4, validation_fraction=0.3, random_state=0).fit(X, Y, **known)
    assert "tpr_within_gap" in many.frontier_.record().columns
