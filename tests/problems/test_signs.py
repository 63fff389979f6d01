"""Signs of coefficients: against SLSQP with bounds, left-out rows; learners, estimators, a shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.frontier.held_out import HELD_OUT
from fairfront.problems import linear_problem
from fairfront.solvers.leave_one_out import LeaveOneOut
from tests.support.cli import fairfront
from tests.support.extras import optional
from tests.support.optima import slsqp
from tests.support.points import point_solver, solve_caps, trained

pd = optional("pandas")

EXCESS = 1e-6  # of the range of losses, over an independent optimum
RNG = np.random.default_rng(5)
N = 700
A = RNG.choice(["a", "b"], N)
X = RNG.normal(size=(N, 5)) * [1.0, 10.0, 0.1, 1.0, 1.0]
X[:, 0] += 0.7 * (A == "a")
SCORE = X @ [0.6, 0.05, -2.0, 0.4, -0.3] + 0.3 * (A == "b")
Y = (SCORE + RNG.logistic(size=N) > 0).astype(int)
SIGNS = {2: "-", 3: "-", 4: "+"}
FRAME = pd.DataFrame(X, columns=["age", "debt", "late", "income", "term"])


def motor() -> tuple[Any, Any, dict[str, Any]]:
    y = RNG.poisson(np.exp(0.3 * X[:, 0] - 0.4 * X[:, 3] - 1.0))
    return X, y, {"loss": "poisson", "notion": "disparate_mistreatment", "sensitive_features": A, "ridge": 1e-3}


def loans() -> tuple[Any, Any, dict[str, Any]]:
    return X, Y, {"notion": "equal_opportunity", "sensitive_features": A, "ridge": 1e-3}


def values() -> tuple[Any, Any, dict[str, Any]]:
    three = np.where(RNG.random(N) < 0.3, "c", A)
    y = SCORE + RNG.normal(size=N)
    return X, y, {"loss": "squared", "notion": "demographic_parity", "sensitive_features": three, "ridge": 1e-3}


def bounds_of(signs: dict[int, str], d: int) -> list[tuple[float | None, float | None]]:
    found = {"+": (0.0, None), "-": (None, 0.0)}
    return [found[signs[j]] if j in signs else (None, None) for j in range(d)]


def kept(front: ff.Frontier) -> None:
    coef = front.models.coef[:, 0]
    for place, sign in SIGNS.items():
        assert ((coef[:, place] if sign == "+" else -coef[:, place]) >= 0.0).all()
    assert (coef[:, list(SIGNS)] == 0.0).any()  # some bound holds exactly


@pytest.mark.parametrize("case", [loans, values, motor])
def test_points_are_those_of_slsqp_with_bounds(case: Any) -> None:
    rows, y, known = case()
    front = ff.trace(rows, y, signs=SIGNS, n_points=5, progress=False, held_out=False, **known)
    free = ff.trace(rows, y, n_points=5, progress=False, held_out=False, **known)
    problem = linear_problem(rows, y, **known)  # without signs: bounds are SLSQP's own
    scale = np.append(X.std(axis=0), 1.0)
    kept(front)
    assert front.certified[:2].all()
    assert front.loss[0] > free.loss[0]
    span = float(front.loss.max() - front.loss.min())
    for place in range(len(front)):
        starts = (np.zeros(6), front.models.weights[0, 0])
        known_bounds: dict[str, Any] = {"scale": scale, "bounds": bounds_of(SIGNS, 6)}
        found = [slsqp(problem, float(front.gaps[place, 0]), start, **known_bounds) for start in starts]
        fits = [loss for loss, left in found if left > -1e-9]
        assert fits
        assert front.loss[place] - min(fits) <= EXCESS * span


def test_multipliers_of_bounds_are_verified() -> None:
    """The gradient of a certified Lagrangian is that of its bounds: of the right sign, and 0 where they are slack."""
    rows, y, known = loans()
    problem = linear_problem(rows, y, **known, signs=SIGNS).framed()
    newton = ff.Newton()
    solver, plain = point_solver(newton, problem), trained(newton, problem)
    point = solve_caps(solver, plain, np.array([0.05]))
    omega = problem.algebra.p + point.multipliers[:1] @ problem.algebra.B
    gradient = omega @ point.G
    signs, places = problem.terms.signs, problem.terms.places
    np.testing.assert_allclose(signs * gradient[places], point.multipliers[1:], atol=1e-9)
    assert (point.multipliers[1:] >= 0.0).all()
    assert (point.multipliers[1:] * point.W[0, places] == 0.0).all()
    others = np.setdiff1d(np.arange(problem.d), places)
    assert np.abs(gradient[others]).max() < 1e-9
    assert point.certified


def test_signs_that_hold_anyway_change_nothing() -> None:
    rows, y, known = loans()
    plain = ff.trace(rows, y, n_points=4, progress=False, **known)
    agreed = {j: "+" if (plain.models.coef[:, 0, j] > 0).all() else "-" for j in (2, 3)}
    bound = ff.trace(rows, y, n_points=4, progress=False, signs=agreed, **known)
    np.testing.assert_allclose(bound.models.coef, plain.models.coef, atol=1e-6)
    for name in ("error", "tpr_gap"):
        one, two = (each.evaluations[HELD_OUT].figure(name) for each in (plain, bound))
        np.testing.assert_allclose(one, two, atol=1e-9)


def test_signs_are_of_the_favourable_label() -> None:
    names = np.where(Y == 1, "granted", "refused")  # granted is the first of the classes
    front = ff.trace(
        FRAME, names, favourable="granted", sensitive_features=A, signs={"income": "-"}, n_points=3, progress=False
    )
    other = ff.trace(X, Y, sensitive_features=A, signs={3: "-"}, n_points=3, progress=False)
    np.testing.assert_allclose(front.models.coef, -other.models.coef, atol=1e-7)
    assert (front.models.coef[:, 0, 3] == 0.0).all()  # more income is better here, so that the bound binds


def test_left_out_rows_are_those_of_points_solved_without_them() -> None:
    rows, y, known = loans()
    some = slice(0, 200)
    known = known | {"sensitive_features": A[some], "notion": "demographic_parity", "surrogate": "loss"}
    fixed = {**known, "signs": SIGNS}
    problem = linear_problem(rows[some], y[some], **fixed)
    newton = ff.Newton()
    front = ff.trace(rows[some], y[some], signs=SIGNS, n_points=4, progress=False, held_out=False, **known)
    work = problem.framed()
    solver, plain = point_solver(newton, work), trained(newton, work)
    caps = front.gaps[2]
    point = solve_caps(solver, plain, caps)
    assert point.certified
    assert (point.multipliers[1:] > 0).any()
    left = LeaveOneOut(work, solver.constraints).scores(point.W[None], point.multipliers[None])
    assert not left.rough.any()
    inner = np.empty(200)
    moved, error = [], []
    for row in range(0, 200, 10):
        weight = np.ones(200)
        weight[row] = 1e-12
        twin = linear_problem(rows[some], y[some], sample_weight=weight, **fixed).framed()
        found = solve_caps(point_solver(newton, twin), trained(newton, twin), caps)
        w = twin.to_user(found.W[None])[0, 0]
        inner[row] = rows[row] @ w[:-1] + w[-1]
        user = work.to_user(point.W[None])[0, 0]
        moved.append(inner[row] - (rows[row] @ user[:-1] + user[-1]))
        error.append(inner[row] - left.scores[0, 0, row])
    assert np.sqrt(np.mean(np.square(error))) < 0.1 * np.sqrt(np.mean(np.square(moved)))


def test_folds_keep_their_signs() -> None:
    known: dict[str, Any] = {"sensitive_features": A, "n_points": 3, "progress": False, "held_out": True}
    front = ff.trace(X, Y, signs=SIGNS, loss="hinge", ridge=1e-2, **known)
    record = front.evaluations[HELD_OUT]
    assert record.made == "5 folds"
    assert np.isfinite(record.figure("error")).all()
    kept(front)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_other_losses_keep_signs(loss: str) -> None:
    front = ff.trace(X, Y, loss=loss, sensitive_features=A, signs=SIGNS, n_points=3, progress=False, ridge=1e-2)
    kept(front)
    assert front.certified[0]


def test_frontiers_with_signs_are_kept(tmp_path: Path) -> None:
    known: dict[str, Any] = {"sensitive_features": A}
    front = ff.trace(FRAME, Y, signs={"age": "-", "income": "+"}, n_points=4, progress=False, **known)
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front")
    np.testing.assert_array_equal(again.models.coef, front.models.coef)


def test_estimators_take_signs_by_name() -> None:
    model = ff.ParetoFairClassifier(signs={"age": "-", "income": "+"}, max_loss_gap=0.05)
    model.fit(FRAME, Y, sensitive_features=A)
    assert model.coef_[0, 0] == 0.0
    assert model.coef_[0, 3] >= 0.0
    several = ff.FrontierClassifier(signs={"age": "-"}, n_points=4).fit(FRAME, Y, sensitive_features=A)
    assert several.coef_[0, 0] == 0.0


def rising(model: Any, column: int) -> None:
    """See that the probability of the label 0 never falls where one feature of some people grows."""
    rows = np.repeat(X[:20], 9, axis=0)
    rows[:, column] = np.tile(np.linspace(-2, 2, 9), 20)
    good = model.predict_proba(pd.DataFrame(rows, columns=FRAME.columns))[:, 0].reshape(20, 9)
    assert (np.diff(good, axis=1) >= -1e-6).all()  # XGBoost's are of single precision
    assert np.ptp(good) > 0.01


def test_learners_with_a_setting_of_their_own_get_signs() -> None:
    trees = HistGradientBoostingClassifier(max_iter=15, random_state=0)
    front = ff.trace(
        FRAME,
        np.where(Y == 1, "granted", "refused"),
        favourable="granted",
        sensitive_features=A,
        estimator=trees,
        signs={"income": "+"},
        solver=ff.Weighting(max_fits=3),
        progress=False,
    )
    model = front.select(id=0)
    assert list(model.monotonic_cst) == [0, 0, 0, -1, 0]
    assert trees.monotonic_cst is None
    rising(model, 3)


@pytest.mark.parametrize(
    ("package", "name", "options"),
    [
        ("lightgbm", "LGBMClassifier", {"n_estimators": 15, "verbose": -1}),
        ("xgboost", "XGBClassifier", {"n_estimators": 15}),
        ("catboost", "CatBoostClassifier", {"n_estimators": 15, "verbose": False, "allow_writing_files": False}),
    ],
)
def test_signs_are_passed_on_to_boosted_trees_of_other_packages(package: str, name: str, options: Any) -> None:
    learner = getattr(optional(package), name)(**options)
    asked: dict[str, Any] = {"favourable": 0, "sensitive_features": A, "solver": ff.Weighting(max_fits=3)}
    front = ff.trace(FRAME, Y, estimator=learner, signs={"income": "+"}, progress=False, **asked)
    for id in front.ids:
        rising(front.select(id=int(id)), 3)
    own = learner.set_params(monotone_constraints=(1, 0, 0, 0, 0))
    with pytest.raises(ff.InputError, match=f"^{name} has monotone_constraints=.* already, expected none beside signs"):
        ff.trace(FRAME, Y, estimator=own, signs={"income": "+"}, progress=False, **asked)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"signs": {9: "+"}}, r"^signs has 9, expected names or places"),
        ({"signs": {"pay": "+"}}, r"^signs names 'pay', .* found columns without names\.$"),
        ({"signs": {0: 1}}, r"^signs has 1 for 0, expected '\+' or '-'\.$"),
        ({"signs": {}}, r"^signs is \{\}, expected names"),
        ({"signs": {0: "+"}, "solver": "pb_pdo"}, r"^signs needs solver='newton', found 'pb_pdo'"),
        ({"signs": {0: "+"}, "units": "rates"}, r"^signs is for units of losses, found rates"),
        ({"signs": {0: "+"}, "estimator": LogisticRegression()}, r"^signs needs a linear model or a learner with"),
        (
            {"signs": {0: "+"}, "estimator": HistGradientBoostingClassifier(monotonic_cst=[1, 0, 0, 0, 0])},
            r"^HistGradientBoostingClassifier has monotonic_cst=\[1, 0, 0, 0, 0\] already",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(ff.InputError, match=said):
        ff.trace(X, Y, sensitive_features=A, progress=False, **asked)


def test_several_classes_have_no_signs() -> None:
    with pytest.raises(ff.InputError, match=r"^signs is for one score, found 3 classes"):
        ff.trace(X, Y + (X[:, 1] > 12), sensitive_features=A, signs={0: "+"}, progress=False)


def test_a_shell_and_a_card_say_what_is_bound(tmp_path: Path) -> None:
    FRAME.assign(sex=A, kind=RNG.choice(["x", "y"], N), paid=Y).to_csv(tmp_path / "rows.csv", index=False)
    asked = ["trace", str(tmp_path / "rows.csv"), "--target", "paid", "--favourable", "1", "--groups", "sex"]
    fairfront(*asked, "--monotone", "age=-", "--monotone", "income=+", "-o", tmp_path / "run")
    run = ff.load(tmp_path / "run")
    names = list(run.frontier.models.feature_names)
    assert (run.frontier.models.coef[:, 0, names.index("age")] <= 0.0).all()
    assert (run.frontier.models.coef[:, 0, names.index("income")] >= 0.0).all()
    kept = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert kept["settings"]["signs"] == [["age", "-"], ["income", "+"]]
    for wrong, said in (("kind=+", "a column of numbers"), ("age", "such as income=+"), ("pay=+", "pay")):
        refused = fairfront(*asked, "--monotone", wrong, "-o", tmp_path / "other", code=2)
        assert said in refused
        assert "--monotone" in refused
