"""Figures where a notion is about them: against scikit-learn, in audits, pages and cards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_score

import fairfront as ff
from fairfront.explorer.payload import page_payload
from fairfront.measures.intervals import worst_gap_lower, worst_gap_upper
from fairfront.measures.notion_figures import ADDED, figures_of, more_of, with_figures
from fairfront.objectives import RATE_OF, Task

RNG = np.random.default_rng(8)
N = 900
A = RNG.choice(["a", "b", "c"], N, p=[0.2, 0.3, 0.5])
X = RNG.normal(size=(N, 3))
X[:, 0] += 0.7 * (A == "a")
Y = (X[:, 0] + 0.5 * X[:, 1] + RNG.normal(size=N) > 0.2).astype(int)
WEIGHT = RNG.uniform(0.5, 2.0, N)
ABOUT = tuple(name for name in RATE_OF if figures_of((name,), Task("binary", (0, 1), 1)))


def by_hand(name: str, y: np.ndarray, decided: np.ndarray, weight: np.ndarray | None) -> float:
    wrong = decided != y
    share = np.average(decided[wrong], weights=None if weight is None else weight[wrong]) if wrong.any() else np.nan
    known: dict[str, Any] = {"sample_weight": weight}
    return {
        "precision": lambda: precision_score(y, decided, **known),
        "npv": lambda: precision_score(1 - y, 1 - decided, **known),
        "favourable_errors": lambda: share,
        "f_score": lambda: f1_score(y, decided, **known),
        "balanced_accuracy": lambda: balanced_accuracy_score(y, decided, **known),
    }[name]()


def judged(weight: np.ndarray | None = None, favourable: int = 1) -> Any:
    """Return an evaluation with all figures, and its frontier."""
    front = ff.trace(X, Y, sensitive_features=A, favourable=favourable, n_points=4, progress=False)
    front = front.evaluate(X, Y, sensitive_features=A, sample_weight=weight)
    return front, with_figures(front.record(), ADDED, favourable)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("favourable", [0, 1])
def test_figures_are_those_of_scikit_learn(weighted: bool, favourable: int) -> None:
    weight = WEIGHT if weighted else None
    front, record = judged(weight, favourable)
    decided = (front.models.scores(X)[:, 0] > 0).astype(int)
    rates = record.groups[next(iter(record.groups))]
    for name in ADDED:
        if name == "tpr_ratio":
            expected = rates.tpr.min(axis=1) / rates.tpr.max(axis=1)
            np.testing.assert_allclose(record["tpr_ratio"], expected)
            continue
        for j, group in enumerate(rates.levels):
            inside = group == A
            some = None if weight is None else weight[inside]
            good = [(each[inside] == favourable).astype(int) for each in (Y, *decided)]
            found = [by_hand(name, good[0], each, some) for each in good[1:]]
            np.testing.assert_allclose(rates.rate(name)[:, j], found, atol=1e-12)
        np.testing.assert_allclose(record[f"{name}_gap"], np.ptp(rates.rate(name), axis=1))
        upper, lower = (record.figure(f"{name}_gap", 0.95, end) for end in (worst_gap_upper, worst_gap_lower))
        assert (upper > record[f"{name}_gap"]).all()
        assert (lower <= record[f"{name}_gap"]).all()


@pytest.mark.parametrize("name", ["precision", "npv", "favourable_errors", "f_score", "balanced_accuracy"])
def test_intervals_hold_as_often_as_they_say(name: str) -> None:
    rng, held, rounds, n = np.random.default_rng(0), 0, 120, 400
    truth = {"a": (0.5, 0.8, 0.3), "b": (0.35, 0.7, 0.2)}  # base rate, TPR and FPR

    def drawn(n: int) -> Any:
        group = rng.choice(["a", "b"], n)
        base, tpr, fpr = (np.array([truth[g][k] for g in group]) for k in range(3))
        y = (rng.random(n) < base).astype(int)
        return group, y, (rng.random(n) < np.where(y == 1, tpr, fpr)).astype(int)

    group, y, decided = drawn(200_000)
    exact = [by_hand(name, y[group == g], decided[group == g], None) for g in "ab"]
    for _ in range(rounds):
        group, y, decided = drawn(n)
        front = ff.Frontier.from_scores({"m": decided.astype(float)}, y, sensitive_features=group, notion=ABOUT[0])
        record = with_figures(front.record(), ADDED, 1)
        held += bool(record.figure(f"{name}_gap", 0.95)[0] >= abs(exact[0] - exact[1]))
    assert held >= 0.95 * rounds - 3 * np.sqrt(rounds * 0.05 * 0.95)


@pytest.mark.parametrize("metric", ABOUT)
def test_a_metric_is_evaluated_on_request_kept_and_chosen_on(metric: str, tmp_path: Path) -> None:
    front = ff.trace(X, Y, sensitive_features=A, n_points=3, ridge=0.01, progress=False)
    front = front.evaluate(X, Y, sensitive_features=A, notion=metric)
    record = front.record()
    assert set(figures_of((metric,), front.facts.task)) == set(more_of(record))
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front")
    for name in record.columns:
        np.testing.assert_allclose(again.record()[name], record[name])
        np.testing.assert_allclose(again.record().figure(name, 0.95), record.figure(name, 0.95))
    front.to_html(tmp_path / "page.html")
    gap = f"{RATE_OF[metric]}_gap"
    assert front.select(least=gap, within={"error": 1.0}).predict(X).shape == (N,)
    some = record.take([0])
    np.testing.assert_array_equal(some.figure(gap, 0.95), record.figure(gap, 0.95)[:1])
    given = ff.Frontier.from_models({"m": front.select(id=0)}, X, Y, sensitive_features=A, notion=metric)
    np.testing.assert_array_equal(given.gaps[:, 0], given.column(gap))
    page = page_payload(given, "validation", None, None, {}, 10)
    assert json.dumps(page)
    for rate in page["facts"]["rates"]:
        assert rate in page["parts"][0]["attributes"][0]["rates"]


def test_an_audit_gives_the_figures_of_the_notions_that_it_is_asked_for() -> None:
    p = 1.0 / (1.0 + np.exp(-X[:, 0]))
    plain = ff.audit(Y, p, sensitive_features=A)
    found = ff.audit(Y, p, sensitive_features=A, notion=ABOUT)
    (worst,) = found.worst.values()
    assert {"npv_gap", "favourable_errors_gap", "f_score_gap", "balanced_accuracy_gap", "tpr_ratio"} <= set(worst)
    assert "npv" not in next(iter(plain.tables.values()))
    table = next(iter(found.tables.values()))
    for j, group in enumerate(table["group"][:3]):
        inside = group == A
        for name in ("npv", "favourable_errors", "f_score", "balanced_accuracy"):
            expected = by_hand(name, Y[inside], (p[inside] >= 0.5).astype(int), None)
            np.testing.assert_allclose(table[name][j], expected)
            assert table[f"{name}_lower"][j] < expected < table[f"{name}_upper"][j]
    assert any("treatment equality" in each.lower() for each in found.sentences)
    assert found.check("npv_gap.upper<=1")[0].outcome == "met"
    (ratio,) = ff.audit(Y, p, sensitive_features=A, notion="tpr_ratio").worst.values()
    assert ratio["tpr_ratio"].lower <= ratio["tpr_ratio"].value < 1.0
    with pytest.raises(ff.InputError, match="unknown notion 'parity'"):
        ff.audit(Y, p, sensitive_features=A, notion="parity")
    assert json.dumps(found.to_dict())


def test_an_audit_gives_gaps_of_scores_that_it_is_asked_for() -> None:
    p = 1.0 / (1.0 + np.exp(-X[:, 0]))
    notions = ("positive_class_balance", "negative_class_balance", "smd", "xauc")
    for scores, side in ((p, "above"), (1.0 - p, "below")):
        found = ff.audit(Y, scores, sensitive_features=A, notion=notions, favourable=1, favourable_side=side)
        (worst,) = found.worst.values()
        spread = [p[(g == A) & (Y == 1)].mean() for g in "abc"]
        np.testing.assert_allclose(worst["positive_score_gap"].value, max(spread) - min(spread))
        smd = [p[g == A].mean() / p.std() for g in "abc"]
        np.testing.assert_allclose(worst["smd_gap"].value, max(smd) - min(smd))
        assert worst["xauc_gap"].lower <= worst["xauc_gap"].value <= worst["xauc_gap"].upper
