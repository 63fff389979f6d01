"""Many groups: each against everyone, and every combination of columns; against exhaustive search and SLSQP."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairfront as ff
from fairfront.problems import linear_problem
from fairfront.solvers import least_distance as programs
from tests.support.optima import slsqp

RNG = np.random.default_rng(3)
N = 6000
S = RNG.integers(0, 2, size=(N, 7))
X = RNG.normal(size=(N, 8))
X[:, :7] += 0.4 * S
Y = (X @ np.linspace(-0.5, 0.7, 8) + 0.6 * (S[:, 0] & S[:, 3] & S[:, 5]) + RNG.logistic(size=N) > 0).astype(int)
SEVEN = {f"s{j}": S[:, j] for j in range(7)}
MANY = {f"c{j}": RNG.integers(0, 9, N) for j in range(5)}
KNOWN: dict[str, Any] = {"progress": False, "held_out": False}


def losses(front: ff.Frontier, place: int) -> Any:
    """Return the loss of every row by hand."""
    score = X @ front.models.coef[place, 0] + front.models.intercept[place, 0]
    return np.logaddexp(0.0, np.where(Y == 1, -score, score))


def by_hand(values: Any, rows: Any, least: int) -> dict[str, float]:
    """Return the mean of values less that of everyone for all 3^7 - 1 conjunctions with enough rows."""
    found, whole = {}, values[rows].mean()
    for chosen in product((None, 0, 1), repeat=7):
        inside = rows.copy()
        for j, value in enumerate(chosen):
            inside &= True if value is None else S[:, j] == value
        if any(value is not None for value in chosen) and inside.sum() >= least:
            told = " & ".join(f"s{j}={value}" for j, value in enumerate(chosen) if value is not None)
            found[told] = float(values[inside].mean() - whole)
    return found


@pytest.mark.parametrize("notion", ["equal_opportunity", "disparate_mistreatment"])
def test_worst_subgroups_are_those_of_exhaustive_search_and_caps_hold_for_all(notion: str) -> None:
    groups = ff.Groups(compare="subgroups", min_size=10)
    front = ff.trace(X, Y, sensitive_features=SEVEN, notion=notion, groups=groups, n_points=5, **KNOWN)
    rows = np.full(N, True) if notion == "disparate_mistreatment" else Y == 1
    for place in range(len(front)):
        found = by_hand(losses(front, place), rows, 10)
        names = [name.removesuffix(" | y=1").removesuffix(" - everyone") for name in front.objective_names[1:]]
        assert set(names) == set(found)
        hand = np.array([found[name] for name in names])
        np.testing.assert_allclose(front.signed_gaps[place], hand, atol=1e-9)
        worst = int(np.abs(front.signed_gaps[place]).argmax())
        assert abs(found[names[worst]]) == pytest.approx(max(abs(each) for each in found.values()), abs=1e-12)
        assert front.gaps[place, 0] == pytest.approx(np.abs(hand).max(), abs=1e-9)
    assert all(status.solved for status in front.status)
    assert front.certified[0]
    assert front.kkt.max() < 1e-8
    assert (np.diff(front.gaps[:, 0]) < 0).all()
    if notion == "disparate_mistreatment":
        assert len(names) == 3**7 - 1  # and everyone: 2 187 conjunctions


def test_cuts_find_what_all_constraints_together_find() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        q, r = int(rng.integers(65, 200)), int(rng.integers(2, 30))
        C, z = rng.normal(size=(q, r)), rng.normal(size=q)
        caps, both = np.full(q, 0.3 * np.abs(z).max()), rng.random(q) < 0.7
        whole = programs._least_distance(C, z, caps, both)
        for bound in (None, rng.random(q) < 0.1):
            found = programs.least_distance(C, z, caps, both, bound)
            assert (found is None) == (whole is None)
            if found is not None and whole is not None:
                np.testing.assert_allclose(C.T @ found, C.T @ whole, atol=1e-6 * np.abs(C.T @ whole).max())


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


def test_curves_are_compared_with_everyone_too() -> None:
    group = np.array(["a", "b", "c"])[S[:, 0] + S[:, 1] * S[:, 2]]
    groups = ff.Groups(compare="overall")
    front = ff.trace(X, Y, sensitive_features=group, notion="predictive_parity", groups=groups, n_points=3, **KNOWN)
    rate = 1.0 / (1.0 + np.exp(-(X @ front.models.coef[1, 0] + front.models.intercept[1, 0])))

    def precision(rows: Any) -> float:
        return float((rate * (Y == 1))[rows].sum() / rate[rows].sum())

    by_group = [precision(group == name.split(" ")[0]) for name in front.objective_names[1:]]
    np.testing.assert_allclose(front.signed_gaps[1], np.array(by_group) - precision(slice(None)), atol=1e-9)
    assert not front.certified[1:].any()


def test_many_crossed_groups_are_solved() -> None:
    asked = KNOWN | {"sensitive_features": SEVEN, "n_points": 3}
    pairs = ff.trace(X, Y, groups=ff.Groups(cross=True, min_size=10), **asked)
    assert len(pairs.objective_names) == 1 + 128 * 127 // 2
    assert all(status.solved for status in pairs.status)
    overall = ff.trace(X, Y, groups=ff.Groups(cross=True, min_size=10, compare="overall"), **asked)
    assert len(overall.objective_names) == 129
    constant = -np.mean(Y) * np.log(np.mean(Y)) - np.mean(1 - Y) * np.log(np.mean(1 - Y))
    for front in (pairs, overall):  # nine weights cannot make 127 differences zero, but for those of constants
        assert front.gaps[-1, 0] < 1e-9
        assert front.loss[-1] == pytest.approx(constant, rel=1e-9)


@pytest.mark.parametrize("compare", ["overall", "subgroups"])
def test_rules_on_posteriors_and_weighted_fits_compare_with_everyone_too(compare: Any) -> None:
    three = {name: SEVEN[name] for name in ("s0", "s3", "s5")}
    asked: dict[str, Any] = {"sensitive_features": three, "groups": ff.Groups(compare=compare), "progress": False}
    asked |= {"estimator": LogisticRegression(C=1e6), "notion": "demographic_parity"}
    rates = ff.trace(X, Y, units=ff.Rates(cv="train"), n_points=3, **asked)
    fits = ff.trace(X, Y, solver=ff.Weighting(cv="train", max_fits=3, criterion="rate_gap"), **asked)
    for front in (rates, fits):
        decided = np.stack([front.select(id=int(id)).predict(X) for id in front.ids])
        names = [name.split(" - ")[0].replace(": ", "=") for name in front.objective_names[1:]]
        assert len(names) == (6 if compare == "overall" else 26)
        for name, gap in zip(names, front.signed_gaps.T, strict=True):
            rows = np.all([SEVEN[part[:2]] == int(part[3:]) for part in name.split(" & ")], axis=0)
            np.testing.assert_allclose(gap, decided[:, rows].mean(axis=1) - decided.mean(axis=1), atol=1e-9)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"groups": {"compare": "subgroups"}, "notion": "predictive_parity"}, r"^compare='subgroups' is for averages"),
        ({"groups": {"compare": "overall"}, "notion": "cross_auc_parity"}, r"^compare='overall' needs differences"),
        ({"groups": {"compare": "overall"}, "notion": "selection_ratio"}, r"^compare='overall' needs differences"),
        ({"groups": {"compare": "subgroups", "min_size": 5000}}, r"expected 2 or more"),
        ({"groups": {"compare": "subgroups"}, "control_features": S[:, 6]}, r"^compare='subgroups' was given with"),
        (
            {"sensitive_features": MANY, "groups": {"compare": "subgroups"}},
            r"^compare='subgroups' has 99999 combinations of groups, expected at most 20000",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(asked: dict[str, Any], said: str) -> None:
    groups = ff.Groups(**asked["groups"])
    features = {"sensitive_features": {"a": S[:, 0], "b": S[:, 1]}}
    with pytest.raises(ff.InputError, match=said):
        ff.trace(X, Y, **{**features, **asked, "groups": groups}, **KNOWN)


def test_subgroups_combine_columns_themselves() -> None:
    with pytest.raises(ff.InputError, match=r"^compare='subgroups' combines columns itself"):
        ff.Groups(compare="subgroups", cross=True)
