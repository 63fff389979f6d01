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
from fairfront.frontier.models import task_of
from fairfront.frontier.points import ARRAYS, Points
from fairfront.frontier.store import MODELS, load_frontier, save_frontier
from fairfront.measures import Evaluation
from fairfront.objectives.notions import EqualOpportunity
from fairfront.storage.documents import pack


def draw(n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    group = rng.choice(["A", "B", "C"], size=n)
    X = rng.normal(size=(n, 3)) + 0.8 * (group == "A")[:, None]
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, "yes", "no"), group


def test_no_field_is_forgotten() -> None:
    not_saved = {"visited", "source"}
    assert {each.name for each in fields(Frontier)} == {"models", "points", "facts", "evaluations"} | not_saved
    assert {each.name for each in fields(Points)} == {*ARRAYS, "status", "objective_names", "multiplier_names"}
    assert {each.name for each in fields(Evaluation)} == {
        "name",
        "made",
        "n",
        "columns",
        "signed",
        "groups",
        "sizes",
        "further_sizes",
        "scored",
        "effective_n",
        "sums",
        "operating",
        "labels",
        "alike",
        "proxies",
        "design",
        "errors",
    }
    assert {"task", "left_out", "question"} <= {each.name for each in fields(Facts)}
    assert {"linear", "candidates", "estimators"} <= set(MODELS)


@dataclass(frozen=True)
class OwnNotion(EqualOpportunity):
    """A notion that no registry knows."""

    name: ClassVar[str] = "own"


def test_settings_of_ones_own_are_left_out_with_a_warning(tmp_path) -> None:
    X, y, group = draw()
    front = ff.trace(X, y, sensitive_features=group, notion=OwnNotion(), n_points=3, progress=False)
    with pytest.warns(ff.FairfrontWarning, match="OwnNotion is not registered, so the settings are not saved") as told:
        front.save(tmp_path / "f")
    assert [each.filename for each in told] == [__file__], "the warning points to the line that saves"
    found = load_frontier(tmp_path / "f")
    assert found.facts.question is None
    assert found.facts.notions == ("own",)
    np.testing.assert_array_equal(front.models.coef, found.models.coef)


def edited(path: Path, **changes: Any) -> None:
    """Change the content of a saved frontier, with the right checksum."""
    document = json.loads((path / "frontier.json").read_text())
    document["content"].update(changes)
    sealed(path, document)


def sealed(path: Path, document: dict[str, Any]) -> None:
    """Write the JSON of a frontier with the right checksum."""
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
        replace(front, points=replace(front.points, status=(status,) * len(front))).save(saved, overwrite=True)
        assert load_frontier(saved).status == (status,) * len(front)
    edited(saved, status=["SETTLED"] * len(front))
    with pytest.raises(ff.InputError, match="status 'SETTLED', which this version does not know; upgrade"):
        load_frontier(saved)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"models": {"kind": "quantum", "files": [], "content": {}}}, "unknown kind of models 'quantum'"),
        ({"models": {}}, "does not have the parts of a frontier"),
        ({"models": {"kind": "candidates", "files": ["../a.skops"], "content": {}}}, "expected one in its own folder"),
        ({"models": {"kind": "candidates", "files": ["/a.skops"], "content": {}}}, "expected one in its own folder"),
        ({"models": {"kind": "candidates", "files": [3], "content": {}}}, "expected one in its own folder"),
        ({"status": ["EFFICIENT"]}, "status has 1 point, expected 3"),
        ({"facts": {"kind": "x"}}, "does not have the parts of a frontier"),
        ({"evaluations": [{"groups": [{"kind": "x"}]}]}, "figures are of the kind 'x'"),
    ],
)
def test_contents_that_do_not_fit_are_told(saved, changes, words) -> None:
    edited(saved, **changes)
    with pytest.raises(ff.InputError, match=words):
        load_frontier(saved)


@pytest.mark.parametrize("schema", [1, 2])
def test_frontiers_of_older_schemas_are_refused_in_one_sentence(saved, schema: int) -> None:
    document = json.loads((saved / "frontier.json").read_text())
    assert document["schema"] == 3
    document["schema"] = schema
    sealed(saved, document)
    said = rf"with schema {schema}, which fairfront .* no longer reads .* or recreate it\.$"
    with pytest.raises(ff.InputError, match=said):
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

    front = replace(load_frontier(saved), models=Odd())  # type: ignore[arg-type]
    with pytest.raises(ff.InputError, match="Odd cannot be saved, expected one of LinearModels, "):
        front.save(tmp_path / "odd")
    assert not (tmp_path / "odd").exists()


def test_labels_that_json_does_not_know_are_refused(saved, tmp_path) -> None:
    front = load_frontier(saved)
    task = replace(front.facts.task, classes=(b"no", b"yes"))
    with pytest.raises(ff.InputError, match="is of type bytes"):
        replace(front, facts=replace(front.facts, task=task)).save(tmp_path / "g")
    assert not (tmp_path / "g").exists()


def coefficients(path: Path, **arrays: Any) -> None:
    """Put other arrays into a saved frontier, as somebody would who knows the format, checksums included."""
    document = json.loads((path / "frontier.json").read_text())
    with np.load(path / "frontier.npz") as known:
        packed, names = pack({**known, **{name.replace("__", "."): values for name, values in arrays.items()}})
    (path / "frontier.npz").write_bytes(packed)
    document["arrays"] |= {"bytes": len(packed), "sha256": hashlib.sha256(packed).hexdigest(), "names": names}
    sealed(path, document)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"ids": np.array([0, 1, 0])}, "two points have the id 0"),
        ({"ids": np.array([0.0, 1.0, 2.0])}, "ids are float64, expected whole numbers"),
        ({"certified": np.zeros(3)}, "certified are float64, expected booleans"),
        ({"objectives": np.zeros((3, 2), bool)}, "objectives are bool, expected numbers"),
        ({"models__coef": np.full((3, 1, 3), np.nan)}, "coef have infinite or missing numbers"),
        ({"models__coef": np.full((3, 1, 3), -np.inf)}, "coef have infinite or missing numbers"),
        ({"models__intercept": np.full((3, 1), np.nan)}, "intercept have infinite or missing numbers"),
        ({"models__coef": np.ones((3, 1, 3), bool)}, "coef are bool of shape"),
        ({"models__coef": np.ones((3, 1, 3), complex)}, "coef are complex128 of shape"),
        ({"models__coef": np.ones((3, 1, 2))}, r"shape \(3, 1, 2\), expected numbers of shape \(3, 1, 3\)"),
        ({"models__coef": np.ones((3, 2, 3))}, r"shape \(3, 2, 3\), expected numbers of shape \(3, 1, 3\)"),
        ({"models__coef": np.ones(3)}, r"shape \(3,\), expected numbers of shape \(3, 1, 3\)"),
    ],
)
def test_numbers_that_no_model_has_are_told(saved, arrays, words) -> None:
    coefficients(saved, **arrays)
    with pytest.raises(ff.InputError, match=words):
        load_frontier(saved)


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"kind": "binary", "classes": 3, "favourable": 0}, "the task is 'binary' with the classes 3"),
        ({"kind": "binary", "classes": [0, 1, 2], "favourable": 0}, "the task is 'binary' with the classes"),
        ({"kind": "guess", "classes": [0, 1], "favourable": 0}, "the task is 'guess'"),
        ({"kind": "binary", "classes": [0, 1], "favourable": 2}, "the favourable class is 2"),
        ({"kind": "binary", "classes": [0, 1], "favourable": True}, "the favourable class is True"),
    ],
)
def test_tasks_that_do_not_exist_are_told(task, words) -> None:
    with pytest.raises(ff.InputError, match=words):
        task_of(task)
