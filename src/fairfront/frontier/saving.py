"""Saving and loading frontiers: one folder of arrays and JSON, and estimators of others in files of skops.

Written are models, objectives, names, settings and evaluations. Not written are training rows, labels of rows, the
names of groups that were left out as too small, and exact counts below 10 (the policy is `measures.disclosure`).
docs/files.md describes the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InputError
from ..measures import Evaluation
from ..measures.disclosure import LIMIT
from ..measures.published import published
from ..objectives import Array, Groups
from ..pareto import nondominated
from ..solvers import Status
from ..storage.folders import make_folder, write_folder
from ..storage.inventory import Inventory
from ..storage.packages import inner_name, parts_of, read_package, write_package
from ..storage.snapshots import read_folder
from ..validation import counted
from .candidate_points import CandidateFacts
from .candidates import notion_gap
from .frontier import Frontier
from .saving_evaluations import evaluation_content, evaluation_of
from .saving_facts import facts_content, facts_of_content
from .saving_points import Stored, format_of, kind_of

NAME, KIND, SCHEMA = "frontier", "fairfront frontier", 1
FRONTIER = Inventory("saved frontier", {NAME: KIND})
ARRAYS = ("objectives", "gaps", "signed_gaps", "preferences", "kkt", "certified", "multipliers", "ids")
KINDS = {"certified": ("b", "booleans"), "ids": ("i", "whole numbers")}


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
    kind = kind_of(front.points)
    make_folder(place)
    stored = format_of(kind).write(front.points, place)
    arrays = {name: getattr(front, name) for name in ARRAYS} | _inside("points", stored.arrays)
    evaluations = []
    for i, record in enumerate(front.evaluations.values()):
        content, figures = evaluation_content(record)
        evaluations.append(content)
        arrays |= _inside(f"evaluations.{i}", figures)
    content = {
        "points": {"kind": kind, "files": list(stored.files), "content": stored.content},
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
    given = content["points"]
    files = tuple(inner_name(each, folder / f"{NAME}.json") for each in given["files"])
    stored = Stored(given["content"], _outside("points", arrays), files)
    records = [
        evaluation_of(each, _outside(f"evaluations.{i}", arrays)) for i, each in enumerate(content["evaluations"])
    ]
    return Frontier(
        points=format_of(given["kind"]).read(stored, folder, trusted),
        objective_names=tuple(content["objective_names"]),
        multiplier_names=tuple(content["multiplier_names"]),
        status=tuple(_status(name) for name in content["status"]),
        facts=facts_of_content(content["facts"]),
        evaluations={record.name: record for record in records},
        **{name: arrays[name] for name in ARRAYS},
    )


def _status(name: str) -> Status:
    if name not in Status.__members__:
        raise InputError(f"a point has the status {name!r}, which this version does not know; upgrade fairfront.")
    return Status[name]


def _check_kinds(front: Frontier) -> None:
    """Refuse arrays of another kind than each of them is written with, and ids that two points share."""
    for name in ARRAYS:
        kind, words = KINDS.get(name, ("f", "numbers with a fraction"))
        if getattr(front, name).dtype.kind != kind:
            raise InputError(f"{name} are {getattr(front, name).dtype}, expected {words}; save the frontier again.")
    ids = front.ids.tolist()
    if len(set(ids)) < len(ids):
        raise InputError(f"two points have the id {_twice(ids)}, expected each to have its own; save it again.")


def _twice(ids: Sequence[int]) -> int:
    return next(id for place, id in enumerate(ids) if id in ids[:place])


def _check_lengths(front: Frontier) -> None:
    N = len(front.points)
    found = {name: len(getattr(front, name)) for name in (*ARRAYS, "status")}
    found |= {f"evaluation {name!r}": record.n_models for name, record in front.evaluations.items()}
    for name, count in found.items():
        if count != N:
            raise InputError(
                f"{name} has {counted(count, 'point')}, expected {N}, as many as there are models; save it again."
            )


def published_frontier(front: Frontier) -> Frontier:
    """Return a frontier as it is written: small groups pooled and small counts rounded in its evaluations."""
    groups = front.facts.recipe.get("groups")
    if isinstance(groups, Groups) and groups.min_size < LIMIT:
        raise InputError(
            f"this frontier was traced with Groups(min_size={groups.min_size}), so that its gaps may describe fewer "
            f"than {LIMIT} people, which is not written to files; trace it with min_size={LIMIT} or more."
        )
    evaluations = {name: published(record, front.facts.task) for name, record in front.evaluations.items()}
    front = replace(front, evaluations=evaluations)
    return _candidates(front) if isinstance(front.facts, CandidateFacts) else front


def _candidates(front: Frontier) -> Frontier:
    """Return candidates whose axes, which are figures of their first evaluation, are those that may be written."""
    if not front.evaluations:
        raise InputError("these candidates have no evaluation, expected the one that their axes are from.")
    record = next(iter(front.evaluations.values()))
    levels = {name: rates.levels for name, rates in record.groups.items()}
    sensitive = tuple((name, levels.get(name, known)) for name, known in front.facts.sensitive)
    front = replace(front, facts=replace(front.facts, sensitive=sensitive))
    axes = _axes(front, record)
    if np.array_equal(axes, front.objectives, equal_nan=True):
        return front
    efficient = nondominated(np.where(np.isnan(axes), np.inf, axes))
    status = tuple(Status.GIVEN if good else Status.DOMINATED for good in efficient)
    return replace(front, objectives=axes, gaps=axes[:, 1:], signed_gaps=axes[:, 1:], status=status)


def _axes(front: Frontier, record: Evaluation) -> Array:
    """Return the error and the worst gap of each notion, (N, 1 + notions)."""
    gaps = [notion_gap(record, front.facts.task, notion) for notion in front.facts.notions]
    return np.column_stack([record.columns[front.facts.loss], *gaps])


def _inside(name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {f"{name}.{each}": values for each, values in arrays.items()}


def _outside(name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    start = f"{name}."
    return {each.removeprefix(start): values for each, values in arrays.items() if each.startswith(start)}
