"""Drivers of score gaps add up to them, are Shapley values where scores are no sums, and proxies are seen."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import fairfront as ff
from fairfront.improvability.drivers import linear_drivers, proxy_strength, sampled_drivers


def people(n: int = 2000, seed: int = 0) -> tuple[Any, Any, Any]:
    """A number that differs between groups, three indicators of one column, and a number that does not differ."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 2, n)
    level = np.where(random.random(n) < 0.3, random.integers(0, 3, n), group)
    X = np.column_stack([random.normal(size=n) + 0.8 * group, np.eye(3)[level], random.normal(size=n)])
    y = (random.random(n) < 1 / (1 + np.exp(-X @ [1.0, 0.5, -0.5, 0.0, 0.7]))).astype(int)
    return X, y, group


NAMES = ("income", "region", "region", "region", "age")


def test_drivers_of_linear_scores_add_up_and_have_the_errors_of_the_bootstrap() -> None:
    X, y, group = people()
    coef, weight = np.array([1.0, 0.5, -0.5, 0.2, 0.7]), np.random.default_rng(1).uniform(0.5, 2, len(X))
    sides = (group == 1) & (y == 1), (group == 0) & (y == 1)
    found = linear_drivers(X, coef, NAMES, weight, sides)
    gap = np.diff([np.average(X[side] @ coef, weights=weight[side]) for side in sides[::-1]])[0]
    assert sum(each.value for each in found.values()) == pytest.approx(gap, abs=1e-12)
    apart = np.diff([np.average(X[side], axis=0, weights=weight[side]) for side in sides[::-1]], axis=0)[0]
    assert found["region"].value == pytest.approx(coef[1:4] @ apart[1:4], abs=1e-12)
    random, drawn = np.random.default_rng(2), []
    for _ in range(300):
        rows = random.integers(len(X), size=len(X))
        again = linear_drivers(X[rows], coef, NAMES, weight[rows], (sides[0][rows], sides[1][rows]))
        drawn.append([again[name].value for name in found])
    assert np.allclose(np.std(drawn, axis=0), [each.error for each in found.values()], rtol=0.15)


def test_sampled_drivers_are_shapley_values() -> None:
    """Against all orders of columns over all pairs of people, with an interaction; they add up to the sampled gap."""
    X, _, group = people(60, 3)
    sides, weight = (group == 1, group == 0), np.ones(60)

    def score(Z: Any) -> Any:
        return np.tanh(Z[:, 0] * Z[:, 4]) + Z[:, 1] * Z[:, 0] - Z[:, 3]

    columns, exact = tuple(dict.fromkeys(NAMES)), dict.fromkeys(NAMES, 0.0)
    pairs = np.array([(i, k) for i in np.flatnonzero(sides[0]) for k in np.flatnonzero(sides[1])])
    for order in permutations(columns):
        Z = X[pairs[:, 1]].copy()
        before = score(Z).mean()
        for name in order:
            own = [j for j, each in enumerate(NAMES) if each == name]
            Z[:, own] = X[pairs[:, 0]][:, own]
            exact[name] += (score(Z).mean() - before) / 6
            before = score(Z).mean()
    found = sampled_drivers(score, X, NAMES, weight, sides, seed=0, walks=20_000)
    for name in columns:
        assert abs(found[name].value - exact[name]) < 4 * found[name].error
    assert sum(exact.values()) == pytest.approx(score(X[group == 1]).mean() - score(X[group == 0]).mean())


def test_proxies_are_told_by_rows_that_did_not_learn() -> None:
    X, _, group = people()
    found = proxy_strength(X, group.astype(np.intp), NAMES, 0)
    assert found["income"] == pytest.approx(roc_auc_score(group, X[:, 0]), abs=0.02)
    assert found["region"] > 0.8
    assert found["age"] < 0.54


def test_the_dossier_names_what_carries_the_gap(tmp_path: Any) -> None:
    X, y, group = people()
    known = {"sensitive_features": {"g": group}, "progress": False, "n_splits": 2, "keep": {"auc": 0.05}}
    model = HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    for incumbent, way in ((LogisticRegression().fit(X, y), "exact"), (model, "approximate")):
        search = ff.alternatives(X, y, incumbent=incumbent, columns=NAMES, families="linear", **known)
        first = search.record["drivers"][0]
        assert first["model"] == "incumbent"
        assert first["way"].startswith(way)
        assert {line["column"] for line in first["columns"]} == set(NAMES)
        assert first["columns"][2]["column"] == "age"
    text = (search.save(tmp_path / "found") / "dossier.md").read_text()
    assert "What carries tpr_gap: incumbent" in text
    with pytest.raises(ff.InputError, match="columns has 2 names, expected 5"):
        ff.alternatives(X, y, incumbent=model, columns=["a", "b"], **known)


@pytest.mark.parametrize("improve", ["precision_gap", "tpr_ratio"])
def test_gaps_that_evaluations_do_not_have_are_counted(improve: str) -> None:
    X, y, group = people()
    known: dict[str, Any] = {"n_splits": 2, "families": ["linear", "settings"], "progress": False, "limit": False}
    search = ff.alternatives(
        X, y, sensitive_features=group, incumbent=X[:, 0], approval_rate=0.5, improve=improve, **known
    )
    rows, before = search.outcome.judge, search.outcome.incumbent.approved
    yes, good, own = before[rows], y[rows] == 1, group[rows] == 1
    rates = [good[yes & side].mean() if improve == "precision_gap" else yes[good & side].mean() for side in (own, ~own)]
    expected = abs(rates[0] - rates[1]) if improve == "precision_gap" else min(rates) / max(rates)
    assert search.table[0][improve] == pytest.approx(expected, abs=1e-3)
