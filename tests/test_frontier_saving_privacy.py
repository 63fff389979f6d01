"""What is written gives away no small group: not its name, not its counts, not by subtraction."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairfront as ff
from fairfront.frontier import Frontier
from fairfront.frontier.saving import load_frontier
from fairfront.frontier.saving_counts import shareable
from fairfront.measures import evaluate_scores
from fairfront.objectives import Groups, Task

PLANTED = "Zq7-planted-people"
ROW = 918273.6451
"""A value of one training row."""


def planted(seed: int = 0, few: int = 4, sizes: tuple[int, ...] = (500, 300, 120)) -> tuple[Any, Any, Any]:
    """Return data with a group of few people, one of whom has a feature that nobody else has."""
    rng = np.random.default_rng(seed)
    group = np.concatenate([np.repeat(list("abc")[: len(sizes)], sizes), np.repeat(PLANTED, few)]).astype(object)
    X = rng.normal(size=(len(group), 3))
    X[-1, 2] = ROW if seed == 0 else 0.0
    y = np.where(X[:, 0] + 0.5 * (group == "a") + rng.normal(size=len(group)) > 0, "yes", "no")
    return X, y, group


def quiet(action: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ff.GroupWarning)
        return action()


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() + path.name.encode() for path in sorted(folder.rglob("*")) if path.is_file())


def known_rows(folder: Path) -> tuple[int, dict[str, float]]:
    """Return what a reader learns of the first evaluation: all rows, and the rows of groups."""
    document = json.loads((folder / "frontier.json").read_text())
    record = document["content"]["evaluations"][0]
    with np.load(folder / "frontier.npz") as arrays:
        rows = arrays["evaluations.0.groups.0.n"]
    return record["n"], dict(zip(record["groups"][0]["levels"], rows, strict=True))


def assert_hidden(folder: Path) -> None:
    """Hold a folder against somebody who looks for the planted people, by name, by value, by subtraction."""
    data = contents(folder)
    assert PLANTED.encode() not in data
    assert PLANTED.split("-")[0].encode() not in data
    assert np.float64(ROW).tobytes() not in data
    assert str(ROW).encode() not in data
    n, rows = known_rows(folder)
    shown = sum(value for value in rows.values() if value == value)
    assert all(value >= 10 for value in rows.values() if value == value)
    assert n - shown == 0 or n - shown >= 10


def test_a_group_left_out_in_training_stays_out_of_the_file(tmp_path) -> None:
    X, y, group = planted()
    front = quiet(lambda: ff.trace(X, y, sensitive_features=group, n_points=4, progress=False))
    assert front.facts.left_out == (("group", (PLANTED,)),)
    front = front.evaluate(X, y, sensitive_features=group)
    with pytest.warns(ff.GroupWarning, match="no figures of 1 of 3 groups of 'group' in 'validation'"):
        front.save(tmp_path / "f")
    assert_hidden(tmp_path / "f")
    with pytest.warns(ff.GroupWarning, match="fewer than 10 people"):
        found = load_frontier(tmp_path / "f")
    assert [(name, len(levels)) for name, levels in found.facts.left_out] == [("group", 1)]
    rates = found.evaluations["validation"].groups["group"]
    assert rates.levels == ("b", "c", "a")
    assert np.isnan(rates.n).tolist() == [False, True, False]


def test_a_group_that_only_the_evaluation_has_stays_out_of_the_file(tmp_path) -> None:
    X, y, group = planted()
    rest = group != PLANTED
    front = ff.trace(X[rest], y[rest], sensitive_features=group[rest], n_points=4, progress=False)
    front = quiet(lambda: front.evaluate(X, y, sensitive_features=group))
    assert PLANTED in front.evaluations["validation"].groups["group"].levels
    quiet(lambda: front.save(tmp_path / "f"))
    assert_hidden(tmp_path / "f")
    found = quiet(lambda: load_frontier(tmp_path / "f"))
    levels = found.evaluations["validation"].groups["group"].levels
    assert sum("fewer than 10 rows" in level for level in levels) == 1


def test_candidates_with_a_small_group_are_written_without_it(tmp_path) -> None:
    X, y, group = planted()
    scores = {"a": np.where(X[:, 0] > 0, "yes", "no"), "b": np.where(X[:, 0] + X[:, 1] > 0.2, "yes", "no")}
    front = Frontier.from_scores(scores, y, sensitive_features=group, groups=Groups(min_size=1))
    quiet(lambda: front.save(tmp_path / "f"))
    assert_hidden(tmp_path / "f")
    found = quiet(lambda: load_frontier(tmp_path / "f"))
    expected = []
    for name in scores:
        rates = [np.mean(scores[name][(group == g) & (y == "yes")] == "yes") for g in ("a", "b")]
        expected.append(abs(rates[0] - rates[1]))
    np.testing.assert_allclose(found.gaps[:, 0], expected, atol=1e-12)
    assert not np.allclose(front.gaps[:, 0], found.gaps[:, 0])
    np.testing.assert_array_equal(found.objectives[:, 0], front.objectives[:, 0])


def test_a_frontier_of_groups_below_ten_is_not_written(tmp_path) -> None:
    X, y, group = planted()
    front = ff.trace(X, y, sensitive_features=group, groups=Groups(min_size=2), n_points=3, progress=False)
    with pytest.raises(ff.InputError, match=r"min_size=2\).*fewer than 10 people.*min_size=10"):
        front.save(tmp_path / "f")
    assert not list(tmp_path.iterdir())


def test_gaps_in_the_file_are_those_between_the_groups_shown(tmp_path) -> None:
    X, y, group = planted(few=6, sizes=(500, 300, 120))
    rest = group != PLANTED
    front = ff.trace(X[rest], y[rest], sensitive_features=group[rest], n_points=4, progress=False)
    front = quiet(lambda: front.evaluate(X, y, sensitive_features=group))
    quiet(lambda: front.save(tmp_path / "f"))
    found = quiet(lambda: load_frontier(tmp_path / "f"))
    decided = found.points.scores(X)[:, 0] > 0
    rates = [decided[:, group == g].mean(axis=1) for g in ("a", "b")]
    np.testing.assert_allclose(found.column("selection_gap"), abs(rates[0] - rates[1]), atol=1e-12)
    np.testing.assert_allclose(found.column("selection_ratio"), np.minimum(*rates) / np.maximum(*rates), atol=1e-12)
    two = np.isin(group, ["a", "b"])
    alone = front.evaluate(X[two], y[two], sensitive_features=group[two], name="two")
    for name in ("tpr_gap", "selection_gap"):
        np.testing.assert_allclose(found.column(name, None, 0.95), alone.column(name, "two", 0.95), atol=1e-12)
    np.testing.assert_array_equal(found.column("error"), front.column("error"))
    assert found.choose(least="tpr_gap", within={"error": 0.01}) in found.ids


def test_saving_what_was_loaded_hides_no_more(tmp_path) -> None:
    X, y, group = planted()
    front = quiet(lambda: ff.trace(X, y, sensitive_features=group, n_points=3, progress=False))
    front = front.evaluate(X, y, sensitive_features=group)
    quiet(lambda: front.save(tmp_path / "a"))
    quiet(lambda: load_frontier(tmp_path / "a").save(tmp_path / "b"))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_regression_hides_small_groups_too(tmp_path) -> None:
    X, _, group = planted()
    y = X[:, 0] + np.random.default_rng(1).normal(size=len(group))
    rest = group != PLANTED
    options: dict[str, Any] = {"loss": "squared", "notion": "group_loss", "n_points": 3, "progress": False}
    front = ff.trace(X[rest], y[rest], sensitive_features=group[rest], **options)
    front = quiet(lambda: front.evaluate(X, y, sensitive_features=group))
    quiet(lambda: front.save(tmp_path / "f"))
    assert_hidden(tmp_path / "f")


def counts_known(record: Any, attribute: str) -> np.ndarray:
    """Return rows by group and label as the record shows them, NaN where it does not."""
    rates = record.groups[attribute]
    if hasattr(rates, "class_weight"):
        return np.asarray(rates.class_weight)
    return np.column_stack([rates.negatives, rates.positives])


@given(st.integers(0, 10**6), st.integers(2, 3), st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_no_small_cell_is_shown_or_left_over(seed: int, K: int, missing: bool, left_out: bool) -> None:
    rng = np.random.default_rng(seed)
    level = rng.choice([0, 2, 6, 15, 80], size=(rng.integers(2, 6), K))
    cells = rng.poisson(level)
    cells[0, :2] += 1
    cells[1, :2] += 1
    codes = np.repeat(np.arange(len(cells)), cells.sum(axis=1))
    labels = np.concatenate([np.repeat(np.arange(K), row) for row in cells])
    without = int(rng.integers(0, 25)) if missing else 0
    group = np.append(np.array([f"g{c}" for c in codes], dtype=object), [None] * without)
    labels = np.append(labels, rng.integers(0, K, without))
    task = Task("binary" if K == 2 else "multiclass", tuple(range(K)), 1)
    scores = rng.normal(size=(3, 1 if K == 2 else K, len(labels)))
    attributes = Groups(min_size=1).resolve({"g": group}, len(group))
    record = evaluate_scores(scores, labels, task, attributes, name="v")
    found = shareable(record, left_out)
    rates, full = found.groups["g"], record.groups["g"]
    shown_n = ~np.isnan(rates.n)
    assert not ((rates.n[shown_n] > 0) & (rates.n[shown_n] < 10)).any()
    assert not ((full.n > 0) & (full.n < 10) & np.isin(full.levels, rates.levels)).any()
    left = len(labels) - rates.n[shown_n].sum()
    if (left_out or (~shown_n).any()) and shown_n.any():
        assert left == 0 or left >= 10
        assert (~shown_n).sum() != 1 or without
    known = counts_known(found, "g")
    shown = ~np.isnan(known).any(axis=1)
    assert not ((known[shown] > 0) & (known[shown] < 10)).any()
    if (~shown).any() and shown.any() and without < 10:
        assert (~shown).sum() + (without > 0) >= 2
        left = np.array([(labels[: len(codes)] == k).sum() for k in range(K)]) - known[shown].sum(axis=0)
        assert not ((left > 0) & (left < 10)).any()
    assert np.isnan(rates.tpr[:, ~shown]).all()
    assert np.isnan(rates.error[:, ~shown]).all()
    assert np.isnan(rates.selection[:, ~shown_n]).all()
    if shown.all():
        assert found is record


def test_two_attributes_are_hidden_each_on_its_own(tmp_path) -> None:
    X, y, group = planted()
    sex = np.random.default_rng(5).choice(["f", "m"], len(group))
    rest = group != PLANTED
    front = ff.trace(X[rest], y[rest], sensitive_features={"g": group[rest], "sex": sex[rest]}, n_points=3)
    front = quiet(lambda: front.evaluate(X, y, sensitive_features={"g": group, "sex": sex}))
    quiet(lambda: front.save(tmp_path / "f"))
    found = quiet(lambda: load_frontier(tmp_path / "f"))
    np.testing.assert_array_equal(found.column("sex.tpr_gap"), front.column("sex.tpr_gap"))
    assert not np.array_equal(found.column("g.selection_gap"), front.column("g.selection_gap"))
    signed = found.evaluations["validation"].signed
    assert np.isnan(signed["g.tpr_gap"]).any()
    assert not np.isnan(signed["sex.tpr_gap"]).any()
    assert_hidden(tmp_path / "f")


def test_weights_count_as_their_effective_rows(tmp_path) -> None:
    X, y, group = planted(few=12)
    weight = np.where(np.cumsum(group == PLANTED) > 2, 1e-3, 1.0)
    front = ff.trace(X, y, sensitive_features=group, n_points=3, progress=False, groups=Groups(min_size=10))
    front = front.evaluate(X, y, sensitive_features=group, sample_weight=weight)
    quiet(lambda: front.save(tmp_path / "f"))
    rates = quiet(lambda: load_frontier(tmp_path / "f")).evaluations["validation"].groups["group"]
    assert np.isnan(rates.tpr[:, rates.levels.index(PLANTED)]).all()
