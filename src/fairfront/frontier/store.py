"""Files of frontiers: one folder of arrays and JSON, and estimators of others in files of skops.

Written are models, objectives, names, settings and evaluations. Not written are training rows, labels of rows, the
names of groups that were left out as too small, and exact counts below 10 (the policy is `measures.disclosure`).
docs/files.md describes the files.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import FairfrontWarning, InputError
from ..measures import Evaluation
from ..measures.cutoffs import Operating, OperatingPoint
from ..measures.rates import ClassRates, GroupMeans, GroupRates, PerGroup
from ..measures.spans import RateRange
from ..objectives import GAPS, LOSSES, NOTIONS, Groups, Question
from ..solvers import Newton, Status
from ..storage.folders import make_folder, write_folder
from ..storage.packages import inner_name, parts_of, read_package, write_package
from ..storage.places import read_folder
from ..storage.seals import Inventory
from ..validation import Registry, counted
from .candidates import CandidateModels
from .estimator_models import EstimatorModels, PosteriorModels
from .frontier import Frontier
from .judgement import published_frontier
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
RATES: dict[str, type[PerGroup]] = {"rates": GroupRates, "class_rates": ClassRates, "means": GroupMeans}
PLAIN = ("name", "n", "effective_n", "small")
"""What is known of an evaluation without its figures."""
Arrays = dict[str, NDArray[Any]]


def save_frontier(front: Frontier, path: Any, *, overwrite: bool = False) -> Path:
    """Write a frontier as a folder, whole or not at all; see `Frontier.save`."""
    return write_folder(path, lambda folder: write_frontier(front, folder), FRONTIER, overwrite=overwrite)


def write_frontier(front: Frontier, folder: Any) -> None:
    """Write the files of a frontier into a folder, which is made if it is not there; part of what writes more."""
    place = Path(folder)
    front = published_frontier(front)
    kind = next((name for name in MODELS if MODELS[name] is type(front.models)), None)
    if kind is None:
        raise InputError(
            f"models of type {type(front.models).__name__} cannot be saved, expected one of "
            f"{', '.join(MODELS[name].__name__ for name in MODELS)}; save them one by one."
        )
    make_folder(place)
    stored = front.models.write(place)
    arrays: Arrays = {name: getattr(front.points, name) for name in ARRAYS} | _inside("models", stored.arrays)
    evaluations = []
    for i, record in enumerate(front.evaluations.values()):
        described, figures = evaluation_content(record)
        evaluations.append(described)
        arrays |= _inside(f"evaluations.{i}", figures)
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
        stored = Stored(given["content"], _outside("models", arrays), files)
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
            stored_evaluation(each, _outside(f"evaluations.{i}", arrays))
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


def _inside(name: str, arrays: Arrays) -> Arrays:
    return {f"{name}.{each}": values for each, values in arrays.items()}


def _outside(name: str, arrays: Arrays) -> Arrays:
    start = f"{name}."
    return {each.removeprefix(start): values for each, values in arrays.items() if each.startswith(start)}


def evaluation_content(record: Evaluation) -> tuple[dict[str, Any], Arrays]:
    arrays: Arrays = {"columns": np.stack(list(record.columns.values()))}
    arrays |= {f"signed.{i}": values for i, values in enumerate(record.signed.values())}
    groups, point, operating = [], record.operating, None
    for i, (name, rates) in enumerate(record.groups.items()):
        kind, sizes = next(kind for kind, known in RATES.items() if known is type(rates)), record.sizes.get(name, {})
        groups.append({"name": name, "kind": kind, "levels": list(rates.levels), "sizes": list(sizes)})
        stored = {each: getattr(rates, each) for each in _stored_rates(type(rates))}
        arrays |= _inside(f"groups.{i}", {each: values for each, values in stored.items() if values is not None})
        arrays |= _inside(f"groups.{i}.sizes", sizes)
        arrays |= _range_arrays(f"groups.{i}.ranges", record.ranges.get(name, {}))
    arrays |= _range_arrays("ranges", record.ranges.get("", {}))
    arrays |= {name: values for name in ("labels", "alike") if (values := getattr(record, name)) is not None}
    if point is not None:
        arrays |= {"cutoffs": point.cutoffs, "probability": point.probability}
        operating = {"rule": asdict(point.rule), "placed_on": point.placed_on, "side": point.side}
    content = {name: getattr(record, name) for name in PLAIN}
    listed = {name: list(getattr(record, name)) for name in ("columns", "signed", "proxies")}
    return {**content, **listed, "groups": groups, "operating": operating, "made": record.made}, arrays


def _range_arrays(place: str, ranges: Mapping[str, RateRange]) -> Arrays:
    return {f"{place}.{rate}.{name}": end for rate, each in ranges.items() for name, end in vars(each).items()}


def _stored_ranges(arrays: Arrays) -> dict[str, RateRange]:
    rates = dict.fromkeys(name.rpartition(".")[0] for name in arrays)
    return {rate: RateRange(**_outside(rate, arrays)) for rate in rates}


def _stored_rates(kind: type[PerGroup]) -> list[str]:
    return [each.name for each in fields(kind) if each.name != "levels"]


def stored_evaluation(content: Mapping[str, Any], arrays: Arrays) -> Evaluation:
    groups, sizes, ranges = {}, {}, {"": _stored_ranges(_outside("ranges", arrays))}
    for i, each in enumerate(content["groups"]):
        if each["kind"] not in RATES:
            raise InputError(f"figures are of the kind {each['kind']!r}, which this version does not know; upgrade.")
        kind, known = RATES[each["kind"]], _outside(f"groups.{i}", arrays)
        names = [name for name in _stored_rates(kind) if name != "labelled" or name in known]
        values: dict[str, Any] = {name: known[name] for name in names}
        ranges[each["name"]] = _stored_ranges(_outside("ranges", known))
        groups[each["name"]] = kind(levels=tuple(each["levels"]), **values)
        if each["sizes"]:
            sizes[each["name"]] = {rate: known[f"sizes.{rate}"] for rate in each["sizes"]}
    operating = content["operating"]
    if operating is not None:
        cut = {name: arrays[name] for name in ("cutoffs", "probability")}
        operating = OperatingPoint(**{**operating, **cut, "rule": Operating(**operating["rule"])})
    return Evaluation(
        **{name: content[name] for name in PLAIN},
        columns=dict(zip(content["columns"], arrays["columns"], strict=True)),
        signed={name: arrays[f"signed.{i}"] for i, name in enumerate(content["signed"])},
        groups=groups,
        sizes=sizes,
        ranges={name: each for name, each in ranges.items() if each},
        proxies=tuple(content["proxies"]),
        operating=operating,
        labels=arrays.get("labels"),
        alike=arrays.get("alike"),
        made=content.get("made", ""),
    )


def _facts_content(facts: Facts) -> dict[str, Any]:
    """Return facts for JSON, without names of very small groups; warn where an own class keeps the question out.

    Settings are found again by name in the registries; one of a user's own class has no name to be found by: then
    the question stays out, and with it what solves points again.
    """
    special = ("task", "left_out", "unnamed", "question", "newton")
    asked = {} if facts.question is None else _parameters(facts.question)
    try:
        kept = {name: _content(value) for name, value in asked.items()}, _content(facts.newton)
    except LookupError as error:
        warnings.warn(
            f"{error.args[0]} is not registered, so the settings are not saved: refine and stability will not be "
            "available after loading; register it to keep them.",
            FairfrontWarning,
            stacklevel=2,
        )
        kept = {}, _content(Newton())
    return {
        "task": task_content(facts.task),
        "left_out": facts.told_left_out,
        "question": kept[0],
        "newton": kept[1],
        "plain": {name: value for name, value in _parameters(facts).items() if name not in special},
    }


def _facts_of(content: Mapping[str, Any]) -> Facts:
    plain = {name: _tuples(value) for name, value in content["plain"].items()}
    unknown = set(plain) - {each.name for each in fields(Facts)}
    if unknown:
        raise InputError(f"facts have {min(unknown)!r}, which this version does not know; upgrade fairfront.")
    asked = {name: _of_content(value) for name, value in content["question"].items()}
    return Facts(
        task=task_of(content["task"]),
        left_out=_tuples(content["left_out"]),
        question=Question(**asked) if asked else None,
        newton=_of_content(content["newton"]),
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
    return REGISTRIES[kind][content["name"]](**content["with"])


def _tuples(value: Any) -> Any:
    return tuple(_tuples(each) for each in value) if isinstance(value, list) else value
