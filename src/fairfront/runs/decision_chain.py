"""The chain of a run's decision records, and the stages of the run that they were made at.

Each names the checksum of the one before it and that of the run. A record that was edited, left out or moved breaks
the chain. That the last one was deleted cannot be seen in the chain itself; the list of checksums misses it, unless
that was written again too, which only a signature prevents.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..exceptions import ChangedError, InputError
from ..frontier.frontier_columns import subset
from ..storage.documents import read_json
from ..storage.folders import write_file, write_numbered
from ..storage.packages import SIGNATURE, check_checksums, checksum_of, found_in, is_signed
from ..storage.places import MANIFEST
from .decision import FORMAT, SCHEMA, Decision
from .external import EVALUATIONS, own_frontier, read_external
from .manifest import as_text, seal

if TYPE_CHECKING:
    from .run import Run


class Kept(Protocol):
    """A run or a dossier, by the folder that it is in."""

    @property
    def path(self) -> Path | None: ...


DECISIONS = "decisions"
"""Folder of a run in which decisions are kept."""
ADDED = (DECISIONS, EVALUATIONS)
"""What is added to a run after it was traced, and is not in its checksum."""
BROKEN = "it was edited, deleted or added by something else than fairfront select: copy the run again."


def stages(manifest: Mapping[str, Any], checksum: str) -> list[str]:
    """Return the checksums that a run has had, oldest first: records name the one that they were made at."""
    earlier, kept = manifest.get("earlier", []), manifest.get("kept_ids", "all")
    if not isinstance(earlier, list) or not all(_is_stage(each) for each in earlier) or not _are_points(kept):
        raise ChangedError(f"the manifest says {earlier} and {kept} of points that were removed; {BROKEN}")
    return [*(each["checksum"] for each in earlier), checksum]


def _is_stage(found: Any) -> bool:
    return isinstance(found, dict) and set(found) == {"checksum", "kept"} and _are_points(found["kept"])


def _are_points(found: Any) -> bool:
    return found == "all" or (isinstance(found, list) and all(type(each) is int for each in found))


def with_earlier(manifest: Mapping[str, Any], checksum: str | None) -> dict[str, Any]:
    """Return a manifest that keeps a run's checksum, and which points it had, before its files are written anew."""
    before = {"checksum": checksum, "kept": manifest.get("kept_ids", "all")}
    return {**manifest, "earlier": [*manifest.get("earlier", ()), before]}


def pruned(run: Run, ids: Sequence[int]) -> Run:
    """The manifest names the points that are left, and the run's checksum before."""
    kept = sorted(set(ids))
    names = {str(id) for id in kept}
    return replace(
        run,
        frontier=subset(run.frontier, kept),
        manifest={**with_earlier(run.manifest, run.checksum), "keep": "chosen", "kept_ids": kept, "shown": kept},
        validated={id: found for id, found in run.validated.items() if id in names},
        tested={id: found for id, found in run.tested.items() if id in names},
        external={name: each.taken(kept) for name, each in run.external.items()},
        details=None,  # they compare points that are gone
    )


def read_records(folder: Path, sums: Mapping[str, str], known: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """Return the records of a run whose files have these checksums, or say where their chain breaks.

    ``known`` are the checksums that the run has had, oldest first.
    """
    names = [name for name in sums if name.startswith(f"{DECISIONS}/")]
    found: list[Mapping[str, Any]] = []
    previous, stage = None, 0
    for number, name in enumerate(sorted(names, key=lambda each: (len(each), each)), start=1):
        expected, where = f"{DECISIONS}/{number:04d}.json", folder / name
        if name != expected:
            raise ChangedError(
                f"{folder / expected} is missing, expected records numbered from 1 without a gap; {BROKEN}"
            )
        record = read_json(where)
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise ChangedError(f"{where} is not a decision record, expected one written by fairfront select; {BROKEN}")
        if record.get("schema") != SCHEMA:
            raise InputError(f"{where} has schema {record.get('schema')!r}, expected {SCHEMA}; trace and select again.")
        if set(record) != set(Decision.__dataclass_fields__) or record["opened"] != number:
            raise ChangedError(f"{where} does not have the fields of record {number}; {BROKEN}")
        if where.read_bytes() != as_text(record).encode():
            raise ChangedError(f"{where} is not formatted as fairfront writes it; {BROKEN}")
        if record["previous"] != previous:
            raise ChangedError(f"{where} does not follow the record before it (its checksum differs); {BROKEN}")
        if record["run"] not in known[stage:]:
            raise ChangedError(
                f"{where} is a record of other files than this run has (their checksum differs); {BROKEN}"
            )
        previous, stage = sums[name], known.index(record["run"], stage)
        found.append(record)
    return tuple(found)


def write_records(folder: Path, manifest: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> None:
    """Write the records of a run beside its other files; where they are of other files, the manifest says so."""
    checksum, last = checksum_of(found_in(folder), ADDED), records[-1]["run"]
    if last not in stages(manifest, checksum):
        write_file(folder / MANIFEST, as_text(with_earlier(manifest, last)), overwrite=True)
    for n, record in enumerate(records, start=1):
        write_file(folder / DECISIONS / f"{n:04d}.json", as_text(record))


def check_recordable(run: Kept, key: Any = None) -> None:
    """Refuse a run to which nothing can be added, before its test part is opened or other rows are judged."""
    if run.path is None:
        raise InputError("the run has no folder yet, expected one that was saved; call run.save(path) first.")
    place = run.path / DECISIONS
    if not os.access(place if place.exists() else run.path, os.W_OK):
        raise InputError(f"{run.path} is read-only, expected a run to which can be added; copy it and work there.")
    if key is None and is_signed(run.path):
        raise InputError(
            f"{run.path} is signed, and what is added without a signature would break it, expected the key too; give "
            f"--sign KEY, or work in a copy of it without {SIGNATURE}."
        )


def check_kept(path: Any, records: int, key: Any) -> None:
    """Refuse to replace a run whose records the new one lacks, or a signed one without a key."""
    there = len(list((Path(path) / DECISIONS).glob("*.json")))
    if there > records:
        raise InputError(
            f"{path} holds {there} decision record(s), which replacing it would lose, expected none or all of them; "
            "move it away, or choose another name."
        )
    if key is None and is_signed(Path(path)):
        raise InputError(f"{path} is signed, expected a key to sign what replaces it; give one, or move it away.")


def current(run: Run) -> Run:
    """Return a run with what was added to its folder since it was read, refusing one that another run replaced."""
    assert run.path is not None
    sums = check_checksums(run.path, growing=DECISIONS)
    if checksum_of(sums, ADDED) != run.checksum:
        raise InputError(f"{run.path} was rewritten while it was being read, expected the run as it was; start again.")
    front, external = read_external(run.path, own_frontier(run.frontier, run.external))
    known = read_records(run.path, sums, stages(run.manifest, str(run.checksum)))
    return replace(run, frontier=front, external=external, decisions=known)


def add_record(run: Kept, decision: Decision, key: Any = None) -> None:
    """Write the next record of a run, list it, and sign the list.

    A kill before the list is written leaves a record that continues the chain, and the next one lists it.
    """
    assert run.path is not None
    place = write_numbered(run.path / DECISIONS, as_text(decision.to_json()))
    if int(place.stem) != decision.opened:  # only where the system keeps no locks
        place.unlink()
        raise InputError(f"another model was chosen from {run.path} at this moment; select again.")
    seal(run.path, key)
