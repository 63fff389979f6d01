"""What is written gives away no small group: not its name, not its counts, not by subtraction."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.frontier import Frontier
from fairfront.frontier.store import load_frontier
from fairfront.measures.disclosure import POOLED
from fairfront.measures.published import published
from fairfront.objectives import Groups

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
    left = n - sum(rows.values())
    assert all(value >= 10 or value % 5 == 0 for value in (*rows.values(), left))


def test_a_group_left_out_in_training_stays_out_of_the_file(tmp_path) -> None:
    X, y, group = planted()
    front = quiet(lambda: ff.trace(X, y, sensitive_features=group, n_points=4, progress=False))
    assert front.facts.left_out == (("group", (PLANTED,)),)
    front = front.evaluate(X, y, sensitive_features=group)
    front.save(tmp_path / "f")
    assert_hidden(tmp_path / "f")
    found = load_frontier(tmp_path / "f")
    assert [(name, len(levels)) for name, levels in found.facts.left_out] == [("group", 1)]
    rates = found.evaluations["validation"].groups["group"]
    assert rates.levels == ("b", "c", "a")
    assert np.isfinite(rates.tpr).all()


def test_a_group_of_ten_or_more_that_training_left_out_keeps_its_name(tmp_path) -> None:
    X, y, group = planted()
    group = np.where(np.arange(len(group)) < 24, "twenty-four", np.where(group == PLANTED, "a", group))
    front = quiet(lambda: ff.trace(X, y, sensitive_features=group, n_points=2, progress=False))
    front.save(tmp_path / "f")
    assert load_frontier(tmp_path / "f").facts.left_out == front.facts.left_out == (("group", ("twenty-four",)),)


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
    assert levels == ("b", "c", POOLED, "a")


def test_candidates_with_a_small_group_are_written_without_it(tmp_path) -> None:
    X, y, group = planted()
    scores = {"a": np.where(X[:, 0] > 0, "yes", "no"), "b": np.where(X[:, 0] + X[:, 1] > 0.2, "yes", "no")}
    front = Frontier.from_scores(scores, y, sensitive_features=group, groups=Groups(min_size=1))
    quiet(lambda: front.save(tmp_path / "f"))
    assert_hidden(tmp_path / "f")
    found = quiet(lambda: load_frontier(tmp_path / "f"))
    shown = published(front.evaluations["validation"], front.facts.task)
    np.testing.assert_allclose(found.gaps[:, 0], shown["tpr_gap"], atol=1e-12)
    assert not np.allclose(front.gaps[:, 0], found.gaps[:, 0])
    np.testing.assert_array_equal(found.objectives[:, 0], front.objectives[:, 0])


def test_a_frontier_of_groups_below_ten_is_not_written(tmp_path) -> None:
    X, y, group = planted()
    front = ff.trace(X, y, sensitive_features=group, groups=Groups(min_size=1), n_points=3, progress=False)
    with pytest.raises(ff.InputError, match=r"min_size=1\).*fewer than 10 people.*min_size=10"):
        front.save(tmp_path / "f")
    assert not list(tmp_path.iterdir())


def test_gaps_in_the_file_are_over_all_groups_of_ten_or_more(tmp_path) -> None:
    X, y, group = planted(few=6, sizes=(500, 300, 120))
    rest = group != PLANTED
    front = ff.trace(X[rest], y[rest], sensitive_features=group[rest], n_points=4, progress=False)
    front = quiet(lambda: front.evaluate(X, y, sensitive_features=group))
    front.save(tmp_path / "f")
    found = load_frontier(tmp_path / "f")
    decided = found.models.scores(X)[:, 0] > 0
    rates = np.array([decided[:, group == g].mean(axis=1) for g in ("a", "b", "c")])
    np.testing.assert_allclose(found.column("selection_gap"), np.ptp(rates, axis=0), atol=0.02)
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


def test_tables_of_two_attributes_do_not_give_a_count_back_by_subtraction(tmp_path) -> None:
    """Wrong decisions of all people are the same in both tables; those of the small cell are rounded in both."""
    X, y, group = planted(few=0, sizes=(600, 400, 120))
    sex = np.random.default_rng(5).choice(["f", "m"], len(group))
    front = ff.trace(X, y, sensitive_features={"g": group, "sex": sex}, n_points=5, progress=False)
    front = front.evaluate(X, y, sensitive_features={"g": group, "sex": sex})
    front.save(tmp_path / "f")
    groups = load_frontier(tmp_path / "f").evaluations["validation"].groups
    totals = {}
    for name, rates in groups.items():
        hits = np.rint(rates.tpr * rates.labelled[:, 0])
        missed = np.rint(rates.labelled[:, 0] - hits)
        for counts in (hits, missed, np.rint(rates.fpr * rates.labelled[:, 1])):
            assert ((counts >= 10) | (counts % 5 == 0)).all()
        totals[name] = missed.sum(axis=1)
    np.testing.assert_array_equal(totals["g"], totals["sex"])


def test_weighted_cells_are_scaled_by_their_rows(tmp_path) -> None:
    X, y, group = planted(few=12)
    weight = np.where(np.cumsum(group == PLANTED) > 2, 1e-3, 1.0)
    known = {"sensitive_features": group, "notion": "demographic_parity", "groups": Groups(min_size=10)}
    front = ff.trace(X, y, n_points=3, progress=False, **known)
    front = front.evaluate(X, y, sensitive_features=group, sample_weight=weight)
    front.save(tmp_path / "f")
    found = load_frontier(tmp_path / "f").evaluations["validation"]
    rates = found.groups["group"]
    place = rates.levels.index(PLANTED)
    assert rates.n[place] == 10  # rows, rounded; their effective number is smaller
    assert found.sizes["group"]["selection"][place] < 5
