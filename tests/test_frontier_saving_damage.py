"""Saved frontiers that do not fit, are of another version, or stand in the way are told in a sentence."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import fairfront as ff
from fairfront.frontier import Facts, Frontier
from fairfront.frontier.saving import ARRAYS, load_frontier, save_frontier
from fairfront.frontier.saving_points import POINTS
from fairfront.measures import Evaluation
from fairfront.objectives.notions import EqualOpportunity


def draw(n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    group = rng.choice(["A", "B", "C"], size=n)
    X = rng.normal(size=(n, 3)) + 0.8 * (group == "A")[:, None]
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, "yes", "no"), group


def test_no_field_is_forgotten() -> None:
    assert {each.name for each in fields(Frontier)} == {
        *(*ARRAYS, "points", "facts", "evaluations", "status", "objective_names", "multiplier_names")
    }
    assert {each.name for each in fields(Evaluation)} == {
        "name",
        "n",
        "columns",
        "signed",
        "groups",
        "sizes",
        "effective_n",
        "small",
        "sums",
        "operating",
        "labels",
        "alike",
        "proxies",
    }
    assert {"task", "left_out", "recipe", "newton"} <= {each.name for each in fields(Facts)}
    assert {"linear", "candidates", "estimators"} <= set(POINTS)


@dataclass(frozen=True)
class OwnNotion(EqualOpportunity):
    """A notion that no registry knows."""

    name: ClassVar[str] = "own"


def test_settings_of_ones_own_are_left_out_with_a_warning(tmp_path) -> None:
    X, y, group = draw()
    front = ff.trace(X, y, sensitive_features=group, notion=OwnNotion(), n_points=3, progress=False)
    with pytest.warns(ff.FairfrontWarning, match="OwnNotion is not registered.*refine and stability"):
        front.save(tmp_path / "f")
    found = load_frontier(tmp_path / "f")
    assert found.facts.recipe == {}
    assert found.facts.notions == ("own",)
    np.testing.assert_array_equal(front.points.coef, found.points.coef)


def edited(path: Path, **changes: Any) -> None:
    """Change the content of a saved frontier, with the right checksum."""
    document = json.loads((path / "frontier.json").read_text())
    document["content"].update(changes)
    document.pop("sha256")
    plain = json.dumps(document, sort_keys=True, separators=(",", ":"))
    document["sha256"] = hashlib.sha256(plain.encode()).hexdigest()
    (path / "frontier.json").write_text(json.dumps(document))


@pytest.fixture
def saved(tmp_path) -> Path:
    X, y, group = draw()
    front = ff.trace(X, y, sensitive_features=group, n_points=3, progress=False)
    return save_frontier(front, tmp_path / "f")


def test_all_statuses_are_known_and_others_are_told(saved) -> None:
    front = load_frontier(saved)
    for status in ff.Status:
        replace(front, status=(status,) * len(front)).save(saved, overwrite=True)
        assert load_frontier(saved).status == (status,) * len(front)
    edited(saved, status=["SETTLED"] * len(front))
    with pytest.raises(ff.InputError, match="status 'SETTLED', which this version does not know; upgrade"):
        load_frontier(saved)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"points": {"kind": "quantum", "files": [], "content": {}}}, "unknown kind of points 'quantum'"),
        ({"points": {}}, "does not have the parts of a frontier"),
        ({"status": ["EFFICIENT"]}, "status has 1 points, expected 3"),
        ({"facts": {"kind": "x"}}, "facts are of the kind 'x'"),
        ({"evaluations": [{"groups": [{"kind": "x"}]}]}, "figures are of the kind 'x'"),
    ],
)
def test_contents_that_do_not_fit_are_told(saved, changes, words) -> None:
    edited(saved, **changes)
    with pytest.raises(ff.InputError, match=words):
        load_frontier(saved)


def test_only_a_frontier_is_overwritten(saved, tmp_path) -> None:
    front = load_frontier(saved)
    with pytest.raises(ff.InputError, match="exists already"):
        front.save(saved)
    front.save(saved, overwrite=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("dear")
    with pytest.raises(
        ff.InputError, match=r"other things than fairfront writes into a saved frontier, or changed ones \(thesis.txt\)"
    ):
        front.save(tmp_path / "home", overwrite=True)
    assert (tmp_path / "home" / "thesis.txt").exists()


def test_points_without_a_format_are_refused(saved, tmp_path) -> None:
    class Odd:
        def __len__(self) -> int:
            return 3

    front = replace(load_frontier(saved), points=Odd())  # type: ignore[arg-type]
    with pytest.raises(ff.InputError, match="Odd cannot be saved, expected one of LinearPoints, Candida"):
        front.save(tmp_path / "odd")
    assert not (tmp_path / "odd").exists()


def test_labels_that_json_does_not_know_are_refused(saved, tmp_path) -> None:
    front = load_frontier(saved)
    task = replace(front.facts.task, classes=(b"no", b"yes"))
    with pytest.raises(ff.InputError, match="is of type bytes"):
        replace(front, facts=replace(front.facts, task=task)).save(tmp_path / "g")
    assert not (tmp_path / "g").exists()
