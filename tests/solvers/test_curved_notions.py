"""Points of notions that compare curves: against SLSQP, by every solver, and never certified."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.objectives import NOTIONS
from fairfront.objectives.rate_notions import SelectionRatio
from fairfront.problems import linear_problem
from tests.objectives.test_curves import CURVED
from tests.support.optima import slsqp

SETS = ("two groups", "three groups", "weighted")


def data(which: str) -> dict[str, Any]:
    """Return rows on which plain training has gaps of every kind."""
    rng = np.random.default_rng(SETS.index(which))
    n, shares = 500, [0.4, 0.6] if which == "two groups" else [0.25, 0.3, 0.45]
    group = rng.choice(np.array(["a", "b", "c"])[: len(shares)], n, p=shares)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.2 * (group == "a")
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n) > 0.3).astype(int)
    weight = rng.uniform(0.5, 2.0, n) if which == "weighted" else None
    return {"X": X, "y": y, "sensitive_features": group, "sample_weight": weight}


@pytest.mark.filterwarnings("ignore:4 points were asked for")  # AUCs across three groups cannot all be equal here
@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("name", CURVED)
def test_points_are_those_of_slsqp_and_never_certified(name: str, which: str) -> None:
    given = data(which)
    front = ff.trace(**given, notion=name, n_points=4, ridge=0.01, progress=False)
    assert not front.certified.any()
    assert name == "cross_auc_parity" or all(status.solved for status in front.status)
    assert len(front.solved) > 1 or np.ptp(front.gaps) == 0.0
    assert front.kkt[front.solved].max() <= 1e-7
    problem = linear_problem(**given, notion=name, ridge=0.01)
    reach = float(np.ptp(front.loss))
    for place in front.solved.tolist():
        cap, w0 = float(front.gaps[place, 0]), front.models.weights[place].reshape(-1)
        found, left = slsqp(problem, cap, w0)
        assert left < -1e-9 or found >= front.loss[place] - 1e-6 * max(reach, 1e-3)


@pytest.mark.parametrize("name", CURVED)
def test_first_order_solvers_end_on_the_same_front(name: str) -> None:
    given = data("two groups")
    exact = ff.trace(**given, notion=name, n_points=4, ridge=0.01, progress=False)
    if np.ptp(exact.gaps) < 1e-6:
        pytest.skip("plain training meets the notion")
    slid = ff.trace(**given, notion=name, solver=ff.PBPDO(polish=True), preferences=4, ridge=0.01, progress=False)
    ends = [i for i, status in enumerate(slid.status) if status.name == "EFFICIENT"]
    assert len(ends) >= 3
    for i in ends:
        nearest = np.interp(-slid.gaps[i, 0], -exact.gaps[:, 0], exact.loss)
        assert slid.loss[i] <= nearest + 0.1 * np.ptp(exact.loss) + 1e-6
    down = ff.trace(**given, notion=name, solver="pdo", ridge=0.01, random_state=0, progress=False)
    assert np.isfinite(down.objectives).all()


def test_a_ratio_is_what_was_asked_for_at_a_gap_of_zero() -> None:
    given = data("three groups")
    front = ff.trace(**given, notion=SelectionRatio(at_least=0.9), n_points=4, progress=False)
    assert front.facts.unit == "log ratio gap"
    assert front.gaps[-1, 0] <= 1e-8
    w = front.models.weights[-1, 0]
    p = 1.0 / (1.0 + np.exp(-(given["X"] @ w[:-1] + w[-1])))
    rates = [p[given["sensitive_features"] == g].mean() for g in "abc"]
    np.testing.assert_allclose(min(rates) / max(rates), 0.9, atol=1e-7)


def test_what_curves_cannot_be_asked_is_refused() -> None:
    given = data("two groups")
    with pytest.raises(ff.InputError, match="expected one of losses, which weights of rows stand for"):
        ff.trace(**given, notion="predictive_parity", estimator=LogisticRegression(), progress=False)
    with pytest.raises(ff.InputError, match="compares functions of averages, expected one of losses"):
        ff.trace(**given, notion="auc_parity", estimator=LogisticRegression(), progress=False)
    with pytest.raises(ff.InputError, match="no_group_worse needs averages of groups, found predictive_parity"):
        ff.trace(**given, notion="predictive_parity", solver=ff.Newton(no_group_worse=0.0), progress=False)
    with pytest.raises(ff.InputError, match="is made of shares of decisions, found surrogate='loss' for other notions"):
        ff.trace(**given, notion=("equal_opportunity", "predictive_parity"), progress=False)


def test_held_out_rows_know_curves() -> None:
    given = data("two groups")
    front = ff.trace(**given, notion="predictive_parity", n_points=3, held_out=True, ridge=0.01, progress=False)
    assert front.record("held_out").made.startswith("10 folds")
    assert "precision_gap" in front.record("held_out").columns


def test_every_notion_of_the_registry_traces() -> None:
    given = data("two groups")
    for name in [name for name in NOTIONS if "binary" in NOTIONS[name].kinds]:
        front = ff.trace(**given, notion=name, n_points=2, ridge=0.01, progress=False)
        assert front.facts.notions == (name,)
