"""What is written has no training row and no row that was judged; counts, names and figures are exact."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

import fairfront as ff
from fairfront.frontier import Frontier
from fairfront.frontier.store import load_frontier
from fairfront.objectives import Groups

FEW = "Zq7-planted-people"
ROW = 918273.6451
"""A value of one row."""


def planted(seed: int = 0, few: int = 4, sizes: tuple[int, ...] = (500, 300, 120)) -> tuple[Any, Any, Any]:
    """Return data with a group of few people, one of whom has a feature that nobody else has."""
    rng = np.random.default_rng(seed)
    group = np.concatenate([np.repeat(list("abc")[: len(sizes)], sizes), np.repeat(FEW, few)]).astype(object)
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


def assert_no_row(folder: Path, X: np.ndarray) -> None:
    """Look for the planted value in every spelling, and for whole rows."""
    data = contents(folder)
    assert np.float64(ROW).tobytes() not in data
    assert np.float32(ROW).tobytes() not in data
    assert str(ROW).encode() not in data
    assert not any(row.tobytes() in data for row in X)


def test_a_group_left_out_in_training_stays_out_of_gaps_after_loading(tmp_path) -> None:
    X, y, group = planted()
    front = quiet(lambda: ff.trace(X, y, sensitive_features=group, n_points=4, progress=False))
    assert front.facts.left_out == (("group", (FEW,)),)
    front = front.evaluate(X, y, sensitive_features=group)
    front.save(tmp_path / "f")
    assert_no_row(tmp_path / "f", X)
    found = load_frontier(tmp_path / "f")
    assert found.facts.left_out == front.facts.left_out
    again = found.evaluate(X, y, sensitive_features=group)
    rates = again.evaluations["validation"].groups["group"]
    assert rates.levels == ("b", "c", "a")
    np.testing.assert_array_equal(again.column("tpr_gap"), front.column("tpr_gap"))


def test_a_group_that_only_the_evaluation_has_keeps_its_exact_counts(tmp_path) -> None:
    X, y, group = planted()
    rest = group != FEW
    front = ff.trace(X[rest], y[rest], sensitive_features=group[rest], n_points=4, progress=False)
    front = quiet(lambda: front.evaluate(X, y, sensitive_features=group))
    front.save(tmp_path / "f")
    assert_no_row(tmp_path / "f", X)
    record = load_frontier(tmp_path / "f").evaluations["validation"]
    rates = record.groups["group"]
    assert set(rates.levels) == {"a", "b", "c", FEW}
    place = rates.levels.index(FEW)
    assert rates.n[place] == 4
    decided = front.models.scores(X)[:, 0] > 0
    approved = [decided[:, group == level].mean(axis=1) for level in rates.levels]
    np.testing.assert_allclose(rates.selection, np.stack(approved, axis=1), atol=1e-15)
    np.testing.assert_allclose(record["selection_gap"], np.ptp(approved, axis=0), atol=1e-15)


def test_candidates_and_groups_of_any_size_come_back_as_they_were(tmp_path) -> None:
    X, y, group = planted()
    scores = {"a": np.where(X[:, 0] > 0, "yes", "no"), "b": np.where(X[:, 0] + X[:, 1] > 0.2, "yes", "no")}
    front = Frontier.from_scores(scores, y, sensitive_features=group, groups=Groups(min_size=1))
    front.save(tmp_path / "f")
    found = load_frontier(tmp_path / "f")
    assert found.facts == front.facts
    np.testing.assert_array_equal(found.objectives, front.objectives)
    np.testing.assert_array_equal(found.gaps, front.gaps)
    traced = ff.trace(X, y, sensitive_features=group, groups=Groups(min_size=1), n_points=3, progress=False)
    traced.save(tmp_path / "g")
    assert load_frontier(tmp_path / "g").facts == traced.facts


def test_regression_writes_no_row(tmp_path) -> None:
    X, _, group = planted()
    y = X[:, 0] + np.random.default_rng(1).normal(size=len(group))
    y[-1] = ROW
    options: dict[str, Any] = {"loss": "squared", "notion": "group_loss", "n_points": 3, "progress": False}
    front = quiet(lambda: ff.trace(X, y, sensitive_features=group, **options))
    front = quiet(lambda: front.evaluate(X, y, sensitive_features=group))
    front.save(tmp_path / "f")
    assert_no_row(tmp_path / "f", X)


def test_weights_come_back_with_the_rows_behind_them(tmp_path) -> None:
    X, y, group = planted(few=12)
    weight = np.where(np.cumsum(group == FEW) > 2, 1e-3, 1.0)
    known = {"sensitive_features": group, "notion": "demographic_parity", "groups": Groups(min_size=10)}
    front = ff.trace(X, y, n_points=3, progress=False, **known)
    front = front.evaluate(X, y, sensitive_features=group, sample_weight=weight)
    front.save(tmp_path / "f")
    found = load_frontier(tmp_path / "f").evaluations["validation"]
    place = found.groups["group"].levels.index(FEW)
    assert found.groups["group"].n[place] == 12
    effective = weight[group == FEW].sum() ** 2 / (weight[group == FEW] ** 2).sum()
    # design effects, in steps of .05, are at least 1
    assert 0.5 * effective <= found.sizes["group"]["selection"][place] <= effective + 1e-12
