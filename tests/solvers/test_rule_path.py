"""Paths of rules: the sort equals trying every multiplier, the dual a linear program, and caps mean what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from fairfront.problems.decision_rules import Compared, Rules
from fairfront.solvers.base import tops
from fairfront.solvers.rule_path import Pool, dual_path, flips, rule_path, solve_caps, sorted_path


def table(
    n: int = 200, groups: int = 2, labels: int = 2, families: str = "tpr", seed: int = 0, true: bool = False
) -> Rules:
    """Return rows with posteriors of (label, group), and what they are: drawn from these posteriors, or all of them."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(labels * groups, 0.7), n)
    if true:  # every row stands for its posterior: one row per pair, weighted by its probability
        own, share = np.tile(np.arange(P.shape[1]), n), P.ravel() / n
        P = np.repeat(P, labels * groups, axis=0)
    else:
        own, share = np.array([rng.choice(len(p), p=p) for p in P]), rng.uniform(0.5, 1.5, n)
        share /= share.sum()
    pairs = np.array([(y, g) for y in range(labels) for g in range(groups)])
    averages = {
        "tpr": [(1, 1)],
        "odds": [(1, 1), (0, 1)],
        "selection": [(None, 1)],
        "recall": [(j, j) for j in range(labels)],
    }
    events, inside = [], []
    for of, decided in averages[families]:
        for g in range(groups):
            member = (pairs[:, 1] == g) & ((pairs[:, 0] == of) if of is not None else True)
            inside.append(member.astype(float))
            events.append(member[:, None] * (np.arange(labels) == decided)[None, :] * 1.0)
    signs = []
    for first in range(0, len(events), groups):
        for i in range(groups):
            for j in range(i + 1, groups):
                column = np.zeros(len(events))
                column[first + i], column[first + j] = 1.0, -1.0
                signs.append(column)
    q = len(signs)
    cost, sides = 1.0 - np.eye(labels), (np.zeros(q), np.ones(q, dtype=bool), np.zeros(q, dtype=np.intp))
    asked = Compared(np.array(events), np.array(inside), np.array(signs).T, *sides)
    return Rules(P, share, pairs[own, 0], own, pairs, cost, asked)


def best_mixture(rules: Rules, caps: np.ndarray, delta: np.ndarray) -> float:
    """Return the largest expected gain of any random rule within caps, by a linear program over all rows."""
    n, K, q = len(rules.P), rules.K, len(caps)
    gain = (rules.share[:, None] * (rules.P @ rules.gain)).ravel()
    Z = np.stack([(rules.share[:, None] * (rules.P @ C)).ravel() for C in rules.contrasts])
    sums = np.kron(np.eye(n), np.ones(K))
    found = linprog(
        -gain,
        A_ub=np.vstack([Z, -Z]),
        b_ub=np.concatenate([caps - delta, caps + delta]),
        A_eq=sums,
        b_eq=np.ones(n),
        bounds=(0.0, 1.0),
        method="highs",
    )
    assert found.status == 0
    assert len(Z) == q
    return -float(found.fun)


def test_the_sort_is_every_rule_there_is() -> None:
    for seed in range(5):
        rules = table(60, seed=seed)
        t, fall, last, side = flips(rules)
        m = rules.P @ (rules.gain[:, 1] - rules.gain[:, 0])
        c = rules.P @ (rules.contrasts[0][:, 1] - rules.contrasts[0][:, 0])
        points = np.unique(np.divide(m, side * c)[np.divide(m, side * c) > 0])
        np.testing.assert_allclose(t, points, rtol=1e-12)
        start = rules.gaps(rules.expected((m > 0).astype(np.intp)))[0]
        for place, (here, after) in enumerate(zip(t, [*t[1:], t[-1] + 1.0], strict=True)):
            decided = (m - side * 0.5 * (here + after) * c > 0).astype(np.intp)
            gap = rules.gaps(rules.expected(decided))[0]
            assert side * (start - gap) == pytest.approx(fall[place], abs=1e-12)
            assert (rules.decide(rules.weights(np.array([side * 0.5 * (here + after)]))) == decided).all()
            measured = side * rules.gaps(rules.measured(decided))[0]
            beyond = max(0.5 * abs(_plain(rules)), 2.0 * float(np.sqrt((rules.errors() ** 2).sum())))
            assert (measured <= -beyond) <= (place >= last)


def _plain(rules: Rules) -> float:
    return float(rules.gaps(rules.measured(rules.decide(rules.weights(np.zeros(1)))))[0])


def test_points_of_the_sort_are_the_best_at_their_gap() -> None:
    rules = table(150, seed=3)
    path = sorted_path(rules, 12)
    assert 6 < len(path) <= 12
    for rule in path:
        expected = rules.expected(rules.decide(rule.weights))
        cap = rules.gaps(expected)
        side = np.sign(rule.multipliers) if rule.multipliers[0] else np.ones(1)
        one_sided = best_mixture(rules, np.full(1, 2.0), np.zeros(1)) if not rule.multipliers[0] else None
        if one_sided is not None:
            assert rules.utility(expected) == pytest.approx(one_sided, abs=1e-9)
            continue
        # among rules with side * z <= side * cap, the band [-2, cap] around its middle
        middle = 0.5 * (side * cap - 2.0)
        half = 0.5 * (side * cap + 2.0)
        assert rules.utility(expected) == pytest.approx(best_mixture(rules, half, -side * middle), abs=1e-9)


@pytest.mark.parametrize(("groups", "labels", "families"), [(3, 2, "odds"), (2, 3, "recall"), (4, 2, "selection")])
def test_the_dual_is_a_linear_program(groups: int, labels: int, families: str) -> None:
    rules = table(120, groups, labels, families, seed=1)
    q, rng = len(rules.offset), np.random.default_rng(0)
    pool = Pool(rules)
    pool.seed()
    for cap in (0.2, 0.05, 0.0):
        for delta in (np.zeros(q), 0.02 * rng.normal(size=rules.signs.shape[0]) @ rules.signs):
            caps = np.full(q, cap)
            at, decided, left = solve_caps(pool, caps, delta, np.zeros(q))
            assert left < 1e-5
            table_ = rules.expected(decided)
            value = rules.utility(table_) - at @ (rules.gaps(table_) + delta) + caps @ np.abs(at)
            assert value == pytest.approx(best_mixture(rules, caps, delta), abs=1e-6)


def test_expected_is_measured_where_posteriors_are_true() -> None:
    rules = table(150, 3, families="odds", seed=2, true=True)
    for rule in dual_path(rules, np.full(6, 0.3), 6):
        decided = rules.decide(rule.weights)
        np.testing.assert_allclose(rules.expected(decided), rules.measured(decided), atol=1e-12)
        assert rules.loss(decided) == pytest.approx(-rules.utility(rules.expected(decided)))
    two = table(150, seed=2, true=True)
    path = sorted_path(two, 8)
    for rule in path[1:]:
        decided = two.decide(rule.weights)
        gap = two.gaps(two.measured(decided))
        if gap * rule.multipliers > 0.0:  # not past zero: no rule of x does better, the known limit of the frontier
            assert -two.loss(decided) == pytest.approx(best_mixture(two, np.abs(gap), np.zeros(1)), abs=1e-9)
    assert any(two.gaps(two.measured(two.decide(rule.weights))) * rule.multipliers < 0.0 for rule in path)


@pytest.mark.parametrize(("groups", "families"), [(3, "odds"), (4, "tpr"), (3, "selection")])
def test_wrong_posteriors_do_not_lead_beyond_deciding_everyone_alike(groups: int, families: str) -> None:
    for seed in range(4):
        rules, rng = table(150, groups, families=families, seed=seed), np.random.default_rng(seed)
        rules = replace(
            rules, own=(own := rng.permutation(rules.own)), label=rules.pairs[own, 0]
        )  # says nothing of rows
        q = len(rules.offset)
        alike = max(rules.utility(rules.expected(np.full(150, j))) for j in range(2))
        path = dual_path(rules, np.full(q, 0.4), 8)
        assert len(path) == 8
        for rule in path:
            table_ = rules.expected(rules.decide(rule.weights))
            assert np.abs(rule.multipliers).max() < 100.0  # no caps that nothing can meet
            assert rules.utility(table_) > alike - 0.02  # ties are decided one way
            # no rule gains more whose gaps are as low, on the side that each was lowered from
            signs, z = np.sign(rule.multipliers), rules.gaps(table_)
            at_most = np.where(signs == 0.0, 4.0, signs * z)
            middle = np.where(signs == 0.0, 0.0, signs * 0.5 * (at_most - 4.0))
            half = np.where(signs == 0.0, 4.0, 0.5 * (at_most + 4.0))
            assert rules.utility(table_) == pytest.approx(best_mixture(rules, half, -middle), abs=1e-7)


def test_measured_gaps_come_near_their_caps() -> None:
    rules = table(4000, 3, families="odds", seed=4)
    plain = np.abs(rules.gaps(rules.measured(rules.decide(rules.weights(np.zeros(6))))))
    path = dual_path(rules, np.full(6, plain.max()), 8)
    found = [np.abs(rules.gaps(rules.measured(rules.decide(rule.weights)))).max() for rule in path]
    assert found[0] == plain.max()
    assert found[-1] < 0.02
    assert max(rule.duality_gap for rule in path) < 1e-5


@pytest.mark.parametrize("rate", [0.2, 0.5, 0.85])
def test_an_approval_rate_is_met_to_one_row(rate: float) -> None:
    rules = replace(table(300, 3, seed=5), share=np.full(300, 1.0 / 300), approval=rate)
    plain = np.abs(rules.gaps(rules.measured(rules.decide(rules.weights(np.zeros(3))))))
    path = rule_path(rules, np.full(3, plain.max()), 6)
    for rule in path:
        assert abs(rules.decide(rule.weights).mean() - rate) <= 0.5 / 300 + 1e-12
    last = np.abs(rules.gaps(rules.measured(rules.decide(path[-1].weights)))).max()
    assert last < 0.5 * plain.max()


def test_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(6)
    for families, groups in (("tpr", 2), ("odds", 3)):
        base, times = table(120, groups, families=families, seed=7), rng.integers(1, 4, 120)
        heavy = replace(base, share=times / times.sum(), total=float(times.sum()))
        rows = np.repeat(np.arange(120), times)
        some = {name: getattr(base, name)[rows] for name in ("P", "label", "own")}
        many = replace(base, **some, share=np.full(len(rows), 1.0 / len(rows)))
        caps = np.full(len(base.offset), 0.2)
        for one, other in zip(rule_path(heavy, caps, 6), rule_path(many, caps, 6), strict=True):
            np.testing.assert_array_equal(heavy.decide(one.weights)[rows], many.decide(other.weights))


def test_costs_move_the_cutoff() -> None:
    rules = table(400, seed=8)
    cost = np.array([[0.0, 3.0], [1.0, 0.0]])  # a false positive costs three times a false negative
    dear = replace(rules, cost=cost)
    decided = dear.decide(dear.weights(np.zeros(1)))
    eta = rules.P[:, rules.pairs[:, 0] == 1].sum(axis=1)
    np.testing.assert_array_equal(decided == 1, eta > 0.75)
    assert dear.loss(decided) <= dear.loss(rules.decide(rules.weights(np.zeros(1)))) + 0.05


def test_tops_are_those_of_notions() -> None:
    class Two:
        notion_of = np.array([0, 0, 1])

    np.testing.assert_array_equal(tops(Two(), np.array([0.1, 0.3, 0.2])), [0.3, 0.3, 0.2])  # type: ignore[arg-type]
