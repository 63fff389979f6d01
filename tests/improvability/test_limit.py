"""The limit is the linear program's, its band holds, and posteriors that are wrong are said to be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit

import fairfront as ff
from fairfront.improvability.attainable import corrections, learn_rules
from fairfront.improvability.estimates import symmetric_root
from fairfront.improvability.limit import limit_of
from fairfront.problems.decision_rules import Rules

CELLS = 12


class Law:
    """Twelve kinds of people, by one indicator each or by two columns without interactions."""

    def __init__(self, seed: int = 3) -> None:
        random = np.random.default_rng(seed)
        self.X = np.concatenate([np.eye(4)[np.arange(12) % 4], np.eye(3)[np.arange(12) // 4]], axis=1)
        w = random.normal(size=7)
        self.share, self.good = random.dirichlet(np.full(CELLS, 3.0)), expit(self.X @ w)
        self.tells = [expit(self.X @ (0.8 * w + random.normal(0.0, 0.7, 7))) for _ in range(2)]

    def joint(self, y: int, a: int) -> np.ndarray:
        tell = self.tells[y] if a else 1.0 - self.tells[y]
        return (self.good if y else 1.0 - self.good) * tell

    def frontier(self, gaps: np.ndarray, rate: str, approval: float | None) -> np.ndarray:
        labels = {"tpr": (1,), "selection": (0, 1), "error": (0, 1)}[rate]
        z, known = np.zeros(CELLS), 0.0
        for a, sign in ((1, 1.0), (0, -1.0)):
            whole = sum(float(self.share @ self.joint(y, a)) for y in labels)
            for y in labels:
                own, turned = sign * self.share * self.joint(y, a) / whole, rate == "error" and y == 1
                z, known = z + (-own if turned else own), known + (own.sum() if turned else 0.0)
        equal: dict[str, Any] = {} if approval is None else {"A_eq": self.share[None], "b_eq": [approval]}
        cost, always = self.share * (1.0 - 2.0 * self.good), float(self.share @ self.good)
        caps = [[g - known, g + known] for g in gaps]
        return np.array([linprog(cost, A_ub=[z, -z], b_ub=b, bounds=(0, 1), **equal).fun + always for b in caps])

    def draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        random = np.random.default_rng(seed)
        i = random.choice(CELLS, n, p=self.share)
        y = (random.random(n) < self.good[i]).astype(int)
        a = random.random(n) < np.where(y == 1, self.tells[1][i], self.tells[0][i])
        return self.X[i], y, np.where(a, "a", "b").astype(object)

    def population(self, rate: str, approval: float | None) -> Rules:
        """Every kind of people once, weighted by its share, with the posteriors as they are."""
        x, y, a = (each.ravel() for each in np.meshgrid(np.arange(CELLS), (0, 1), (0, 1), indexing="ij"))
        joint = np.stack([self.joint(j, b) for j in (0, 1) for b in (0, 1)], axis=1)
        X, labels, group = (np.repeat(each, 30, axis=0) for each in (self.X[x], y, np.where(a == 1, "a", "b")))
        weight = np.repeat(self.share[x] * joint[x, 2 * y + a], 30)
        known: dict[str, Any] = {"favourable": 1, "approval_rate": approval, "estimators": [None]}
        rules = learn_rules(X, labels, group.astype(object), "b", rate, sample_weight=1e4 * weight, **known)
        pair_of = np.zeros((4, len(rules.pairs)))
        pair_of[np.repeat(2 * y + a, 30), rules.own] = 1.0
        return replace(rules, P=joint[np.repeat(x, 30)] @ pair_of)


@pytest.mark.parametrize("rate", ["tpr", "selection", "error"])
@pytest.mark.parametrize("approval", [None, 0.4])
def test_the_limit_of_the_whole_population_is_the_linear_program(rate: str, approval: float | None) -> None:
    law = Law()
    limit = limit_of(law.population(rate, approval))
    gaps = np.linspace(0.0, abs(limit.plain), 9)
    found = (limit.value[:, None] - np.abs(limit.multipliers)[:, None] * gaps).max(axis=0)
    least = law.frontier(gaps, rate, approval)
    assert (found <= least + 1e-9).all()  # fewer multipliers can only give less
    assert np.abs(found - least).max() < 5e-4
    assert np.abs(limit.expected - limit.value).max() < 1e-9


def test_groups_that_no_column_tells_cost_nothing() -> None:
    """The gap is noise, which no multiplier lowers; the estimate stays near the least error, and below chance."""
    X, y, _ = Law().draw(2000, 0)
    group = np.random.default_rng(1).choice(["a", "b"], 2000).astype(object)
    rules = learn_rules(X, y, group, "b", "fpr", favourable=1, approval_rate=0.5, estimators=[None])
    value, low, high = limit_of(rules).error(np.array([0.0, 1.0]))
    assert (low <= value).all()
    assert (value <= high).all()
    assert value[0] - value[1] < 0.03
    assert high[0] < 0.55


@pytest.mark.slow
def test_the_band_holds_at_all_gaps_at_once() -> None:
    """In at least 95 % of 120 runs, less three standard errors; here logistic regression is right."""
    law, gaps = Law(), np.linspace(0.0, 0.2, 9)
    least, inside, errors, halves = law.frontier(gaps, "tpr", 0.4), 0, [], []
    for run in range(120):
        X, y, group = law.draw(1500, run)
        known: dict[str, Any] = {"favourable": 1, "approval_rate": 0.4, "estimators": [None], "seed": run}
        limit = limit_of(learn_rules(X, y, group, "b", "tpr", **known), 0.95, run)
        _, low, high = limit.error(gaps)
        inside += bool((low <= least).all() and (least <= high).all())
        place = int(np.flatnonzero(limit.multipliers == 0.0)[0])
        errors.append(limit.value[place])
        halves.append(limit.high[place] - limit.value[place])
    assert inside / 120 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 120)
    assert 1.96 * np.std(errors) < np.mean(halves) < 3.5 * np.std(errors)


def test_poor_posteriors_are_said_to_be() -> None:
    X, y, group = Law().draw(4000, 0)
    rules = learn_rules(X, y, group, "b", "tpr", favourable=1, approval_rate=0.4, estimators=[None])
    sure = rules.P**4
    assert limit_of(rules).calibrated
    found = limit_of(replace(rules, P=sure / sure.sum(axis=1, keepdims=True)))
    assert not found.calibrated
    assert (found.low <= found.expected).all()


def test_posteriors_that_miss_interactions_are_said_to() -> None:
    """Labels and groups depend on two columns each on its own, or on their combination, which no line sees."""
    told = []
    for mixed in (False, True):
        law = Law()
        if mixed:
            score = np.where((np.arange(CELLS) % 4 + np.arange(CELLS) // 4) % 2 == 0, 1.0, -1.0)
            law.good, law.tells = expit(score), [expit(0.5 * score)] * 2
        for seed in range(8):
            X, y, group = law.draw(3000, seed)
            rules = learn_rules(X, y, group, "b", "tpr", favourable=1, approval_rate=0.4, estimators=[None], seed=seed)
            plain, found = limit_of(rules, 0.95, seed), limit_of(rules, 0.95, seed, corrections(X, rules, seed))
            assert plain.calibrated or mixed
            assert not plain.beaten
            assert (found.low <= plain.low + 1e-12).all()
            assert np.array_equal(found.high, plain.high)
            told.append((mixed, found.beaten))
    assert told == [(mixed, mixed) for mixed, _ in told]


def test_a_search_gives_the_limit_and_the_distance_of_every_model(tmp_path: Any) -> None:
    X, y, group = Law().draw(1500, 1)
    known: dict[str, Any] = {"sensitive_features": {"g": group}, "progress": False, "n_splits": 2, "families": "linear"}
    search = ff.alternatives(X, y, incumbent=-X @ np.arange(7.0), approval_rate=0.4, **known)
    limit = search.limit
    assert limit is not None
    assert [line["id"] for line in limit["models"]] == [line["id"] for line in search.table]
    for line in limit["models"]:
        assert line["least"] <= line["distance"] <= line["most"]
    assert all(low <= each <= high for low, each, high in zip(limit["low"], limit["error"], limit["high"], strict=True))
    assert limit["error"] == sorted(limit["error"], reverse=True)
    assert "Distance of every model to the limit" in (search.save(tmp_path / "found") / "dossier.md").read_text()
    some = {"labelled_only_if": np.arange(len(y)) % 2 == 0, "improve": "selection_gap"}
    none = ff.alternatives(X, y, incumbent=-X @ np.arange(7.0), approval_rate=0.4, **some, **known)
    assert none.limit == {"why_not": "labels do not cover everybody"}
    assert ff.alternatives(X, y, incumbent=-X @ np.arange(7.0), approval_rate=0.4, limit=False, **known).limit is None


def test_draws_do_not_depend_on_rounding() -> None:
    rng = np.random.default_rng(0)
    steps = np.sign(rng.normal(size=(2000, 1)) - np.linspace(-1.0, 1.0, 80)) * rng.normal(size=(2000, 1))
    alike = np.kron(np.eye(2), steps.T @ steps / 2000)  # every eigenvalue twice
    off = 1e-15 * rng.normal(size=alike.shape)
    root, other = symmetric_root(alike), symmetric_root(alike + off + off.T)
    np.testing.assert_allclose(root @ root, alike, atol=1e-12)
    np.testing.assert_allclose(root, other, atol=1e-6)
