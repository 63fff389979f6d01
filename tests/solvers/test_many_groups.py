"""Many groups, each against everyone or all pairs: against gaps by hand and SLSQP."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.problems import linear_problem
from tests.support.optima import slsqp

RNG = np.random.default_rng(3)
N = 6000
S = RNG.integers(0, 2, size=(N, 7))
X = RNG.normal(size=(N, 8))
X[:, :7] += 0.4 * S
Y = (X @ np.linspace(-0.5, 0.7, 8) + 0.6 * (S[:, 0] & S[:, 3] & S[:, 5]) + RNG.logistic(size=N) > 0).astype(int)
SEVEN = {f"s{j}": S[:, j] for j in range(7)}
KNOWN: dict[str, Any] = {"progress": False, "held_out": False}


def test_each_group_against_everyone_is_slsqps() -> None:
    some = slice(0, 1500)
    group = np.array(["a", "b", "c"])[S[some, 0] + S[some, 1] * S[some, 2]]
    asked: dict[str, Any] = {"sensitive_features": group, "groups": ff.Groups(compare="overall"), "ridge": 1e-3}
    front = ff.trace(X[some], Y[some], n_points=4, **asked, **KNOWN)
    assert set(front.objective_names[1:]) == {f"{each} - everyone | y=1" for each in "abc"}
    assert "Each group is compared with everyone." in front.facts.sentences
    problem = linear_problem(X[some], Y[some], **asked)
    span = float(front.loss.max() - front.loss.min())
    for place in (1, 2):
        found, left = slsqp(problem, float(front.gaps[place, 0]), front.models.weights[0, 0])
        assert left > -1e-9
        assert front.loss[place] - found <= 1e-6 * span


def test_many_crossed_groups_are_solved() -> None:
    asked = KNOWN | {"sensitive_features": SEVEN, "n_points": 3}
    four = {name: SEVEN[name] for name in ("s0", "s1", "s2", "s3")}
    pairs = ff.trace(X, Y, groups=ff.Groups(cross=True, min_size=10), **{**asked, "sensitive_features": four})
    assert len(pairs.objective_names) == 1 + 16 * 15 // 2
    assert all(status.solved for status in pairs.status)
    overall = ff.trace(X, Y, groups=ff.Groups(cross=True, min_size=10, compare="overall"), **asked)
    assert len(overall.objective_names) == 129
    constant = -np.mean(Y) * np.log(np.mean(Y)) - np.mean(1 - Y) * np.log(np.mean(1 - Y))
    for front in (pairs, overall):  # nine weights cannot make 15 differences zero, but for those of constants
        assert front.gaps[-1, 0] < 1e-9
        assert front.loss[-1] == pytest.approx(constant, rel=1e-9)


def test_rules_on_posteriors_and_weighted_fits_compare_with_everyone_too() -> None:
    three = {name: SEVEN[name] for name in ("s0", "s3", "s5")}
    asked: dict[str, Any] = {"sensitive_features": three, "groups": ff.Groups(compare="overall"), "progress": False}
    asked |= {"estimator": LogisticRegression(C=1e6), "notion": "demographic_parity"}
    rates = ff.trace(X, Y, units=ff.Rates(cv="train"), n_points=3, **asked)
    fits = ff.trace(X, Y, solver=ff.Weighting(cv="train", max_fits=3, criterion="rate_gap"), **asked)
    for front in (rates, fits):
        decided = np.stack([front.select(id=int(id)).predict(X) for id in front.ids])
        names = [name.split(" - ")[0].replace(": ", "=") for name in front.objective_names[1:]]
        assert len(names) == 6
        for name, gap in zip(names, front.signed_gaps.T, strict=True):
            rows = SEVEN[name[:2]] == int(name[3:])
            np.testing.assert_allclose(gap, decided[:, rows].mean(axis=1) - decided.mean(axis=1), atol=1e-9)


def test_gaps_of_one_sign_are_not_compared_with_everyone() -> None:
    known: dict[str, Any] = KNOWN | {"solver": "paper_pdo", "groups": ff.Groups(compare="overall")}
    with pytest.raises(ff.InputError, match=r"^compare='overall' needs a gap that is the same both ways"):
        ff.trace(X, Y, sensitive_features=S[:, 0], gap="paper_exponential", **known)
