"""Refutations hold: no optimiser finds a model below the bound, one is just above it, and nothing more is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.improvability.refutation import SLACK, LinearLoss, further_draws, refute


def problem(seed: int, n: int = 300, ridge: float | None = None, weighted: bool = False) -> LinearLoss:
    random = np.random.default_rng(seed)
    group = random.integers(0, 2, n)
    X = random.normal(size=(n, 4)) + 0.6 * group[:, None] * np.array([1.0, 0.0, -1.0, 0.5])
    sign = np.where(X @ [1.0, -1.0, 0.5, 0.0] + random.logistic(size=n) > 0, 1.0, -1.0)
    weight = random.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    good = sign > 0
    known = (good & (group == 1), good & (group == 0))
    return LinearLoss(X, sign, weight / weight.sum(), 1.0 / n if ridge is None else ridge, *known)


def test_the_least_loss_is_that_of_scikit_learn() -> None:
    data = problem(0)
    model = LogisticRegression(tol=1e-10, max_iter=1000).fit(data.X, data.sign)
    w = np.append(model.coef_[0], model.intercept_)
    least, _ = refute(data, np.array([]))
    assert least == pytest.approx(data.value(w, data.weights(0.0)), abs=1e-9)
    assert data.dual(w, data.weights(0.0)) <= least + 1e-15


@pytest.mark.parametrize(("seed", "weighted"), [(0, False), (1, True), (2, False), (3, True)])
def test_no_optimiser_goes_below_a_bound_and_one_comes_to_it(seed: int, weighted: bool) -> None:
    """SLSQP minimises the gap among models within the loss, from many starts."""
    data = problem(seed, weighted=weighted)
    _, bounds = refute(data, np.array([0.001, 0.005, 0.01]))
    start = data.minimise(data.weights(0.0), np.zeros(5))
    side, random = np.sign(data.gap(start)), np.random.default_rng(seed)
    for bound in bounds:
        within = {"type": "ineq", "fun": lambda w, goal=bound.loss: goal - data.value(w, data.weights(0.0))}
        found = []
        for _ in range(8):
            first = start + 0.1 * random.normal(size=5)
            done = minimize(lambda w: side * data.gap(w), first, constraints=within, method="SLSQP", tol=1e-12)
            if within["fun"](done.x) >= -1e-8:  # type: ignore[operator]
                found.append(float(done.fun))
        if bound.shown:
            assert bound.reached - bound.gap <= SLACK
            assert min(found) >= bound.gap - 1e-5
            assert min(found) <= bound.gap + 1e-4
    assert bounds[0].shown


def test_a_dual_value_is_below_every_lagrangian() -> None:
    data, random = problem(4), np.random.default_rng(0)
    for multiplier in np.linspace(data.furthest(-1.0), data.furthest(1.0), 7):
        weight = data.weights(multiplier)
        assert (weight >= 0).all()
        best = data.minimise(weight, np.zeros(5))
        for w in (best, best + random.normal(size=5), random.normal(size=5)):
            assert data.dual(w, weight) <= data.value(best, weight) + 1e-12
        assert data.value(best, weight) - data.dual(best, weight) < 1e-9


def test_what_is_not_shown_is_not_claimed() -> None:
    data = problem(0)
    least, (far, below) = refute(data, np.array([5.0]), target=0.1)
    assert not far.shown
    assert below.shown  # no model at all has so small a loss
    assert below.gap == np.inf
    assert least > 0.1


def test_the_stopping_bound_holds() -> None:
    """Of draws from a law on [0, 1] the mass below the best is known; a bound at 95 % fails in 5 % of runs."""
    random, failed, gains = np.random.default_rng(0), 0, []
    for _ in range(4000):
        values = random.random(20)
        chance, gain = further_draws(values)
        failed += values.min() > chance
        gains.append(values.min() ** 2 / 2 <= gain)  # the expected gain of one more draw
    assert failed / 4000 == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 4000))
    assert np.mean(gains) >= 0.95


def test_a_search_that_finds_nothing_says_what_was_shown(tmp_path: Any) -> None:
    random = np.random.default_rng(0)
    group = random.integers(0, 2, 1200)
    X = random.normal(size=(1200, 3)) + 0.4 * group[:, None]
    y = (X @ [1.0, 0.5, -0.3] + random.logistic(size=1200) > 0).astype(int)
    best = 1 / (1 + np.exp(-X @ [1.0, 0.5, -0.3]))
    known: dict[str, Any] = {"sensitive_features": {"g": group}, "progress": False, "n_splits": 3, "limit": False}
    search = ff.alternatives(X, y, incumbent=best, keep={"auc": 0.0}, families=["linear", "settings"], **known)
    assert search.p_value > 0.05
    found, further = search.record["refutation"], search.record["further"]
    assert any(line["shown"] for line in found["lines"])
    assert further["chance"] == pytest.approx(1 - 0.05 ** (1 / further["draws"]), abs=1e-4)
    text = (search.save(tmp_path / "found") / "dossier.md").read_text()
    assert "No linear model on these columns has" in text
    assert "What further random draws could find" in text
    none = ff.alternatives(X, y, incumbent=best, keep={"auc": 0.0}, families="linear", improve="selection_gap", **known)
    assert "no loss gap with a convex Lagrangian stands for selection" in none.record["refutation"]["why_not"]
    assert none.record["further"] is None
