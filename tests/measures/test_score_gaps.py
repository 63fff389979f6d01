"""Gaps of scores: against brute force, how often their intervals hold, and from the trace to the card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import fairfront as ff
from fairfront.explorer.payload import page_payload
from fairfront.measures.notion_figures import SCORES, scores_of
from fairfront.measures.score_gaps import score_gaps
from fairfront.objectives import NOTIONS, RATE_OF, Task

RNG = np.random.default_rng(8)
N = 900
A = RNG.choice(["a", "b", "c"], N, p=[0.25, 0.3, 0.45])
X = RNG.normal(size=(N, 3))
X[:, 0] += 0.7 * (A == "a")
Y = (X[:, 0] + np.where(A == "b", 0.1, 0.9) * X[:, 1] + RNG.normal(size=N) > 0.2).astype(int)
TWO = np.where(A == "c", "a", A)  # whose AUCs across groups can be made equal with these columns
ABOUT = tuple(name for name in (*NOTIONS, *RATE_OF) if scores_of((name,), Task("binary", (0, 1), 1)))


def by_hand(name: str, p: np.ndarray, y: np.ndarray, group: np.ndarray, pair: tuple[str, str]) -> float:
    """Return the gap of one pair of groups from its definition."""
    one, other = (group == each for each in pair)

    def across(i: np.ndarray, j: np.ndarray) -> float:
        s, t = p[i & (y == 1)], p[j & (y == 0)]
        return float((s[:, None] > t).mean() + 0.5 * (s[:, None] == t).mean())

    means = {
        "mean_score": lambda rows: p[rows].mean(),
        "positive_score": lambda rows: p[rows & (y == 1)].mean(),
        "negative_score": lambda rows: p[rows & (y == 0)].mean(),
        "in_the_large": lambda rows: (y - p)[rows].mean(),
        "smd": lambda rows: p[rows].mean() / p.std(),
        "auc": lambda rows: roc_auc_score(y[rows], p[rows]),
    }
    if name == "xauc":
        return across(one, other) - across(other, one)
    return float(means[name](one) - means[name](other))


@pytest.mark.parametrize("name", SCORES)
def test_gaps_are_those_of_the_definition(name: str) -> None:
    responses = np.stack([1.0 / (1.0 + np.exp(-X @ w)) for w in RNG.normal(size=(3, 3))]).round(2)
    member = np.stack([each == A for each in "abc"], axis=1).astype(float)
    found = score_gaps(name, responses, Y == 1, member)
    for model, p in enumerate(responses):
        expected = [by_hand(name, p, Y, A, pair) for pair in (("a", "b"), ("a", "c"), ("b", "c"))]
        np.testing.assert_allclose(found.gap[model], expected, atol=1e-12)
    assert (found.error > 0).all()
    times = RNG.integers(1, 4, N)
    rows = np.repeat(np.arange(N), times)
    twice = score_gaps(name, responses[:, rows], Y[rows] == 1, member[rows])
    weighted = score_gaps(name, responses, Y == 1, member * times[:, None])
    np.testing.assert_allclose(weighted.gap, twice.gap, atol=1e-12)
    assert (weighted.error > twice.error).all()  # weights are not people


@pytest.mark.parametrize("name", SCORES)
def test_intervals_hold_as_often_as_they_say(name: str) -> None:
    rng, rounds, held = np.random.default_rng(1), 200, 0

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        group = rng.choice(["a", "b"], n)
        y = (rng.random(n) < np.where(group == "a", 0.5, 0.35)).astype(int)
        s = rng.normal(np.where(group == "a", 1.2, 0.7) * y, np.where(group == "a", 1.0, 1.3))
        return 1.0 / (1.0 + np.exp(-s)), y, group

    p, y, group = drawn(6000)
    exact = abs(np.mean([by_hand(name, *drawn(6000), ("a", "b")) for _ in range(6)]))
    for _ in range(rounds):
        p, y, group = drawn(400)
        member = np.stack([group == each for each in "ab"], axis=1).astype(float)
        found = score_gaps(name, p[None], y == 1, member)
        held += bool(found.lower(0.95)[0] <= exact <= found.upper(0.95)[0])
    assert held >= 0.95 * rounds - 3.5 * np.sqrt(rounds * 0.05 * 0.95)


@pytest.mark.parametrize("notion", ABOUT)
@pytest.mark.parametrize("favourable", [0, 1])
def test_a_notion_has_its_figure_from_the_trace_to_the_page(notion: str, favourable: int, tmp_path: Path) -> None:
    known: dict[str, Any] = {"sensitive_features": TWO, "favourable": favourable}
    trained = notion in NOTIONS
    asked: dict[str, Any] = {"notion": notion} if trained else {}
    front = ff.trace(X, Y, **known, **asked, n_points=4, ridge=0.01, progress=False)
    front = front.evaluate(X, Y, sensitive_features=TWO, notion=notion)
    assert not (trained and front.certified[1:].any())
    (figure,) = scores_of((notion,), front.facts.task)
    gap, record = f"{figure}_gap", front.record()
    s = X @ front.models.weights[-1, 0, :-1] + front.models.weights[-1, 0, -1]
    p = 1.0 / (1.0 + np.exp(-(s if favourable else -s)))
    expected = abs(by_hand(figure, p, (favourable == Y).astype(int), TWO, ("a", "b")))
    np.testing.assert_allclose(record[gap][-1], expected, atol=1e-9)
    if trained:
        assert record[gap][-1] < 0.6 * record[gap][0] + 0.01
    assert (record.figure(gap, 0.95) > record[gap]).all()
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front").record()
    for name in record.columns:
        np.testing.assert_allclose(again[name], record[name])
        np.testing.assert_allclose(again.figure(name, 0.95), record.figure(name, 0.95))
    page = page_payload(front, "validation", None, None, {}, 10)
    assert json.dumps(page)
    assert gap in page["parts"][0]["upper"]
    front.to_html(tmp_path / "page.html")
    assert front.select(least=gap, within={"error": 1.0}, on="validation").predict(X).shape == (N,)
    given = ff.Frontier.from_models({"m": front.select(id=0)}, X, Y, **known, notion=notion)
    np.testing.assert_allclose(given.gaps[0, 0], record[gap][front.place(0)], atol=1e-12)


def test_a_run_has_it_on_its_card(tmp_path: Path) -> None:
    lines = ["one,two,answer,group", *(f"{a:.4f},{b:.4f},{y},{g}" for a, b, y, g in zip(*X.T[:2], Y, TWO, strict=True))]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines))
    known: dict[str, Any] = {"target": "answer", "favourable": "1", "n_points": 3, "progress": False}
    run = ff.trace_table(file, groups="group", notion="mean_score_parity", **known)
    run.save(tmp_path / "run")
    run = ff.load(tmp_path / "run")
    assert "mean_score_gap" in run.options()[0].figures
    model = run.select(id=run.options()[0].id, reason="it is a test", by="the tests")
    assert "mean score gap" in model.card
    run.to_html(tmp_path / "page.html")
