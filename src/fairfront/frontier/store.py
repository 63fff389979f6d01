"""Files of frontiers: one folder of arrays and JSON, and estimators of others in files of skops.

Written are models, objectives, names, settings and evaluations with their counts and covariances, so that rules choose
the same point from a loaded frontier. Training rows and labels of rows are not written. docs/files.md describes the
files.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import FairfrontWarning, InputError, level_of_caller
from ..objectives import GAPS, LOSSES, NOTIONS, Groups, Question
from ..solvers import Status
from ..storage.folders import make_folder, write_folder
from ..storage.inventory import Inventory
from ..storage.packages import inner_name, parts_of, read_package, write_package
from ..storage.places import read_folder
from ..validation import Registry, as_tuples, counted
from .candidates import CandidateModels
from .estimator_models import EstimatorModels
from .evaluation_files import Arrays, evaluation_content, inside, outside, stored_evaluation
from .frontier import Frontier
from .linear_models import LinearModels
from .models import Models, Stored, task_content, task_of
from .points import ARRAYS, Facts, Points
from .rule_models import RuleModels

NAME, KIND, SCHEMA = "frontier", "fairfront frontier", 3
FRONTIER = Inventory("saved frontier", {NAME: KIND})
KINDS = {"certified": ("b", "booleans"), "ids": ("i", "whole numbers")}
MODELS: Registry[type[Models]] = Registry("kind of models")
MODELS.add("linear", LinearModels)
MODELS.add("candidates", CandidateModels)
MODELS.add("estimators", EstimatorModels)
MODELS.add("rules", RuleModels)
ROOMS = {"torch": "torch"}
"""Kinds of models that rooms above this one add when they are imported."""
REGISTRIES: dict[str, Registry[Any]] = {"notion": NOTIONS, "loss": LOSSES, "gap": GAPS}
SETTINGS: dict[str, type] = {"groups": Groups}


def save_frontier(front: Frontier, path: Any, *, overwrite: bool = False) -> Path:
    """Write a frontier as a folder, whole or not at all; see `Frontier.save`."""
    return write_folder(path, lambda folder: write_frontier(front, folder), FRONTIER, overwrite=overwrite)


def write_frontier(front: Frontier, folder: Any) -> None:
    """Write the files of a frontier into a folder, which is made if it is not there; part of what writes more."""
    place = Path(folder)
    kind = next((name for name in MODELS if MODELS[name] is type(front.models)), None)
    if kind is None:
        raise InputError(
            f"models of type {type(front.models).__name__} cannot be saved, expected one of "
            f"{', '.join(MODELS[name].__name__ for name in MODELS)}; save them one by one."
        )
    make_folder(place)
    stored = front.models.write(place)
    arrays: Arrays = {name: getattr(front.points, name) for name in ARRAYS} | inside("models", stored.arrays)
    evaluations = []
    for i, record in enumerate(front.evaluations.values()):
        described, figures = evaluation_content(record)
        evaluations.append(described)
        arrays |= inside(f"evaluations.{i}", figures)
    content = {
        "models": {"kind": kind, "files": list(stored.files), "content": stored.content},
        "objective_names": list(front.objective_names),
        "multiplier_names": list(front.multiplier_names),
        "status": [status.name for status in front.status],
        "facts": _facts_content(front.facts),
        "evaluations": evaluations,
    }
    write_package(place, NAME, KIND, content, arrays, SCHEMA, stored.files)


def load_frontier(path: Any, *, trusted: Sequence[str] = ()) -> Frontier:
    """Read a frontier from its folder.

    Models of fairfront are numbers and execute nothing. Estimators that a user brought are loaded only if skops trusts
    their types or ``trusted`` names them; the error lists what there is to confirm.
    """
    return read_folder(path, lambda folder: _read(folder, trusted))


def _read(folder: Path, trusted: Sequence[str]) -> Frontier:
    content, arrays = read_package(folder, NAME, KIND, SCHEMA)
    with parts_of(folder, "frontier"):
        given, kind = content["models"], content["models"]["kind"]
        files = tuple(inner_name(each, folder / f"{NAME}.json") for each in given["files"])
        stored = Stored(given["content"], outside("models", arrays), files)
        for name in content["status"]:
            if name not in Status.__members__:
                raise InputError(
                    f"a point has the status {name!r}, which this version does not know; upgrade fairfront."
                )
        points = Points(
            status=tuple(Status[name] for name in content["status"]),
            objective_names=tuple(content["objective_names"]),
            multiplier_names=tuple(content["multiplier_names"]),
            **{name: arrays[name] for name in ARRAYS},
        )
        records = [
            stored_evaluation(each, outside(f"evaluations.{i}", arrays))
            for i, each in enumerate(content["evaluations"])
        ]
        if kind not in MODELS and kind in ROOMS:
            import_module(f"{__package__.partition('.')[0]}.{ROOMS[kind]}")
        models, facts = MODELS[kind].read(stored, folder, trusted), _facts_of(content["facts"])
        front = Frontier(models, points, facts, {record.name: record for record in records})
        _check(front)
    return front


def _check(front: Frontier) -> None:
    """Refuse arrays of another kind or length than each of them is written with, and ids that two points share."""
    for name in ARRAYS:
        kind, words = KINDS.get(name, ("f", "numbers with a fraction"))
        found = getattr(front.points, name).dtype
        if found.kind != kind:
            raise InputError(f"{name} are {found}, expected {words}; save the frontier again.")
    ids = front.ids.tolist()
    if len(set(ids)) < len(ids):
        twice = next(id for place, id in enumerate(ids) if id in ids[:place])
        raise InputError(f"two points have the id {twice}, expected each to have its own; save it again.")
    lengths = {name: len(getattr(front.points, name)) for name in (*ARRAYS, "status")}
    lengths |= {f"evaluation {name!r}": record.n_models for name, record in front.evaluations.items()}
    for name, count in lengths.items():
        if count != len(front.models):
            raise InputError(
                f"{name} has {counted(count, 'point')}, expected {len(front.models)}, as many as there are models; "
                "save it again."
            )


def _facts_content(facts: Facts) -> dict[str, Any]:
    """Return facts for JSON; warn where an own class keeps the question out.

    Settings are found again by name in the registries; one of a user's own class has no name to be found by: then
    the question stays out.
    """
    special = ("task", "left_out", "question")
    asked = {} if facts.question is None else _parameters(facts.question)
    try:
        kept = {name: _content(value) for name, value in asked.items()}
    except LookupError as error:
        warnings.warn(
            f"{error.args[0]} is not registered, so the settings are not saved; register it to keep them.",
            FairfrontWarning,
            stacklevel=level_of_caller(),
        )
        kept = {}
    return {
        "task": task_content(facts.task),
        "left_out": facts.left_out,
        "question": kept,
        "plain": {name: value for name, value in _parameters(facts).items() if name not in special},
    }


def _facts_of(content: Mapping[str, Any]) -> Facts:
    plain = {name: as_tuples(value) for name, value in content["plain"].items()}
    unknown = set(plain) - {each.name for each in fields(Facts)}
    if unknown:
        raise InputError(f"facts have {min(unknown)!r}, which this version does not know; upgrade fairfront.")
    asked = {name: _of_content(value) for name, value in content["question"].items()}
    return Facts(
        task=task_of(content["task"]),
        left_out=as_tuples(content["left_out"]),
        question=Question(**asked) if asked else None,
        **plain,
    )


def _parameters(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value) if each.init}


def _content(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return {"are": [_content(each) for each in value]}
    name = getattr(value, "name", "")
    for kind, registry in REGISTRIES.items():
        if name in registry and type(value) is registry[name]:
            return {"is": kind, "name": name, "with": _parameters(value)}
    for kind, known in SETTINGS.items():
        if type(value) is known:
            return {"is": kind, "with": _parameters(value)}
    if value is None or isinstance(value, (str, int, float, np.generic)):
        return {"value": value}
    raise LookupError(type(value).__name__)


def _of_content(content: Mapping[str, Any]) -> Any:
    if "are" in content:
        return tuple(_of_content(each) for each in content["are"])
    if "is" not in content:
        return content["value"]
    kind = content["is"]
    if kind in SETTINGS:
        return SETTINGS[kind](**content["with"])
    if kind not in REGISTRIES:
        raise InputError(f"a setting is a {kind!r}, which this version does not know; upgrade fairfront.")
    if content["name"] not in REGISTRIES[kind]:
        raise InputError(
            f"the frontier was saved with the {kind} {content['name']!r}, which is not registered in this process; "
            "import the module that registers it, then load it again."
        )
    return REGISTRIES[kind][content["name"]](**content["with"])
