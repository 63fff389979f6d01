"""Decision records of a run: one numbered JSON file for every choice, each of which opened the test part once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import ChangedError, InputError
from ..storage.documents import read_json
from ..storage.folders import write_file, write_numbered
from ..storage.packages import check_checksums, checksum_of, write_checksums
from .decision import FORMAT, SCHEMA, Decision
from .external import EVALUATIONS, own_frontier, read_external
from .manifest import as_text

if TYPE_CHECKING:
    from .run import Run

DECISIONS = "decisions"
"""Folder of a run in which decisions are kept."""
ADDED = (DECISIONS, EVALUATIONS)
"""What is added to a run after it was traced, and is not in its checksum."""
REMEDY = "it was edited, deleted or added by something else than fairfront select: copy the run again."


def read_records(folder: Path, sums: Mapping[str, str]) -> tuple[Mapping[str, Any], ...]:
    """Return the records of a run, oldest first; ``sums`` are the checksums of its files by name."""
    names = [name for name in sums if name.startswith(f"{DECISIONS}/")]
    records = []
    for number, name in enumerate(sorted(names, key=lambda name: (len(name), name)), start=1):
        expected, path = f"{DECISIONS}/{number:04d}.json", folder / name
        if name != expected:
            raise ChangedError(
                f"{folder / expected} is missing, expected records numbered from 1 without a gap; {REMEDY}"
            )
        record = read_json(path)
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise ChangedError(f"{path} is not a decision record, expected one written by fairfront select; {REMEDY}")
        if record.get("schema") != SCHEMA:
            raise InputError(f"{path} has schema {record.get('schema')!r}, expected {SCHEMA}; trace and select again.")
        if set(record) != set(Decision.__dataclass_fields__) or record["opened"] != number:
            raise ChangedError(f"{path} does not have the fields of record {number}; {REMEDY}")
        records.append(record)
    return tuple(records)


def write_records(folder: Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write the records of a run beside its other files."""
    for number, record in enumerate(records, start=1):
        write_file(folder / DECISIONS / f"{number:04d}.json", as_text(record))


def check_recordable(run: Run) -> None:
    """Refuse a run to which nothing can be added, before its test part is opened or other rows are judged."""
    if run.path is None:
        raise InputError("the run has no folder yet, expected one that was saved; call run.save(path) first.")
    place = run.path / DECISIONS
    if not os.access(place if place.exists() else run.path, os.W_OK):
        raise InputError(f"{run.path} is read-only, expected a run to which can be added; copy it and work there.")


def check_kept(path: Any, records: int) -> None:
    """Refuse to replace a run whose records the new one lacks."""
    there = len(list((Path(path) / DECISIONS).glob("*.json")))
    if there > records:
        raise InputError(
            f"{path} holds {there} decision record(s), which replacing it would lose, expected none or all of them; "
            "move it away, or choose another name."
        )


def current(run: Run) -> Run:
    """Return a run with what was added to its folder since it was read, refusing one that another run replaced."""
    assert run.path is not None
    sums = check_checksums(run.path, growing=DECISIONS)
    if checksum_of(sums, ADDED) != run.checksum:
        raise InputError(f"{run.path} was rewritten while it was being read, expected the run as it was; start again.")
    front, external = read_external(run.path, own_frontier(run.frontier, run.external))
    return replace(run, frontier=front, external=external, decisions=read_records(run.path, sums))


def add_record(run: Run, decision: Decision) -> None:
    """Write the next record of a run and list it.

    A kill before the list is written leaves a record that follows the others, and the next one lists it.
    """
    assert run.path is not None
    place = write_numbered(run.path / DECISIONS, as_text(decision.to_json()))
    if int(place.stem) != decision.opened:  # only where the system keeps no locks
        place.unlink()
        raise InputError(f"another model was chosen from {run.path} at this moment; select again.")
    write_checksums(run.path)
