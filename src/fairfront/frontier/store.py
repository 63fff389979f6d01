"""Files of frontiers: one folder of arrays and JSON, and estimators of others in files of skops.

Written are models, objectives, names, settings and evaluations. Not written are training rows, labels of rows, the
names of groups that were left out as too small, and exact counts below 10 (the policy is `measures.disclosure`).
docs/files.md describes the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.disclosure import LIMIT
from ..measures.operating_points import Operating, OperatingPoint
from ..measures.published import published
from ..measures.rates import ClassRates, GroupMeans, GroupRates, PerGroup
from ..solvers import Status
from ..storage.checksums import Inventory
from ..storage.folders import make_folder, write_folder
from ..storage.packages import inner_name, parts_of, read_package, write_package
from ..storage.places import read_folder
from ..validation import Registry, counted
from .candidates import judged_points
from .estimator_models import CandidateModels, EstimatorModels, PosteriorModels
from .frontier import Frontier
from .models import LinearModels, Models, Stored
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
RATES: dict[str, type[PerGroup]] = {"rates": GroupRates, "class_rates": ClassRates, "means": GroupMeans}
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
        described, figures = _evaluation_content(record)
        evaluations.append(described)
        arrays |= _inside(f"evaluations.{i}", figures)
    content = {
        "models": {"kind": kind, "files": list(stored.files), "content": stored.content},
        "objective_names": list(front.objective_names),
        "multiplier_names": list(front.multiplier_names),
        "status": [status.name for status in front.status],
        "facts": front.facts.to_content(),
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
            _evaluation_of(each, _outside(f"evaluations.{i}", arrays)) for i, each in enumerate(content["evaluations"])
        ]
        if kind not in MODELS and kind in ROOMS:
            import_module(f"{__package__.partition('.')[0]}.{ROOMS[kind]}")
        models, facts = MODELS[kind].read(stored, folder, trusted), Facts.from_content(content["facts"])
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


def published_frontier(front: Frontier) -> Frontier:
    """Return a frontier as it is written: small groups pooled and small counts rounded in its evaluations."""
    facts, question = front.facts, front.facts.question
    if question is not None and question.groups.min_size < LIMIT:
        raise InputError(
            f"this frontier was traced with Groups(min_size={question.groups.min_size}), so that its gaps may describe "
            f"fewer than {LIMIT} people, which is not written to files; trace it with min_size={LIMIT} or more."
        )
    evaluations = {name: published(record, facts.task) for name, record in front.evaluations.items()}
    front = replace(front, evaluations=evaluations)
    if facts.trained:
        return front
    if not evaluations:
        raise InputError("these candidates have no evaluation, expected the one that their axes are from.")
    record = next(iter(evaluations.values()))  # the axes of candidates are figures of their first evaluation
    levels = {name: rates.levels for name, rates in record.groups.items()}
    sensitive = tuple((name, levels.get(name, known)) for name, known in facts.sensitive)
    front = replace(front, facts=replace(facts, sensitive=sensitive))
    points = judged_points(record, facts.task, facts.notions)
    if np.array_equal(points.objectives, front.objectives, equal_nan=True):
        return front
    return replace(front, points=replace(points, ids=front.ids))


def _inside(name: str, arrays: Arrays) -> Arrays:
    return {f"{name}.{each}": values for each, values in arrays.items()}


def _outside(name: str, arrays: Arrays) -> Arrays:
    start = f"{name}."
    return {each.removeprefix(start): values for each, values in arrays.items() if each.startswith(start)}


def _evaluation_content(record: Evaluation) -> tuple[dict[str, Any], Arrays]:
    arrays: Arrays = {"columns": np.stack(list(record.columns.values()))}
    arrays |= {f"signed.{i}": values for i, values in enumerate(record.signed.values())}
    groups, point, operating = [], record.operating, None
    for i, (name, rates) in enumerate(record.groups.items()):
        kind, sizes = next(kind for kind, known in RATES.items() if known is type(rates)), record.sizes.get(name, {})
        groups.append({"name": name, "kind": kind, "levels": list(rates.levels), "sizes": list(sizes)})
        stored = {each: getattr(rates, each) for each in _stored_rates(type(rates))}
        arrays |= _inside(f"groups.{i}", {each: values for each, values in stored.items() if values is not None})
        arrays |= _inside(f"groups.{i}.sizes", sizes)
    arrays |= {name: values for name in ("labels", "alike") if (values := getattr(record, name)) is not None}
    if point is not None:
        arrays |= {"cutoffs": point.cutoffs, "probability": point.probability}
        operating = {"rule": asdict(point.rule), "placed_on": point.placed_on, "side": point.side}
    content = {name: getattr(record, name) for name in ("name", "n", "effective_n", "small")}
    listed = {name: list(getattr(record, name)) for name in ("columns", "signed", "proxies")}
    return {**content, **listed, "groups": groups, "operating": operating}, arrays


def _stored_rates(kind: type[PerGroup]) -> list[str]:
    return [each.name for each in fields(kind) if each.name != "levels"]


def _evaluation_of(content: Mapping[str, Any], arrays: Arrays) -> Evaluation:
    groups, sizes = {}, {}
    for i, each in enumerate(content["groups"]):
        if each["kind"] not in RATES:
            raise InputError(f"figures are of the kind {each['kind']!r}, which this version does not know; upgrade.")
        kind, known = RATES[each["kind"]], _outside(f"groups.{i}", arrays)
        names = [name for name in _stored_rates(kind) if name != "labelled" or name in known]
        values: dict[str, Any] = {name: known[name] for name in names}
        groups[each["name"]] = kind(levels=tuple(each["levels"]), **values)
        if each["sizes"]:
            sizes[each["name"]] = {rate: known[f"sizes.{rate}"] for rate in each["sizes"]}
    operating = content["operating"]
    if operating is not None:
        cut = {name: arrays[name] for name in ("cutoffs", "probability")}
        operating = OperatingPoint(**{**operating, **cut, "rule": Operating(**operating["rule"])})
    return Evaluation(
        name=content["name"],
        n=content["n"],
        columns=dict(zip(content["columns"], arrays["columns"], strict=True)),
        signed={name: arrays[f"signed.{i}"] for i, name in enumerate(content["signed"])},
        groups=groups,
        sizes=sizes,
        effective_n=content["effective_n"],
        proxies=tuple(content["proxies"]),
        small=content["small"],
        operating=operating,
        labels=arrays.get("labels"),
        alike=arrays.get("alike"),
    )
