"""Bounds on gaps between people under probabilities of groups: against linear programs, and simulated people."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import fairfront as ff
from fairfront.measures.proxy_bounds import gap_bounds, group_bounds, proxy_values

OUTCOMES = [(d, y) for d in (0, 1) for y in (0, 1)]  # decision and label
PARTS: dict[str, tuple[set[Any], set[Any]]] = {
    "selection": ({(1, 0), (1, 1)}, {(0, 0), (0, 1)}),
    "tpr": ({(1, 1)}, {(0, 1)}),
    "fpr": ({(1, 0)}, {(0, 0)}),
    "error": ({(1, 0), (0, 1)}, {(1, 1), (0, 0)}),
}


def drawn(seed: int, c: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    values = rng.dirichlet(np.full(c, 0.7), size=4)
    at = rng.integers(0, 4, size=300)
    labelled = rng.random(300) < 0.3 + 0.15 * at
    decided = rng.random(300) < 0.2 + 0.15 * at + 0.2 * labelled
    weight = rng.uniform(0.5, 2.0, size=300) if seed % 2 else None
    return decided, labelled, values[at], weight


def polytope(decided: Any, labelled: Any, shares: Any, weight: Any) -> tuple[Any, Any, int]:
    """Return the equations of all joint tables t[value, group, outcome] with the margins that are seen."""
    at, w = proxy_values(shares), np.ones(len(decided)) if weight is None else weight
    v, c = at.max() + 1, shares.shape[1]
    rows, right = [], []
    for z in range(v):
        inside, total = at == z, w[at == z].sum()
        for g in range(c):
            t = np.zeros((v, c, 4))
            t[z, g] = 1.0
            rows.append(t.ravel())
            right.append((w * shares[:, g])[inside].sum())
        for o, (d, y) in enumerate(OUTCOMES):
            t = np.zeros((v, c, 4))
            t[z, :, o] = 1.0
            rows.append(t.ravel())
            right.append(w[inside & (decided == d) & (labelled == y)].sum())
        assert total > 0
    return np.array(rows), np.array(right), v


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("c", [2, 3])
def test_bounds_are_those_of_linear_programs(seed: int, c: int) -> None:
    rows = drawn(seed, c)
    equations, right, v = polytope(*rows)
    found = group_bounds(*rows)
    for figure, (part, rest) in PARTS.items():
        for g in range(c):
            counted, whole = np.zeros((v, c, 4)), np.zeros((v, c, 4))
            for o, outcome in enumerate(OUTCOMES):
                counted[:, g, o] = outcome in part
                whole[:, g, o] = outcome in part | rest
            for sign, end in ((1.0, found[figure][0]), (-1.0, found[figure][1])):  # Charnes and Cooper's program
                bounded = np.hstack([equations, -right[:, None]])
                one = np.append(whole.ravel(), 0.0)
                program = linprog(
                    sign * np.append(counted.ravel(), 0.0),
                    A_eq=np.vstack([bounded, one]),
                    b_eq=np.append(np.zeros(len(bounded)), 1.0),
                    method="highs",
                )
                assert program.status == 0
                assert sign * program.fun == pytest.approx(end[g], abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("c", [2, 3, 4])
def test_ends_of_two_groups_are_attained_together(seed: int, c: int) -> None:
    """One joint table has the largest rate of one group and the smallest of the other."""
    rows = drawn(seed, c)
    equations, right, v = polytope(*rows)
    ends, names = group_bounds(*rows), tuple(map(str, range(c)))
    for bound in gap_bounds(names, *rows):
        part, rest = PARTS[bound.figure]
        i, j = (int(each) for each in bound.between)
        low, high = ends[bound.figure]
        assert bound.low == pytest.approx(low[i] - high[j])
        assert bound.high == pytest.approx(high[i] - low[j])
        for one, other in ((high[i], low[j]), (low[i], high[j])):
            held = []
            for g, rate in ((i, one), (j, other)):
                t = np.zeros((v, c, 4))
                for o, outcome in enumerate(OUTCOMES):
                    t[:, g, o] = (outcome in part) - rate * (outcome in part | rest)
                held.append(t.ravel())
            slack = 1e-7 * right.sum()
            program = linprog(
                np.zeros(equations.shape[1]),
                A_eq=equations,
                b_eq=right,
                A_ub=np.vstack([held, np.negative(held)]),
                b_ub=np.full(4, slack),
                method="highs",
            )
            assert program.status == 0


def test_people_who_have_these_probabilities_lie_within() -> None:
    """Groups are drawn by the probabilities and decisions by the group: bounds hold what weighted means miss."""
    rng = np.random.default_rng(0)
    n = 60_000
    chance = rng.choice([0.1, 0.3, 0.6, 0.85], n)
    member = rng.random(n) < chance
    labelled = rng.random(n) < np.where(member, 0.4, 0.6)
    decided = rng.random(n) < np.where(member, 0.2, 0.5) + 0.3 * labelled
    shares = np.column_stack([chance, 1.0 - chance])
    bounds = {each.figure: each for each in gap_bounds(("a", "b"), decided, labelled, shares, None)}
    true = decided[member].mean() - decided[~member].mean()
    weighted = np.average(decided, weights=chance) - np.average(decided, weights=1.0 - chance)
    assert abs(weighted) < abs(true) - 0.05  # usual understatement
    assert bounds["selection"].low <= true <= bounds["selection"].high
    assert bounds["selection"].low <= weighted <= bounds["selection"].high
    rate = [decided[group & labelled].mean() for group in (member, ~member)]
    assert bounds["tpr"].low <= rate[0] - rate[1] <= bounds["tpr"].high


def test_a_certain_proxy_leaves_no_room_and_a_fine_one_is_made_coarse() -> None:
    decided, labelled, _, _ = drawn(0, 2)
    sure = np.column_stack([labelled, ~labelled]).astype(float)
    bound = gap_bounds(("a", "b"), decided, labelled, sure, None)[0]
    exact = decided[labelled].mean() - decided[~labelled].mean()
    assert (bound.low, bound.high) == pytest.approx((exact, exact))
    fine = np.random.default_rng(0).random(300)
    assert proxy_values(np.column_stack([fine, 1.0 - fine])).max() <= 11


@pytest.mark.filterwarnings("ignore::fairfront.exceptions.ProxyWarning")
def test_audits_and_evaluations_have_bounds_beside_the_point() -> None:
    rng = np.random.default_rng(1)
    n = 800
    chance = rng.choice([0.1, 0.4, 0.9], n)
    X = rng.normal(size=(n, 3)) + 0.5 * chance[:, None]
    y = (X.sum(axis=1) + rng.logistic(size=n) > 1).astype(int)
    soft = ff.GroupProbabilities({"a": chance, "b": 1.0 - chance}, name="origin")
    front = ff.trace(X, y, sensitive_features=soft, n_points=3, progress=False)
    front = front.evaluate(X, y, sensitive_features=soft)
    for name in ("selection", "tpr", "fpr", "error"):
        least, point, most = (front.column(f"{name}_gap{end}") for end in ("_least", "", "_most"))
        assert ((least <= point + 1e-12) & (point <= most + 1e-12)).all()
    audit = ff.audit(y, front.select(id=0).predict(X), sensitive_features=soft)
    (bound,) = [each for each in audit.bounds["origin"] if each.figure == "selection"]
    known = audit.worst["origin"]["selection_gap"].value
    assert bound.low <= known <= bound.high or bound.low <= -known <= bound.high
    assert any("Kallus, Mao and Zhou 2022" in sentence for sentence in audit.sentences)
    told = audit.to_dict()["proxy_bounds"]["origin"]
    assert told[0]["figure"] == "selection_gap"
    assert (told[0]["low"], told[0]["high"]) == (bound.low, bound.high)
    assert "proxy_bounds" not in ff.audit(y, y, sensitive_features=np.where(chance > 0.5, "a", "b")).to_dict()
