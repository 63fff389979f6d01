"""A saved frontier chooses as the one in memory: the same point and the same sentences by every rule."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.frontier import Frontier

RULES: tuple[dict[str, Any], ...] = (
    {"at_most": {"tpr_gap": 0.10}},
    {"at_most": {"tpr_gap": 0.15}},
    {"at_most": {"tpr_gap": 0.05}, "confidence": None},
    {"at_most": {"tpr_gap": 0.15, "error": 0.5}, "confidence": 0.9},
    {"least": "tpr_gap"},
    {"least": "tpr_gap", "confidence": None},
    {"least": "tpr_gap", "within": {"error": 0.01}},
    {"most": "auc"},
    {"at_least": {"selection_ratio": 0.8}},
    {"at_least": {"selection_ratio": 0.8}, "confidence": None},
    {"preference": "one"},
    {"knee": True},
    {"id": 1},
)
EVALUATIONS = (None, "validation", "held_out")


@cache
def saved(attribute: str, n: int, seed: int) -> tuple[Frontier, Frontier]:
    """Return a frontier of loans with held-out and validation rows, and the same after save and load."""
    data = ff.datasets.load_loans(n * 3 // 2, seed=seed)
    order = np.random.default_rng(seed).permutation(len(data.y))
    train, rest = order[:n], order[n:]
    X, _ = data.matrix("one_hot", fit_on=train)
    group = data.columns[attribute]
    options: dict[str, Any] = {"favourable": "repaid", "groups": ff.Groups(min_size=10), "n_points": 10}
    front = ff.trace(X[train], data.y[train], sensitive_features=group[train], progress=False, **options)
    front = front.evaluate(X[rest], data.y[rest], sensitive_features=group[rest])
    with tempfile.TemporaryDirectory() as folder:
        front.save(Path(folder) / "front")
        return front, ff.load(Path(folder) / "front")


@cache
def saved_regression() -> tuple[Frontier, Frontier]:
    """Return a frontier of numbers with held-out and validation rows, and the same after save and load."""
    rng = np.random.default_rng(5)
    X, group = rng.normal(size=(1_800, 5)), rng.choice(["a", "b", "c"], 1_800, p=[0.6, 0.3, 0.1])
    y = X @ np.array([1.0, -0.5, 0.2, 0.0, 0.3]) + 0.8 * (group == "a") * X[:, 0] + rng.exponential(size=1_800)
    options: dict[str, Any] = {"loss": "squared", "notion": "group_loss", "n_points": 8, "progress": False}
    front = ff.trace(X[:1_200], y[:1_200], sensitive_features=group[:1_200], **options)
    front = front.evaluate(X[1_200:], y[1_200:], sensitive_features=group[1_200:])
    with tempfile.TemporaryDirectory() as folder:
        front.save(Path(folder) / "front")
        return front, ff.load(Path(folder) / "front")


def outcome(front: Frontier, rule: dict[str, Any], on: str | None) -> tuple[int | None, tuple[str, ...]]:
    """Return the id and the sentences of a choice, or the sentence of a refusal."""
    if "preference" in rule:
        rule = {"preference": np.ones(len(front.objective_names))}
    try:
        choice = front.choice(**rule, on=on)
    except ff.InputError as error:
        return None, (str(error),)
    assert choice is not None
    assert choice.id == front.choose(**rule, on=on)
    return choice.id, (*choice.words, *choice.test_words(500))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [1_200, 4_000])
@pytest.mark.parametrize("attribute", ["sex", "group"])
def test_choices_are_those_of_the_frontier_in_memory(attribute: str, n: int, seed: int) -> None:
    front, loaded = saved(attribute, n, seed)
    assert len(front.facts.sensitive[0][1]) == {"sex": 2, "group": 3}[attribute]
    found = {
        (str(rule), on): [outcome(each, rule, on) for each in (front, loaded)] for rule in RULES for on in EVALUATIONS
    }
    assert {asked: known for asked, known in found.items() if known[0] != known[1]} == {}
    assert sum(before[0] is not None for before, _ in found.values()) > len(found) / 3


def test_choices_of_regression_are_those_of_the_frontier_in_memory() -> None:
    front, loaded = saved_regression()
    gap = float(np.median(front.column("mse_gap", "validation", 0.95)))
    rules: tuple[dict[str, Any], ...] = (
        {"at_most": {"mse_gap": gap}},
        {"at_most": {"mse_gap": gap}, "confidence": None},
        {"at_most": {"mse_gap": gap, "mse": 5.0}, "confidence": 0.9},
        {"least": "mse_gap"},
        {"least": "mse_gap", "within": {"mse": 0.1}},
        {"least": "prediction_gap", "confidence": None},
        {"at_least": {"mse": 0.1}, "confidence": None},
        {"preference": "one"},
        {"knee": True},
        {"id": 2},
    )
    assert "held_out" in front.evaluations
    found = [[outcome(each, rule, on) for each in (front, loaded)] for rule in rules for on in EVALUATIONS]
    assert [before for before, _ in found] == [after for _, after in found]
    assert sum(before[0] is not None for before, _ in found) > len(found) / 2


def test_rules_read_held_out_and_validation_rows_together_after_loading() -> None:
    front, loaded = saved("sex", 1_200, 0)
    assert loaded.judged().name == front.judged().name == "held_out and validation"
    assert loaded.judged().n == front.judged().n
    for name in ("tpr_gap", "selection_gap", "error"):
        np.testing.assert_array_equal(
            front.column(name, front.judged().name, 0.95), loaded.column(name, loaded.judged().name, 0.95)
        )
