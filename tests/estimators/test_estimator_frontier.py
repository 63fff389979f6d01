"""Frontiers of any estimator: weighted fits against the exact frontier, the search, and what reaches the learner."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge

import fairfront as ff
from fairfront.problems import estimator_problem, linear_problem
from fairfront.solvers import Weighting
from fairfront.solvers.cap_path import one_cap
from fairfront.solvers.newton import Newton
from fairfront.solvers.search import monotone, next_even, place, search
from fairfront.solvers.training import train
from tests.support.searches import searching, trace

EXACT = LogisticRegression(solver="newton-cholesky", tol=1e-12, max_iter=1000)


def draw(groups: int, n: int = 3000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows whose groups depend on features of their own, so that weights can move every group's loss."""
    rng = np.random.default_rng(seed)
    code = rng.choice(groups, n, p=np.array([6, 3, 4, 5, 2][:groups]) / sum([6, 3, 4, 5, 2][:groups]))
    X = rng.normal(size=(n, 6))
    X[np.arange(n), code] += 0.3
    strength = np.array([3.0, 1.2, 2.0, 0.6, 1.5])[code]
    y = (strength * X[np.arange(n), code] + 0.5 * X[:, 5] + rng.logistic(size=n) > 0).astype(int)
    return X, y, np.array(list("abcde"))[code]


def on_training_rows(X, y, group, model, **options):
    """Return the ridge loss and the worst gap of a fitted logistic model, by the linear problem."""
    problem = linear_problem(X, y, sensitive_features=group, **options)
    L = problem.values(np.append(model.coef_, model.intercept_)[None, None])
    return float(problem.algebra.loss(L)[0]), float(problem.algebra.worst(L)[0, 0])


@pytest.mark.parametrize(
    ("groups", "notion", "fits"),
    [(2, "equal_opportunity", 8), (2, "disparate_mistreatment", 6), (3, "equal_opportunity", 12)],
)
def test_weighted_fits_are_newtons_frontier(groups: int, notion: str, fits: int) -> None:
    X, y, group = draw(groups)
    front = trace(X, y, sensitive_features=group, notion=notion, estimator=EXACT, cv="train", max_fits=fits)
    problem = linear_problem(X, y, sensitive_features=group, notion=notion)
    for place_ in range(len(front)):
        model = front.models.build(place_)
        loss, gap = on_training_rows(X, y, group, model, notion=notion)
        assert gap == pytest.approx(front.gaps[place_, 0], abs=1e-6)
        if front.signed_gaps[0, 0] * front.signed_gaps[place_, 0] > 0 or groups > 2:
            best = ff.solve(problem, "newton", max_gap=gap)
            assert loss <= best.objectives[0, 0] + (1e-6 if groups == 2 else 1e-3)
            assert loss >= best.objectives[0, 0] - 1e-7
    assert front.gaps[:, 0].min() < 0.1 * front.gaps[0, 0]


def test_five_groups_take_few_fits_and_stay_on_the_front() -> None:
    X, y, group = draw(5, 5000)
    front = trace(X, y, sensitive_features=group, estimator=EXACT, cv="train", max_fits=40)
    exact = ff.trace(X, y, sensitive_features=group, n_points=20)
    measured = np.array([on_training_rows(X, y, group, front.models.build(i)) for i in range(len(front))])
    order = np.argsort(exact.gaps[:, 0])
    at_gap = np.interp(measured[:, 1], exact.gaps[order, 0], exact.loss[order])
    assert ((measured[:, 0] - at_gap) / np.ptp(exact.loss)).max() < 0.05
    assert front.gaps.min() < 0.02 * front.gaps.max()
    assert len(front) >= 8
    assert front.multipliers.shape == (len(front), 5)  # per group: pairs are not unique


def test_multipliers_are_newtons() -> None:
    X, y, group = draw(2)
    front = trace(X, y, sensitive_features=group, estimator=EXACT, cv="train", max_fits=4)
    problem = linear_problem(X, y, sensitive_features=group)

    solver, plain = train(problem.framed(), Newton().tolerances)
    _, gap = on_training_rows(X, y, group, front.models.build(1))
    point = one_cap(solver, plain, np.array([gap]))
    assert point.solution.multipliers[0] == pytest.approx(front.multipliers[1, 0], rel=1e-4)


@pytest.mark.parametrize(("groups", "fits"), [(2, 6), (3, 12)])
def test_a_cap_is_met_in_few_fits(groups: int, fits: int) -> None:
    X, y, group = draw(groups)
    plain = linear_problem(X, y, sensitive_features=group)
    _, top = on_training_rows(X, y, group, EXACT.fit(X, y))
    model = ff.ParetoFairClassifier(**searching(estimator=EXACT, cv="train", max_loss_gap=0.4 * top, max_fits=fits))
    model.fit(X, y, sensitive_features=group)
    _, gap = on_training_rows(X, y, group, model.model_)
    assert gap == pytest.approx(0.4 * top, abs=0.025 * top)
    assert model.n_iter_ <= fits
    assert model.status_ is ff.Status.WEIGHTED
    assert np.abs(model.loss_gaps_).max() == pytest.approx(gap, abs=1e-6)
    best = ff.solve(plain, "newton", max_gap=gap).objectives[0, 0]
    assert on_training_rows(X, y, group, model.model_)[0] == pytest.approx(best, abs=1e-4)


def test_a_cap_that_plain_training_meets_costs_one_weighting() -> None:
    X, y, group = draw(2)
    model = ff.ParetoFairClassifier(**searching(estimator=EXACT, cv="train", max_loss_gap=5.0))
    model.fit(X, y, sensitive_features=group)
    assert model.n_iter_ == 1
    assert np.allclose(model.model_.coef_, EXACT.fit(X, y).coef_, atol=1e-6)


def test_gaps_come_out_evenly_spaced() -> None:
    X, y, group = draw(2)
    front = trace(X, y, sensitive_features=group, estimator=EXACT, cv="train", max_fits=12)
    signed = front.signed_gaps[:, 0] * np.sign(front.signed_gaps[0, 0])
    steps = -np.diff(signed)
    assert (steps > 0).all()
    assert steps.max() < 2.5 * np.ptp(signed) / len(steps)
    assert signed[-1] < 0 < signed[0]


def test_secant_steps_stay_inside_their_bracket_whatever_the_noise() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        times = [0.0, *np.sort(rng.uniform(0.01, 1.0, 5))]
        sizes = [1.0, *(1.0 - np.array(times[1:]) + rng.normal(scale=0.3, size=5))]
        t, z = monotone(times, sizes)
        assert (np.diff(z) <= 1e-12).all()
        goal = rng.uniform(z[-1], z[0])
        found = place(times, sizes, float(goal))
        assert 0.0 < found < t[-1] * 4.0 + 1e-9
        after = next_even(times, sizes, -0.1, 3)
        assert after is None or 0.0 < after < t[-1] or after <= 4.0 * t[-1]


def test_fits_are_used_up_where_noise_fills_the_holes() -> None:
    rng, widest = np.random.default_rng(1), []
    for _ in range(50):
        times, sizes = [0.0, 1.0], [0.1, -0.02]
        while len(times) < 12:
            t = next_even(times, sizes, -0.015, 12 - len(times), 0.6)
            assert t is not None
            times.append(t)
            sizes.append(0.1 - 0.12 * t + rng.normal(scale=0.03))
        steps = np.diff(np.sort(times))
        assert steps.min() > 0.005
        widest.append(steps.max())
    assert np.median(widest) < 0.35


@pytest.mark.slow
def test_the_search_takes_a_noisy_learner() -> None:
    X, y, group = draw(2)
    forest = RandomForestClassifier(30, min_samples_leaf=10)
    front = trace(X, y, sensitive_features=group, estimator=forest, max_fits=5, cv=2, random_state=3)
    again = trace(X, y, sensitive_features=group, estimator=forest, max_fits=5, cv=2, random_state=3)
    assert np.array_equal(front.gaps, again.gaps)
    assert set(front.status) == {ff.Status.WEIGHTED}
    assert not front.certified.any()
    assert front.gaps.min() < front.gaps[0, 0]
    assert isinstance(front.select(knee=True), RandomForestClassifier)
    assert (front.models.build(0).predict(X) == again.models.build(0).predict(X)).all()


@pytest.mark.slow
def test_scores_decide_as_the_models_do() -> None:
    X, y, group = draw(2, 800)
    learner = HistGradientBoostingClassifier(max_iter=10)
    front = trace(X, y, sensitive_features=group, estimator=learner, max_fits=3, cv=0.3)
    scores = front.models.scores(X)
    assert scores.shape == (3, 1, 800)
    for place_ in range(3):
        assert ((scores[place_, 0] > 0) == (front.models.build(place_).predict(X) == 1)).all()
    seen = front.evaluate(X, y, sensitive_features=group)
    assert seen.column("error").shape == (3,)
    assert "held-out" in front.facts.sentences[1]


def test_rates_of_held_out_decisions_can_be_driven() -> None:
    X, y, group = draw(2)
    front = trace(X, y, sensitive_features=group, estimator=EXACT, criterion="rate_gap", cv="train", max_fits=8)
    model = front.models.build(0)
    decided = model.predict(X)
    rates = [decided[(group == g) & (y == 1)].mean() for g in "ba"]
    assert front.signed_gaps[0, 0] == pytest.approx(rates[0] - rates[1])
    assert front.gaps.min() < 0.2 * front.gaps[0, 0]
    assert front.facts.unit == "rate gap"
    assert front.column("rate_gap").shape == (len(front),)


def test_regression_and_its_mean_prediction_are_exact() -> None:
    rng = np.random.default_rng(0)
    n = 1500
    group = np.where(rng.random(n) < 0.4, "b", "a")
    X = rng.normal(size=(n, 3)) + 0.5 * (group == "a")[:, None]
    y = X @ [1.0, -0.5, 0.3] + (1.0 + (group == "b")) * rng.normal(size=n)
    options = {"sensitive_features": group, "notion": "demographic_parity"}
    front = trace(X, y, estimator=Ridge(alpha=1.0), cv="train", max_fits=6, **options)
    problem = linear_problem(X, y, loss="squared", **options)
    for place_ in range(len(front)):
        model = front.models.build(place_)
        L = problem.values(np.append(model.coef_, model.intercept_)[None, None])
        gap = abs(float(problem.algebra.gaps(L)[0, 0]))
        best = ff.solve(problem, "newton", max_gap=gap).objectives[0, 0]
        assert problem.algebra.gaps(L)[0, 0] == pytest.approx(front.signed_gaps[place_, 0], abs=1e-8)
        if front.signed_gaps[place_, 0] * front.signed_gaps[0, 0] > 0:
            assert problem.algebra.loss(L)[0] == pytest.approx(best, abs=1e-6)
    assert not front.facts.heuristic
    assert front.gaps.min() < 0.2 * front.gaps[0, 0]


def test_group_probabilities_and_weights_reach_the_fit() -> None:
    X, y, group = draw(2, 1200)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, len(y))
    shares = np.column_stack([group == "a", group == "b"]).astype(float)
    hard = estimator_problem(X, y, estimator=EXACT, sensitive_features=group, sample_weight=weight, cv="train")
    soft = estimator_problem(
        X, y, estimator=EXACT, cv="train", sample_weight=weight,
        sensitive_features=ff.GroupProbabilities(shares, levels=["a", "b"]), groups=ff.Groups(reference="a"),
    )  # fmt: skip
    for lam in (np.zeros(1), np.array([0.05])):
        first, second = hard.read(lam), soft.read(lam)
        assert first.loss == pytest.approx(second.loss, abs=1e-8)
        assert first.gaps == pytest.approx(second.gaps, abs=1e-8)
    doubled = np.where(weight > 1.2, weight, 0.0)
    kept = doubled > 0
    zeros = estimator_problem(X, y, estimator=EXACT, sensitive_features=group, sample_weight=doubled, cv="train")
    without = estimator_problem(
        X[kept], y[kept], estimator=EXACT, sensitive_features=group[kept], sample_weight=doubled[kept], cv="train"
    )
    assert zeros.read(np.zeros(1)).loss == pytest.approx(without.read(np.zeros(1)).loss, abs=1e-9)


def test_searching_stops_at_the_number_of_fits() -> None:
    X, y, group = draw(3, 900)
    problem = estimator_problem(X, y, estimator=EXACT, sensitive_features=group, cv="train")
    for most in (2, 3, 7):
        assert len(search(problem, Weighting(max_fits=most), problem.read)) <= most


def test_weights_of_rows_stand_for_no_notion_of_scores() -> None:
    X, y, group = draw(2, n=300)
    with pytest.raises(ff.InputError, match="is made of shares of decisions, expected one of losses"):
        ff.trace(X, y, sensitive_features=group, notion="mean_score_parity", estimator=EXACT, progress=False)
