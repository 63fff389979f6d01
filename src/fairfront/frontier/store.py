"""Files of frontiers: one folder of arrays and JSON, and estimators of others in files of skops.

Written are models, objectives, names, settings and evaluations. Not written are training rows, labels of rows, the
names of groups that were left out as too small, and exact counts below 10 (the policy is `measures.disclosure`).
Settings are found again by name in the registries; one of a user's own class has no name to be found by: then the
question stays out, and with it what solves points again. docs/files.md describes the files.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError
from ..measures.disclosure import LIMIT
from ..measures.published import published
from ..objectives import GAPS, LOSSES, NOTIONS, Groups, Question
from ..registry import Registry
from ..solvers import Newton, Status
from ..storage.checksums import Inventory
from ..storage.folders import make_folder, write_folder
from ..storage.packages import inner_name, parts_of, read_package, write_package
from ..storage.places import read_folder
from ..validation import counted
from .candidates import judged_points
from .estimator_models import CandidateModels, EstimatorModels, PosteriorModels
from .evaluation_store import evaluation_content, evaluation_of
from .frontier import Frontier
from .models import LinearModels, Models, Stored, task_content, task_of
from .points import ARRAYS, Facts, Points

NAME, KIND, SCHEMA = "frontier", "fairfront frontier", 2
FRONTIER = Inventory("saved frontier", {NAME: KIND})
KINDS = {"certified": ("b", "booleans"), "ids": ("i", "whole numbers")}
MODELS: Registry[type[Models]] = Registry("kind of models")
MODELS.add("linear", LinearModels)
MODELS.add("candidates", CandidateModels)
MODELS.add("estimators", EstimatorModels)
MODELS.add("posteriors", PosteriorModels)
ROOMS = {"torch": "torch"}
"""Kinds of models that rooms above this one add when they are imported."""
REGISTRIES: dict[str, Registry[Any]] = {"notion": NOTIONS, "loss": LOSSES, "gap": GAPS}
SETTINGS: dict[str, type] = {"groups": Groups, "newton": Newton}
SPECIAL = ("task", "left_out", "unnamed", "question", "newton")


def save_frontier(front: Frontier, path: Any, *, overwrite: bool = False) -> Path:
    """Write a frontier as a folder, whole or not at all, and return its path.

    Parameters
    ----------
    path : path
        A folder that does not exist yet; the one above it does.
    overwrite : bool
        Replace a frontier that was saved there before. Folders with anything else in them are never replaced.
    """
    return write_folder(path, lambda folder: write_frontier(front, folder), FRONTIER, overwrite=overwrite)


def write_frontier(front: Frontier, folder: Any) -> None:
    """Write the files of a frontier into a folder, which is made if it is not there; part of what writes more."""
    place = Path(folder)
    front = published_frontier(front)
    kind = _kind_of(front.models)
    make_folder(place)
    stored = front.models.write(place)
    arrays = {name: getattr(front.points, name) for name in ARRAYS} | _inside("models", stored.arrays)
    evaluations = []
    for i, record in enumerate(front.evaluations.values()):
        content, figures = evaluation_content(record)
        evaluations.append(content)
        arrays |= _inside(f"evaluations.{i}", figures)
    content = {
        "models": {"kind": kind, "files": list(stored.files), "content": stored.content},
        "objective_names": list(front.objective_names),
        "multiplier_names": list(front.multiplier_names),
        "status": [status.name for status in front.status],
        "facts": facts_content(front.facts),
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
        front = _frontier(content, arrays, folder, trusted)
        _check_kinds(front)
        _check_lengths(front)
    return front


def _frontier(content: Any, arrays: dict[str, NDArray[Any]], folder: Path, trusted: Sequence[str]) -> Frontier:
    given = content["models"]
    files = tuple(inner_name(each, folder / f"{NAME}.json") for each in given["files"])
    stored = Stored(given["content"], _outside("models", arrays), files)
    points = Points(
        status=tuple(_status(name) for name in content["status"]),
        objective_names=tuple(content["objective_names"]),
        multiplier_names=tuple(content["multiplier_names"]),
        **{name: arrays[name] for name in ARRAYS},
    )
    records = [
        evaluation_of(each, _outside(f"evaluations.{i}", arrays)) for i, each in enumerate(content["evaluations"])
    ]
    return Frontier(
        _kind(given["kind"]).read(stored, folder, trusted),
        points,
        facts_of_content(content["facts"]),
        {record.name: record for record in records},
    )


def _status(name: str) -> Status:
    if name not in Status.__members__:
        raise InputError(f"a point has the status {name!r}, which this version does not know; upgrade fairfront.")
    return Status[name]


def _check_kinds(front: Frontier) -> None:
    """Refuse arrays of another kind than each of them is written with, and ids that two points share."""
    for name in ARRAYS:
        kind, words = KINDS.get(name, ("f", "numbers with a fraction"))
        found = getattr(front.points, name).dtype
        if found.kind != kind:
            raise InputError(f"{name} are {found}, expected {words}; save the frontier again.")
    ids = front.ids.tolist()
    if len(set(ids)) < len(ids):
        twice = next(id for place, id in enumerate(ids) if id in ids[:place])
        raise InputError(f"two points have the id {twice}, expected each to have its own; save it again.")


def _check_lengths(front: Frontier) -> None:
    N = len(front.models)
    found = {name: len(getattr(front.points, name)) for name in (*ARRAYS, "status")}
    found |= {f"evaluation {name!r}": record.n_models for name, record in front.evaluations.items()}
    for name, count in found.items():
        if count != N:
            raise InputError(
                f"{name} has {counted(count, 'point')}, expected {N}, as many as there are models; save it again."
            )


def published_frontier(front: Frontier) -> Frontier:
    """Return a frontier as it is written: small groups pooled and small counts rounded in its evaluations."""
    question = front.facts.question
    groups = None if question is None else question.groups
    if groups is not None and groups.min_size < LIMIT:
        raise InputError(
            f"this frontier was traced with Groups(min_size={groups.min_size}), so that its gaps may describe fewer "
            f"than {LIMIT} people, which is not written to files; trace it with min_size={LIMIT} or more."
        )
    evaluations = {name: published(record, front.facts.task) for name, record in front.evaluations.items()}
    front = replace(front, evaluations=evaluations)
    return front if front.facts.trained else _candidates(front)


def _candidates(front: Frontier) -> Frontier:
    """Return candidates whose axes, which are figures of their first evaluation, are those that may be written."""
    if not front.evaluations:
        raise InputError("these candidates have no evaluation, expected the one that their axes are from.")
    record = next(iter(front.evaluations.values()))
    levels = {name: rates.levels for name, rates in record.groups.items()}
    sensitive = tuple((name, levels.get(name, known)) for name, known in front.facts.sensitive)
    front = replace(front, facts=replace(front.facts, sensitive=sensitive))
    points = judged_points(record, front.facts.task, front.facts.notions)
    if np.array_equal(points.objectives, front.objectives, equal_nan=True):
        return front
    return replace(front, points=replace(points, ids=front.ids))


def _inside(name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {f"{name}.{each}": values for each, values in arrays.items()}


def _outside(name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    start = f"{name}."
    return {each.removeprefix(start): values for each, values in arrays.items() if each.startswith(start)}


def _kind(kind: str) -> type[Models]:
    """Return the class of a kind, importing the room that adds it if that was not done yet."""
    if kind not in MODELS and kind in ROOMS:
        import_module(f"{__package__.partition('.')[0]}.{ROOMS[kind]}")
    return MODELS[kind]


def _kind_of(models: Models) -> str:
    """Return the name of the kind that these models are of."""
    for name in MODELS:
        if MODELS[name] is type(models):
            return name
    raise InputError(
        f"models of type {type(models).__name__} cannot be saved, expected one of "
        f"{', '.join(MODELS[name].__name__ for name in MODELS)}; save them one by one."
    )


class _NamelessError(Exception):
    """A setting that no registry knows."""


def facts_content(facts: Facts) -> dict[str, Any]:
    """Return facts for JSON; warn where settings of a user's own keep the question out."""
    plain = {each.name: getattr(facts, each.name) for each in fields(facts) if each.name not in SPECIAL}
    return {
        "task": task_content(facts.task),
        "left_out": facts.told_left_out,
        **_settings(facts),
        "plain": plain,
    }


def _settings(facts: Facts) -> dict[str, Any]:
    asked = {} if facts.question is None else _parameters(facts.question)
    try:
        return {
            "question": {name: _setting(value) for name, value in asked.items()},
            "newton": _setting(facts.newton),
        }
    except _NamelessError as error:
        warnings.warn(
            f"{error} is not registered, so the settings are not saved: refine and stability will not be available "
            "after loading; register it to keep them.",
            FairfrontWarning,
            stacklevel=2,
        )
        return {"question": {}, "newton": _setting(Newton())}


def _setting(value: Any) -> Any:
    """Return a setting for JSON: what it is, its name, and its parameters."""
    if isinstance(value, (tuple, list)):
        return {"are": [_setting(each) for each in value]}
    for kind, registry in REGISTRIES.items():
        name = getattr(value, "name", None)
        if isinstance(name, str) and name in registry and type(value) is registry[name]:
            return {"is": kind, "name": name, "with": _parameters(value)}
    for kind, known in SETTINGS.items():
        if type(value) is known:
            return {"is": kind, "with": _parameters(value)}
    if value is None or isinstance(value, (str, int, float, np.generic)):
        return {"value": value}
    raise _NamelessError(type(value).__name__)


def _parameters(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value) if each.init}


def facts_of_content(content: Mapping[str, Any]) -> Facts:
    """Return the facts that `facts_content` was given, without the names of groups of very few rows."""
    plain = {name: _tuples(value) for name, value in content["plain"].items()}
    unknown = set(plain) - {each.name for each in fields(Facts)}
    if unknown:
        raise InputError(f"facts have {min(unknown)!r}, which this version does not know; upgrade fairfront.")
    asked = {name: _of_setting(value) for name, value in content["question"].items()}
    return Facts(
        task=task_of(content["task"]),
        left_out=_tuples(content["left_out"]),
        question=Question(**asked) if asked else None,
        newton=_of_setting(content["newton"]),
        **plain,
    )


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value


def _of_setting(content: Mapping[str, Any]) -> Any:
    if "are" in content:
        return tuple(_of_setting(each) for each in content["are"])
    if "is" not in content:
        return content["value"]
    kind = content["is"]
    if kind in SETTINGS:
        return SETTINGS[kind](**content["with"])
    if kind not in REGISTRIES:
        raise InputError(f"a setting is a {kind!r}, which this version does not know; upgrade fairfront.")
    return REGISTRIES[kind][content["name"]](**content["with"])
