"""Several ridges in one frontier: at every gap the best held-out one, each point that of its own problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairfront as ff
from fairfront.exceptions import InputError
from fairfront.frontier.ridges import as_ridges, read_ridge

RIDGES = [0.001, 0.03, 0.3]


def rows(n: int = 400, d: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a regression with many columns, two of which count, one of them for the smaller group alone."""
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, d)), rng.choice(["a", "b"], n, p=[0.25, 0.75])
    return X, X[:, 0] + 1.5 * X[:, 1] * (group == "a") + rng.normal(size=n), group


def traced(ridge: Any, **more: Any) -> ff.Frontier:
    X, y, group = rows()
    asked: dict[str, Any] = {"loss": "squared", "notion": "disparate_mistreatment", "n_points": 6, "progress": False}
    return ff.trace(X, y, sensitive_features=group, ridge=ridge, **{**asked, **more})


def test_points_are_those_of_single_ridges_and_the_best_at_their_gap() -> None:
    front, single = traced(RIDGES), {ridge: traced(ridge) for ridge in RIDGES}
    table = front.table()
    assert set(table["ridge"]) <= set(RIDGES)
    held = {
        ridge: (one.evaluations["held_out"]["mse_gap"], one.evaluations["held_out"]["mse"])
        for ridge, one in single.items()
    }
    for place, ridge in enumerate(table["ridge"]):
        near = np.abs(single[ridge].models.coef - front.models.coef[place]).max(axis=(1, 2))
        assert near.min() < 1e-6
        same = int(near.argmin())
        assert front.loss[place] == pytest.approx(single[ridge].loss[same], rel=1e-9)
        assert front.certified[place] == single[ridge].certified[same]
        here, error = table["held_out.mse_gap"][place], table["held_out.mse"][place]
        assert error == pytest.approx(held[ridge][1][same], rel=1e-7)
        for gap, other in held.values():  # no path is better where it first comes to this gap
            reached = np.flatnonzero(gap <= here)
            if len(reached) and (k := int(reached[0])):
                share = (gap[k - 1] - here) / (gap[k - 1] - gap[k])
                assert error <= other[k - 1] + share * (other[k] - other[k - 1]) + 1e-9
    assert (np.diff(table["held_out.mse_gap"]) < 0).all()
    assert front.plain == 0
    assert "Ridges 0.001, 0.03, 0.3 were traced" in front.sentences[1]
    assert front.select(id=int(front.ids[-1])).alpha == pytest.approx(table["ridge"][-1] * 400)


def test_a_larger_ridge_is_worth_it_on_new_rows() -> None:
    front, plain = traced(RIDGES), traced(RIDGES[0])
    X, y, group = rows(8000, seed=1)
    judged = [each.evaluate(X, y, sensitive_features=group) for each in (front, plain)]
    gaps, errors = ([each.column(name, "validation") for each in judged] for name in ("mse_gap", "mse"))
    assert errors[0][0] < errors[1][0]
    for share in (0.95, 0.9):  # at the same gap on new rows
        here = share * gaps[1][0]
        best, other = (np.interp(here, gap[::-1], error[::-1]) for gap, error in zip(gaps, errors, strict=True))
        assert best < other


def test_classification_people_and_byte_equal_reruns() -> None:
    X, score, group = rows(600, 12)
    y = (score > 0).astype(int)
    known: dict[str, Any] = {"sensitive_features": group, "progress": False, "ridge": [0.5, 0.002, 0.002]}
    one, other = (ff.trace(X, y, **known, person=np.arange(600) // 2) for _ in range(2))
    assert one.models.coef.tobytes() == other.models.coef.tobytes()
    assert set(one.table()["ridge"]) <= {0.002, 0.5}
    assert one.evaluations["held_out"].n == 600


def test_saved_and_loaded(tmp_path: Path) -> None:
    front = traced(RIDGES)
    front.save(tmp_path / "front")
    again = ff.load(tmp_path / "front")
    np.testing.assert_array_equal(again.table()["ridge"], front.table()["ridge"])
    assert again.plain == 0
    assert again.select(id=2).alpha == front.select(id=2).alpha


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ridge": [0.1]}, "expected a number, or 2 to 20 different ones above 0"),
        ({"ridge": [0.1, 0.0]}, "ridge is 0"),
        ({"ridge": [0.1, "b"]}, "ridge is 'b'"),
        ({"ridge": list(range(1, 23))}, "expected a number, or 2 to 20"),
        ({"held_out": False}, "found held_out=False"),
        ({"preferences": 3}, "preferences is for one ridge, found 3"),
        ({"solver": "pb_pdo"}, "solver='newton'"),
    ],
)
def test_what_does_not_go_with_several(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        traced(**{"ridge": RIDGES, **given})


def test_points_are_not_solved_again_with_several() -> None:
    X, y, group = rows()
    front = traced(RIDGES)
    with pytest.raises(InputError, match="points of several ridges"):
        front.refine(X, y, sensitive_features=group, between=(0, 1))
    with pytest.raises(InputError, match="points of several ridges"):
        front.stability(X, y, sensitive_features=group, n=2)
    with pytest.raises(InputError, match="ridge is one number for units='rates'"):
        ff.trace(X, (y > 0).astype(int), sensitive_features=group, ridge=RIDGES, units="rates")


def test_what_people_write() -> None:
    assert as_ridges(0.1) is None
    assert as_ridges(np.array([0.2, 0.1])) == (0.1, 0.2)
    assert read_ridge("0.1") == 0.1
    assert read_ridge("0.1,1e-3") == (0.1, 0.001)
    assert read_ridge([0.1, 0.2]) == (0.1, 0.2)
    with pytest.raises(InputError, match=r"expected a number of at least 0, or several above 0"):
        read_ridge("a,b")
